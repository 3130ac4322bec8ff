import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import vnfcs
from tacker_cnf.sol.lcm_request import HealVnfRequest, InstantiateVnfRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo
from tests.factories import a_running_instance, a_vnfc, an_instance

ONE = a_vnfc("web-1")
TWO = a_vnfc("web-2")
AGENT = a_vnfc("node-1", "agent")
INSTANCE = a_running_instance(ONE, TWO, AGENT)

#: names in the request -> the VNFCs that are meant
NAMES: list[tuple[tuple[str, ...], tuple[VnfcResourceInfo, ...]]] = [
    ((), ()),
    (("web-web-1",), (ONE,)),
    (("web-1",), (ONE,)),
    (("agent-node-1", "web-web-2"), (AGENT, TWO)),
    # the same one by both of its names
    (("web-web-1", "web-1", "web-web-1"), (ONE,)),
]


class TestNamed(testtools.TestCase):
    def test_by_either_of_their_ids(self) -> None:
        for names, meant in NAMES:
            request = HealVnfRequest(vnfc_instance_id=names)
            self.assertEqual(meant, vnfcs.find_requested(request, INSTANCE))

    def test_every_unknown_name_is_reported(self) -> None:
        request = HealVnfRequest(
            vnfc_instance_id=("web-web-1", "moon", "web-web-9")
        )
        error = self.assertRaises(
            errors.UnknownVnfc, vnfcs.find_requested, request, INSTANCE
        )
        self.assertEqual(
            "vnfcInstanceId: VNF instance an-instance has no VNFC instance "
            "moon, web-web-9; it has agent-node-1, web-web-1, web-web-2.",
            str(error),
        )

    def test_the_known_names_are_limited_in_the_error(self) -> None:
        many = [a_vnfc(f"web-{number:02}") for number in range(25)]
        error = self.assertRaises(
            errors.UnknownVnfc,
            vnfcs.find_requested,
            HealVnfRequest(vnfc_instance_id=("moon",)),
            a_running_instance(*many),
        )
        self.assertIn("it has web-web-00, ", str(error))
        self.assertIn("web-web-19 and 5 more.", str(error))

    def test_an_instance_that_does_not_run_has_none(self) -> None:
        error = self.assertRaises(
            errors.UnknownVnfc,
            vnfcs.find_requested,
            HealVnfRequest(vnfc_instance_id=("web-1",)),
            an_instance(),
        )
        self.assertIn("it has none.", str(error))

    def test_other_requests_name_none(self) -> None:
        request = InstantiateVnfRequest(flavour_id="simple")
        self.assertEqual((), vnfcs.find_requested(request, INSTANCE))


class TestHealed(testtools.TestCase):
    def test_those_that_are_named_or_all(self) -> None:
        for names, meant in NAMES:
            request = HealVnfRequest(vnfc_instance_id=names)
            self.assertEqual(
                meant or (ONE, TWO, AGENT),
                vnfcs.list_replaced(request, INSTANCE),
            )

    def test_none_by_other_requests(self) -> None:
        request = InstantiateVnfRequest(flavour_id="simple")
        self.assertEqual((), vnfcs.list_replaced(request, INSTANCE))

    def test_none_of_an_instance_that_does_not_run(self) -> None:
        self.assertEqual(
            (), vnfcs.list_replaced(HealVnfRequest(), an_instance())
        )
