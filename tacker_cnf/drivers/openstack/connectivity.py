"""Which port of which VNFC is on which link, inside and outside of a VNF."""

import collections
from collections.abc import Collection, Mapping
from typing import Any, Final

from tacker_cnf.drivers.openstack.stacks import Resource
from tacker_cnf.lcm.connectivity import GIVEN
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import (
    CpProtocolData,
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    IpAddresses,
    ResourceHandle,
    VnfExtCpConfig,
)
from tacker_cnf.sol.connection_point import (
    CpProtocolInfo,
    IpAddressesInfo,
    IpOverEthernetAddressInfo,
    VnfcCpInfo,
    VnfExtCpInfo,
)
from tacker_cnf.sol.virtual_link import (
    CpInstanceType,
    ExtLinkPortInfo,
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
    VnfLinkPortInfo,
    VnfVirtualLinkResourceInfo,
)
from tacker_cnf.vnfd.model import Flavour

_PORT: Final = "OS::Neutron::Port"


class Links:
    """The links of one VNF, as its ports are attached to them."""

    def __init__(
        self,
        target: Target,
        flavour: Flavour,
        key: str,
        vnfcs: Collection[str],
    ) -> None:
        """Begin with no port.

        :param key: by which vimConnectionInfo names the OpenStack
        """
        self._flavour = flavour
        self._key = key
        self._external = {
            cp.cpd_id: link
            for link in target.ext_virtual_links
            for cp in link.ext_cps
        }
        self._ext_links = target.ext_virtual_links
        self._managed = {
            link.vnf_virtual_link_desc_id: link
            for link in target.ext_managed_virtual_links
        }
        self._vnfcs = vnfcs
        #: how many VNFCs took one of the configurations of a CPD
        self._taken: collections.Counter[str] = collections.Counter()
        self._points: dict[str, list[VnfcCpInfo]] = collections.defaultdict(
            list
        )
        self._ext_cps: list[VnfExtCpInfo] = []
        #: id of an external link -> its ports
        self._ext_ports: dict[str, list[ExtLinkPortInfo]] = (
            collections.defaultdict(list)
        )
        #: virtual link of the VNFD -> its ports
        self._ports: dict[str, list[VnfLinkPortInfo]] = (
            collections.defaultdict(list)
        )

    def attach(self, cpd: str, vnfc: str, port: str) -> None:
        """Attach a port that Heat has made."""
        handle = self._handle(port)
        if cpd in self._external:
            key, config = self._config(cpd)
            self._attach_outside(cpd, vnfc, port, handle, key, config)
        else:
            self._attach_inside(cpd, vnfc, port, handle)

    def attach_given(self, cpd: str, vnfc: str) -> None:
        """Attach a port that the request brought, if it brought one."""
        if cpd in self._external:
            key, config = self._config(cpd)
            found = self._given(self._external[cpd], config)
            if found:
                link_port, handle = found
                self._attach_outside(cpd, vnfc, link_port, handle, key, config)
            return
        link = self._flavour.connection_points[cpd].virtual_link
        managed = self._managed.get(link or "")
        number = self._taken[cpd]
        if managed and number < len(managed.vnf_link_port):
            self._taken[cpd] += 1
            given = managed.vnf_link_port[number]
            port = f"{GIVEN}{given.vnf_link_port_id}"
            self._attach_inside(cpd, vnfc, port, given.resource_handle)

    def _config(self, cpd: str) -> tuple[str, VnfExtCpConfig | None]:
        """Take the next configuration of a CPD; the last one again and again
        where there are fewer than VNFCs.
        """
        configs = [
            (key, config)
            for cp in self._external[cpd].ext_cps
            if cp.cpd_id == cpd
            for key, config in cp.cp_config.items()
            if config is not None
        ]
        if not configs:
            return cpd, None
        number = min(self._taken[cpd], len(configs) - 1)
        self._taken[cpd] += 1
        return configs[number]

    def _given(
        self, link: ExtVirtualLinkData, config: VnfExtCpConfig | None
    ) -> tuple[str, ResourceHandle] | None:
        for port in link.ext_link_ports:
            if config and port.id == config.link_port_id:
                return f"{GIVEN}{port.id}", port.resource_handle
        return None

    def _attach_outside(
        self,
        cpd: str,
        vnfc: str,
        link_port: str,
        handle: ResourceHandle,
        config_id: str,
        config: VnfExtCpConfig | None,
    ) -> None:
        ext_cp = f"cp-{link_port}"
        protocols = tuple(
            info
            for data in (config.cp_protocol_data if config else ())
            if (info := _protocol(data)) is not None
        )
        self._ext_cps.append(
            VnfExtCpInfo(
                id=ext_cp,
                cpd_id=cpd,
                cp_config_id=config_id,
                cp_protocol_info=protocols,
                ext_link_port_id=link_port,
                associated_vnfc_cp_id=_point_id(cpd, vnfc),
            )
        )
        self._ext_ports[self._external[cpd].id].append(
            ExtLinkPortInfo(
                id=link_port, resource_handle=handle, cp_instance_id=ext_cp
            )
        )
        self._points[vnfc].append(
            VnfcCpInfo(
                id=_point_id(cpd, vnfc),
                cpd_id=cpd,
                vnf_ext_cp_id=ext_cp,
                cp_protocol_info=protocols,
            )
        )

    def _attach_inside(
        self, cpd: str, vnfc: str, port: str, handle: ResourceHandle
    ) -> None:
        link = self._flavour.connection_points[cpd].virtual_link
        if link is not None:
            self._ports[link].append(
                VnfLinkPortInfo(
                    id=port,
                    resource_handle=handle,
                    cp_instance_id=_point_id(cpd, vnfc),
                    cp_instance_type=CpInstanceType.VNFC_CP,
                )
            )
        self._points[vnfc].append(
            VnfcCpInfo(
                id=_point_id(cpd, vnfc),
                cpd_id=cpd,
                vnf_link_port_id=port if link is not None else None,
            )
        )

    def points_of(self, vnfc: str) -> tuple[VnfcCpInfo, ...]:
        order = list(self._flavour.connection_points)
        points = self._points.get(vnfc, [])
        return tuple(sorted(points, key=lambda p: order.index(p.cpd_id)))

    def ext_cps(self) -> tuple[VnfExtCpInfo, ...]:
        return tuple(self._ext_cps)

    def external(self) -> tuple[ExtVirtualLinkInfo, ...]:
        return tuple(
            ExtVirtualLinkInfo(
                id=link.id,
                resource_handle=self._network(link),
                ext_link_ports=tuple(self._ext_ports.get(link.id, ())),
                current_vnf_ext_cp_data=link.ext_cps,
            )
            for link in self._ext_links
        )

    def managed(self) -> tuple[ExtManagedVirtualLinkInfo, ...]:
        return tuple(
            ExtManagedVirtualLinkInfo(
                id=link.id,
                vnf_virtual_link_desc_id=name,
                network_resource=self._network(link),
                vnf_link_ports=tuple(self._ports.get(name, ())),
                ext_managed_multisite_virtual_link_id=(
                    link.ext_managed_multisite_virtual_link_id
                ),
            )
            for name, link in self._managed.items()
        )

    def internal(
        self, nets: Mapping[str, Resource]
    ) -> tuple[VnfVirtualLinkResourceInfo, ...]:
        return tuple(
            VnfVirtualLinkResourceInfo(
                id=net.physical_id,
                vnf_virtual_link_desc_id=name,
                network_resource=ResourceHandle(
                    vim_connection_id=self._key,
                    resource_id=net.physical_id,
                    vim_level_resource_type=net.type,
                ),
                vnf_link_ports=tuple(self._ports.get(name, ())),
                metadata={"stack_id": net.stack},
            )
            for name, net in nets.items()
            if name not in self._managed
        )

    def _handle(self, port: str) -> ResourceHandle:
        return ResourceHandle(
            vim_connection_id=self._key,
            resource_id=port,
            vim_level_resource_type=_PORT,
        )

    def _network(
        self, link: ExtVirtualLinkData | ExtManagedVirtualLinkData
    ) -> ResourceHandle:
        return ResourceHandle(
            vim_connection_id=link.vim_connection_id or self._key,
            resource_provider_id=link.resource_provider_id,
            resource_id=link.resource_id,
            vim_level_resource_type="OS::Neutron::Net",
        )


def _point_id(cpd: str, vnfc: str) -> str:
    return f"{cpd}-{vnfc}"


def _protocol(data: CpProtocolData) -> CpProtocolInfo | None:
    """Tell what was fixed of a connection point; what Neutron chooses is not
    known here.
    """
    asked = data.ip_over_ethernet
    if asked is None:
        return None
    addresses = tuple(
        info for a in asked.ip_addresses if (info := _addresses(a)) is not None
    )
    if not (asked.mac_address or addresses):
        return None
    return CpProtocolInfo(
        layer_protocol=data.layer_protocol,
        ip_over_ethernet=IpOverEthernetAddressInfo(
            mac_address=asked.mac_address,
            segmentation_id=asked.segmentation_id,
            ip_addresses=addresses,
        ),
    )


def _addresses(asked: IpAddresses) -> IpAddressesInfo | None:
    given: dict[str, Any] = {"type": asked.type, "subnet_id": asked.subnet_id}
    if asked.fixed_addresses:
        return IpAddressesInfo(
            addresses=asked.fixed_addresses, is_dynamic=False, **given
        )
    if asked.address_range:
        return IpAddressesInfo(address_range=asked.address_range, **given)
    return None
