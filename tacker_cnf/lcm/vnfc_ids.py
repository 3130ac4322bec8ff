"""The ids of the VNFCs of an instance (vnfcInfo).

The metadata of an instance may set them: ``VDU_VNFc_mapping`` lists for each
VDU the ids of its VNFCs by index. It applies to VNFCs that have an index,
which are resources of their own on the VIM, and lets a VNFC keep its id when
it is healed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.sol.vnf_instance import (
    VnfcInfo,
    VnfcResourceInfo,
    VnfOperationalState,
)

#: in the metadata of an instance: {VDU: [id of VNFC 0, of VNFC 1, ...]}
VNFC_ID_MAPPING: Final = "VDU_VNFc_mapping"
#: in the metadata of a VNFC's resource: its index
VDU_INDEX: Final = "vdu_idx"
#: in the metadata of a VNFC's resource: true if none of its resources is on
#: the VIM, so that only a heal restores it
LOST: Final = "lost"


def check(metadata: Mapping[str, Any]) -> None:
    """Check the VNFC ids in the metadata of an instance.

    :raises InvalidParameters: they have another form, or an id is used twice
    """
    mapping = metadata.get(VNFC_ID_MAPPING)
    if mapping is None:
        return
    try:
        ids_by_vdu = msgspec.convert(mapping, dict[str, list[str]])
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(
            f"metadata.{VNFC_ID_MAPPING}: a list of VNFC ids for each VDU is "
            f"expected: {error}."
        ) from None
    seen: set[str] = set()
    for id_ in (id_ for ids in ids_by_vdu.values() for id_ in ids):
        if not id_ or id_ in seen:
            raise errors.InvalidParameters(
                f"metadata.{VNFC_ID_MAPPING}: {id_!r} is "
                + ("used twice." if id_ else "not a valid id.")
            )
        seen.add(id_)


def vnfc_id(vnfc: VnfcResourceInfo, metadata: Mapping[str, Any] = {}) -> str:
    """Return the vnfcInfo.id of a VNFC."""
    index = vnfc.metadata.get(VDU_INDEX)
    ids = (metadata.get(VNFC_ID_MAPPING) or {}).get(vnfc.vdu_id, ())
    if isinstance(index, int) and index < len(ids):
        return str(ids[index])
    return f"{vnfc.vdu_id}-{vnfc.id}"


def build_vnfc_info(
    resources: Iterable[VnfcResourceInfo],
    previous: Iterable[VnfcInfo],
    metadata: Mapping[str, Any] = {},
    vnf_state: VnfOperationalState = VnfOperationalState.STARTED,
) -> tuple[VnfcInfo, ...]:
    """Build vnfcInfo; values that a client has set on a VNFC are kept.

    :param previous: vnfcInfo before the operation
    :param metadata: of the instance; it may set VNFC ids
    """
    by_id = {vnfc.id: vnfc for vnfc in previous}
    by_resource = {vnfc.vnfc_resource_info_id: vnfc for vnfc in by_id.values()}
    found = []
    for resource in resources:
        name = vnfc_id(resource, metadata)
        before = by_id.get(name) or by_resource.get(resource.id)
        if before is None:
            before = VnfcInfo(
                id=name,
                vdu_id=resource.vdu_id,
                vnfc_state=VnfOperationalState.STARTED,
            )
        is_lost = resource.metadata.get(LOST)
        found.append(
            msgspec.structs.replace(
                before,
                id=name,
                vnfc_resource_info_id=resource.id,
                vnfc_state=VnfOperationalState.STOPPED
                if is_lost
                else vnf_state,
            )
        )
    return tuple(found)
