"""What a management script may change of a VNF instance and of the VIMs."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from tacker_cnf import errors
from tacker_cnf.lcm.instantiated_info import InfraResult
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
    """Of instantiatedVnfInfo: what a driver finds out otherwise."""

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
    """What is given takes the place of what was; all else a script says of
    an instance is passed over: who it is, its state, and how its VIMs are
    reached are not for a script to say.
    """

    vnf_configurable_properties: KeyValuePairs | UnsetType = UNSET
    metadata: KeyValuePairs | UnsetType = UNSET
    extensions: KeyValuePairs | UnsetType = UNSET
    instantiated_vnf_info: InfoChanges | UnsetType = UNSET


class ProvidedVim(msgspec.Struct, kw_only=True, frozen=True):
    """A VIM that is made of what a VNF has on its own, such as a Kubernetes
    cluster of its VMs; in the words of /v1.0/vims.
    """

    type: Name
    auth_url: Annotated[str, msgspec.Meta(min_length=1)]
    auth_cred: dict[str, Any]
    extra: dict[str, Any] = {}


def _set_fields(changes: Any) -> dict[str, Any]:
    values = msgspec.structs.asdict(changes)
    return {name: v for name, v in values.items() if v is not UNSET}


def attributes(changes: InstanceChanges) -> InstanceChanges:
    """Give what changes of the instance itself, without what it has."""
    return msgspec.structs.replace(changes, instantiated_vnf_info=UNSET)


def merge(first: InstanceChanges, second: InstanceChanges) -> InstanceChanges:
    """Put the changes of two scripts together."""
    return msgspec.structs.replace(first, **_set_fields(second))


def apply_to_result(
    instance: VnfInstance,
    result: InfraResult | None,
    changes: InstanceChanges,
    vdus: Iterable[str],
) -> InfraResult | None:
    """Tell what there is, after what a script said about it.

    :param result: what the driver found; None: it has not looked
    :param vdus: those that the VNF has
    :raises ScriptFailed: it says what cannot be
    """
    info = instance.instantiated_vnf_info
    info_changes = changes.instantiated_vnf_info
    if info_changes is UNSET or not (result or info):
        return result
    _check(info_changes, frozenset(vdus))
    names = InfraResult.__struct_fields__
    current = result or InfraResult(**{n: getattr(info, n) for n in names})
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
    """Put into an instance what scripts changed of it itself."""
    return msgspec.structs.replace(
        instance, **_set_fields(attributes(changes))
    )
