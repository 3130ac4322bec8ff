"""The conformance suite of drivers: what ``InfraDriver`` requires, against a
VIM. A test class inherits it and creates the target::

    class TestMyDriver(driver_conformance.DriverConformance):
        def create_target(self) -> Target:
            return Target(driver=MyDriver(conf), ...)
"""

import contextlib
import dataclasses
import itertools
import threading
import time
import unittest
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import Origin, SearchTask, WatchTask
from tacker_cnf.lcm.change import ALL, Change, current_state
from tacker_cnf.lcm.vnf_plan import Action, ActionType
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    HealVnfRequest,
    ScaleType,
    ScaleVnfRequest,
    TerminateVnfRequest,
    TerminationType,
)
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
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

#: the VNFCs of a VNF by their ids
Vnfcs = Mapping[str, VnfcResourceInfo]


def vnfcs_of(instance: VnfInstance) -> Vnfcs:
    """Return the VNFCs that a VNF instance has recorded."""
    info = instance.instantiated_vnf_info
    return {vnfc.id: vnfc for vnfc in info.vnfc_resource_info} if info else {}


class DriverConformance(unittest.TestCase):
    """Tests a driver by its protocol alone."""

    def create_target(self) -> Target:
        """Return the driver, and what to test it with."""
        raise unittest.SkipTest("Inherit this class to test a driver.")

    def setUp(self) -> None:
        """Begin with a VNF instance that is not instantiated."""
        super().setUp()
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
        self.assertLessEqual(found.keys(), {instance_id})
        return sorted(found.get(instance_id, ()))

    def clean(self) -> None:
        """Delete the resources of the VNF, and wait until this is done."""
        end = time.monotonic() + self.target.timeout
        task = self.search_task(self.instance.id)
        while self.driver.clean(task):
            self.assertLess(time.monotonic(), end, "resources remain")
            time.sleep(POLL_S)
        self.assertEqual([], self.search())

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
            self.assertEqual(plan.actions, decoded)
        instance = operation.execute()
        after = vnfcs_of(instance)
        self.check_reached(operation, after)
        self.check_removed(operation, before, after)
        self.check_listed(by_request.actions, before, after)
        self.check_listed(exact.actions, before, after)
        if self.target.vnfc_kind:
            self.check_counted(exact.actions, before, after)
        self.check_complete(operation)
        self.assertEqual(after.keys(), vnfcs_of(operation.execute()).keys())
        self.instance = instance
        return instance

    def check_reached(self, operation: VnfOperation, vnfcs: Vnfcs) -> None:
        """Check that the VNF has the VNFCs of the desired state."""
        desired = operation.task.change.desired
        counts = Counter(vnfc.vdu_id for vnfc in vnfcs.values())
        self.assertEqual(Counter(desired.counts if desired else {}), counts)
        if desired is None:
            self.assertEqual([], self.search())
        else:
            observed = [vnfc.id for vnfc in operation.observe()]
            self.assertCountEqual(vnfcs, observed)

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
        self.assertLessEqual(replaced, removed)
        desired = Counter(change.desired.counts if change.desired else {})
        self.assertEqual(
            Counter(vnfc.vdu_id for vnfc in before.values()) - desired,
            Counter(before[id_].vdu_id for id_ in removed - replaced),
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
        self.assertLessEqual(deleted, removed)
        unchanged = {a.vnfc_id for a in named if a.type in KEEPING}
        self.assertLessEqual(unchanged, kept)
        both = {**before, **after}
        changed = {both[id_].vdu_id for id_ in both.keys() - kept}
        changing = [a for a in actions if a.type != ActionType.UNCHANGED]
        vdus = {action.vdu_id for action in changing}
        if None not in vdus:  # an action for the whole VNF
            self.assertLessEqual(changed, vdus)
        if not changed:
            self.assertEqual([], changing)

    def check_counted(
        self, actions: Sequence[Action], before: Vnfcs, after: Vnfcs
    ) -> None:
        """Check that there is an action for each VNFC that has changed."""
        kinds = [a.type for a in actions if a.kind == self.target.vnfc_kind]
        added = after.keys() - before.keys()
        removed = before.keys() - after.keys()
        self.assertEqual(len(added), len([k for k in kinds if k in CREATING]))
        self.assertEqual(
            len(removed), len([k for k in kinds if k in DELETING])
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
        self.assertEqual([], left)

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

    def test_connections_are_checked(self) -> None:
        connection = self.target.vim_connection
        self.assertEqual(self.driver.vim_type, connection.vim_type)
        self.driver.check_connection(connection)
        incomplete = VimConnectionInfo(vim_type=self.driver.vim_type)
        with self.assertRaises(errors.InvalidVimConnection):
            self.driver.check_connection(incomplete)
        unreachable = self.unreachable().vim_connection
        with self.assertRaises(errors.VimUnreachable):
            self.driver.check_connection(unreachable)

    def unreachable(self) -> Target:
        """Return the target with a VIM that does not answer."""
        vim = self.target.vim._replace(auth_url=self.target.unreachable_url)
        return dataclasses.replace(self.target, vim=vim)

    def test_plan_does_not_use_the_vim(self) -> None:
        plan = self.operation(self.target.request).plan()
        kinds = {action.type for action in plan.actions}
        self.assertEqual({ActionType.CREATE}, kinds)
        unreachable = VnfOperation(
            self.unreachable(), self.instance, self.target.request
        )
        self.assertEqual(plan.actions, unreachable.plan().actions)

    def test_instantiate(self) -> None:
        self.run_checked(self.instantiate())
        self.assertNotEqual([], self.search())

    def test_no_change_is_planned_as_none(self) -> None:
        operation = self.operation(self.instantiate())
        instance = operation.execute()
        state = current_state(instance)
        assert state is not None
        unchanged = dataclasses.replace(
            operation.task, instance=instance, change=Change.none(state)
        )
        self.driver.validate_package(unchanged)
        plan = operation.exact_plan(unchanged)
        kinds = {action.type for action in plan.actions}
        self.assertEqual({ActionType.UNCHANGED}, kinds)

    def test_scale_out_and_in(self) -> None:
        before = vnfcs_of(self.instantiated())
        after = vnfcs_of(self.run_checked(self.scale_out()))
        self.assertGreater(after.keys(), before.keys())
        self.run_checked(self.scale_in())

    def test_heal_of_one_vnfc(self) -> None:
        self.scaled_out()
        self.run_checked(self.heal_one())

    def test_heal_of_all_vnfcs(self) -> None:
        self.scaled_out()
        self.run_checked(self.heal_all())

    def test_terminate(self) -> None:
        self.scaled_out()
        self.run_checked(self.terminate())

    def test_rollback_of_a_scale(self) -> None:
        self.scaled_out()
        for request in (self.scale_out(), self.scale_in()):
            operation = self.operation(request)
            before, scaled = vnfcs_of(self.instance), operation.execute()
            operation.roll_back()
            plan = operation.exact_plan()
            self.instance = operation.execute()
            restored = vnfcs_of(self.instance)
            self.check_listed(plan.actions, vnfcs_of(scaled), restored)
            self.check_reached(operation, restored)
            self.check_complete(operation)
            if request == self.scale_out():
                self.assertEqual(before.keys(), restored.keys())

    def test_a_cancelled_operation_can_be_retried(self) -> None:
        for request in (self.instantiate(), self.terminate()):
            operation, resources = self.operation(request), self.search()
            for is_forceful in (False, True):
                token = CancelToken()
                token.cancel(errors.Cancelled(), forceful=is_forceful)
                with self.assertRaises(errors.Cancelled):
                    operation.execute(token)
            self.assertEqual(resources, self.search())
            self.instance = operation.execute()
            self.check_reached(operation, vnfcs_of(self.instance))

    def test_interrupted_instantiation(self) -> None:
        self.check_interrupted(self.created, self.instantiate)

    def test_interrupted_instantiation_is_rolled_back(self) -> None:
        self.check_interrupted(
            self.created, self.instantiate, is_rolled_back=True
        )

    def test_interrupted_scale_out(self) -> None:
        self.check_interrupted(self.instantiated, self.scale_out)

    def test_interrupted_scale_out_is_rolled_back(self) -> None:
        self.check_interrupted(
            self.instantiated, self.scale_out, is_rolled_back=True
        )

    def test_interrupted_scale_in(self) -> None:
        self.check_interrupted(self.scaled_out, self.scale_in)

    def test_interrupted_heal_of_one_vnfc(self) -> None:
        self.check_interrupted(self.scaled_out, self.heal_one)

    def test_interrupted_heal_of_all_vnfcs(self) -> None:
        self.check_interrupted(self.scaled_out, self.heal_all)

    def test_interrupted_termination(self) -> None:
        self.check_interrupted(self.scaled_out, self.terminate)

    def test_search_and_clean(self) -> None:
        task = self.search_task(self.instantiated().id)
        found = self.driver.search(self.search_task(None))
        self.assertCountEqual(self.search(), found[self.instance.id])
        other = self.search_task(str(uuid.uuid4()))
        self.assertEqual({}, self.driver.search(other))
        self.assertEqual([], [*self.driver.clean(other)])
        self.assertNotEqual([], [*self.driver.clean(task)])
        self.clean()

    def test_watch_ends_when_it_is_cancelled(self) -> None:
        token = CancelToken()
        watch = threading.Thread(target=self.watch, args=(token,), daemon=True)
        watch.start()
        token.cancel(errors.Cancelled(), forceful=True)
        watch.join(self.target.timeout)
        self.assertFalse(watch.is_alive())

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
