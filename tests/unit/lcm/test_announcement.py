"""Events of a VNF instance."""

import testtools

from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Subject
from tacker_cnf.lcm.shown_names import DEFAULT
from tacker_cnf.sol.problem import ProblemDetails
from tests.factories import an_instance, an_op_occ


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
