"""Convert requests of version 1 to version 2."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tacker_cnf import errors
from tacker_cnf.sol.common import (
    ExtVirtualLinkData,
    VimConnectionInfo,
    VnfExtCpConfig,
    VnfExtCpData,
)
from tacker_cnf.sol.lcm_request import (
    ChangeExtVnfConnectivityRequest,
    CreateVnfRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleVnfRequest,
    TerminateVnfRequest,
    TerminationType,
    VimConnectionInfoModification,
    VnfInfoModificationRequest,
)
from tacker_cnf.sol.subscription import LccnSubscriptionRequest
from tacker_cnf.sol.v1.conversion import vnfc_id
from tacker_cnf.sol.v1.lcm_request import (
    ChangeExtVnfConnectivityRequestV1,
    CreateVnfRequestV1,
    ExtVirtualLinkDataV1,
    HealVnfRequestV1,
    InstantiateVnfRequestV1,
    ScaleVnfRequestV1,
    TerminateVnfRequestV1,
    VimConnectionInfoDataV1,
    VimConnectionInfoModificationV1,
    VnfExtCpDataV1,
    VnfInfoModificationRequestV1,
)
from tacker_cnf.sol.v1.subscription import LccnSubscriptionRequestV1
from tacker_cnf.sol.vnf_instance import VnfInstance

#: additionalParams of a heal of VNFCs: whether their volumes are replaced too
INCLUDE_STORAGE: Final = "tacker_extension_heal_include_block_storage"
#: additionalParams of a heal in version 2 with the same meaning
ALL: Final = "all"
#: additionalParams of a scale, each a "True" or "False"
IS_REVERSE: Final = "is_reverse"
IS_AUTO: Final = "is_auto"
_KEYSTONE_V2: Final = "ETSINFV.OPENSTACK_KEYSTONE.V_2"
_KEYSTONE_V3: Final = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
#: vimType of version 1 -> vimType of version 2
_VIM_TYPES: Final[Mapping[str, str]] = {
    "openstack": _KEYSTONE_V3,
    _KEYSTONE_V2: _KEYSTONE_V3,
    "kubernetes": "ETSINFV.KUBERNETES.V_1",
}
#: the only domain of version 2 of Keystone
_DOMAINS: Final = {"userDomain": "Default", "projectDomain": "Default"}


def create(request: CreateVnfRequestV1) -> CreateVnfRequest:
    """Convert a request to create a VNF instance."""
    return CreateVnfRequest(
        vnfd_id=request.vnfd_id,
        vnf_instance_name=request.vnf_instance_name or None,
        vnf_instance_description=request.vnf_instance_description,
    )


def instantiate(request: InstantiateVnfRequestV1) -> InstantiateVnfRequest:
    """Convert a request to instantiate a VNF."""
    return InstantiateVnfRequest(
        flavour_id=request.flavour_id,
        instantiation_level_id=request.instantiation_level_id,
        ext_virtual_links=_links(request.ext_virtual_links),
        ext_managed_virtual_links=request.ext_managed_virtual_links,
        vim_connection_info=_vims(request.vim_connection_info),
        additional_params=request.additional_params,
    )


def terminate(request: TerminateVnfRequestV1) -> TerminateVnfRequest:
    """Convert a request to terminate a VNF; a timeout of 0 is no grace."""
    timeout = request.graceful_termination_timeout
    return TerminateVnfRequest(
        termination_type=TerminationType.FORCEFUL
        if timeout == 0
        else request.termination_type,
        graceful_termination_timeout=timeout or None,
        additional_params=request.additional_params,
    )


def heal(
    request: HealVnfRequestV1, instance: VnfInstance, *, heals_storage: bool
) -> HealVnfRequest:
    """Convert a request to heal a VNF or VNFCs of it.

    A heal of the whole VNF creates all of its resources again, one of VNFCs
    their storage too, unless the request excludes it.

    :param instance: whose VNFCs have the ids; unknown ids stay
    :param heals_storage: whether the driver can choose what is healed
    :raises InvalidParameters: an additional parameter is not valid
    """
    parameters = dict(request.additional_params)
    include_storage = parameters.pop(INCLUDE_STORAGE, True)
    if not isinstance(include_storage, bool):
        raise errors.InvalidParameters(
            f"additionalParams.{INCLUDE_STORAGE}: "
            f"{include_storage!r} is not valid; use true or false."
        )
    parameters.pop(ALL, None)
    names = vnfc_names(request)
    if heals_storage:
        parameters[ALL] = include_storage if names else True
    known = _vnfcs(instance)
    return HealVnfRequest(
        cause=request.cause,
        vnfc_instance_id=tuple(known.get(name, name) for name in names),
        additional_params=parameters,
    )


def vnfc_names(request: HealVnfRequestV1) -> tuple[str, ...]:
    """Return the VNFCs that a request names; (): the whole VNF."""
    names = request.vnfc_instance_id
    return (names,) if isinstance(names, str) else names


def _vnfcs(instance: VnfInstance) -> Mapping[str, str]:
    """Return the ids of the VNFCs of an instance: version 1 -> version 2."""
    info = instance.instantiated_vnf_info
    if info is None:
        return {}
    names = [
        *(vnfc.id for vnfc in info.vnfc_info),
        *(vnfc.id for vnfc in info.vnfc_resource_info),
    ]
    return {vnfc_id(instance.id, name): name for name in names}


def scale(
    request: ScaleVnfRequestV1, *, removes_newest: bool
) -> ScaleVnfRequest:
    """Convert a request to scale a VNF.

    :param removes_newest: whether the driver scales in by the newest VNFCs
    :raises InvalidParameters: an additional parameter is not valid
    """
    parameters = dict(request.additional_params)
    flags = {
        name: parameters.pop(name, "False") for name in (IS_REVERSE, IS_AUTO)
    }
    for name, value in flags.items():
        if value not in {"True", "False"}:
            raise errors.InvalidParameters(
                f'additionalParams.{name}: {value!r} is not valid; use "True" '
                'or "False".'
            )
    if flags[IS_REVERSE] == "True" and not removes_newest:
        raise errors.InvalidParameters(
            f"additionalParams.{IS_REVERSE}: this type of VIM chooses by "
            "itself which VNFCs it removes; leave the parameter out."
        )
    return ScaleVnfRequest(
        type=request.type,
        aspect_id=request.aspect_id,
        number_of_steps=request.number_of_steps,
        additional_params=parameters,
    )


def change_ext_conn(
    request: ChangeExtVnfConnectivityRequestV1,
) -> ChangeExtVnfConnectivityRequest:
    """Convert a request to change the external connectivity."""
    return ChangeExtVnfConnectivityRequest(
        ext_virtual_links=_links(request.ext_virtual_links),
        vim_connection_info=_vims(request.vim_connection_info),
        additional_params=request.additional_params,
    )


def modify(
    request: VnfInfoModificationRequestV1, vnfd_id: str | None
) -> VnfInfoModificationRequest:
    """Convert a request to modify a VNF instance.

    :param vnfd_id: the new VNFD; None: it stays
    :raises BadRequest: two entries of vimConnectionInfo have the same id
    """
    keys = [vim.id for vim in request.vim_connection_info]
    if len(keys) > len(set(keys)):
        raise errors.BadRequest(
            "vimConnectionInfo: two entries have the same id."
        )
    return VnfInfoModificationRequest(
        vnf_instance_name=request.vnf_instance_name or UNSET,
        vnf_instance_description=request.vnf_instance_description or UNSET,
        vnfd_id=vnfd_id or UNSET,
        metadata=request.metadata or UNSET,
        vim_connection_info={
            vim.id: _changed_vim(vim) for vim in request.vim_connection_info
        }
        or UNSET,
    )


def subscribe(request: LccnSubscriptionRequestV1) -> LccnSubscriptionRequest:
    """Convert a request to subscribe."""
    return LccnSubscriptionRequest(
        filter=request.filter,
        callback_uri=request.callback_uri,
        authentication=request.authentication,
    )


def _links(
    links: Iterable[ExtVirtualLinkDataV1],
) -> tuple[ExtVirtualLinkData, ...]:
    return tuple(
        ExtVirtualLinkData(
            **msgspec.structs.asdict(link)
            | {"ext_cps": tuple(map(_point, link.ext_cps))}
        )
        for link in links
    )


def _point(point: VnfExtCpDataV1) -> VnfExtCpData:
    (config,) = point.cp_config
    key = config.cp_instance_id or point.cpd_id
    cp_config: dict[str, VnfExtCpConfig | None] = {key: config.converted()}
    return VnfExtCpData(cpd_id=point.cpd_id, cp_config=cp_config)


def _vims(
    vims: Iterable[VimConnectionInfoDataV1],
) -> dict[str, VimConnectionInfo]:
    """Convert vimConnectionInfo; without address and vimId an entry stands for
    the default VIM, as no entry does.
    """
    return {
        vim.id: _vim(vim)
        for vim in vims
        if vim.vim_id or "endpoint" in vim.interface_info
    }


def _vim(vim: VimConnectionInfoDataV1) -> VimConnectionInfo:
    if vim.vim_id:
        region = vim.access_info.get("region")
        return VimConnectionInfo(
            vim_id=vim.vim_id,
            access_info={"region": region} if region else {},
        )
    defaults = _DOMAINS if vim.vim_type == _KEYSTONE_V2 else {}
    return VimConnectionInfo(
        vim_type=_VIM_TYPES.get(vim.vim_type, vim.vim_type),
        interface_info=vim.interface_info,
        access_info={**defaults, **_access(vim.access_info)},
        extra=vim.extra,
    )


def _access(access_info: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "project" if name == "tenant" else name: value
        for name, value in access_info.items()
    }


def _changed_vim(
    vim: VimConnectionInfoModificationV1,
) -> VimConnectionInfoModification:
    kind = None if vim.vim_id else vim.vim_type
    return VimConnectionInfoModification(
        vim_id=vim.vim_id or UNSET,
        vim_type=_VIM_TYPES.get(kind, kind) if kind else UNSET,
        interface_info=vim.interface_info or UNSET,
        access_info=_access(vim.access_info) or UNSET,
        extra=vim.extra or UNSET,
    )
