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

#: names in the request -> the VNFCs with these names
NAMES: list[tuple[tuple[str, ...], tuple[VnfcResourceInfo, ...]]] = [
    ((), ()),
    (("web-web-1",), (ONE,)),
    (("web-1",), (ONE,)),
    (("agent-node-1", "web-web-2"), (AGENT, TWO)),
    # both names of one VNFC
    (("web-web-1", "web-1", "web-web-1"), (ONE,)),
]


class TestFindRequested(testtools.TestCase):
    def test_vnfcs_are_found_by_either_id(self) -> None:
        for names, expected in NAMES:
            request = HealVnfRequest(vnfc_instance_id=names)
            self.assertEqual(expected, vnfcs.find_requested(request, INSTANCE))

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

    def test_an_instance_that_is_not_instantiated_has_no_vnfcs(self) -> None:
        error = self.assertRaises(
            errors.UnknownVnfc,
            vnfcs.find_requested,
            HealVnfRequest(vnfc_instance_id=("web-1",)),
            an_instance(),
        )
        self.assertIn("it has none.", str(error))

    def test_other_requests_name_no_vnfcs(self) -> None:
        request = InstantiateVnfRequest(flavour_id="simple")
        self.assertEqual((), vnfcs.find_requested(request, INSTANCE))


class TestListReplaced(testtools.TestCase):
    def test_a_heal_replaces_named_vnfcs_or_all(self) -> None:
        for names, expected in NAMES:
            request = HealVnfRequest(vnfc_instance_id=names)
            self.assertEqual(
                expected or (ONE, TWO, AGENT),
                vnfcs.list_replaced(request, INSTANCE),
            )

    def test_other_requests_replace_none(self) -> None:
        request = InstantiateVnfRequest(flavour_id="simple")
        self.assertEqual((), vnfcs.list_replaced(request, INSTANCE))

    def test_an_instance_that_is_not_instantiated_has_none_to_replace(
        self,
    ) -> None:
        self.assertEqual(
            (), vnfcs.list_replaced(HealVnfRequest(), an_instance())
        )
