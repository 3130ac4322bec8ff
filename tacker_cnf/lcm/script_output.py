"""The changes that a management script may make to a VNF instance and VIMs."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from tacker_cnf import errors
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.sol import uri
from tacker_cnf.sol.base import KeyValuePairs, Name, SolType
from tacker_cnf.sol.connection_point import VnfExtCpInfo
from tacker_cnf.sol.virtual_link import (
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
    VnfVirtualLinkResourceInfo,
)
from tacker_cnf.sol.vnf_instance import (
    VirtualStorageResourceInfo,
    VnfcResourceInfo,
    VnfInstance,
)


class InfoChanges(SolType):
    """The fields of instantiatedVnfInfo that a script may replace."""

    vnfc_resource_info: tuple[VnfcResourceInfo, ...] | UnsetType = UNSET
    virtual_storage_resource_info: (
        tuple[VirtualStorageResourceInfo, ...] | UnsetType
    ) = UNSET
    vnf_virtual_link_resource_info: (
        tuple[VnfVirtualLinkResourceInfo, ...] | UnsetType
    ) = UNSET
    ext_cp_info: tuple[VnfExtCpInfo, ...] | UnsetType = UNSET
    ext_virtual_link_info: tuple[ExtVirtualLinkInfo, ...] | UnsetType = UNSET
    ext_managed_virtual_link_info: (
        tuple[ExtManagedVirtualLinkInfo, ...] | UnsetType
    ) = UNSET
    metadata: KeyValuePairs | UnsetType = UNSET


class InstanceChanges(SolType):
    """The attributes of a VNF instance that a script may replace. All others
    are ignored: a script changes neither its identity nor its state, nor its
    VIM connections.
    """

    vnf_configurable_properties: KeyValuePairs | UnsetType = UNSET
    metadata: KeyValuePairs | UnsetType = UNSET
    extensions: KeyValuePairs | UnsetType = UNSET
    instantiated_vnf_info: InfoChanges | UnsetType = UNSET


class ProvidedVim(msgspec.Struct, kw_only=True, frozen=True):
    """A VIM that a VNF itself provides, such as a Kubernetes cluster on its
    VMs; the fields are those of /v1.0/vims.
    """

    type: Name
    auth_url: Annotated[str, msgspec.Meta(min_length=1)]
    auth_cred: dict[str, Any]
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        uri.check_no_user("auth_url", self.auth_url)


def _set_fields(changes: Any) -> dict[str, Any]:
    values = msgspec.structs.asdict(changes)
    return {name: v for name, v in values.items() if v is not UNSET}


def attributes(changes: InstanceChanges) -> InstanceChanges:
    """Return the changes of the instance without those of its resources."""
    return msgspec.structs.replace(changes, instantiated_vnf_info=UNSET)


def merge(first: InstanceChanges, second: InstanceChanges) -> InstanceChanges:
    """Merge the changes of two scripts; the second takes precedence."""
    return msgspec.structs.replace(first, **_set_fields(second))


def apply_to_result(
    instance: VnfInstance,
    result: Observed | None,
    changes: InstanceChanges,
    vdus: Iterable[str],
) -> Observed | None:
    """Apply a script's changes to the resources that the driver found.

    :param result: None: the driver has not listed them
    :param vdus: those of the VNF's flavour
    :raises ScriptFailed: a VNFC is listed twice or is of an unknown VDU
    """
    info = instance.instantiated_vnf_info
    info_changes = changes.instantiated_vnf_info
    if info_changes is UNSET or not (result or info):
        return result
    _check(info_changes, frozenset(vdus))
    names = Observed.__struct_fields__
    current = result or Observed(**{n: getattr(info, n) for n in names})
    return msgspec.structs.replace(current, **_set_fields(info_changes))


def _check(info_changes: InfoChanges, vdus: frozenset[str]) -> None:
    vnfcs = info_changes.vnfc_resource_info or ()
    duplicates = [
        id_ for id_, n in Counter(v.id for v in vnfcs).items() if n > 1
    ]
    if duplicates:
        raise errors.ScriptFailed(
            f"its answer names VNFC {', '.join(duplicates)} twice"
        )
    if unknown := {vnfc.vdu_id for vnfc in vnfcs} - vdus:
        raise errors.ScriptFailed(
            f"its answer names VDU {', '.join(sorted(unknown))}, which the "
            "VNFD does not have"
        )


def apply_to_instance(
    instance: VnfInstance, changes: InstanceChanges
) -> VnfInstance:
    """Apply the changes that scripts made to the attributes of an instance."""
    return msgspec.structs.replace(
        instance, **_set_fields(attributes(changes))
    )
