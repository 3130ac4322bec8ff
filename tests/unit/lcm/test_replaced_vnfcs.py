import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.operations import change_package
from tacker_cnf.lcm.operations.heal import Heal
from tacker_cnf.lcm.operations.instantiate import Instantiate
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
)
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


class TestRequestedVnfcs(testtools.TestCase):
    def test_vnfcs_are_found_by_either_id(self) -> None:
        for names, expected in NAMES:
            request = HealVnfRequest(vnfc_instance_id=names)
            self.assertEqual(expected, Heal().vnfcs(request, INSTANCE))

    def test_every_unknown_name_is_reported(self) -> None:
        request = HealVnfRequest(
            vnfc_instance_id=("web-web-1", "moon", "web-web-9")
        )
        error = self.assertRaises(
            errors.UnknownVnfc, Heal().vnfcs, request, INSTANCE
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
            Heal().vnfcs,
            HealVnfRequest(vnfc_instance_id=("moon",)),
            a_running_instance(*many),
        )
        self.assertIn("it has web-web-00, ", str(error))
        self.assertIn("web-web-19 and 5 more.", str(error))

    def test_an_instance_that_is_not_instantiated_has_no_vnfcs(self) -> None:
        error = self.assertRaises(
            errors.UnknownVnfc,
            Heal().vnfcs,
            HealVnfRequest(vnfc_instance_id=("web-1",)),
            an_instance(),
        )
        self.assertIn("it has none.", str(error))

    def test_other_requests_name_no_vnfcs(self) -> None:
        request = InstantiateVnfRequest(flavour_id="simple")
        self.assertEqual((), Instantiate().replacement(request, INSTANCE))


class TestListUpdated(testtools.TestCase):
    def test_a_change_of_package_replaces_those_of_named_vdus(self) -> None:
        entry = {"vdu_id": "agent"}
        for vdu_params, expected in (
            (None, (ONE, TWO, AGENT)),
            ([], (ONE, TWO, AGENT)),
            ([entry], (AGENT,)),
            ([entry, "x", {"vdu_id": "web"}], (ONE, TWO, AGENT)),
            (["x"], (ONE, TWO, AGENT)),
            ([{"vdu_id": "none"}], ()),
        ):
            request = ChangeCurrentVnfPkgRequest(
                vnfd_id="next", additional_params={"vdu_params": vdu_params}
            )
            found = change_package.list_updated(request, INSTANCE)
            self.assertEqual(expected, found, str(vdu_params))

    def test_an_instance_that_is_not_instantiated_has_none(self) -> None:
        request = ChangeCurrentVnfPkgRequest(vnfd_id="next")
        self.assertEqual(
            (), change_package.list_updated(request, an_instance())
        )
