"""Change the external connectivity of a VNF (SOL003 5.4.11)."""

from collections.abc import Iterator

import msgspec

from tacker_cnf.lcm import connectivity, grant_resources
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.lcm.operations.base import (
    GrantChanges,
    Modifications,
    Operation,
)
from tacker_cnf.sol.connection_point import VnfcCpInfo
from tacker_cnf.sol.lcm_request import ChangeExtVnfConnectivityRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd.model import Flavour, Vnfd


class ChangeExtConnectivity(Operation[ChangeExtVnfConnectivityRequest]):
    """Connection points of the VNF move to other networks or ports."""

    kind = LcmOperationType.CHANGE_EXT_CONN
    summary = "Change the external connectivity of a VNF."
    request_type = ChangeExtVnfConnectivityRequest
    hook = "change_external_connectivity"
    moves_links = True

    def changed(
        self,
        request: ChangeExtVnfConnectivityRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> State:
        """Return the current state with other external links.

        :raises InvalidParameters: a connection point does not exist
        """
        links = connectivity.changed(
            current.ext_virtual_links, request.ext_virtual_links
        )
        flavour = flavour_of(vnfd, current.flavour_id)
        connectivity.check(request.ext_virtual_links, flavour)
        return msgspec.structs.replace(current, ext_virtual_links=links)

    def grant_changes(
        self,
        request: ChangeExtVnfConnectivityRequest,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> GrantChanges:
        """Return the ports that are exchanged, and their servers."""
        info = instance.instantiated_vnf_info
        if info is None:
            return GrantChanges()
        moves = tuple(_moved_connection_points(request, instance))
        provided_cpds = _provided_cpds(request)
        moved = {vnfc.id: vnfc for vnfc, _ in moves}.values()
        return GrantChanges(
            add=[
                grant_resources.port(point.cpd_id, vnfc.vdu_id)
                for vnfc, point in moves
                if point.cpd_id not in provided_cpds
            ],
            remove=[
                port
                for vnfc, point in moves
                for port in grant_resources.ports_of(vnfc, info, [point])
            ],
            update=[*map(grant_resources.compute_of, moved)],
        )

    def modifications(
        self, before: VnfInstance, after: VnfInstance
    ) -> Modifications:
        """Return the external links after the change."""
        info = after.instantiated_vnf_info
        return Modifications(
            changed_ext_connectivity=info.ext_virtual_link_info
            if info
            else None
        )


def _moved_connection_points(
    request: ChangeExtVnfConnectivityRequest, instance: VnfInstance
) -> Iterator[tuple[VnfcResourceInfo, VnfcCpInfo]]:
    """List the connection points that move to another port."""
    info = instance.instantiated_vnf_info
    links = request.ext_virtual_links
    cpds = {cp.cpd_id for link in links for cp in link.ext_cps}
    for vnfc in info.vnfc_resource_info if info else ():
        for point in vnfc.vnfc_cp_info:
            if point.cpd_id in cpds:
                yield vnfc, point


def _provided_cpds(request: ChangeExtVnfConnectivityRequest) -> frozenset[str]:
    """Return the connection points whose ports the request provides."""
    return frozenset(
        cp.cpd_id
        for link in request.ext_virtual_links
        for cp in link.ext_cps
        if {config.link_port_id for config in cp.cp_config.values() if config}
        <= {port.id for port in link.ext_link_ports}
    )
