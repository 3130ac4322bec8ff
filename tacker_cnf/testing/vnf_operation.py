"""One operation on a VNF, run by a driver as a conductor runs it, but without
a database.
"""

import dataclasses
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from oslo_config import cfg

from tacker_cnf.catalogue.package_reader import PackageReader
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.conductor.run import Run, infra_task, resulting_instance
from tacker_cnf.conductor.vim_resolver import ResolvedVims
from tacker_cnf.drivers import exact_plan
from tacker_cnf.drivers.base import (
    Checkpoint,
    InfraDriver,
    InfraTask,
    Plan,
    RegisteredVim,
    TaskContext,
)
from tacker_cnf.lcm import grant_plan
from tacker_cnf.lcm.change import flavour_of
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.nfvo.local import LocalNfvo
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.services import operations
from tacker_cnf.services.vnf_instances import new_instance
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import CreateVnfRequest, InstantiateVnfRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType

#: key of the VIM in vimConnectionInfo
VIM_KEY: Final = "vim1"
#: the project of the VNF instance
PROJECT_ID: Final = "conformance"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """A driver, and a VNF that it can run on a VIM."""

    driver: InfraDriver[Any, Any]
    vim: RegisteredVim
    #: auth_url at which no VIM answers
    unreachable_url: str
    package: UnpackedPackage
    #: instantiates the VNF
    request: InstantiateVnfRequest
    #: an aspect that can be scaled out by two steps after the instantiation
    aspect_id: str
    #: kind of the resource that is one VNFC, if exact plans have an action for
    #: each; None: the VIM itself creates the VNFCs of a resource
    vnfc_kind: str | None = None
    #: seconds in which an operation has to end
    timeout: float = 600.0
    #: seconds in which the resources of a VNF have to be deleted by ``clean``
    clean_timeout: float = 60.0
    #: checks of the cancel token between two interruptions that are tested
    interruption_step: int = 1

    @property
    def vim_connection(self) -> VimConnectionInfo:
        """The VIM connection, as the driver builds it."""
        return self.driver.connection_of(self.vim)

    def new_instance(self) -> VnfInstance:
        """Return a new VNF instance of the package."""
        vnfd = self.package.vnfd
        request = CreateVnfRequest(vnfd_id=vnfd.id)
        return new_instance(request, vnfd, PROJECT_ID)


def unpack(conf: cfg.ConfigOpts, csar: Path, folder: Path) -> UnpackedPackage:
    """Unpack a VNF package to a new directory.

    :raises InvalidPackage: the CSAR, its signature or its VNFD is not valid
    """
    parsed = PackageReader(conf).read(csar, folder)
    return UnpackedPackage(
        content_id=folder.name,
        path=folder,
        vnfd=parsed.vnfd,
        is_signed=parsed.signature is not None,
    )


class Interruption(BaseException):
    """The process of the driver ended here."""


class InterruptingToken(CancelToken):
    """Ends the process, as it seems to the driver, at one of its checks.

    :param checks: how many checks succeed before
    """

    def __init__(self, checks: int) -> None:
        super().__init__()
        self._remaining_checks = checks
        self._counting = threading.Lock()

    def check(self) -> None:
        """Check as a driver does before each change.

        :raises Interruption: the process ended at an earlier check, or now
        """
        super().check()
        with self._counting:
            if not self._remaining_checks:
                raise Interruption
            self._remaining_checks -= 1


class VnfOperation:
    """An operation on a VNF, which can be attempted several times."""

    def __init__(
        self, target: Target, instance: VnfInstance, request: SolType
    ) -> None:
        self._target = target
        self._saved_checkpoint: Mapping[str, Any] | None = None
        (operation,) = (
            one
            for one in OPERATIONS.values()
            if one.request_type is type(request)
        )
        op_occ = operations.new_op_occ(instance, operation.kind, request)
        change = operation.change(request, instance, target.package.vnfd)
        grant_request = grant_plan.build(
            op_occ,
            request,
            instance,
            change.current,
            change.desired,
            flavour_of(target.package.vnfd, change.state.flavour_id),
        )
        connections = {VIM_KEY: target.vim_connection}
        self._run = Run(
            op_occ=op_occ,
            request=request,
            instance=instance,
            package=target.package,
            vims=ResolvedVims(
                vim_connections=connections,
                resolved_connections=connections,
                driver=target.driver,
            ),
            change=change,
            grant_request=grant_request,
            grant=LocalNfvo().grant(
                grant_request, CancelToken(), Deadline.within(target.timeout)
            ),
        )

    @property
    def task(self) -> InfraTask:
        """The task of the driver."""
        return infra_task(self._run, restore=self._run.is_rollback)

    def context(self, cancel_token: CancelToken | None = None) -> TaskContext:
        """Return the context of an attempt."""
        return TaskContext(
            deadline=Deadline.within(self._target.timeout),
            cancel_token=cancel_token or CancelToken(),
            saved_checkpoint=self._saved_checkpoint,
            save_checkpoint=self._save_checkpoint,
        )

    def _save_checkpoint(self, checkpoint: Checkpoint) -> None:
        self._saved_checkpoint = msgspec.to_builtins(checkpoint)

    def plan(self) -> Plan:
        """Plan by the request and the package alone."""
        plan: Plan = self._target.driver.plan(self.task)
        return plan

    def exact_plan(self, task: InfraTask | None = None) -> Plan:
        """Plan by what is on the VIM, as a dry run does.

        :param task: default: the task of this operation
        """
        return exact_plan.make(
            self._target.driver,
            task or self.task,
            self._target.timeout,
            cancel_token=CancelToken(),
            saved_checkpoint=self._saved_checkpoint,
        )

    def observe(self) -> tuple[VnfcResourceInfo, ...]:
        """Return the VNFCs on the VIM."""
        found = self._target.driver.observe(self.task, self.context())
        return found.vnfc_resource_info

    def execute(self, cancel_token: CancelToken | None = None) -> VnfInstance:
        """Run an attempt to its end; return the VNF instance after it."""
        context = self.context(cancel_token)
        result = self._target.driver.execute(self.plan(), context)
        return resulting_instance(
            msgspec.structs.replace(self._run, result=result)
        )

    def roll_back(self) -> None:
        """Let all further attempts restore the state before."""
        op_occ = msgspec.structs.replace(
            self._run.op_occ,
            operation_state=LcmOperationStateType.ROLLING_BACK,
        )
        self._run = msgspec.structs.replace(self._run, op_occ=op_occ)
