import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.change import ALL, Change, current_state
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import (
    ExtManagedVirtualLinkData,
    ExtVirtualLinkData,
    ResourceHandle,
    VnfExtCpConfig,
    VnfExtCpData,
)
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    ChangeExtVnfConnectivityRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
    ScaleVnfToLevelRequest,
    TerminateVnfRequest,
    TerminationType,
)
from tacker_cnf.sol.virtual_link import (
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
)
from tacker_cnf.sol.vnf_instance import ScaleInfo
from tacker_cnf.vnfd.model import Aspect, ConnectionPoint
from tests.factories import (
    a_flavour,
    a_running_instance,
    a_state,
    a_vdu,
    a_vnfc,
    a_vnfd,
    an_info,
    an_instance,
    desired_state,
    operation_of,
)


def a_scale(steps: int, aspect: str = "web_aspect") -> ScaleVnfRequest:
    kind = ScaleType.SCALE_OUT if steps > 0 else ScaleType.SCALE_IN
    return ScaleVnfRequest(
        type=kind, aspect_id=aspect, number_of_steps=abs(steps)
    )


class TestCurrentState(testtools.TestCase):
    def test_none_before_instantiation(self) -> None:
        self.assertIsNone(current_state(an_instance()))

    def test_none_after_termination(self) -> None:
        was = an_instance(instantiated_vnf_info=an_info(a_vnfc()))
        self.assertIsNone(current_state(was))

    def test_running_vnfcs_are_counted(self) -> None:
        info = an_info(
            a_vnfc("web-1"),
            a_vnfc("web-2"),
            a_vnfc("agent-1", "agent"),
            levels={"web_aspect": 1},
            metadata={"namespace": "here"},
            localization_language="en",
        )
        self.assertEqual(
            a_state(
                scale_levels={"web_aspect": 1},
                counts={"web": 2, "agent": 1},
                parameters={"namespace": "here"},
                localization_language="en",
                vnfcs=info.vnfc_resource_info,
            ),
            current_state(a_running_instance(info=info)),
        )


