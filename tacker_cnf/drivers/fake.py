"""A driver whose VIM is a dictionary, for tests of the layers above."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from oslo_config import cfg

from tacker_cnf.drivers import vim_connection
from tacker_cnf.drivers.base import (
    InfraTask,
    Plan,
    RegisteredVim,
    SearchTask,
    TaskContext,
    WatchTask,
)
from tacker_cnf.lcm import grant_overrides, vim_policy
from tacker_cnf.lcm.change import ALL
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.sol.common import ResourceHandle, VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo


class FakeCall(NamedTuple):
    """The arguments of a call that changes or observes a VNF."""

    task: InfraTask
    context: TaskContext


class FakeDriver:
    """Changes its dictionary at once; ``before`` can make it fail or wait."""

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        #: instance -> its VNFCs
        self.vnfcs: dict[str, tuple[VnfcResourceInfo, ...]] = {}
        #: method, or "apply", "replace" or "destroy" for the kinds of
        #: ``execute`` -> called before it; may raise or wait
        self.before: dict[str, Callable[[Any], None]] = {}
        #: the running watches
        self.watches: list[WatchTask] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    vim_type = "fake"
    heals_storage = False
    removes_newest = False
    script_options: Mapping[str, Any] = {}

    def connection_of(self, vim: RegisteredVim) -> VimConnectionInfo:
        return vim_connection.of_any_vim(vim)

    def check_policy(self, policy: Mapping[str, Any]) -> None:
        vim_policy.refuse(policy)

    def check_connection(self, connection: VimConnectionInfo) -> None:
        """Accept any connection."""

    def plan(self, task: InfraTask, observed: object = None) -> Plan:
        self._hook("plan", task)
        return Plan(task=task, actions=())

    def observe_resources(
        self, task: InfraTask, context: TaskContext
    ) -> Sequence[str]:
        """Return the ids of the VNFCs."""
        self._hook("observe", FakeCall(task, context))
        return [v.id for v in self.vnfcs.get(task.instance.id, ())]

    def validate_package(self, task: InfraTask) -> None:
        self._hook("plan", task)

    def execute(self, plan: Plan, context: TaskContext) -> Observed:
        task = plan.task
        desired, replace = task.change.desired, task.change.replace
        verb = "apply" if desired else "destroy"
        self._hook("replace" if replace else verb, FakeCall(task, context))
        with self._lock:
            existing = self.vnfcs.pop(task.instance.id, ())
            if desired is None:
                return Observed()
            to_delete = () if replace == ALL else [v.id for v in replace]
            self.vnfcs[task.instance.id] = tuple(
                vnfc
                for vnfc in existing
                if replace != ALL and vnfc.id not in to_delete
            )
        self._fill(task, desired.running_counts)
        return self._found(task)

    def observe(self, task: InfraTask, context: TaskContext) -> Observed:
        self._hook("observe", FakeCall(task, context))
        return self._found(task)

    def _found(self, task: InfraTask) -> Observed:
        desired = task.change.desired
        return Observed(
            vnfc_resource_info=self.vnfcs.get(task.instance.id, ()),
            metadata=desired.parameters if desired else {},
        )

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        self._hook("search", task)
        return {
            instance_id: [vnfc.id for vnfc in vnfcs]
            for instance_id, vnfcs in self.vnfcs.items()
            if task.instance_id in {None, instance_id} and vnfcs
        }

    def clean(self, task: SearchTask) -> Sequence[str]:
        self._hook("clean", task)
        task.cancel_token.check()
        assert task.instance_id is not None
        with self._lock:
            return [v.id for v in self.vnfcs.pop(task.instance_id, ())]

    def watch(self, task: WatchTask) -> None:
        """Watch until cancelled; tests report changes by ``watches``."""
        self._hook("watch", task)
        self.watches.append(task)
        try:
            task.on_missed(None)
            while True:
                task.cancel_token.wait(threading.TIMEOUT_MAX)
        finally:
            self.watches.remove(task)

    def _hook(
        self, verb: str, task: InfraTask | FakeCall | SearchTask | WatchTask
    ) -> None:
        if hook := self.before.get(verb):
            hook(task)

    def _fill(self, task: InfraTask, counts: Mapping[str, int]) -> None:
        with self._lock:
            missing = Counter(counts)
            remaining = []
            for vnfc in self.vnfcs.get(task.instance.id, ()):
                if missing[vnfc.vdu_id] > 0:
                    remaining.append(vnfc)
                    missing[vnfc.vdu_id] -= 1
            zones = grant_overrides.zones(task.grant_request, task.grant)
            created = [
                self._new(vdu, zone)
                for vdu, count in missing.items()
                for zone, _ in itertools.zip_longest(
                    zones.get(vdu, ())[:count], range(count)
                )
            ]
            self.vnfcs[task.instance.id] = (*remaining, *created)

    def _new(self, vdu: str, zone: str | None) -> VnfcResourceInfo:
        name = f"{vdu.lower()}-{next(self._numbers)}"
        return VnfcResourceInfo(
            id=name,
            vdu_id=vdu,
            compute_resource=ResourceHandle(resource_id=name),
            zone_id=zone,
        )
