"""Convert values of version 2 to version 1."""

import uuid
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import ResourceHandle, VimConnectionInfo
from tacker_cnf.sol.connection_point import (
    CpProtocolInfo,
    IpOverEthernetAddressInfo,
)
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.v1.resources import (
    CpProtocolInfoV1,
    ExtLinkPortInfoV1,
    ExtManagedVirtualLinkInfoV1,
    ExtVirtualLinkInfoV1,
    IpAddressesInfoV1,
    IpOverEthernetAddressInfoV1,
    ResourceHandleV1,
    VimConnectionInfoV1,
    VirtualStorageResourceInfoV1,
    VnfcCpInfoV1,
    VnfcInfoV1,
    VnfcResourceInfoV1,
    VnfExtCpInfoV1,
    VnfLinkPortInfoV1,
    VnfVirtualLinkResourceInfoV1,
)
from tacker_cnf.sol.v1.vnf_instance import InstantiatedVnfInfoV1, ScaleInfoV1
from tacker_cnf.sol.v1.vnf_lcm_op_occ import (
    AffectedVirtualLinkV1,
    AffectedVirtualStorageV1,
    AffectedVnfcV1,
    ResourceChangesV1,
    VnfInfoModificationsV1,
)
from tacker_cnf.sol.virtual_link import (
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
    VnfVirtualLinkResourceInfo,
)
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo, VnfcResourceInfo
from tacker_cnf.sol.vnf_lcm_op_occ import ResourceChanges

T = TypeVar("T", bound=SolType)

#: never change it: clients keep the ids that are derived from it
_VNFC_IDS: Final = uuid.UUID("37c8855e-eaa3-5094-ba08-112f10eb19d0")


def vnfc_id(instance_id: str, name: str) -> str:
    """Return the id of a VNFC in version 1.

    It follows from the instance and the id in version 2: that of a
    vnfcResourceInfo is unique in its instance. A VNFC that is created again
    gets another id.
    """
    return str(uuid.uuid5(_VNFC_IDS, f"{instance_id}/{name}"))


def _copied(value: SolType, kind: type[T], **attributes: Any) -> T:
    """Return a value of another type: with these attributes, and with the
    others as they are.
    """
    others = {
        name: getattr(value, name)
        for name in kind.__struct_fields__
        if name not in attributes
    }
    return kind(**others, **attributes)


def vim_connections(
    connections: Mapping[str, VimConnectionInfo],
) -> tuple[VimConnectionInfoV1, ...]:
    """Convert vimConnectionInfo, in the same order."""
    return tuple(
        _copied(connection, VimConnectionInfoV1, id=key)
        for key, connection in connections.items()
    )


def _handle(value: ResourceHandle) -> ResourceHandleV1:
    return _copied(value, ResourceHandleV1)


def _protocols(
    values: tuple[CpProtocolInfo, ...],
) -> tuple[CpProtocolInfoV1, ...]:
    return tuple(map(_protocol, values))


def _protocol(value: CpProtocolInfo) -> CpProtocolInfoV1:
    ethernet = value.ip_over_ethernet
    return CpProtocolInfoV1(
        layer_protocol=value.layer_protocol,
        ip_over_ethernet=_ethernet(ethernet) if ethernet else None,
    )


def _ethernet(value: IpOverEthernetAddressInfo) -> IpOverEthernetAddressInfoV1:
    return IpOverEthernetAddressInfoV1(
        mac_address=value.mac_address,
        ip_addresses=tuple(
            _copied(addresses, IpAddressesInfoV1)
            for addresses in value.ip_addresses
        ),
    )


def external_links(
    links: tuple[ExtVirtualLinkInfo, ...],
) -> tuple[ExtVirtualLinkInfoV1, ...]:
    """Convert external virtual links."""
    return tuple(
        ExtVirtualLinkInfoV1(
            id=link.id,
            resource_handle=_handle(link.resource_handle),
            ext_link_ports=tuple(
                _copied(
                    port,
                    ExtLinkPortInfoV1,
                    resource_handle=_handle(port.resource_handle),
                )
                for port in link.ext_link_ports
            ),
        )
        for link in links
    )


