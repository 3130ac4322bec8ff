"""The driver: plans changes of a directory, then executes them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from oslo_config import cfg

from directory_driver.directory import Directory, Vnfc
from tacker_cnf import errors
from tacker_cnf.drivers import base, vim_connection
from tacker_cnf.lcm import vim_policy
from tacker_cnf.lcm.change import ALL, State
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.vnf_plan import Action, ActionType
from tacker_cnf.sol.common import ResourceHandle, VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

#: seconds between two looks whether the directory has room again
POLL_S: Final = 0.1
#: what happens to a VNFC, and why; without an id, it does not exist yet
Step = tuple[ActionType, Vnfc, str]


class DirectoryDriver:
    """Manages VNFs as files, without any state of its own."""

    vim_type = "SAMPLE.DIRECTORY.V_1"
    heals_storage = False
    removes_newest = False
    script_options: Mapping[str, Any] = {}

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Create the driver; one that has options reads them here."""

    def connection_of(self, vim: base.RegisteredVim) -> VimConnectionInfo:
        info = vim_connection.of_any_vim(vim)
        return msgspec.structs.replace(info, vim_type=self.vim_type)

    def check_policy(self, policy: Mapping[str, Any]) -> None:
        vim_policy.refuse(policy)

    def check_connection(self, connection: VimConnectionInfo) -> None:
        Directory(connection)

    def plan(
        self, task: base.InfraTask, observed: Sequence[Vnfc] | None = None
    ) -> base.Plan:
        if task.current_package or task.change.moves_links:
            raise errors.BadRequest("Files have neither images nor links.")
        if observed is None:
            observed = tuple(_expected(task.change.current))
        actions = [
            Action(
                type=verb,
                kind="File",
                name=vnfc.id or vnfc.vdu_id,
                reason=reason,
                vdu_id=vnfc.vdu_id,
                vnfc_id=vnfc.id or None,
            )
            for verb, vnfc, reason in _steps(task, observed)
        ]
        actions.sort(key=lambda action: action.type is ActionType.UNCHANGED)
        return base.Plan(task=task, actions=tuple(actions))

    def validate_package(self, task: base.InfraTask) -> None:
        """Accept any package: its files are not used."""

    def observe_resources(
        self, task: base.InfraTask, context: base.TaskContext
    ) -> Sequence[Vnfc]:
        return _directory(task).vnfcs(task.instance.id)

    def execute(self, plan: base.Plan, context: base.TaskContext) -> Observed:
        task, home = plan.task, plan.task.instance.id
        directory = _directory(task)
        # not by the plan: an earlier attempt may have done a part of it
        for verb, vnfc, _ in _steps(task, directory.vnfcs(home)):
            if verb in {ActionType.DELETE, ActionType.RECREATE}:
                context.cancel_token.check()
                directory.delete(home, vnfc)
            if verb in {ActionType.CREATE, ActionType.RECREATE}:
                _wait_for_room(directory, context)
                context.cancel_token.check()
                directory.create(home, vnfc.vdu_id, task.operation_id)
        if task.change.desired is None:
            context.cancel_token.check()
            directory.delete_home(home)
        return self.observe(task, context)

    def observe(
        self, task: base.InfraTask, context: base.TaskContext
    ) -> Observed:
        key = next(iter(task.vim_connections))
        vnfcs = tuple(
            VnfcResourceInfo(
                id=vnfc.id,
                vdu_id=vnfc.vdu_id,
                compute_resource=ResourceHandle(
                    vim_connection_id=key, resource_id=vnfc.id
                ),
            )
            for vnfc in _directory(task).vnfcs(task.instance.id)
        )
        parameters = task.change.state.parameters
        return Observed(vnfc_resource_info=vnfcs, metadata=parameters)

    def search(self, task: base.SearchTask) -> Mapping[str, Sequence[str]]:
        directory = Directory(task.vim_connection)
        return {
            home: [home, *(vnfc.id for vnfc in directory.vnfcs(home))]
            for home in directory.instances()
            if task.instance_id in {None, home}
        }

    def clean(self, task: base.SearchTask) -> Sequence[str]:
        found = self.search(task)
        for home in found:
            task.cancel_token.check()
            Directory(task.vim_connection).delete_home(home)
        return [name for names in found.values() for name in names]

    def watch(self, task: base.WatchTask) -> None:
        """Return at once: the VNFs are synchronized periodically."""


def _directory(task: base.InfraTask) -> Directory:
    connection, *_ = task.vim_connections.values()
    return Directory(connection)


def _expected(state: State | None) -> Iterator[Vnfc]:
    """Return the VNFCs of a state; without their ids if it was not reached."""
    if state and state.vnfcs is not None:
        yield from (Vnfc(vnfc.id, vnfc.vdu_id) for vnfc in state.vnfcs)
    elif state:
        yield from (
            Vnfc("", vdu) for vdu in Counter(state.running_counts).elements()
        )


def _steps(task: base.InfraTask, existing: Iterable[Vnfc]) -> Iterator[Step]:
    """Compare the files that exist with those that shall exist."""
    desired = task.change.desired
    missing = Counter(desired.running_counts if desired else {})
    # a state that the VNF had has its VNFCs again
    former = {vnfc.id for vnfc in (desired and desired.vnfcs) or ()}
    for vnfc in sorted(existing, key=lambda vnfc: vnfc.id not in former):
        missing[vnfc.vdu_id] -= 1
        if missing[vnfc.vdu_id] < 0:
            yield ActionType.DELETE, vnfc, "the VDU has too many VNFCs"
        elif _is_to_replace(task, vnfc):
            yield ActionType.RECREATE, vnfc, "the VNFC is healed"
        else:
            yield ActionType.UNCHANGED, vnfc, "the VDU needs it"
    for vdu in missing.elements():
        yield ActionType.CREATE, Vnfc("", vdu), "the VDU has too few VNFCs"


def _is_to_replace(task: base.InfraTask, vnfc: Vnfc) -> bool:
    if task.change.replace == ALL:
        # but not what an earlier attempt has created
        return vnfc.operation_id != task.operation_id
    return any(vnfc.id == healed.id for healed in task.change.replace)


def _wait_for_room(directory: Directory, context: base.TaskContext) -> None:
    wait = context.wait_idle or context.cancel_token.wait_idle
    while directory.is_full():
        if context.deadline.passed:
            raise errors.NotReady("The directory has no room for a file.")
        context.report_progress("waiting for room in the directory")
        wait(POLL_S)
