"""The conformance suite of drivers: what ``InfraDriver`` requires, against a
VIM. A test class inherits it and creates the target::

    class TestMyDriver(driver_conformance.DriverConformance):
        def create_target(self) -> Target:
            return Target(driver=MyDriver(conf), ...)
"""

import dataclasses
import threading
import uuid
from collections import Counter

from tacker_cnf import errors
from tacker_cnf.lcm.change import Change, current_state
from tacker_cnf.lcm.vnf_plan import ActionType
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.testing.driver_case import DriverCase, vnfcs_of
from tacker_cnf.testing.vnf_operation import VnfOperation


class DriverConformance(DriverCase):
    """Tests a driver by its protocol alone."""

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
        self.instantiated()
        operation = self.operation(self.stay())
        state = current_state(self.instance)
        assert state is not None
        self.driver.validate_package(
            dataclasses.replace(operation.task, change=Change.none(state))
        )
        actions = operation.exact_plan().actions
        self.assertNotEqual((), actions)
        self.assertEqual(
            [], [a for a in actions if a.type is not ActionType.UNCHANGED]
        )

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

    def test_stop_and_start(self) -> None:
        counts = Counter(
            v.vdu_id for v in vnfcs_of(self.scaled_out()).values()
        )
        for request in (self.stop(), self.start()):
            operation = self.operation(request)
            self.check_planned(operation, counts.keys())
            self.instance = operation.execute()
            self.check_complete(operation)
            again = vnfcs_of(operation.execute())
            self.assertEqual(vnfcs_of(self.instance).keys(), again.keys())
            state = current_state(self.instance)
            assert state is not None
            self.assertEqual(counts, Counter(state.counts))
        self.assertEqual(counts, Counter(v.vdu_id for v in again.values()))

    def test_stop_is_rolled_back(self) -> None:
        counts = Counter(
            v.vdu_id for v in vnfcs_of(self.scaled_out()).values()
        )
        operation = self.operation(self.stop())
        operation.execute()
        operation.roll_back()
        restored = vnfcs_of(operation.execute()).values()
        self.assertEqual(counts, Counter(vnfc.vdu_id for vnfc in restored))

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
