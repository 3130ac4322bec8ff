"""Management script for a Kubernetes cluster whose nodes are VMs of a VNF.

A VNF package contains a script of two lines::

    from tacker_cnf.mgmt_drivers.kubernetes_cluster import KubernetesCluster

    KubernetesCluster.main()

and its VNFD names this script for the hooks that are the methods here.
"""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm.operations.heal import Heal
from tacker_cnf.lcm.script_output import ProvidedVim
from tacker_cnf.mgmt_drivers.base import MgmtDriver
from tacker_cnf.mgmt_drivers.cluster import haproxy, snapshots, vim_clients
from tacker_cnf.mgmt_drivers.cluster import (
    installation_parameters as installation_param,
)
from tacker_cnf.mgmt_drivers.cluster.api import Api
from tacker_cnf.mgmt_drivers.cluster.host_keys import (
    HostKeyPolicy,
    HostKeys,
)
from tacker_cnf.mgmt_drivers.cluster.installation import NodeInstaller
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, Memory
from tacker_cnf.mgmt_drivers.cluster.node_join import NodeJoin
from tacker_cnf.mgmt_drivers.cluster.node_removal import NodeRemoval
from tacker_cnf.mgmt_drivers.cluster.ssh_pool import SshPool
from tacker_cnf.mgmt_drivers.cluster.stack_addresses import StackAddresses
from tacker_cnf.mgmt_drivers.cluster.steps import Steps
from tacker_cnf.mgmt_drivers.cluster.task import Task
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.sol.grant import ResourceDefinitionType
from tacker_cnf.sol.lcm_request import HealVnfRequest
from tacker_cnf.sol.vnf_instance import VnfInstance

#: share of the hook's timeout after which the script fails with an error of
#: its own, before it is killed without one
DEADLINE_SHARE: Final = 0.95
#: option of [openstack]
HOST_KEYS_OPTION: Final = "ssh_host_keys"
#: path on a master of the certificate of the cluster's CA
CA_PATH: Final = "/etc/kubernetes/pki/ca.crt"
#: prefix of the VIM's name if the request has none
VIM_NAME_PREFIX: Final = "kubernetes_vim"


class KubernetesCluster(MgmtDriver):
    """Creates a cluster of the VMs, and updates it when VMs change."""

    def instantiate_start(self, script_input: ScriptInput) -> None:
        """Validate the parameters, before any VM is created.

        :raises InvalidParameters: a parameter is not valid
        """
        with _HookRun(self, script_input):
            self.log("Parameters of the cluster validated")

    def instantiate_end(self, script_input: ScriptInput) -> None:
        """Create a cluster of the VMs, and register it as a VIM.

        :raises InfraError: a step failed
        """
        with _HookRun(self, script_input) as run:
            run.build()

    def heal_start(self, script_input: ScriptInput) -> None:
        """Remove the nodes that are to be healed; if that is the whole VNF,
        remove only the VIM.

        :raises InfraError: no master would stay, etcd would lose its quorum,
            or a step failed
        """
        request = msgspec.convert(script_input.request, HealVnfRequest)
        with _HookRun(self, script_input) as run:
            if request.vnfc_instance_id:
                requested = Heal().vnfcs(request, script_input.vnf_instance)
                run.remove_nodes((vnfc.id for vnfc in requested), is_heal=True)
            else:
                run.withdraw_vim()

    def heal_end(self, script_input: ScriptInput) -> None:
        """Join the nodes that were healed.

        :raises InfraError: a step failed
        """
        with _HookRun(self, script_input) as run:
            if run.memory.given_up:
                run.build()
            else:
                run.join_nodes()

    def scale_start(self, script_input: ScriptInput) -> None:
        """Remove the nodes whose VMs a scale in deletes.

        :raises InfraError: as heal_start
        """
        with _HookRun(self, script_input) as run:
            run.remove_nodes(_granted_removals(script_input))

    def scale_end(self, script_input: ScriptInput) -> None:
        """Join the VMs that a scale out has added.

        :raises InfraError: a step failed
        """
        with _HookRun(self, script_input) as run:
            run.join_nodes()

    def scale_rollback_start(self, script_input: ScriptInput) -> None:
        """Remove the nodes that a failed scale out has added.

        :raises InfraError: as heal_start
        """
        with _HookRun(self, script_input) as run:
            run.remove_foreign_nodes()

    def terminate_start(self, script_input: ScriptInput) -> None:  # noqa: ARG002
        """Remove the VIM, so that no VNF uses a cluster that is deleted."""
        self._withdraw_vim()

    def terminate_end(self, script_input: ScriptInput) -> None:
        """Delete all data of the cluster, and the copies of its snapshots."""
        self._withdraw_vim()
        copies = Path(script_input.state_dir) / snapshots.DIRECTORY
        shutil.rmtree(copies, ignore_errors=True)
        self.memory = {}

    def _withdraw_vim(self) -> None:
        memory = Memory.from_dict(self.memory)
        if memory.vim_name:
            self.vims[memory.vim_name] = None


