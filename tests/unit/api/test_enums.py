from typing import Any

import msgspec
import testtools

from tacker_cnf.api import enums
from tacker_cnf.sol import base
from tacker_cnf.sol.lcm_request import (
    InstantiateVnfRequest,
    ScaleVnfRequest,
    TerminateVnfRequest,
)
from tacker_cnf.sol.subscription import LccnSubscriptionRequest
from tacker_cnf.sol.vnf_package import VnfPkgInfoModifications


class TestAllowedValues(testtools.TestCase):
    def allowed_values(self, kind: Any, text: str) -> str:
        error = self.assertRaises(
            msgspec.ValidationError, base.decode, text, kind
        )
        return enums.allowed_values(kind, str(error))

    def test_allowed_values_are_listed(self) -> None:
        states = (
            "STARTING, PROCESSING, COMPLETED, FAILED_TEMP, FAILED, "
            "ROLLING_BACK, ROLLED_BACK"
        )
        cases: tuple[tuple[Any, str, str], ...] = (
            (
                ScaleVnfRequest,
                '{"type": "UP", "aspectId": "a"}',
                "; one of SCALE_OUT, SCALE_IN",
            ),
            (
                TerminateVnfRequest,
                '{"terminationType": ""}',
                "; one of FORCEFUL, GRACEFUL",
            ),
            # one that may be null
            (
                VnfPkgInfoModifications,
                '{"operationalState": "ON`."}',
                "; one of ENABLED, DISABLED",
            ),
            # in lists, in others
            (
                LccnSubscriptionRequest,
                '{"callbackUri": "http://a",'  # noqa: ISC003
                + ' "filter": {"operationStates": ["COMPLETED", "DONE"]}}',
                f"; one of {states}",
            ),
        )
        for kind, text, allowed in cases:
            self.assertEqual(allowed, self.allowed_values(kind, text), text)

    def test_other_messages_have_no_allowed_values(self) -> None:
        for text in ('{"type": 1, "aspectId": "a"}', "{}", "[]"):
            self.assertEqual("", self.allowed_values(ScaleVnfRequest, text))

    def test_values_of_maps(self) -> None:
        kind = dict[str, list[ScaleVnfRequest]]
        text = '{"x": [{"type": "UP", "aspectId": "a"}]}'
        self.assertEqual(
            "; one of SCALE_OUT, SCALE_IN", self.allowed_values(kind, text)
        )
        self.assertEqual("", enums.allowed_values(InstantiateVnfRequest, "x"))
