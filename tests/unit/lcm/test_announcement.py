"""Events of a VNF instance."""

import msgspec
import testtools

from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement, Subject
from tacker_cnf.lcm.shown_names import DEFAULT
from tacker_cnf.sol import base
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.subscription import NotificationType
from tests.factories import NOW, an_instance, an_op_occ


class TestSubject(testtools.TestCase):
    def test_it_has_what_filters_match(self) -> None:
        self.assertEqual(
            Subject(
                id="an-instance",
                vnf_instance_name="a name",
                vnfd_id="a-vnfd",
                vnf_provider="a vendor",
                vnf_product_name="a product",
                vnf_software_version="1.0",
                vnfd_version="2.0",
            ),
            announcement.subject(an_instance(vnf_instance_name="a name")),
        )


class TestStored(testtools.TestCase):
    def test_an_event_of_an_earlier_release_is_read(self) -> None:
        subject = announcement.subject(an_instance())
        stored = {
            "id": "an-event",
            "type": "VnfIdentifierCreationNotification",
            "timeStamp": "2026-11-20T12:00:00Z",
            "subject": msgspec.to_builtins(subject),
        }
        self.assertEqual(
            Announcement(
                id="an-event",
                type=NotificationType.CREATION,
                time_stamp=NOW,
                subject=subject,
            ),
            base.decode(msgspec.json.encode(stored), Announcement),
        )


class TestOpOcc(testtools.TestCase):
    def test_parameters_logs_and_secrets_are_removed(self) -> None:
        def occurrence(**data: object) -> ProblemDetails:
            return ProblemDetails(
                status=500, detail="x", user_script_err_handling_data=data
            )

        op_occ = an_op_occ(
            operation_params={"a": 1},
            script_log="a line",
            error=occurrence(ki="a-secret", namespace="n"),
        )
        self.assertEqual(
            an_op_occ(
                operation_params=None,
                error=occurrence(ki="***", namespace="n"),
            ),
            announcement.redact_op_occ(op_occ, DEFAULT),
        )
