"""What the tests of the conformance suite share: a VNF, the requests of its
operations, and checks of what a driver did.
"""

import contextlib
import dataclasses
import itertools
import time
import unittest
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import Origin, SearchTask, WatchTask
from tacker_cnf.lcm.change import ALL
from tacker_cnf.lcm.vnf_plan import Action, ActionType
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.lcm_request import (
    HealVnfRequest,
    OperateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
    ScaleVnfToLevelRequest,
    TerminateVnfRequest,
    TerminationType,
)
from tacker_cnf.sol.vnf_instance import (
    VnfcResourceInfo,
    VnfInstance,
    VnfOperationalState,
)
from tacker_cnf.testing.vnf_operation import (
    InterruptingToken,
    Interruption,
    Target,
    VnfOperation,
)

CREATING: Final = frozenset({ActionType.CREATE, ActionType.RECREATE})
DELETING: Final = frozenset({ActionType.DELETE, ActionType.RECREATE})
KEEPING: Final = frozenset({ActionType.PATCH, ActionType.UNCHANGED})
#: seconds between two searches for what is being deleted
POLL_S: Final = 0.05

Vdus = AbstractSet[str | None]
#: the VNFCs of a VNF by their ids
Vnfcs = Mapping[str, VnfcResourceInfo]


def vnfcs_of(instance: VnfInstance) -> Vnfcs:
    """Return the VNFCs that a VNF instance has recorded."""
    info = instance.instantiated_vnf_info
    return {vnfc.id: vnfc for vnfc in info.vnfc_resource_info} if info else {}


