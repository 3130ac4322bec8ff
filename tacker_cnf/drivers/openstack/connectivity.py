"""Maps the ports of VNFCs to internal and external virtual links."""

import collections
from collections.abc import Iterator, Mapping

from tacker_cnf.drivers.openstack import addresses
from tacker_cnf.drivers.openstack.stacks import PORT, Resource
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.connectivity import REQUEST_PORT_PREFIX
from tacker_cnf.sol.common import (
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    ResourceHandle,
    VnfExtCpConfig,
)
from tacker_cnf.sol.connection_point import (
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


class Links:
    """The virtual links of one VNF, filled by attaching its ports."""

    def __init__(
        self,
        state: State,
        flavour: Flavour,
        key: str,
        port_details: addresses.Ports,
    ) -> None:
        """Start without ports.

        :param key: key of the OpenStack in vimConnectionInfo
        :param port_details: the ports with known addresses
        """
        self._port_details = port_details
        self._flavour = flavour
        self._key = key
        self._external = {
            cp.cpd_id: link
            for link in state.ext_virtual_links
            for cp in link.ext_cps
        }
        self._ext_links = state.ext_virtual_links
        self._managed = {
            link.vnf_virtual_link_desc_id: link
            for link in state.ext_managed_virtual_links
        }
        #: CPD -> number of its configurations that VNFCs use
        self._used_configs: collections.Counter[str] = collections.Counter()
        self._vnfc_cps: dict[str, list[VnfcCpInfo]] = collections.defaultdict(
            list
        )
        self._ext_cp_infos: list[VnfExtCpInfo] = []
        #: id of an external link -> its ports
        self._ext_ports: dict[str, list[ExtLinkPortInfo]] = (
            collections.defaultdict(list)
        )
        #: virtual link of the VNFD -> its ports
        self._ports: dict[str, list[VnfLinkPortInfo]] = (
            collections.defaultdict(list)
        )

    def attach(
        self, cpd: str, vnfc: str, port: str, number: int | None = None
    ) -> None:
        """Attach a port that Heat created.

        :param number: index of the VNFC, if that selects its configuration
        """
        handle = self._handle(port)
        if cpd in self._external:
            key, config = self._config(cpd, number)
            self._attach_external(cpd, vnfc, port, handle, key, config)
        else:
            self._attach_internal(cpd, vnfc, port, handle)

    def attach_provided(
        self, cpd: str, vnfc: str, number: int | None = None
    ) -> None:
        """Attach the port that the request provided, if any.

        :param number: index of the VNFC, if that selects its configuration
        """
        if cpd in self._external:
            key, config = self._config(cpd, number)
            found = self._provided_port(self._external[cpd], config)
            if found:
                link_port, handle = found
                self._attach_external(
                    cpd, vnfc, link_port, handle, key, config
                )
            return
        link = self._flavour.connection_points[cpd].virtual_link
        managed = self._managed.get(link or "")
        position = self._used_configs[cpd]
        if managed and position < len(managed.vnf_link_port):
            self._used_configs[cpd] += 1
            provided = managed.vnf_link_port[position]
            port = f"{REQUEST_PORT_PREFIX}{provided.vnf_link_port_id}"
            self._attach_internal(cpd, vnfc, port, provided.resource_handle)

    def _config(
        self, cpd: str, number: int | None
    ) -> tuple[str, VnfExtCpConfig | None]:
        """Return the configuration of a CPD for a VNFC: by its number, or the
        next unused one. The last one is shared if there are too few.

        :returns: key in cpConfig, configuration
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
        if number is None:
            number = self._used_configs[cpd]
            self._used_configs[cpd] += 1
        return configs[min(number, len(configs) - 1)]

    def _provided_port(
        self, link: ExtVirtualLinkData, config: VnfExtCpConfig | None
    ) -> tuple[str, ResourceHandle] | None:
        for port in link.ext_link_ports:
            if config and port.id == config.link_port_id:
                return f"{REQUEST_PORT_PREFIX}{port.id}", port.resource_handle
        return None

    def _attach_external(
        self,
        cpd: str,
        vnfc: str,
        link_port: str,
        handle: ResourceHandle,
        config_id: str,
        config: VnfExtCpConfig | None,
    ) -> None:
        ext_cp = f"cp-{link_port}"
        port_details = self._port_details.get(handle.resource_id)
        protocols = addresses.protocol_info(port_details, config)
        self._ext_cp_infos.append(
            VnfExtCpInfo(
                id=ext_cp,
                cpd_id=cpd,
                cp_config_id=config_id,
                cp_protocol_info=protocols,
                ext_link_port_id=link_port,
                associated_vnfc_cp_id=_vnfc_cp_id(cpd, vnfc),
            )
        )
        self._ext_ports[self._external[cpd].id].append(
            ExtLinkPortInfo(
                id=link_port, resource_handle=handle, cp_instance_id=ext_cp
            )
        )
        self._vnfc_cps[vnfc].append(
            VnfcCpInfo(
                id=_vnfc_cp_id(cpd, vnfc),
                cpd_id=cpd,
                vnf_ext_cp_id=ext_cp,
                cp_protocol_info=protocols,
            )
        )

    def _attach_internal(
        self, cpd: str, vnfc: str, port: str, handle: ResourceHandle
    ) -> None:
        link = self._flavour.connection_points[cpd].virtual_link
        if link is not None:
            self._ports[link].append(
                VnfLinkPortInfo(
                    id=port,
                    resource_handle=handle,
                    cp_instance_id=_vnfc_cp_id(cpd, vnfc),
                    cp_instance_type=CpInstanceType.VNFC_CP,
                )
            )
        self._vnfc_cps[vnfc].append(
            VnfcCpInfo(
                id=_vnfc_cp_id(cpd, vnfc),
                cpd_id=cpd,
                cp_protocol_info=addresses.protocol_info(
                    self._port_details.get(handle.resource_id), None
                ),
                vnf_link_port_id=port if link is not None else None,
            )
        )

    def vnfc_cps(self, vnfc: str) -> tuple[VnfcCpInfo, ...]:
        order = list(self._flavour.connection_points)
        vnfc_cp_infos = self._vnfc_cps.get(vnfc, [])
        return tuple(
            sorted(vnfc_cp_infos, key=lambda p: order.index(p.cpd_id))
        )

    def ext_cps(self) -> tuple[VnfExtCpInfo, ...]:
        return tuple(self._ext_cp_infos)

    def external(self) -> tuple[ExtVirtualLinkInfo, ...]:
        return tuple(
            ExtVirtualLinkInfo(
                id=link.id,
                resource_handle=self._network(link),
                ext_link_ports=(
                    *self._ext_ports.get(link.id, ()),
                    *self._unused_ports(link),
                ),
                current_vnf_ext_cp_data=link.ext_cps,
            )
            for link in self._ext_links
        )

    def _unused_ports(
        self, link: ExtVirtualLinkData
    ) -> Iterator[ExtLinkPortInfo]:
        """Return the ports of the request that no VNFC uses yet; VNFCs that
        are added later use them.
        """
        used = {port.id for port in self._ext_ports.get(link.id, ())}
        referenced = {
            config.link_port_id
            for cp in link.ext_cps
            for config in cp.cp_config.values()
            if config is not None
        }
        for port in link.ext_link_ports:
            id_ = f"{REQUEST_PORT_PREFIX}{port.id}"
            if port.id in referenced and id_ not in used:
                yield ExtLinkPortInfo(
                    id=id_, resource_handle=port.resource_handle
                )

    def _unused_internal_ports(
        self, link: ExtManagedVirtualLinkData
    ) -> Iterator[VnfLinkPortInfo]:
        ports = self._ports.get(link.vnf_virtual_link_desc_id, ())
        used = {port.id for port in ports}
        for port in link.vnf_link_port:
            id_ = f"{REQUEST_PORT_PREFIX}{port.vnf_link_port_id}"
            if id_ not in used:
                yield VnfLinkPortInfo(
                    id=id_, resource_handle=port.resource_handle
                )

    def managed(self) -> tuple[ExtManagedVirtualLinkInfo, ...]:
        return tuple(
            ExtManagedVirtualLinkInfo(
                id=link.id,
                vnf_virtual_link_desc_id=name,
                network_resource=self._network(link),
                vnf_link_ports=(
                    *self._ports.get(name, ()),
                    *self._unused_internal_ports(link),
                ),
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
            vim_level_resource_type=PORT,
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


def _vnfc_cp_id(cpd: str, vnfc: str) -> str:
    return f"{cpd}-{vnfc}"
