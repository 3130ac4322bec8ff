import threading

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.api_errors import (
    ConnectionDropped,
    Forbidden,
)
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tests.fixtures.clock import ManualClock, SteppingClock

LONG_S = 600.0


class ScriptedResponses:
    """Returns one result per call, the last one repeatedly; raises errors."""

    def __init__(self, *responses: object) -> None:
        self._responses = list(responses)
        self.call_count = 0

    def __call__(self) -> object:
        self.call_count += 1
        several = len(self._responses) > 1
        response = self._responses.pop(0) if several else self._responses[0]
        if isinstance(response, Exception):
            raise response
        return response


class TestRetryPolicy(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = SteppingClock()

    def build_policy(
        self,
        contact_timeout: float = LONG_S,
        outage_timeout: float = LONG_S,
        within: float = LONG_S,
        cancel_token: CancelToken | None = None,
    ) -> RetryPolicy:
        return RetryPolicy(
            Deadline.within(within, self.clock),
            cancel_token or CancelToken(clock=self.clock),
            contact_timeout=contact_timeout,
            outage_timeout=outage_timeout,
        )

    def round_waits(self) -> list[float]:
        return [round(seconds, 6) for seconds in self.clock.waits]

    def test_a_result_is_returned(self) -> None:
        self.assertEqual(
            "so", self.build_policy().call(ScriptedResponses("so"))
        )

    def test_a_request_is_repeated_while_the_cluster_is_unreachable(
        self,
    ) -> None:
        responses = ScriptedResponses(
            errors.VimUnavailable("1"), ConnectionDropped("2"), "so"
        )
        self.assertEqual("so", self.build_policy().call(responses))
        self.assertEqual(3, responses.call_count)

    def test_a_rejected_request_is_not_repeated(self) -> None:
        responses = ScriptedResponses(Forbidden("no"), "so")
        self.assertRaises(Forbidden, self.build_policy().call, responses)
        self.assertEqual(1, responses.call_count)

    def test_contact_timeout_before_the_first_response(self) -> None:
        retry_policy = self.build_policy(
            contact_timeout=1.0, outage_timeout=LONG_S
        )
        self.assertRaises(
            errors.VimUnavailable,
            retry_policy.call,
            ScriptedResponses(errors.VimUnavailable("down")),
        )
        self.assertEqual([0.05, 0.2, 0.5, 0.25], self.round_waits())

    def test_outage_timeout_after_a_response(self) -> None:
        retry_policy = self.build_policy(
            contact_timeout=0.0, outage_timeout=LONG_S
        )
        retry_policy.call(ScriptedResponses("so"))
        responses = ScriptedResponses(
            errors.VimUnavailable("1"), errors.VimUnavailable("2"), "again"
        )
        self.assertEqual("again", retry_policy.call(responses))

    def test_outage_timeout_after_a_rejection(self) -> None:
        retry_policy = self.build_policy(contact_timeout=0.0)
        self.assertRaises(
            Forbidden, retry_policy.call, ScriptedResponses(Forbidden("no"))
        )
        self.assertEqual(
            "so",
            retry_policy.call(
                ScriptedResponses(errors.VimUnavailable("down"), "so")
            ),
        )

    def test_no_retry_after_the_deadline(self) -> None:
        self.assertRaises(
            errors.VimUnavailable,
            self.build_policy(within=0.1).call,
            ScriptedResponses(errors.VimUnavailable("down")),
        )
        self.assertEqual([0.05, 0.05], self.round_waits())

    def test_a_forceful_cancellation_ends_the_retries(self) -> None:
        clock = ManualClock()
        cancel_token = CancelToken(clock=clock)

        def cancel() -> None:
            clock.wait_until_waiting()
            cancel_token.cancel(errors.Cancelled("Cancelled."), forceful=True)

        caller = threading.Thread(target=cancel)
        caller.start()
        self.addCleanup(caller.join)
        self.assertRaises(
            errors.Cancelled,
            self.build_policy(cancel_token=cancel_token).call,
            ScriptedResponses(errors.VimUnavailable("down")),
        )
