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
from tacker_cnf.halting import Deadline
from tacker_cnf.lcm import vnfcs
from tacker_cnf.lcm.scripted import ProvidedVim
from tacker_cnf.mgmt_drivers.base import MgmtDriver
from tacker_cnf.mgmt_drivers.cluster import haproxy, snapshots
from tacker_cnf.mgmt_drivers.cluster import parameters as installation_param
from tacker_cnf.mgmt_drivers.cluster.api import Api
from tacker_cnf.mgmt_drivers.cluster.arriving import Arriving
from tacker_cnf.mgmt_drivers.cluster.installation import Installation
from tacker_cnf.mgmt_drivers.cluster.leaving import Leaving
from tacker_cnf.mgmt_drivers.cluster.machines import Machines
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, Memory
from tacker_cnf.mgmt_drivers.cluster.stack import Addresses
from tacker_cnf.mgmt_drivers.cluster.steps import Steps
from tacker_cnf.mgmt_drivers.cluster.task import Task
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.sol.grant import ResourceDefinitionType
from tacker_cnf.sol.lcm_request import HealVnfRequest
from tacker_cnf.sol.vnf_instance import VnfInstance

#: of the time that there is, how much is used before a clear word is said
SHARE: Final = 0.95
#: on a master: the CA of the cluster
AUTHORITY: Final = "/etc/kubernetes/pki/ca.crt"
#: what the VIM's name begins with where none is told
VIM_NAME: Final = "kubernetes_vim"


class KubernetesCluster(MgmtDriver):
    """Makes a cluster of the VMs, and keeps it one while they change."""

    def instantiate_start(self, told: ScriptInput) -> None:
        """Look at the parameters, before there are any VMs.

        :raises InvalidParameters: they are not valid
        """
        with _Job(self, told):
            self.log("The parameters of the cluster are valid")

    def instantiate_end(self, told: ScriptInput) -> None:
        """Make a cluster of the VMs, and register it as a VIM.

        :raises InfraError: a step failed
        """
        with _Job(self, told) as job:
            job.build()

    def heal_start(self, told: ScriptInput) -> None:
        """Take the nodes out that are to be healed; of a whole VNF only the
        VIM goes.

        :raises InfraError: no master would stay, etcd would lose its quorum,
            or a step failed
        """
        request = msgspec.convert(told.request, HealVnfRequest)
        with _Job(self, told) as job:
            if request.vnfc_instance_id:
                named = vnfcs.named(request, told.vnf_instance)
                job.take_out((vnfc.id for vnfc in named), heals=True)
            else:
                job.give_up()

    def heal_end(self, told: ScriptInput) -> None:
        """Take the nodes in that were healed.

        :raises InfraError: a step failed
        """
        with _Job(self, told) as job:
            if job.memory.given_up:
                job.build()
            else:
                job.take_in()

    def scale_start(self, told: ScriptInput) -> None:
        """Take the nodes out that are to go.

        :raises InfraError: as heal_start
        """
        with _Job(self, told) as job:
            job.take_out(_granted_to_go(told))

    def scale_end(self, told: ScriptInput) -> None:
        """Take the nodes in that have come.

        :raises InfraError: a step failed
        """
        with _Job(self, told) as job:
            job.take_in()

    def scale_rollback_start(self, told: ScriptInput) -> None:
        """Take the nodes out that a failed scaling has brought.

        :raises InfraError: as heal_start
        """
        with _Job(self, told) as job:
            job.take_out_strangers()

    def terminate_start(self, told: ScriptInput) -> None:  # noqa: ARG002
        """Let nobody come to a cluster that goes."""
        self._withdraw()

    def terminate_end(self, told: ScriptInput) -> None:
        """Forget the cluster, and what its etcd held."""
        self._withdraw()
        copies = Path(told.state_dir) / snapshots.FOLDER
        shutil.rmtree(copies, ignore_errors=True)
        self.memory = {}

    def _withdraw(self) -> None:
        memory = Memory.of(self.memory)
        if memory.vim_name:
            self.vims[memory.vim_name] = None