class TestChange(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.instance = a_running_instance(info=an_info(a_vnfc("web-1")))
        self.vnfcs = (a_vnfc("web-1"),)

    def change(self, request: SolType) -> Change:
        return operation_of(request).change(request, self.instance, a_vnfd())

    def test_a_scale_leaves_a_known_state_and_restores_none(self) -> None:
        change = self.change(a_scale(1))
        assert change.desired
        self.assertEqual(change.desired, change.state)
        self.assertIsNone(change.desired.vnfcs)
        self.assertFalse(change.restores)
        self.assertTrue(change.leaves_known_state)

    def test_its_inverse_restores_the_vnfcs(self) -> None:
        inverse = self.change(a_scale(1)).inverse()
        assert inverse.desired
        self.assertEqual(self.vnfcs, inverse.desired.vnfcs)
        self.assertTrue(inverse.restores)
        self.assertFalse(inverse.leaves_known_state)

    def test_a_heal_replaces_and_restores_none(self) -> None:
        self.assertEqual(ALL, self.change(HealVnfRequest()).replace)
        request = HealVnfRequest(vnfc_instance_id=("web-1",))
        change = self.change(request)
        self.assertEqual(self.vnfcs, change.replace)
        self.assertFalse(change.restores)

    def test_a_termination_leaves_nothing(self) -> None:
        change = self.change(
            TerminateVnfRequest(
                termination_type=TerminationType.GRACEFUL,
                graceful_termination_timeout=7,
            )
        )
        self.assertIsNone(change.desired)
        self.assertEqual(7, change.grace)
        self.assertTrue(change.leaves_known_state)

    def test_the_inverse_of_an_instantiation_leaves_no_known_state(
        self,
    ) -> None:
        self.instance = an_instance()
        inverse = self.change(
            InstantiateVnfRequest(
                flavour_id="simple", additional_params={"a": 1}
            )
        ).inverse()
        self.assertIsNone(inverse.desired)
        self.assertEqual({"a": 1}, inverse.parameters)
        self.assertFalse(inverse.leaves_known_state)


class TestInstantiate(testtools.TestCase):
    def test_the_default_level(self) -> None:
        request = InstantiateVnfRequest(
            flavour_id="simple",
            additional_params={"namespace": "here"},
            localization_language="en",
        )
        self.assertEqual(
            a_state(
                parameters={"namespace": "here"}, localization_language="en"
            ),
            desired_state(request, None, a_vnfd()),
        )

    def test_the_requested_level(self) -> None:
        request = InstantiateVnfRequest(
            flavour_id="simple", instantiation_level_id="busy"
        )
        self.assertEqual(
            a_state(
                counts={"web": 3, "agent": 1}, scale_levels={"web_aspect": 2}
            ),
            desired_state(request, None, a_vnfd()),
        )

    def test_an_unknown_flavour_error_lists_the_known_ones(
        self,
    ) -> None:
        vnfd = a_vnfd(a_flavour(id="small"), a_flavour(id="large"))
        error = self.assertRaises(
            errors.UnknownFlavour,
            desired_state,
            InstantiateVnfRequest(flavour_id="huge"),
            None,
            vnfd,
        )
        self.assertEqual(
            "flavourId: VNFD a-vnfd has no flavour 'huge', only large, small.",
            str(error),
        )

    def test_an_unknown_level_is_rejected(self) -> None:
        self.assertRaises(
            errors.UnknownLevel,
            desired_state,
            InstantiateVnfRequest(
                flavour_id="simple", instantiation_level_id="frantic"
            ),
            None,
            a_vnfd(),
        )


class TestScale(testtools.TestCase):
    def test_scaling_changes_level_and_count(self) -> None:
        # steps, level before, count before, level after, count after
        cases = [
            (1, 0, 1, 1, 2),
            (3, 0, 1, 3, 4),
            (-1, 2, 3, 1, 2),
            (-2, 2, 3, 0, 1),
            # an operator added VNFCs without this VNFM
            (1, 0, 2, 1, 3),
        ]
        for steps, level, count, new_level, new_count in cases:
            current = a_state(
                scale_levels={"web_aspect": level},
                counts={"web": count, "agent": 1},
            )
            self.assertEqual(
                a_state(
                    scale_levels={"web_aspect": new_level},
                    counts={"web": new_count, "agent": 1},
                ),
                desired_state(a_scale(steps), current, a_vnfd()),
            )

    def test_the_current_state_is_not_changed(self) -> None:
        current = a_state()
        desired_state(a_scale(1), current, a_vnfd())
        self.assertEqual(a_state(), current)

    def test_parameters_of_instantiation_stay(self) -> None:
        current = a_state(
            parameters={"namespace": "here"}, localization_language="en"
        )
        desired = desired_state(a_scale(1), current, a_vnfd())
        assert desired is not None
        self.assertEqual({"namespace": "here"}, desired.parameters)
        self.assertEqual("en", desired.localization_language)

    def test_a_vdu_without_a_vnfc_can_scale_out(self) -> None:
        current = a_state(counts={"agent": 1})
        desired = desired_state(a_scale(1), current, a_vnfd())
        assert desired is not None
        self.assertEqual({"web": 1, "agent": 1}, desired.counts)

    def test_an_aspect_may_scale_several_vdus(self) -> None:
        both = Aspect(
            id="both",
            name="both",
            max_scale_level=2,
            step_deltas=("more",),
            deltas={"web": {"more": 2}, "agent": {"more": 1}},
        )
        vnfd = a_vnfd(
            a_flavour(aspects={"both": both}, levels={}, default_level=None)
        )
        desired = desired_state(
            a_scale(2, "both"), a_state(scale_levels={}), vnfd
        )
        assert desired is not None
        self.assertEqual({"web": 5, "agent": 3}, desired.counts)
        self.assertEqual({"both": 2}, desired.scale_levels)

    def test_impossible_scaling_is_rejected(self) -> None:
        at = {"web_aspect": 1}
        cases = [
            (a_scale(3), {"web": 2}, errors.ScaleOutOfRange),
            (a_scale(-2), {"web": 2}, errors.ScaleOutOfRange),
            (a_scale(10**18), {"web": 2}, errors.ScaleOutOfRange),
            (a_scale(1, "moon"), {"web": 2}, errors.UnknownAspect),
            # fewer VNFCs run than the level implies
            (a_scale(-1), {}, errors.ScaleOutOfRange),
        ]
        for request, counts, expected_error in cases:
            current = a_state(scale_levels=at, counts=counts)
            self.assertRaises(
                expected_error, desired_state, request, current, a_vnfd()
            )

    def test_an_error_names_the_vdu_with_too_few_vnfcs(self) -> None:
        error = self.assertRaises(
            errors.ScaleOutOfRange,
            desired_state,
            a_scale(-1),
            a_state(scale_levels={"web_aspect": 1}, counts={}),
            a_vnfd(),
        )
        self.assertEqual(
            "VDU web has 0 VNFCs, 1 cannot be removed from it.", str(error)
        )

    def test_an_instance_of_an_unknown_flavour_is_rejected(self) -> None:
        self.assertRaises(
            errors.UnknownFlavour,
            desired_state,
            a_scale(1),
            a_state(flavour_id="removed"),
            a_vnfd(),
        )


class TestScaleToLevel(testtools.TestCase):
    def test_an_instantiation_level_sets_the_vdus_that_levels_differ_in(
        self,
    ) -> None:
        current = a_state(
            scale_levels={"web_aspect": 2}, counts={"web": 7, "agent": 2}
        )
        request = ScaleVnfToLevelRequest(instantiation_level_id="quiet")
        self.assertEqual(
            a_state(
                scale_levels={"web_aspect": 0}, counts={"web": 1, "agent": 2}
            ),
            desired_state(request, current, a_vnfd()),
        )

    def test_a_scale_level_sets_the_vdus_of_its_aspect(self) -> None:
        # level before, count before, level after, count after
        cases = [(0, 1, 3, 4), (3, 4, 1, 2), (1, 5, 1, 2), (2, 3, 0, 1)]
        for level, count, new_level, new_count in cases:
            current = a_state(
                scale_levels={"web_aspect": level},
                counts={"web": count, "agent": 4},
            )
            self.assertEqual(
                a_state(
                    scale_levels={"web_aspect": new_level},
                    counts={"web": new_count, "agent": 4},
                ),
                desired_state(to_level(new_level), current, a_vnfd()),
            )

    def test_an_impossible_level_is_rejected(self) -> None:
        cases = [
            (to_level(4), errors.ScaleOutOfRange),
            (to_level(1, aspect_id="moon"), errors.UnknownAspect),
            (to_level(1, vnfd_id="other"), errors.InvalidParameters),
            (
                ScaleVnfToLevelRequest(instantiation_level_id="moon"),
                errors.UnknownLevel,
            ),
        ]
        for request, expected_error in cases:
            self.assertRaises(
                expected_error, desired_state, request, a_state(), a_vnfd()
            )


def to_level(
    level: int, aspect_id: str = "web_aspect", vnfd_id: str | None = None
) -> ScaleVnfToLevelRequest:
    scale = ScaleInfo(aspect_id=aspect_id, scale_level=level, vnfd_id=vnfd_id)
    return ScaleVnfToLevelRequest(scale_info=(scale,))


class TestOthers(testtools.TestCase):
    def test_a_heal_keeps_the_state(self) -> None:
        current = a_state()
        for request in (
            HealVnfRequest(),
            HealVnfRequest(vnfc_instance_id=("web-1",)),
        ):
            self.assertEqual(
                current, desired_state(request, current, a_vnfd())
            )

    def test_a_heal_of_the_whole_vnf_restores_lost_vnfcs(self) -> None:
        lost = a_state(counts={})
        healed = desired_state(HealVnfRequest(), lost, a_vnfd())
        assert healed is not None
        self.assertEqual(1, healed.counts["web"])
        vnfc_heal = HealVnfRequest(vnfc_instance_id=("web-1",))
        self.assertEqual(lost, desired_state(vnfc_heal, lost, a_vnfd()))

    def test_a_heal_adds_nothing_to_a_vdu_that_may_be_empty(self) -> None:
        aspect = Aspect(
            id="db_aspect",
            name="db",
            max_scale_level=3,
            step_deltas=("one",),
            deltas={"db": {"one": 1}},
        )
        db = msgspec.structs.replace(a_vdu("db"), min_instances=0)
        flavour = a_flavour(
            vdus={"web": a_vdu("web"), "db": db},
            aspects={"db_aspect": aspect},
            levels={},
            default_level=None,
        )
        for counts, expected in (
            ({}, {"web": 1, "db": 0}),
            ({"web": 2, "db": 1, "old": 1}, {"web": 2, "db": 1, "old": 1}),
        ):
            current = a_state(counts=counts, scale_levels={"db_aspect": 2})
            healed = desired_state(HealVnfRequest(), current, a_vnfd(flavour))
            assert healed is not None
            self.assertEqual(expected, healed.counts)

    def test_terminate_leaves_no_state(self) -> None:
        request = TerminateVnfRequest(
            termination_type=TerminationType.FORCEFUL
        )
        self.assertIsNone(desired_state(request, a_state(), a_vnfd()))

    def test_only_vdus_of_the_flavour_are_counted(self) -> None:
        vnfd = a_vnfd(
            a_flavour(
                vdus={"web": a_vdu("web")}, levels={}, default_level=None
            )
        )
        desired = desired_state(
            InstantiateVnfRequest(flavour_id="simple"), None, vnfd
        )
        assert desired is not None
        self.assertEqual({"web": 1}, desired.counts)


def a_link(cpd: str) -> ExtVirtualLinkData:
    config: dict[str, VnfExtCpConfig | None] = {
        "c": VnfExtCpConfig(link_port_id="p")
    }
    return ExtVirtualLinkData(
        id=f"of-{cpd}",
        resource_id="net",
        ext_cps=(VnfExtCpData(cpd_id=cpd, cp_config=config),),
    )


def a_managed_link(id_: str) -> ExtManagedVirtualLinkData:
    return ExtManagedVirtualLinkData(
        id=id_, vnf_virtual_link_desc_id="inner", resource_id="net"
    )


class LinksTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        points = {
            name: ConnectionPoint(id=name, external=True) for name in "ab"
        }
        self.vnfd = a_vnfd(a_flavour(connection_points=points))
        self.current = a_state(
            ext_virtual_links=(a_link("a"),),
            ext_managed_virtual_links=(a_managed_link("old"),),
        )


class TestConnectivity(LinksTest):
    """External and managed links."""

    def test_of_an_instance(self) -> None:
        handle = ResourceHandle(resource_id="net")
        info = an_info(
            ext_virtual_link_info=(
                ExtVirtualLinkInfo(
                    id="of-a",
                    resource_handle=handle,
                    current_vnf_ext_cp_data=a_link("a").ext_cps,
                ),
            ),
            ext_managed_virtual_link_info=(
                ExtManagedVirtualLinkInfo(
                    id="old",
                    vnf_virtual_link_desc_id="inner",
                    network_resource=handle,
                ),
            ),
        )
        found = current_state(a_running_instance(info=info))
        assert found
        self.assertEqual((a_link("a"),), found.ext_virtual_links)
        self.assertEqual(
            (a_managed_link("old"),), found.ext_managed_virtual_links
        )

    def test_of_a_request(self) -> None:
        request = InstantiateVnfRequest(
            flavour_id="simple",
            ext_virtual_links=(a_link("a"),),
            ext_managed_virtual_links=(a_managed_link("m"),),
            localization_language="en",
            additional_params={"p": 1},
        )
        self.assertEqual(
            a_state(
                ext_virtual_links=(a_link("a"),),
                ext_managed_virtual_links=(a_managed_link("m"),),
                localization_language="en",
                parameters={"p": 1},
            ),
            desired_state(request, None, self.vnfd),
        )

    def test_links_change(self) -> None:
        request = ChangeExtVnfConnectivityRequest(
            ext_virtual_links=(a_link("b"),)
        )
        self.assertEqual(
            msgspec.structs.replace(
                self.current, ext_virtual_links=(a_link("a"), a_link("b"))
            ),
            desired_state(request, self.current, self.vnfd),
        )

    def test_unknown_connection_points_are_rejected(self) -> None:
        links = (a_link("c"),)
        for request in (
            ChangeExtVnfConnectivityRequest(ext_virtual_links=links),
            ChangeCurrentVnfPkgRequest(
                vnfd_id="next", ext_virtual_links=links
            ),
        ):
            self.assertRaises(
                errors.InvalidParameters,
                desired_state,
                request,
                self.current,
                self.vnfd,
            )


class TestPackage(LinksTest):
    """A change of package."""

    def test_what_the_package_and_the_request_add(self) -> None:
        log = Aspect(id="log_aspect", name="log", max_scale_level=2)
        flavour = self.vnfd.flavours["simple"]
        new_vnfd = a_vnfd(
            msgspec.structs.replace(
                flavour,
                vdus={**flavour.vdus, "log": a_vdu("log")},
                aspects={**flavour.aspects, "log_aspect": log},
            )
        )
        current = msgspec.structs.replace(
            self.current,
            scale_levels={"web_aspect": 2},
            counts={"web": 3, "old": 1},
            parameters={"p": 1, "q": 1},
        )
        request = ChangeCurrentVnfPkgRequest(
            vnfd_id="next",
            ext_virtual_links=(a_link("b"),),
            ext_managed_virtual_links=(a_managed_link("new"),),
            additional_params={"q": 2, "r": 3},
        )
        self.assertEqual(
            msgspec.structs.replace(
                current,
                scale_levels={"web_aspect": 2, "log_aspect": 0},
                counts={"web": 3, "old": 1, "log": 1},
                parameters={"p": 1, "q": 2, "r": 3},
                ext_virtual_links=(a_link("a"), a_link("b")),
                ext_managed_virtual_links=(a_managed_link("new"),),
            ),
            desired_state(request, current, new_vnfd, self.vnfd),
        )

    def test_nothing_new(self) -> None:
        request = ChangeCurrentVnfPkgRequest(vnfd_id="next")
        for old_vnfd in (self.vnfd, None):
            self.assertEqual(
                self.current,
                desired_state(request, self.current, self.vnfd, old_vnfd),
            )
