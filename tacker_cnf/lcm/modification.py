"""Apply a PATCH to a VNF instance (SOL003 5.5.2.12)."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from tacker_cnf import errors
from tacker_cnf.lcm import (
    masked_patch,
    merge,
    vim_connection_patch,
    vnfc_ids,
    vnfd_compatibility,
)
from tacker_cnf.sol.common import ResourceHandle, VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    ChangeVnfFlavourRequest,
    InstantiateVnfRequest,
    VnfcInfoModifications,
    VnfInfoModificationRequest,
    VnfInfoModifications,
)
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    VnfcInfo,
    VnfInstance,
)
from tacker_cnf.vnfd.model import Vnfd

VimConnections = dict[str, VimConnectionInfo]

#: attributes that a patch replaces, and those that it merges
REPLACED_ATTRIBUTES: Final = ("vnf_instance_name", "vnf_instance_description")
MERGED_ATTRIBUTES: Final = (
    "vnf_configurable_properties",
    "metadata",
    "extensions",
)
#: attribute of an instance -> attribute of its VNFD
VNFD_ATTRIBUTES: Final[Mapping[str, str]] = {
    "vnfd_id": "id",
    "vnf_provider": "provider",
    "vnf_product_name": "product_name",
    "vnf_software_version": "software_version",
    "vnfd_version": "descriptor_version",
}
#: attribute of an instance -> attribute of the VNFD with its defaults
VNFD_DEFAULTS: Final[Mapping[str, str]] = {
    "vnf_configurable_properties": "configurable_properties",
    "metadata": "metadata",
    "extensions": "extensions",
}


def other_vnfd_id(
    instance: VnfInstance, requested: str | UnsetType | None
) -> str | None:
    """Return the requested VNFD; None: none, or the instance has it."""
    return None if requested == instance.vnfd_id else requested or None


def connections(
    instance: VnfInstance,
    request: VnfInfoModificationRequest,
    provided: Collection[str] = (),
) -> VimConnections:
    """Return the VIM connections of an instance after a patch, by key.

    :param provided: the names of the VIMs that the instance provides
    :raises InvalidVimConnection: the patch names one of these, the instance
        is not instantiated, its resources use a connection that the patch
        removes, or an entry is incomplete (a new address has no credentials)
    """
    patch = msgspec.to_builtins(request).get("vimConnectionInfo", UNSET)
    if patch is UNSET:
        return dict(instance.vim_connection_info)
    if own := sorted({*provided} & {*(patch or {})}):
        raise errors.InvalidVimConnection(
            f"vimConnectionInfo.{own[0]}: VNF instance {instance.id} provides "
            "this VIM and does not run on it; change it with the VNF's "
            "management scripts or /v1.0/vims."
        )
    if instance.instantiation_state != InstantiationState.INSTANTIATED:
        raise errors.InvalidVimConnection(
            f"vimConnectionInfo: VNF instance {instance.id} is not "
            "instantiated; set it in the instantiate request."
        )
    new = (
        vim_connection_patch.patched(instance.vim_connection_info, patch)
        if patch
        else {}
    )
    missing = [
        key for key in _required_connections(instance) if key not in new
    ]
    if missing:
        raise errors.InvalidVimConnection(
            "vimConnectionInfo: resources of the VNF use the connection "
            f"{', '.join(missing)}; it cannot be removed."
        )
    return new


def _required_connections(instance: VnfInstance) -> list[str]:
    """List the connections that resources name; the first, if none does."""
    info = instance.instantiated_vnf_info
    handles = _handles(info) if info else ()
    referenced = {
        h.vim_connection_id: None for h in handles if h.vim_connection_id
    }
    return [*referenced] or [*instance.vim_connection_info][:1]


def _handles(info: InstantiatedVnfInfo) -> Iterator[ResourceHandle]:
    for vnfc in info.vnfc_resource_info:
        yield vnfc.compute_resource
    for storage in info.virtual_storage_resource_info:
        yield storage.storage_resource
    for link in info.vnf_virtual_link_resource_info:
        yield link.network_resource


def modified(
    instance: VnfInstance,
    request: VnfInfoModificationRequest,
    vim_connections: Mapping[str, VimConnectionInfo],
    vnfd: Vnfd | None = None,
) -> VnfInstance:
    """Apply a patch to an instance.

    :param vim_connections: those of the instance after the patch
    :param vnfd: the VNFD that the instance changes to, if any
    :raises UnknownVnfc: vnfcInfoModifications names a VNFC that the instance
        does not have
    :raises IncompatibleVnfd: the instance cannot change to this VNFD
    :raises InvalidParameters: the VNFC ids in metadata are not valid
    """
    values = of_vnfd(instance, vnfd) if vnfd else {}
    for name in REPLACED_ATTRIBUTES:
        if (value := getattr(request, name)) is not UNSET:
            values[name] = value
    for name in MERGED_ATTRIBUTES:
        if (patch := getattr(request, name)) is not UNSET:
            old = values.get(name, getattr(instance, name))
            values[name] = (
                {} if patch is None else masked_patch.patched(old, patch)
            )
    if request.vim_connection_info is not UNSET:
        values["vim_connection_info"] = dict(vim_connections)
    values["instantiated_vnf_info"] = _modified_info(instance, request, vnfd)
    return _with_vnfc_ids(msgspec.structs.replace(instance, **values))


def _with_vnfc_ids(instance: VnfInstance) -> VnfInstance:
    """Set the VNFC ids that metadata list.

    :raises InvalidParameters: they are not valid
    """
    vnfc_ids.check(instance.metadata)
    info = instance.instantiated_vnf_info
    if info is None:
        return instance
    vnfcs = vnfc_ids.build_vnfc_info(
        info.vnfc_resource_info, info.vnfc_info, instance.metadata
    )
    return msgspec.structs.replace(
        instance,
        instantiated_vnf_info=msgspec.structs.replace(info, vnfc_info=vnfcs),
    )


def of_vnfd(instance: VnfInstance, vnfd: Vnfd) -> dict[str, Any]:
    """Return the attributes that a VNFD sets, by name of the instance's
    attribute; values that the instance has take precedence over defaults.
    """
    values = {name: getattr(vnfd, of) for name, of in VNFD_ATTRIBUTES.items()}
    defaults = {
        name: merge.patched(getattr(vnfd, of), getattr(instance, name))
        for name, of in VNFD_DEFAULTS.items()
    }
    return values | defaults


def _modified_info(
    instance: VnfInstance,
    request: VnfInfoModificationRequest,
    vnfd: Vnfd | None,
) -> InstantiatedVnfInfo | None:
    info = instance.instantiated_vnf_info
    patches = {
        vnfc.id: vnfc.vnfc_configurable_properties
        for vnfc in request.vnfc_info_modifications or ()
    }
    vnfc_ids = {vnfc.id for vnfc in (info.vnfc_info if info else ())}
    if unknown := sorted(patches.keys() - vnfc_ids):
        raise errors.UnknownVnfc(
            f"vnfcInfoModifications: VNF instance {instance.id} has no VNFC "
            f"instance {', '.join(unknown)}."
        )
    if info is None:
        return None
    state = instance.instantiation_state
    if vnfd and state == InstantiationState.INSTANTIATED:
        info = vnfd_compatibility.apply_vnfd(info, vnfd)
    vnfcs = tuple(_modified_vnfc(v, patches.get(v.id)) for v in info.vnfc_info)
    return msgspec.structs.replace(info, vnfc_info=vnfcs)


def _modified_vnfc(
    vnfc: VnfcInfo, patch: Mapping[str, Any] | None
) -> VnfcInfo:
    if patch is None:
        return vnfc
    properties = masked_patch.patched(vnfc.vnfc_configurable_properties, patch)
    return msgspec.structs.replace(
        vnfc, vnfc_configurable_properties=properties
    )


def with_properties(
    instance: VnfInstance,
    request: InstantiateVnfRequest
    | ChangeVnfFlavourRequest
    | ChangeCurrentVnfPkgRequest,
) -> VnfInstance:
    """Apply the extensions and configurable properties of a request."""
    return msgspec.structs.replace(
        instance,
        extensions=masked_patch.patched(
            instance.extensions, request.extensions
        ),
        vnf_configurable_properties=masked_patch.patched(
            instance.vnf_configurable_properties,
            request.vnf_configurable_properties,
        ),
    )


def changed(
    before: VnfInstance, after: VnfInstance
) -> VnfInfoModifications | None:
    """Return the changes that a modification made; None: nothing changed."""
    values: dict[str, Any] = {
        name: getattr(after, name)
        for name in (*REPLACED_ATTRIBUTES, *VNFD_ATTRIBUTES)
        if getattr(after, name) != getattr(before, name)
    }
    for name in MERGED_ATTRIBUTES:
        old, new = getattr(before, name), getattr(after, name)
        removed = dict.fromkeys(old.keys() - new.keys())
        values[name] = _entries(old, new) | removed
    modifications = VnfInfoModifications(
        **values,
        vim_connection_info=_entries(
            before.vim_connection_info, after.vim_connection_info
        ),
        vnfc_info_modifications=tuple(_changed_vnfcs(before, after)),
    )
    return None if modifications == VnfInfoModifications() else modifications


def _entries(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the entries that are new or changed."""
    return {
        name: value
        for name, value in after.items()
        if name not in before or before[name] != value
    }


def _changed_vnfcs(
    before: VnfInstance, after: VnfInstance
) -> Iterator[VnfcInfoModifications]:
    old = before.instantiated_vnf_info
    new = after.instantiated_vnf_info
    old_vnfcs = {vnfc.id: vnfc for vnfc in (old.vnfc_info if old else ())}
    for vnfc in new.vnfc_info if new else ():
        if vnfc.id not in old_vnfcs:
            continue  # a management script has replaced a VNFC
        had = old_vnfcs[vnfc.id].vnfc_configurable_properties
        has = vnfc.vnfc_configurable_properties
        if has != had:
            removed = dict.fromkeys(had.keys() - has.keys())
            yield VnfcInfoModifications(
                id=vnfc.id,
                vnfc_configurable_properties=_entries(had, has) | removed,
            )
