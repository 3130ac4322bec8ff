"""Looks after a Kubernetes cluster whose nodes are the VMs of a VNF.

A VNF package uses it by a script of its own::

    from tacker_cnf.mgmt_drivers.kubernetes_cluster import KubernetesCluster

    KubernetesCluster.main()

that its VNFD names for the hooks which are the methods here.
"""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import vnfcs
from tacker_cnf.lcm.scripted import ProvidedVim
from tacker_cnf.mgmt_drivers.base import MgmtDriver
from tacker_cnf.mgmt_drivers.cluster import haproxy, snapshots
from tacker_cnf.mgmt_drivers.cluster import (
    installation_parameters as installation_param,
)
from tacker_cnf.mgmt_drivers.cluster.api import Api
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

#: of the time that there is, how much is used before a clear word is said
DEADLINE_SHARE: Final = 0.95
#: on a master: the CA of the cluster
CA_PATH: Final = "/etc/kubernetes/pki/ca.crt"
#: what the VIM's name begins with where none is told
VIM_NAME_PREFIX: Final = "kubernetes_vim"


class KubernetesCluster(MgmtDriver):
    """Makes a cluster of the VMs, and keeps it one while they change."""

    def instantiate_start(self, script_input: ScriptInput) -> None:
        """Look at the parameters, before there are any VMs.

        :raises InvalidParameters: they are not valid
        """
        with _HookRun(self, script_input):
            self.log("The parameters of the cluster are valid")

    def instantiate_end(self, script_input: ScriptInput) -> None:
        """Make a cluster of the VMs, and register it as a VIM.

        :raises InfraError: a step failed
        """
        with _HookRun(self, script_input) as job:
            job.build()

    def heal_start(self, script_input: ScriptInput) -> None:
        """Take the nodes out that are to be healed; of a whole VNF only the
        VIM goes.

        :raises InfraError: no master would stay, etcd would lose its quorum,
            or a step failed
        """
        request = msgspec.convert(script_input.request, HealVnfRequest)
        with _HookRun(self, script_input) as job:
            if request.vnfc_instance_id:
                named = vnfcs.find_requested(
                    request, script_input.vnf_instance
                )
                job.remove_nodes((vnfc.id for vnfc in named), is_heal=True)
            else:
                job.withdraw_vim()

    def heal_end(self, script_input: ScriptInput) -> None:
        """Take the nodes in that were healed.

        :raises InfraError: a step failed
        """
        with _HookRun(self, script_input) as job:
            if job.memory.given_up:
                job.build()
            else:
                job.join_nodes()

    def scale_start(self, script_input: ScriptInput) -> None:
        """Take the nodes out that are to go.

        :raises InfraError: as heal_start
        """
        with _HookRun(self, script_input) as job:
            job.remove_nodes(_granted_removals(script_input))

    def scale_end(self, script_input: ScriptInput) -> None:
        """Take the nodes in that have come.

        :raises InfraError: a step failed
        """
        with _HookRun(self, script_input) as job:
            job.join_nodes()

    def scale_rollback_start(self, script_input: ScriptInput) -> None:
        """Take the nodes out that a failed scaling has brought.

        :raises InfraError: as heal_start
        """
        with _HookRun(self, script_input) as job:
            job.remove_foreign_nodes()

    def terminate_start(self, script_input: ScriptInput) -> None:  # noqa: ARG002
        """Let nobody come to a cluster that goes."""
        self._withdraw_vim()

    def terminate_end(self, script_input: ScriptInput) -> None:
        """Forget the cluster, and what its etcd held."""
        self._withdraw_vim()
        copies = Path(script_input.state_dir) / snapshots.DIRECTORY
        shutil.rmtree(copies, ignore_errors=True)
        self.memory = {}

    def _withdraw_vim(self) -> None:
        memory = Memory.from_dict(self.memory)
        if memory.vim_name:
            self.vims[memory.vim_name] = None


class _HookRun:
    """One hook at work.

    :raises InvalidParameters: how the nodes are reached and installed is not
        told, or not so that it can be done
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
        self._script = installation_param.script(self._parameters, package)
        self._ssh_pool = SshPool(self._parameters, self.memory, self._deadline)
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
        """Make a cluster of all VMs, and register it."""
        addresses = StackAddresses(self._instance, self._deadline)
        nodes = addresses.nodes(self._parameters)
        api = self._api(addresses)
        NodeJoin(self._task, self._installer(addresses), api).build(nodes)
        self._register_vim(api)

    def join_nodes(self) -> None:
        """Let those VMs join that were not there before the operation."""
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
        """Take those of some VNFCs out that are nodes."""
        leaving = frozenset(vnfcs)
        if leaving:
            self._remove(lambda vnfc: vnfc in leaving, is_heal=is_heal)

    def remove_foreign_nodes(self) -> None:
        """Take those out that are not the instance's any more."""
        own_ids = frozenset(_vnfc_ids(self._instance))
        self._remove(lambda vnfc: vnfc not in own_ids)

    def _remove(
        self, is_leaving: Callable[[str], bool], *, is_heal: bool = False
    ) -> None:
        addresses = StackAddresses(self._instance, self._deadline)
        found = addresses.all_nodes(self._parameters, is_leaving)
        # what was known of them when they joined counts; of who has gone by
        # now and never joined nothing is left to be done
        known = {node.vnfc: node for node in found} | self.memory.nodes
        NodeRemoval(
            self._task, self._api(addresses), is_heal=is_heal
        ).remove_nodes(
            [node for vnfc, node in known.items() if is_leaving(vnfc)]
        )

    def withdraw_vim(self) -> None:
        """Take the VIM of a cluster away that is made anew."""
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
                f"additionalParams.{installation_param.PARAMETER_NAME}.vim_name: the "
                f"VNF itself lives on a VIM that vimConnectionInfo names "
                f"{name}."
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
        one.resource.resource_id
        for one in (grant_request.remove_resources if grant_request else ())
        if one.type is ResourceDefinitionType.COMPUTE and one.resource
    ]