class DriverCase(unittest.TestCase):
    """A driver, and a VNF that it runs."""

    #: why no other test begins: a VNF could not be deleted
    clean_failure: ClassVar[str | None] = None

    def create_target(self) -> Target:
        """Return the driver, and what to test it with."""
        raise unittest.SkipTest("Inherit this class to test a driver.")

    def setUp(self) -> None:
        """Begin with a VNF instance that is not instantiated."""
        super().setUp()
        if self.clean_failure:
            self.fail(f"not run, as in an earlier test: {self.clean_failure}")
        self.target = self.create_target()
        self.driver = self.target.driver
        self.instance = self.target.new_instance()
        self.addCleanup(self.clean)

    def search_task(self, instance_id: str | None) -> SearchTask:
        """Return the task to find, or to delete, the resources of a VNF."""
        parameters = self.target.request.additional_params
        return SearchTask(
            vim_connection=self.target.vim_connection,
            instance_id=instance_id,
            origins=(Origin(parameters, self.target.package),),
        )

    def search(self) -> Sequence[str]:
        """Return the names of the resources of the VNF."""
        instance_id = self.instance.id
        found = self.driver.search(self.search_task(instance_id))
        self.assertLessEqual(
            found.keys(),
            {instance_id},
            "search() for one VNF instance returned others",
        )
        return sorted(found.get(instance_id, ()))

    def clean(self) -> None:
        """Delete the resources of the VNF, and wait until this is done."""
        end = time.monotonic() + self.target.clean_timeout
        task = self.search_task(self.instance.id)
        while names := self.driver.clean(task):
            if time.monotonic() > end:
                type(self).clean_failure = (
                    f"clean() still returns {sorted(names)} after "
                    f"{self.target.clean_timeout:g} s. It deletes the "
                    "resources of the VNF, and returns none once they are "
                    "deleted (Target.clean_timeout)."
                )
                self.fail(self.clean_failure)
            time.sleep(POLL_S)
        self.assertEqual(
            [],
            self.search(),
            "clean() returned no name, but search() finds resources",
        )

    def operation(self, request: SolType) -> VnfOperation:
        """Begin an operation on the VNF."""
        return VnfOperation(self.target, self.instance, request)

    def created(self) -> VnfInstance:
        """Begin with another VNF instance that is not instantiated."""
        self.instance = self.target.new_instance()
        return self.instance

    def instantiated(self) -> VnfInstance:
        """Instantiate another VNF instance."""
        self.created()
        self.instance = self.operation(self.target.request).execute()
        return self.instance

    def scaled_out(self) -> VnfInstance:
        """Scale out another VNF instance, so that it has several VNFCs."""
        self.instantiated()
        self.instance = self.operation(self.scale_out()).execute()
        return self.instance

    def instantiate(self) -> SolType:
        """Build the request to instantiate the VNF."""
        return self.target.request

    def scale_out(self) -> SolType:
        """Build the request to scale out by one step."""
        return ScaleVnfRequest(
            type=ScaleType.SCALE_OUT, aspect_id=self.target.aspect_id
        )

    def scale_in(self) -> SolType:
        """Build the request to scale in by one step."""
        return ScaleVnfRequest(
            type=ScaleType.SCALE_IN, aspect_id=self.target.aspect_id
        )

    def stay(self) -> SolType:
        """Build the request to scale to the present level."""
        info = self.instance.instantiated_vnf_info
        levels = info.scale_status if info else ()
        return ScaleVnfToLevelRequest(
            scale_info=tuple(
                level
                for level in levels
                if level.aspect_id == self.target.aspect_id
            )
        )

    def stop(self) -> SolType:
        """Build the request to stop the VNF."""
        return OperateVnfRequest(change_state_to=VnfOperationalState.STOPPED)

    def start(self) -> SolType:
        """Build the request to start the VNF."""
        return OperateVnfRequest(change_state_to=VnfOperationalState.STARTED)

    def heal_one(self) -> SolType:
        """Build the request to heal a VNFC of a VDU that can be scaled."""
        flavours = self.target.package.vnfd.flavours
        flavour = flavours[self.target.request.flavour_id]
        vdus = flavour.aspects[self.target.aspect_id].deltas
        vnfcs = vnfcs_of(self.instance).values()
        first, *_ = (vnfc.id for vnfc in vnfcs if vnfc.vdu_id in vdus)
        return HealVnfRequest(vnfc_instance_id=(first,))

    def heal_all(self) -> SolType:
        """Build the request to heal all VNFCs."""
        return HealVnfRequest()

    def terminate(self) -> SolType:
        """Build the request to terminate the VNF."""
        return TerminateVnfRequest(termination_type=TerminationType.FORCEFUL)

    def run_checked(self, request: SolType) -> VnfInstance:
        """Plan and run an operation; check that the plans change nothing, and
        list what the operation does, and that it can be repeated.
        """
        operation, before = self.operation(request), vnfcs_of(self.instance)
        resources = self.search()
        by_request, exact = operation.plan(), operation.exact_plan()
        self.assertEqual(resources, self.search(), "a plan changed the VIM")
        for plan in (by_request, exact):
            encoded = msgspec.json.encode(plan.actions)
            decoded = msgspec.json.decode(encoded, type=tuple[Action, ...])
            self.assertEqual(
                plan.actions,
                decoded,
                "the actions of a plan differ after they were sent as JSON",
            )
        instance = operation.execute()
        after = vnfcs_of(instance)
        self.check_reached(operation, after)
        self.check_removed(operation, before, after)
        self.check_listed(by_request.actions, before, after)
        self.check_listed(exact.actions, before, after)
        if self.target.vnfc_kind:
            self.check_counted(exact.actions, before, after)
        self.check_complete(operation)
        self.assertEqual(
            after.keys(),
            vnfcs_of(operation.execute()).keys(),
            "execute() changed VNFCs when it was repeated",
        )
        self.instance = instance
        return instance

    def check_reached(self, operation: VnfOperation, vnfcs: Vnfcs) -> None:
        """Check that the VNF has the VNFCs of the desired state."""
        desired = operation.task.change.desired
        counts = Counter(vnfc.vdu_id for vnfc in vnfcs.values())
        self.assertEqual(
            Counter(desired.counts if desired else {}),
            counts,
            "execute() left other numbers of VNFCs than the desired state has",
        )
        if desired is None:
            self.assertEqual(
                [], self.search(), "search() finds resources of a deleted VNF"
            )
        else:
            observed = [vnfc.id for vnfc in operation.observe()]
            self.assertCountEqual(
                vnfcs, observed, "observe() and execute() return other VNFCs"
            )

    def check_removed(
        self, operation: VnfOperation, before: Vnfcs, after: Vnfcs
    ) -> None:
        """Check that the VNFCs to replace are removed, and of the others only
        as many as there were too many.
        """
        change, removed = operation.task.change, before.keys() - after.keys()
        replaced = {
            vnfc.id
            for vnfc in (
                before.values() if change.replace == ALL else change.replace
            )
        }
        self.assertLessEqual(
            replaced, removed, "execute() kept VNFCs that were to be replaced"
        )
        desired = Counter(change.desired.counts if change.desired else {})
        self.assertEqual(
            Counter(vnfc.vdu_id for vnfc in before.values()) - desired,
            Counter(before[id_].vdu_id for id_ in removed - replaced),
            "execute() removed other VNFCs than those that are too many",
        )

    def check_listed(
        self, actions: Sequence[Action], before: Vnfcs, after: Vnfcs
    ) -> None:
        """Check that what actions say of VNFCs has happened, and that they
        name each VDU whose VNFCs have changed.
        """
        removed, kept = before.keys() - after.keys(), before.keys() & after
        named = [action for action in actions if action.vnfc_id]
        deleted = {a.vnfc_id for a in named if a.type in DELETING}
        self.assertLessEqual(
            deleted,
            removed,
            "the plan deletes VNFCs (vnfc_id) that execute() has kept",
        )
        unchanged = {a.vnfc_id for a in named if a.type in KEEPING}
        self.assertLessEqual(
            unchanged,
            kept,
            "the plan keeps VNFCs (vnfc_id) that execute() has removed",
        )
        both = {**before, **after}
        changed = {both[id_].vdu_id for id_ in both.keys() - kept}
        changing = [a for a in actions if a.type != ActionType.UNCHANGED]
        vdus = {action.vdu_id for action in changing}
        if None not in vdus:  # an action for the whole VNF
            self.assertLessEqual(
                changed,
                vdus,
                "execute() changed VNFCs of VDUs (vdu_id) for which the plan "
                "has no action",
            )
        if not changed:
            self.assertEqual(
                [], changing, "the plan has actions, and no VNFC has changed"
            )

    def check_counted(
        self, actions: Sequence[Action], before: Vnfcs, after: Vnfcs
    ) -> None:
        """Check that there is an action for each VNFC that has changed."""
        kinds = [a.type for a in actions if a.kind == self.target.vnfc_kind]
        added = after.keys() - before.keys()
        removed = before.keys() - after.keys()
        for verb, found, types in (
            ("created", added, CREATING),
            ("deleted", removed, DELETING),
        ):
            self.assertEqual(
                len(found),
                len([kind for kind in kinds if kind in types]),
                f"the exact plan has another number of {verb} "
                f"{self.target.vnfc_kind} than execute() has {verb}",
            )

    def check_planned(self, operation: VnfOperation, vdus: Vdus) -> None:
        """Check that both plans of an operation concern these VDUs."""
        for plan in (operation.plan(), operation.exact_plan()):
            changing = [
                action
                for action in plan.actions
                if action.type is not ActionType.UNCHANGED
            ]
            self.assertEqual(
                vdus,
                {action.vdu_id for action in changing},
                "the plan changes other VDUs than the operation concerns",
            )

    def check_complete(self, operation: VnfOperation) -> None:
        """Check that a completed operation would create and delete nothing
        if it was repeated.
        """
        left = [
            action
            for action in operation.exact_plan().actions
            if action.type in CREATING | DELETING
        ]
        self.assertEqual(
            [], left, "the exact plan of a completed operation has actions"
        )

    def check_interrupted(
        self,
        begin: Callable[[], VnfInstance],
        build_request: Callable[[], SolType],
        *,
        is_rolled_back: bool = False,
    ) -> None:
        """Interrupt an operation at each check of its cancel token, in turn,
        and check that another attempt completes it, or rolls it back.

        :param begin: sets the VNF instance to begin with
        """
        for checks in itertools.count(0, self.target.interruption_step):
            before, is_complete = vnfcs_of(begin()), False
            operation = self.operation(build_request())
            with contextlib.suppress(Interruption):
                operation.execute(InterruptingToken(checks))
                is_complete = True
            if is_rolled_back:
                operation.roll_back()
            after = vnfcs_of(operation.execute())
            self.check_reached(operation, after)
            self.check_removed(operation, before, after)
            self.check_complete(operation)
            self.clean()
            if is_complete:
                self.assertGreater(checks, 0, "the cancel token is not used")
                return

    def unreachable(self) -> Target:
        """Return the target with a VIM that does not answer."""
        vim = self.target.vim._replace(auth_url=self.target.unreachable_url)
        return dataclasses.replace(self.target, vim=vim)

    def watch(self, token: CancelToken) -> None:
        """Watch the VIM until this is cancelled, if the driver can."""
        with contextlib.suppress(errors.Cancelled):
            self.driver.watch(
                WatchTask(
                    vim_connection=self.target.vim_connection,
                    tenants=frozenset,
                    on_change=lambda _: None,
                    on_missed=lambda _: None,
                    cancel_token=token,
                )
            )