class _HookRun:
    """One run of a hook.

    :raises InvalidParameters: k8s_cluster_installation_param is missing or
        not valid
    """

    def __init__(self, driver: MgmtDriver, script_input: ScriptInput) -> None:
        self._driver = driver
        self._instance = script_input.vnf_instance
        self._deadline = Deadline.within(script_input.timeout * DEADLINE_SHARE)
        self.memory = Memory.from_dict(driver.memory)
        self.memory.begin(
            script_input.vnf_lcm_op_occ_id,
            _vnfc_ids(script_input.vnf_instance),
        )
        self._parameter_values = installation_param.merge_parameters(
            self.memory.parameters,
            script_input.request.get("additionalParams"),
        )
        package = Path(script_input.package_dir)
        self._parameters = installation_param.read(
            self._parameter_values, package
        )
        self._vim_name = self._get_vim_name()
        self._script = installation_param.script(
            self._parameters, package, script_input.named_files
        )
        host_keys = HostKeys(
            HostKeyPolicy(
                script_input.driver_options.get(
                    HOST_KEYS_OPTION, HostKeyPolicy.REQUIRED
                )
            ),
            lambda: vim_clients.nova(self._instance, self._deadline),
            self._deadline,
        )
        self._ssh_pool = SshPool(
            self._parameters, self.memory, host_keys, self._deadline
        )
        self._task = Task(
            self._parameters,
            self.memory,
            self._ssh_pool,
            Steps(script_input.operation, self.memory, driver.log),
            self._deadline,
            Path(script_input.state_dir) / snapshots.DIRECTORY,
            driver.log,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        self._ssh_pool.close()
        if error is None:
            self.memory.parameters = installation_param.persistent_parameters(
                self.memory.parameters, self._parameter_values
            )
        else:
            self._driver.user_script_err_handling_data = (
                self._task.steps.to_dict()
            )
        self._driver.memory = self.memory.to_dict()

    def build(self) -> None:
        """Create a cluster of all VMs, and register it as a VIM."""
        addresses = StackAddresses(self._instance, self._deadline)
        nodes = addresses.nodes(self._parameters)
        api = self._api(addresses)
        NodeJoin(self._task, self._installer(addresses), api).build(nodes)
        self._register_vim(api)

    def join_nodes(self) -> None:
        """Join the VMs that the operation has added."""
        addresses = StackAddresses(self._instance, self._deadline)
        new = [
            node
            for node in addresses.nodes(self._parameters)
            if node.vnfc not in self.memory.before
        ]
        if new:
            installer = self._installer(addresses)
            NodeJoin(self._task, installer, self._api(addresses)).join(new)

    def remove_nodes(
        self, vnfcs: Iterable[str], *, is_heal: bool = False
    ) -> None:
        """Remove the nodes among some VNFCs, by their ids."""
        leaving = frozenset(vnfcs)
        if leaving:
            self._remove(lambda vnfc: vnfc in leaving, is_heal=is_heal)

    def remove_foreign_nodes(self) -> None:
        """Remove the nodes that are not VNFCs of the instance."""
        own_ids = frozenset(_vnfc_ids(self._instance))
        self._remove(lambda vnfc: vnfc not in own_ids)

    def _remove(
        self, is_leaving: Callable[[str], bool], *, is_heal: bool = False
    ) -> None:
        addresses = StackAddresses(self._instance, self._deadline)
        found = addresses.all_nodes(self._parameters, is_leaving)
        # data stored when a node joined takes precedence over the stack's; a
        # server that was deleted and never joined needs no removal
        known = {node.vnfc: node for node in found} | self.memory.nodes
        NodeRemoval(
            self._task, self._api(addresses), is_heal=is_heal
        ).remove_nodes(
            [node for vnfc, node in known.items() if is_leaving(vnfc)]
        )

    def withdraw_vim(self) -> None:
        """Remove the VIM of a cluster that is to be built from scratch."""
        self.memory.given_up = True
        if self.memory.vim_name:
            self._driver.vims[self.memory.vim_name] = None

    def _installer(self, addresses: StackAddresses) -> NodeInstaller:
        return NodeInstaller(
            self._script,
            self._parameters,
            addresses.cluster_address(self._parameters),
            addresses.external_address(self._parameters),
        )

    def _register_vim(self, api: Api) -> None:
        """Register the cluster as a VIM."""
        self._driver.vims[self._vim_name] = ProvidedVim(
            type="kubernetes", auth_url=api.url, auth_cred=api.credentials
        )
        self.memory.vim_name = self._vim_name

    def _api(self, addresses: StackAddresses) -> Api:
        address = addresses.external_address(self._parameters)
        return Api(
            f"https://{haproxy.url_host(address)}:{haproxy.PORT}",
            self.memory,
            self._deadline,
            self._create_credentials,
        )

    def _get_vim_name(self) -> str:
        name = (
            self._parameters.vim_name
            or f"{VIM_NAME_PREFIX}_{self._instance.id}"
        )
        if name in self._instance.vim_connection_info:
            raise errors.InvalidParameters(
                f"additionalParams.{installation_param.PARAMETER_NAME}.vim_name: "
                f"{name} is a key of the VNF's own vimConnectionInfo; choose "
                "another name."
            )
        return name

    def _create_credentials(self) -> dict[str, Any]:
        master = self._task.connect_any(self.memory.nodes_with_role(MASTER))
        token = self._task.kubectl(master).create_admin_token(self._deadline)
        ca_certificate = self._task.host(master).get(CA_PATH, as_root=True)
        return {"bearer_token": token, "ssl_ca_cert": ca_certificate.decode()}


def _vnfc_ids(instance: VnfInstance) -> tuple[str, ...]:
    info = instance.instantiated_vnf_info
    return tuple(vnfc.id for vnfc in (info.vnfc_resource_info if info else ()))


def _granted_removals(script_input: ScriptInput) -> list[str]:
    grant_request = script_input.grant_request
    return [
        definition.resource.resource_id
        for definition in (
            grant_request.remove_resources if grant_request else ()
        )
        if definition.type is ResourceDefinitionType.COMPUTE
        and definition.resource
    ]
