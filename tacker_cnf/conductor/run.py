"""The values of one running operation."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.conductor.vim_resolver import ResolvedVims
from tacker_cnf.drivers.base import InfraTask, PackageCall
from tacker_cnf.lcm import (
    instantiated_info,
    scale_level_matching,
    script_output,
    secret_masking,
)
from tacker_cnf.lcm.change import Change, flavour_of
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.operations.base import Modifications, Operation
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.redaction import VIM_CONNECTIONS
from tacker_cnf.lcm.script_output import InstanceChanges, ProvidedVim
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.lcm.vnf_plan import VnfPlan
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A running operation: each step returns another one."""

    op_occ: VnfLcmOpOcc
    request: SolType
    #: as it was when the operation started
    instance: VnfInstance
    package: UnpackedPackage
    #: the package of the new VNFD, if the operation changes it
    next_package: UnpackedPackage | None = None
    vims: ResolvedVims
    #: the one that was requested and granted; a rollback makes its inverse
    change: Change
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    #: what the driver has found after its work
    result: Observed | None = None
    #: the plan that this step executed, with its outcomes
    plan: VnfPlan | None = None
    #: changes of the instance by its scripts
    script_changes: InstanceChanges = InstanceChanges()
    #: the VIMs that the VNF provides from the end of this step on; None: no
    #: longer
    provided_vims: Mapping[str, ProvidedVim | None] = {}
    #: [secrets] public_names
    public_names: frozenset[str] = frozenset()

    @property
    def operation(self) -> Operation[Any]:
        """The type of the operation."""
        return OPERATIONS[self.op_occ.operation]

    @property
    def is_rollback(self) -> bool:
        """Whether the operation is being rolled back."""
        return self.op_occ.operation_state == S.ROLLING_BACK

    @property
    def shown_names(self) -> ShownNames:
        """The names in the free-form attributes that are shown."""
        return ShownNames(
            vnfd=self.package.vnfd.public_names, operator=self.public_names
        )

    def build_masker(self) -> SecretMasker:
        """Build the masker of the values that are not shown."""
        connections = {
            VIM_CONNECTIONS: self.vims.resolved_connections,
        }
        values = (
            self.op_occ.operation_params,
            *map(
                _json,
                (self.instance, connections, self.grant, self.op_occ.error),
            ),
        )
        return SecretMasker(
            secret_masking.secrets_of(*values, names=self.shown_names)
        )


def _json(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=str)


def infra_task(run: Run, *, restore: bool = False) -> InfraTask:
    """Build the task of a driver.

    :param restore: to restore the state before the operation
    """
    after = run.next_package if run.operation.changes_vim else None
    task = InfraTask(
        instance=run.instance,
        change=run.change,
        package=after or run.package,
        current_package=run.package if after else None,
        vim_connections=run.vims.resolved_connections,
        grant_request=run.grant_request,
        grant=run.grant,
        operation_id=run.op_occ.id,
        package_call=PackageCall.of_request(
            run.op_occ.operation.lower(), run.request
        ),
    )
    return task.restoring() if restore else task


def resulting_instance(run: Run) -> VnfInstance:
    """Build the instance after the changes of the VIM and the scripts."""
    return script_output.apply_to_instance(
        _instance_after_infra(run), run.script_changes
    )


def _instance_after_infra(run: Run) -> VnfInstance:
    vnfd = run.package.vnfd
    if run.next_package and not run.is_rollback:
        vnfd = run.next_package.vnfd
    instance = run.instance
    if not run.is_rollback:
        instance = run.operation.finish(
            run.request, instance, vnfd, run.vims.vim_connections
        )
    if not run.operation.changes_vim:
        return _with_resources_of_scripts(run, instance)
    current = run.change.current
    reached = current if run.is_rollback else run.change.desired
    if reached is None:
        return instantiated_info.set_not_instantiated(instance)
    # an operation that does not scale may find another number of VNFCs
    scales = current is None or current.counts != reached.counts
    describe = (
        instantiated_info.build_running_info
        if scales
        else scale_level_matching.build_observed_info
    )
    info = describe(
        run.instance.instantiated_vnf_info,
        reached,
        flavour_of(vnfd, reached.flavour_id),
        run.result or Observed(),
        run.instance.metadata,
    )
    return instantiated_info.set_instantiated(
        instance, info, run.vims.vim_connections
    )


def _with_resources_of_scripts(run: Run, instance: VnfInstance) -> VnfInstance:
    """Apply the changes of a script on the VIM to the instance."""
    info = instance.instantiated_vnf_info
    if info is None or run.result is None:
        return instance
    return msgspec.structs.replace(
        instance,
        instantiated_vnf_info=instantiated_info.update_resources(
            info, run.result, instance.metadata
        ),
    )


def modifications(run: Run, after: VnfInstance | None) -> Modifications:
    """Return what an operation has modified.

    :param after: None: not completed
    """
    if after is None or run.is_rollback:
        return Modifications()
    return run.operation.modifications(run.instance, after)