def _internal_link(
    link: VnfVirtualLinkResourceInfo | ExtManagedVirtualLinkInfo,
    kind: type[T],
) -> T:
    return _copied(
        link,
        kind,
        network_resource=_handle(link.network_resource),
        vnf_link_ports=tuple(
            _copied(
                port,
                VnfLinkPortInfoV1,
                resource_handle=_handle(port.resource_handle),
            )
            for port in link.vnf_link_ports
        ),
    )


def _vnfc(vnfc: VnfcResourceInfo, instance_id: str) -> VnfcResourceInfoV1:
    return _copied(
        vnfc,
        VnfcResourceInfoV1,
        id=vnfc_id(instance_id, vnfc.id),
        compute_resource=_handle(vnfc.compute_resource),
        vnfc_cp_info=tuple(
            _copied(
                point,
                VnfcCpInfoV1,
                cp_protocol_info=_protocols(point.cp_protocol_info),
            )
            for point in vnfc.vnfc_cp_info
        ),
    )


def instantiated_info(
    info: InstantiatedVnfInfo,
    instance_id: str,
    additional_params: Mapping[str, Any],
) -> InstantiatedVnfInfoV1:
    """Convert instantiatedVnfInfo.

    :param additional_params: those of the request to instantiate
    """
    return InstantiatedVnfInfoV1(
        flavour_id=info.flavour_id,
        vnf_state=info.vnf_state,
        scale_status=tuple(
            _copied(scale, ScaleInfoV1) for scale in info.scale_status
        ),
        ext_cp_info=tuple(
            _copied(
                point,
                VnfExtCpInfoV1,
                cp_protocol_info=_protocols(point.cp_protocol_info),
            )
            for point in info.ext_cp_info
        ),
        ext_virtual_link_info=external_links(info.ext_virtual_link_info),
        ext_managed_virtual_link_info=tuple(
            _internal_link(link, ExtManagedVirtualLinkInfoV1)
            for link in info.ext_managed_virtual_link_info
        ),
        vnfc_resource_info=tuple(
            _vnfc(vnfc, instance_id) for vnfc in info.vnfc_resource_info
        ),
        vnf_virtual_link_resource_info=tuple(
            _internal_link(link, VnfVirtualLinkResourceInfoV1)
            for link in info.vnf_virtual_link_resource_info
        ),
        virtual_storage_resource_info=tuple(
            _copied(
                storage,
                VirtualStorageResourceInfoV1,
                storage_resource=_handle(storage.storage_resource),
            )
            for storage in info.virtual_storage_resource_info
        ),
        vnfc_info=tuple(
            _copied(vnfc, VnfcInfoV1, id=vnfc_id(instance_id, vnfc.id))
            for vnfc in info.vnfc_info
        ),
        additional_params=dict(additional_params),
    )


def resource_changes(
    changes: ResourceChanges, instance_id: str
) -> ResourceChangesV1:
    """Convert the changed resources of an operation."""
    return ResourceChangesV1(
        affected_vnfcs=tuple(
            _copied(
                vnfc,
                AffectedVnfcV1,
                id=vnfc_id(instance_id, vnfc.id),
                compute_resource=_handle(vnfc.compute_resource),
            )
            for vnfc in changes.affected_vnfcs
        ),
        affected_virtual_links=tuple(
            _copied(
                link,
                AffectedVirtualLinkV1,
                network_resource=_handle(link.network_resource),
            )
            for link in changes.affected_virtual_links
        ),
        affected_virtual_storages=tuple(
            _copied(
                storage,
                AffectedVirtualStorageV1,
                storage_resource=_handle(storage.storage_resource),
            )
            for storage in changes.affected_virtual_storages
        ),
    )


def changed_info(
    value: VnfInfoModifications, package_id: str | None = None
) -> VnfInfoModificationsV1:
    """Convert the changed attributes of a VNF instance.

    :param package_id: the package of a changed VNFD
    """
    return _copied(
        value,
        VnfInfoModificationsV1,
        vnf_pkg_id=package_id,
        vim_connection_info=vim_connections(value.vim_connection_info),
    )
