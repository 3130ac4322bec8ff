import itertools

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.operations import registry
from tacker_cnf.lcm.operations.registry import OPERATIONS, TASKS
from tacker_cnf.lcm.states import ACTIVE, FINAL, Event
from tacker_cnf.sol import lcm_request
from tacker_cnf.sol.common import (
    ExtVirtualLinkData,
    VnfExtCpConfig,
    VnfExtCpData,
)
from tacker_cnf.sol.vnf_instance import (
    InstantiationState,
    VnfOperationalState,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tests.factories import an_instance, an_op_occ

NOT_INSTANTIATED = InstantiationState.NOT_INSTANTIATED
INSTANTIATED = InstantiationState.INSTANTIATED

#: operation -> the required state, whether it can be rolled back
FACTS = {
    Op.INSTANTIATE: (NOT_INSTANTIATED, True),
    Op.SCALE: (INSTANTIATED, True),
    Op.SCALE_TO_LEVEL: (INSTANTIATED, True),
    Op.HEAL: (INSTANTIATED, False),
    Op.OPERATE: (INSTANTIATED, True),
    Op.TERMINATE: (INSTANTIATED, False),
    Op.MODIFY_INFO: (None, True),
    Op.CHANGE_VNFPKG: (INSTANTIATED, True),
    Op.CHANGE_FLAVOUR: (INSTANTIATED, True),
    Op.CHANGE_EXT_CONN: (INSTANTIATED, True),
}
REQUESTS = {
    Op.INSTANTIATE: lcm_request.InstantiateVnfRequest(
        flavour_id="simple", additional_params={"a": {"b": [1, None]}}
    ),
    Op.SCALE: lcm_request.ScaleVnfRequest(
        type=lcm_request.ScaleType.SCALE_IN, aspect_id="web_aspect"
    ),
    Op.SCALE_TO_LEVEL: lcm_request.ScaleVnfToLevelRequest(
        instantiation_level_id="large"
    ),
    Op.HEAL: lcm_request.HealVnfRequest(vnfc_instance_id=("web-web-1",)),
    Op.OPERATE: lcm_request.OperateVnfRequest(
        change_state_to=VnfOperationalState.STOPPED,
        stop_type=lcm_request.StopType.GRACEFUL,
        graceful_stop_timeout=5,
    ),
    Op.TERMINATE: lcm_request.TerminateVnfRequest(
        termination_type=lcm_request.TerminationType.GRACEFUL,
        graceful_termination_timeout=5,
    ),
    Op.CHANGE_VNFPKG: lcm_request.ChangeCurrentVnfPkgRequest(
        vnfd_id="another", additional_params={"upgrade_type": "RollingUpdate"}
    ),
    Op.CHANGE_FLAVOUR: lcm_request.ChangeVnfFlavourRequest(
        new_flavour_id="small"
    ),
    Op.CHANGE_EXT_CONN: lcm_request.ChangeExtVnfConnectivityRequest(
        ext_virtual_links=(
            ExtVirtualLinkData(
                id="outside",
                resource_id="a-network",
                ext_cps=(
                    VnfExtCpData(
                        cpd_id="web_cp",
                        cp_config={"a": VnfExtCpConfig(link_port_id="p")},
                    ),
                ),
            ),
        )
    ),
    Op.MODIFY_INFO: lcm_request.VnfInfoModificationRequest(
        vnf_instance_name=None, metadata={"a": {"b": None}}
    ),
}


class TestTable(testtools.TestCase):
    def test_every_operation_is_listed(self) -> None:
        self.assertEqual(set(FACTS), set(OPERATIONS))

    def test_an_operation_without_grant_starts_in_processing(self) -> None:
        first_states = {op: registry.first_state(op) for op in FACTS}
        self.assertEqual(S.PROCESSING, first_states.pop(Op.MODIFY_INFO))
        self.assertEqual({S.STARTING}, set(first_states.values()))


class TestCheckState(testtools.TestCase):
    def test_only_the_required_state_is_accepted(self) -> None:
        for (op, (required, _)), state in itertools.product(
            FACTS.items(), (NOT_INSTANTIATED, INSTANTIATED)
        ):
            instance = an_instance(instantiation_state=state)
            if required in {None, state}:
                registry.check_state(op, instance)
                continue
            error = self.assertRaises(
                errors.WrongState, registry.check_state, op, instance
            )
            self.assertEqual(
                f"{op} is not possible: VNF instance an-instance is {state}.",
                str(error),
            )


class TestDecisions(testtools.TestCase):
    def test_a_failed_operation_has_decisions(self) -> None:
        for op, (_, reversible) in FACTS.items():
            rollback = {Event.ROLLBACK} if reversible else set()
            self.assertEqual(
                {Event.RETRY, Event.GIVE_UP} | rollback,
                registry.decisions(op, S.FAILED_TEMP),
            )

    def test_an_active_operation_can_be_cancelled(self) -> None:
        for op, state in itertools.product(FACTS, ACTIVE):
            self.assertEqual({Event.CANCEL}, registry.decisions(op, state))

    def test_a_finished_operation_has_no_decisions(self) -> None:
        for op, state in itertools.product(FACTS, FINAL):
            self.assertEqual(set(), registry.decisions(op, state))

    def test_exactly_the_possible_decisions_are_accepted(self) -> None:
        for op, state, event in itertools.product(FACTS, S, TASKS):
            if event in registry.decisions(op, state):
                registry.check_decision(op, state, event)
            else:
                self.assertRaises(
                    errors.WrongState,
                    registry.check_decision,
                    op,
                    state,
                    event,
                )

    def test_decisions_are_formatted_as_task_names(self) -> None:
        for op, (_, reversible) in FACTS.items():
            choices = "retry, rollback, fail" if reversible else "retry, fail"
            self.assertEqual(choices, registry.format_decisions(op))

    def test_an_error_names_the_reason(self) -> None:
        cases = {
            (Op.HEAL, S.FAILED_TEMP): "HEAL cannot be rolled back.",
            (Op.SCALE, S.FAILED): "rollback is not possible: the operation "
            "is FAILED, not FAILED_TEMP.",
            (Op.SCALE, S.COMPLETED): "rollback is not possible: the operation "
            "is COMPLETED, not FAILED_TEMP.",
        }
        for (op, state), message in cases.items():
            error = self.assertRaises(
                errors.WrongState,
                registry.check_decision,
                op,
                state,
                Event.ROLLBACK,
            )
            self.assertEqual(message, str(error))


class TestRequestOf(testtools.TestCase):
    def test_parameters_are_parsed_as_the_request(self) -> None:
        for op, request in REQUESTS.items():
            op_occ = an_op_occ(
                op, operation_params=msgspec.to_builtins(request)
            )
            self.assertEqual(request, registry.request_of(op_occ))

    def test_the_default_number_of_steps_is_encoded(self) -> None:
        scale_body = msgspec.to_builtins(REQUESTS[Op.SCALE])
        self.assertEqual(1, scale_body["numberOfSteps"])
