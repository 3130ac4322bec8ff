"""By which ids the VNFCs of an instance are known: vnfcInfo.

Metadata of an instance may say it: ``VDU_VNFc_mapping`` has for each VDU the
ids of its VNFCs by their numbers. It holds for VNFCs that have a number, which
are resources of their own on the VIM, and lets a VNFC keep its id when it is
healed.
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

#: of an instance: {VDU: [id of its first VNFC, of its second, ...]}
VNFC_ID_MAPPING: Final = "VDU_VNFc_mapping"
#: of a VNFC's resource: its number
VDU_INDEX: Final = "vdu_idx"
#: of a VNFC's resource: true when nothing of it is on the VIM, and only a heal
#: brings it back
LOST: Final = "lost"


def check(metadata: Mapping[str, Any]) -> None:
    """Make sure that the ids that metadata give are ids.

    :raises InvalidParameters: they are not, or one is given twice
    """
    mapping = metadata.get(VNFC_ID_MAPPING)
    if mapping is None:
        return
    try:
        ids_by_vdu = msgspec.convert(mapping, dict[str, list[str]])
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(
            f"metadata.{VNFC_ID_MAPPING}: it has to give each VDU a list of ids: "
            f"{error}."
        ) from None
    seen: set[str] = set()
    for name in (name for names in ids_by_vdu.values() for name in names):
        if not name or name in seen:
            raise errors.InvalidParameters(
                f"metadata.{VNFC_ID_MAPPING}: {name!r} is "
                + ("there twice." if name else "no id.")
            )
        seen.add(name)


def vnfc_id(vnfc: VnfcResourceInfo, metadata: Mapping[str, Any] = {}) -> str:
    """Tell the vnfcInfo.id of a VNFC."""
    number = vnfc.metadata.get(VDU_INDEX)
    names = (metadata.get(VNFC_ID_MAPPING) or {}).get(vnfc.vdu_id, ())
    if isinstance(number, int) and number < len(names):
        return str(names[number])
    return f"{vnfc.vdu_id}-{vnfc.id}"


def build_vnfc_info(
    resources: Iterable[VnfcResourceInfo],
    previous: Iterable[VnfcInfo],
    metadata: Mapping[str, Any] = {},
) -> tuple[VnfcInfo, ...]:
    """Describe VNFCs; what a client has set on one stays with it.

    :param previous: what was known of VNFCs before
    :param metadata: of the instance
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
                else VnfOperationalState.STARTED,
            )
        )
    return tuple(found)
