"""Events as lines."""

import json

import testtools

from tacker_cnf.cli.event_commands import to_json, to_line
from tacker_cnf.cli.event_stream import Event
from tests.unit.cli.operations import a_step


class TestLines(testtools.TestCase):
    def test_what_is_shown_of_each_type(self) -> None:
        for event, line in (
            (
                Event(
                    "VnfLcmOperationOccurrenceNotification",
                    {
                        "timeStamp": "2026-11-25T18:00:00Z",
                        "operation": "HEAL",
                        "operationState": "PROCESSING",
                        "vnfInstanceId": "i",
                        "vnfLcmOpOccId": "o",
                        "verbosity": "FULL",
                    },
                ),
                "VnfLcmOperationOccurrenceNotification  2026-11-25T18:00:00Z  HEAL  PROCESSING  demo  o",
            ),
            (
                Event(
                    "OperationProgress",
                    {
                        "operation": "HEAL",
                        "timeline": [
                            a_step("grant"),
                            a_step(
                                "infra",
                                done=1,
                                total=2,
                                message="one\nof two",
                            ),
                        ],
                    },
                ),
                "OperationProgress  HEAL  infra  1/2  one of two",
            ),
            (
                Event("VnfPackageChangeNotification", {"vnfPkgId": "p"}),
                "VnfPackageChangeNotification  p",
            ),
            (Event("unknown", [1]), "unknown"),
        ):
            self.assertEqual(line, to_line(event, {"i": "demo"}))

    def test_json_is_one_line(self) -> None:
        line = to_json(Event("a", {"b": "c\nd"}, "7"))
        self.assertNotIn("\n", line)
        self.assertEqual(
            {"type": "a", "id": "7", "data": {"b": "c\nd"}}, json.loads(line)
        )
