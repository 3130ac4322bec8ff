"""The addresses of the nodes, read from the VNF's Heat stack."""

from collections.abc import Callable

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.inventory import SERVER
from tacker_cnf.drivers.openstack.stacks import NUMBER_SUFFIX, Resource
from tacker_cnf.mgmt_drivers.cluster import vim_clients
from tacker_cnf.mgmt_drivers.cluster.installation_parameters import (
    InstallationParameters,
    NodeGroup,
)
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, WORKER, Node
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance


class StackAddresses:
    """The addresses in the stack of a VNF instance.

    :raises InfraError: the stack does not exist, or Heat does not respond
    """

    def __init__(self, instance: VnfInstance, deadline: Deadline) -> None:
        info = instance.instantiated_vnf_info
        stack_id = info.metadata.get("stack_id") if info else None
        if not stack_id:
            raise errors.InfraError(
                f"VNF instance {instance.id} has no Heat stack in which the "
                "nodes of its cluster could be found."
            )
        self._instance = instance
        self._heat = vim_clients.heat(instance, deadline)
        self._stack = self._heat.find(str(stack_id))
        if self._stack is None:
            raise errors.InfraError(f"Heat has no stack {stack_id}.")
        self._tree = self._heat.tree(self._stack)

    def nodes(self, parameters: InstallationParameters) -> list[Node]:
        """List the VNFCs of the instance that are nodes or are to become
        nodes, in the instance's order.

        :raises InfraError: Heat has no address of a node
        """
        info = self._instance.instantiated_vnf_info
        return [
            self._node(parameters, group, self._server(vnfc))
            for vnfc in (info.vnfc_resource_info if info else ())
            if (group := parameters.group_of(vnfc.vdu_id)) is not None
        ]

    def all_nodes(
        self,
        parameters: InstallationParameters,
        matches: Callable[[str], bool],
    ) -> list[Node]:
        """List the servers of the stack that are nodes, also those that are
        not among the instance's VNFCs.

        :param matches: returns for a server's id whether to include it
        :raises InfraError: Heat has no address of a node
        """
        found = [
            (server, parameters.group_of(NUMBER_SUFFIX.sub("", server.name)))
            for server in self._tree.of_type(SERVER)
            if matches(server.physical_id)
        ]
        return [
            self._node(parameters, group, server)
            for server, group in found
            if group is not None
        ]

    def cluster_address(self, parameters: InstallationParameters) -> str:
        """Return the cluster's virtual IP address.

        :raises InfraError: Heat has no such address
        """
        return self._main_stack_address(parameters.master_node.cluster_cp_name)

    def external_address(self, parameters: InstallationParameters) -> str:
        """Return the cluster's address for clients outside of the network.

        :raises InfraError: Heat has no such address
        """
        masters = parameters.master_node
        return self._main_stack_address(
            masters.cluster_fip_name or masters.cluster_cp_name
        )

    def _node(
        self,
        parameters: InstallationParameters,
        group: NodeGroup,
        server: Resource,
    ) -> Node:
        is_master = group is parameters.master_node
        return Node(
            vnfc=server.physical_id,
            role=MASTER if is_master else WORKER,
            ssh=self._server_address(server, group.ssh_cp_name),
            address=self._server_address(server, group.nic_cp_name),
        )

    def _server(self, vnfc: VnfcResourceInfo) -> Resource:
        for server in self._tree.of_type(SERVER):
            if server.physical_id == vnfc.id:
                return server
        raise errors.InfraError(
            f"The stack has no server {vnfc.id} of VDU {vnfc.vdu_id}."
        )

    def _main_stack_address(self, name: str) -> str:
        assert self._stack is not None
        for resource in self._tree.resources:
            if (
                resource.name == name
                and resource.stack == self._stack.identity
            ):
                return self._address(resource)
        raise errors.InfraError(
            f"Stack {self._stack.identity} has no resource {name}."
        )

    def _server_address(self, server: Resource, name: str) -> str:
        resource = self._tree.find_for_server(name, server)
        if resource is not None:
            return self._address(resource)
        raise errors.InfraError(
            f"Stack {server.stack} of server {server.physical_id} has no "
            f"resource {name}."
        )

    def _address(self, resource: Resource) -> str:
        address = self._heat.address(resource)
        if address is not None:
            return address
        raise errors.InfraError(
            f"Heat has no address of {resource.name} in stack "
            f"{resource.stack}: its type is {resource.type}, its status "
            f"{resource.status}."
        )
