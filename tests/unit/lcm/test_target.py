import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import target
from tacker_cnf.sol.lcm_request import (
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
    TerminateVnfRequest,
    TerminationType,
)
from tacker_cnf.vnfd.model import Aspect
from tests.factories import (
    a_flavour,
    a_running_instance,
    a_target,
    a_vdu,
    a_vnfc,
    a_vnfd,
    an_info,
    an_instance,
)


def a_scale(steps: int, aspect: str = "web_aspect") -> ScaleVnfRequest:
    kind = ScaleType.SCALE_OUT if steps > 0 else ScaleType.SCALE_IN
    return ScaleVnfRequest(
        type=kind, aspect_id=aspect, number_of_steps=abs(steps)
    )


class TestOfInstance(testtools.TestCase):
    def test_no_target_before_instantiation(self) -> None:
        self.assertIsNone(target.of_instance(an_instance()))

    def test_no_target_after_termination(self) -> None:
        was = an_instance(instantiated_vnf_info=an_info(a_vnfc()))
        self.assertIsNone(target.of_instance(was))

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
            a_target(
                scale_levels={"web_aspect": 1},
                counts={"web": 2, "agent": 1},
                parameters={"namespace": "here"},
                localization_language="en",
            ),
            target.of_instance(a_running_instance(info=info)),
        )


class TestInstantiate(testtools.TestCase):
    def test_the_default_level(self) -> None:
        request = InstantiateVnfRequest(
            flavour_id="simple",
            additional_params={"namespace": "here"},
            localization_language="en",
        )
        self.assertEqual(
            a_target(
                parameters={"namespace": "here"}, localization_language="en"
            ),
            target.desired(request, None, a_vnfd()),
        )

    def test_the_requested_level(self) -> None:
        request = InstantiateVnfRequest(
            flavour_id="simple", instantiation_level_id="busy"
        )
        self.assertEqual(
            a_target(
                counts={"web": 3, "agent": 1}, scale_levels={"web_aspect": 2}
            ),
            target.desired(request, None, a_vnfd()),
        )

    def test_an_unknown_flavour_error_lists_the_known_ones(
        self,
    ) -> None:
        vnfd = a_vnfd(a_flavour(id="small"), a_flavour(id="large"))
        error = self.assertRaises(
            errors.UnknownFlavour,
            target.desired,
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
            target.desired,
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
            current = a_target(
                scale_levels={"web_aspect": level},
                counts={"web": count, "agent": 1},
            )
            self.assertEqual(
                a_target(
                    scale_levels={"web_aspect": new_level},
                    counts={"web": new_count, "agent": 1},
                ),
                target.desired(a_scale(steps), current, a_vnfd()),
            )

    def test_the_current_target_is_not_changed(self) -> None:
        current = a_target()
        target.desired(a_scale(1), current, a_vnfd())
        self.assertEqual(a_target(), current)

    def test_parameters_of_instantiation_stay(self) -> None:
        current = a_target(
            parameters={"namespace": "here"}, localization_language="en"
        )
        desired = target.desired(a_scale(1), current, a_vnfd())
        assert desired is not None
        self.assertEqual({"namespace": "here"}, desired.parameters)
        self.assertEqual("en", desired.localization_language)

    def test_a_vdu_without_a_vnfc_can_scale_out(self) -> None:
        current = a_target(counts={"agent": 1})
        desired = target.desired(a_scale(1), current, a_vnfd())
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
        desired = target.desired(
            a_scale(2, "both"), a_target(scale_levels={}), vnfd
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
            current = a_target(scale_levels=at, counts=counts)
            self.assertRaises(
                expected_error, target.desired, request, current, a_vnfd()
            )

    def test_an_error_names_the_vdu_with_too_few_vnfcs(self) -> None:
        error = self.assertRaises(
            errors.ScaleOutOfRange,
            target.desired,
            a_scale(-1),
            a_target(scale_levels={"web_aspect": 1}, counts={}),
            a_vnfd(),
        )
        self.assertEqual(
            "VDU web has 0 VNFCs, 1 cannot be removed from it.", str(error)
        )

    def test_an_instance_of_an_unknown_flavour_is_rejected(self) -> None:
        self.assertRaises(
            errors.UnknownFlavour,
            target.desired,
            a_scale(1),
            a_target(flavour_id="removed"),
            a_vnfd(),
        )


class TestOthers(testtools.TestCase):
    def test_a_heal_keeps_the_target(self) -> None:
        current = a_target()
        for request in (
            HealVnfRequest(),
            HealVnfRequest(vnfc_instance_id=("web-1",)),
        ):
            self.assertEqual(
                current, target.desired(request, current, a_vnfd())
            )

    def test_a_heal_of_the_whole_vnf_restores_lost_vnfcs(self) -> None:
        lost = a_target(counts={})
        healed = target.desired(HealVnfRequest(), lost, a_vnfd())
        assert healed is not None
        self.assertEqual(1, healed.counts["web"])
        vnfc_heal = HealVnfRequest(vnfc_instance_id=("web-1",))
        self.assertEqual(lost, target.desired(vnfc_heal, lost, a_vnfd()))

    def test_terminate_leaves_no_target(self) -> None:
        request = TerminateVnfRequest(
            termination_type=TerminationType.FORCEFUL
        )
        self.assertIsNone(target.desired(request, a_target(), a_vnfd()))

    def test_only_vdus_of_the_flavour_are_counted(self) -> None:
        vnfd = a_vnfd(
            a_flavour(
                vdus={"web": a_vdu("web")}, levels={}, default_level=None
            )
        )
        desired = target.desired(
            InstantiateVnfRequest(flavour_id="simple"), None, vnfd
        )
        assert desired is not None
        self.assertEqual({"web": 1}, desired.counts)
