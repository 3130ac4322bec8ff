"""Where the nodes are: what Heat knows of the VMs of a VNF."""

from collections.abc import Callable
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.clouds import Clouds
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.inventory import SERVER
from tacker_cnf.drivers.openstack.stacks import NUMBER_SUFFIX, Resource
from tacker_cnf.drivers.retry_policy import RetryPolicy
from tacker_cnf.mgmt_drivers.cluster.installation_parameters import (
    NodeGroup,
    Parameters,
)
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, WORKER, Node
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance

#: seconds for each answer, for the first contact, and that Heat may be away
REQUEST_TIMEOUT_S: Final = 30.0
CONTACT_TIMEOUT_S: Final = 10.0
OUTAGE_TIMEOUT_S: Final = 60.0


class StackAddresses:
    """The addresses in the stack of a VNF instance.

    :raises InfraError: there is no such stack, or Heat does not answer
    """

    def __init__(self, instance: VnfInstance, deadline: Deadline) -> None:
        info = instance.instantiated_vnf_info
        stack_id = info.metadata.get("stack_id") if info else None
        if not stack_id:
            raise errors.InfraError(
                f"VNF instance {instance.id} is no stack of Heat: the nodes "
                "of its cluster cannot be found."
            )
        self._instance = instance
        self._heat = _heat(instance, deadline)
        self._stack = self._heat.find(str(stack_id))
        if self._stack is None:
            raise errors.InfraError(f"Heat has no stack {stack_id}.")
        self._tree = self._heat.tree(self._stack)

    def nodes(self, parameters: Parameters) -> list[Node]:
        """Find the VMs that are nodes or are to become nodes, in the order in
        which the instance has them.

        :raises InfraError: Heat does not know an address of one
        """
        info = self._instance.instantiated_vnf_info
        return [
            self._node(parameters, group, self._server(vnfc))
            for vnfc in (info.vnfc_resource_info if info else ())
            if (group := parameters.group_of(vnfc.vdu_id)) is not None
        ]

    def all_nodes(
        self, parameters: Parameters, matches: Callable[[str], bool]
    ) -> list[Node]:
        """Find those VMs of the stack that are nodes, also such as the
        instance does not have (yet).

        :param matches: tells by a server's id whether it is one of them
        :raises InfraError: Heat does not know an address of one
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

    def cluster_address(self, parameters: Parameters) -> str:
        """Tell the cluster's own address.

        :raises InfraError: Heat does not know it
        """
        return self._main_stack_address(parameters.master_node.cluster_cp_name)

    def external_address(self, parameters: Parameters) -> str:
        """Tell by which address the cluster is reached from outside.

        :raises InfraError: Heat does not know it
        """
        masters = parameters.master_node
        return self._main_stack_address(
            masters.cluster_fip_name or masters.cluster_cp_name
        )

    def _node(
        self, parameters: Parameters, group: NodeGroup, server: Resource
    ) -> Node:
        is_master = group is parameters.master_node
        return Node(
            vnfc=server.physical_id,
            role=MASTER if is_master else WORKER,
            ssh=self._server_address(server, group.ssh_cp_name),
            address=self._server_address(server, group.nic_cp_name),
        )

    def _server(self, vnfc: VnfcResourceInfo) -> Resource:
        for one in self._tree.of_type(SERVER):
            if one.physical_id == vnfc.id:
                return one
        raise errors.InfraError(
            f"Heat does not know server {vnfc.id} of VDU {vnfc.vdu_id}."
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
            f"Stack {server.stack}, in which server {server.physical_id} is, "
            f"has no resource {name}."
        )

    def _address(self, resource: Resource) -> str:
        address = self._heat.address(resource)
        if address is not None:
            return address
        raise errors.InfraError(
            f"Heat knows no address of {resource.name} in stack "
            f"{resource.stack}: it is {resource.type}, {resource.status}."
        )


def _heat(instance: VnfInstance, deadline: Deadline) -> Heat:
    connection = next(iter(instance.vim_connection_info.values()), None)
    if connection is None or not connection.access_info:
        raise errors.InfraError(
            "This script is not told how to log in to the VIM of its VNF: "
            "[scripts] vim_credentials has to be true."
        )
    retry_policy = RetryPolicy(
        deadline,
        contact_timeout=CONTACT_TIMEOUT_S,
        outage_timeout=OUTAGE_TIMEOUT_S,
    )
    return Clouds(REQUEST_TIMEOUT_S).connect(connection, retry_policy)