class _Job:
    """One hook at work.

    :raises InvalidParameters: how the nodes are reached and installed is not
        told, or not so that it can be done
    """

    def __init__(self, driver: MgmtDriver, told: ScriptInput) -> None:
        self._driver = driver
        self._instance = told.vnf_instance
        self._deadline = Deadline.within(told.timeout * SHARE)
        self.memory = Memory.of(driver.memory)
        self.memory.begin(told.vnf_lcm_op_occ_id, _of(told.vnf_instance))
        self._told = installation_param.merged(
            self.memory.parameters, told.request.get("additionalParams")
        )
        package = Path(told.package_dir)
        self._parameters = installation_param.read(self._told, package)
        self._vim_name = self._name_of_vim()
        self._script = installation_param.script(self._parameters, package)
        self._machines = Machines(
            self._parameters, self.memory, self._deadline
        )
        self._task = Task(
            self._parameters,
            self.memory,
            self._machines,
            Steps(told.operation, self.memory, driver.log),
            self._deadline,
            Path(told.state_dir) / snapshots.FOLDER,
            driver.log,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        self._machines.close()
        if error is None:
            self.memory.parameters = installation_param.lasting(
                self.memory.parameters, self._told
            )
        else:
            self._driver.user_script_err_handling_data = (
                self._task.steps.told()
            )
        self._driver.memory = self.memory.told()

    def build(self) -> None:
        """Make a cluster of all VMs, and register it."""
        addresses = Addresses(self._instance, self._deadline)
        nodes = addresses.nodes(self._parameters)
        api = self._api(addresses)
        Arriving(self._task, self._installation(addresses), api).build(nodes)
        self._provide(api)

    def take_in(self) -> None:
        """Let those VMs join that were not there before the operation."""
        addresses = Addresses(self._instance, self._deadline)
        new = [
            node
            for node in addresses.nodes(self._parameters)
            if node.vnfc not in self.memory.before
        ]
        if new:
            make = self._installation(addresses)
            Arriving(self._task, make, self._api(addresses)).join(new)

    def take_out(self, vnfcs: Iterable[str], *, heals: bool = False) -> None:
        """Take those of some VNFCs out that are nodes."""
        wanted = frozenset(vnfcs)
        if wanted:
            self._leave(lambda vnfc: vnfc in wanted, heals=heals)

    def take_out_strangers(self) -> None:
        """Take those out that are not the instance's any more."""
        ours = frozenset(_of(self._instance))
        self._leave(lambda vnfc: vnfc not in ours)

    def _leave(
        self, leaves: Callable[[str], bool], *, heals: bool = False
    ) -> None:
        addresses = Addresses(self._instance, self._deadline)
        found = addresses.all_nodes(self._parameters, leaves)
        # what was known of them when they joined counts; of who has gone by
        # now and never joined nothing is left to be done
        known = {node.vnfc: node for node in found} | self.memory.nodes
        Leaving(self._task, self._api(addresses), heals=heals).take_out(
            [node for vnfc, node in known.items() if leaves(vnfc)]
        )

    def give_up(self) -> None:
        """Take the VIM of a cluster away that is made anew."""
        self.memory.given_up = True
        if self.memory.vim_name:
            self._driver.vims[self.memory.vim_name] = None

    def _installation(self, addresses: Addresses) -> Installation:
        return Installation(
            self._script,
            self._parameters,
            addresses.of_cluster(self._parameters),
            addresses.from_outside(self._parameters),
        )

    def _provide(self, api: Api) -> None:
        """Register the cluster as a VIM."""
        self._driver.vims[self._vim_name] = ProvidedVim(
            type="kubernetes", auth_url=api.url, auth_cred=api.credentials
        )
        self.memory.vim_name = self._vim_name

    def _api(self, addresses: Addresses) -> Api:
        address = addresses.from_outside(self._parameters)
        return Api(
            f"https://{haproxy.bracketed(address)}:{haproxy.PORT}",
            self.memory,
            self._deadline,
            self._log_in,
        )

    def _name_of_vim(self) -> str:
        name = self._parameters.vim_name or f"{VIM_NAME}_{self._instance.id}"
        if name in self._instance.vim_connection_info:
            raise errors.InvalidParameters(
                f"additionalParams.{installation_param.NAME}.vim_name: the "
                f"VNF itself lives on a VIM that vimConnectionInfo names "
                f"{name}."
            )
        return name

    def _log_in(self) -> dict[str, Any]:
        master = self._task.any_of(self.memory.of_role(MASTER))
        token = self._task.kubectl(master).admin_token(self._deadline)
        authority = self._task.host(master).get(AUTHORITY, as_root=True)
        return {"bearer_token": token, "ssl_ca_cert": authority.decode()}


def _of(instance: VnfInstance) -> tuple[str, ...]:
    info = instance.instantiated_vnf_info
    return tuple(vnfc.id for vnfc in (info.vnfc_resource_info if info else ()))


def _granted_to_go(told: ScriptInput) -> list[str]:
    asked = told.grant_request
    return [
        one.resource.resource_id
        for one in (asked.remove_resources if asked else ())
        if one.type is ResourceDefinitionType.COMPUTE and one.resource
    ]
