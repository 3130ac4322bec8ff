import itertools

import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.states import ACTIVE, FINAL, TRANSITIONS, Event, advance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S

# SOL003 figure 5.6.2.2-1, as arrows
ARROWS = {
    ("STARTING", "GRANTED", "PROCESSING"),
    ("STARTING", "FAIL", "ROLLED_BACK"),
    ("STARTING", "CANCEL", "STARTING"),
    ("PROCESSING", "STEPPED", "PROCESSING"),
    ("PROCESSING", "DONE", "COMPLETED"),
    ("PROCESSING", "FAIL", "FAILED_TEMP"),
    ("PROCESSING", "CANCEL", "PROCESSING"),
    ("FAILED_TEMP", "RETRY", "PROCESSING"),
    ("FAILED_TEMP", "ROLLBACK", "ROLLING_BACK"),
    ("FAILED_TEMP", "GIVE_UP", "FAILED"),
    ("ROLLING_BACK", "STEPPED", "ROLLING_BACK"),
    ("ROLLING_BACK", "DONE", "ROLLED_BACK"),
    ("ROLLING_BACK", "FAIL", "FAILED_TEMP"),
    ("ROLLING_BACK", "CANCEL", "ROLLING_BACK"),
}


class TestTransitions(testtools.TestCase):
    def test_every_transition_of_the_standard_exists(self) -> None:
        for before, event, after in ARROWS:
            self.assertEqual(S(after), advance(S(before), Event(event)))

    def test_no_other_transition_exists(self) -> None:
        self.assertEqual(
            ARROWS, {(s, e, to) for (s, e), to in TRANSITIONS.items()}
        )

    def test_every_other_pair_is_rejected(self) -> None:
        for state, event in itertools.product(S, Event):
            if (state, event) not in TRANSITIONS:
                error = self.assertRaises(
                    errors.WrongState, advance, state, event
                )
                self.assertEqual(
                    f"{event} is not possible in state {state}.", str(error)
                )

    def test_final_states(self) -> None:
        self.assertEqual({S.COMPLETED, S.FAILED, S.ROLLED_BACK}, FINAL)

    def test_active_states_are_neither_final_nor_failed_temp(self) -> None:
        self.assertEqual(frozenset(S) - FINAL - {S.FAILED_TEMP}, ACTIVE)
