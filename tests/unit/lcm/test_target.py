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
    def test_nothing_while_it_is_not_instantiated(self) -> None:
        self.assertIsNone(target.of_instance(an_instance()))

    def test_nothing_when_it_was_terminated(self) -> None:
        was = an_instance(instantiated_vnf_info=an_info(a_vnfc()))
        self.assertIsNone(target.of_instance(was))

    def test_it_counts_what_runs(self) -> None:
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

    def test_the_level_that_is_asked_for(self) -> None:
        request = InstantiateVnfRequest(
            flavour_id="simple", instantiation_level_id="busy"
        )
        self.assertEqual(
            a_target(
                counts={"web": 3, "agent": 1}, scale_levels={"web_aspect": 2}
            ),
            target.desired(request, None, a_vnfd()),
        )

    def test_an_unknown_flavour_is_refused_by_those_that_are_known(
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

    def test_an_unknown_level_is_refused(self) -> None:
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
    def test_level_and_count_go_together(self) -> None:
        # steps, level before, count before, level after, count after
        cases = [
            (1, 0, 1, 1, 2),
            (3, 0, 1, 3, 4),
            (-1, 2, 3, 1, 2),
            (-2, 2, 3, 0, 1),
            # somebody else made more of it meanwhile
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

    def test_what_was_there_is_not_changed(self) -> None:
        current = a_target()
        target.desired(a_scale(1), current, a_vnfd())
        self.assertEqual(a_target(), current)

    def test_parameters_of_instantiation_stay(self) -> None:
        current = a_target(
            parameters={"namespace": "here"}, localization_language="en"
        )
        wanted = target.desired(a_scale(1), current, a_vnfd())
        assert wanted is not None
        self.assertEqual({"namespace": "here"}, wanted.parameters)
        self.assertEqual("en", wanted.localization_language)

    def test_a_vdu_without_a_vnfc_can_grow(self) -> None:
        current = a_target(counts={"agent": 1})
        wanted = target.desired(a_scale(1), current, a_vnfd())
        assert wanted is not None
        self.assertEqual({"web": 1, "agent": 1}, wanted.counts)

    def test_an_aspect_may_move_several_vdus(self) -> None:
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
        wanted = target.desired(
            a_scale(2, "both"), a_target(scale_levels={}), vnfd
        )
        assert wanted is not None
        self.assertEqual({"web": 5, "agent": 3}, wanted.counts)
        self.assertEqual({"both": 2}, wanted.scale_levels)

    def test_refusals(self) -> None:
        at = {"web_aspect": 1}
        cases = [
            (a_scale(3), {"web": 2}, errors.ScaleOutOfRange),
            (a_scale(-2), {"web": 2}, errors.ScaleOutOfRange),
            (a_scale(10**18), {"web": 2}, errors.ScaleOutOfRange),
            (a_scale(1, "moon"), {"web": 2}, errors.UnknownAspect),
            # less is there than the level says
            (a_scale(-1), {}, errors.ScaleOutOfRange),
        ]
        for request, counts, refusal in cases:
            current = a_target(scale_levels=at, counts=counts)
            self.assertRaises(
                refusal, target.desired, request, current, a_vnfd()
            )

    def test_too_few_vnfcs_are_named_with_their_vdu(self) -> None:
        error = self.assertRaises(
            errors.ScaleOutOfRange,
            target.desired,
            a_scale(-1),
            a_target(scale_levels={"web_aspect": 1}, counts={}),
            a_vnfd(),
        )
        self.assertEqual(
            "VDU web has 0 VNFCs, 1 cannot be taken from it.", str(error)
        )

    def test_an_instance_of_a_flavour_that_is_gone(self) -> None:
        self.assertRaises(
            errors.UnknownFlavour,
            target.desired,
            a_scale(1),
            a_target(flavour_id="gone"),
            a_vnfd(),
        )


class TestOthers(testtools.TestCase):
    def test_heal_wants_what_is_there(self) -> None:
        current = a_target()
        for request in (
            HealVnfRequest(),
            HealVnfRequest(vnfc_instance_id=("web-1",)),
        ):
            self.assertEqual(
                current, target.desired(request, current, a_vnfd())
            )

    def test_heal_of_the_whole_makes_lost_vnfcs_again(self) -> None:
        lost = a_target(counts={})
        whole = target.desired(HealVnfRequest(), lost, a_vnfd())
        assert whole is not None
        self.assertEqual(1, whole.counts["web"])
        one = HealVnfRequest(vnfc_instance_id=("web-1",))
        self.assertEqual(lost, target.desired(one, lost, a_vnfd()))

    def test_terminate_wants_nothing(self) -> None:
        request = TerminateVnfRequest(
            termination_type=TerminationType.FORCEFUL
        )
        self.assertIsNone(target.desired(request, a_target(), a_vnfd()))

    def test_a_vdu_is_only_counted_where_the_flavour_has_it(self) -> None:
        vnfd = a_vnfd(
            a_flavour(
                vdus={"web": a_vdu("web")}, levels={}, default_level=None
            )
        )
        wanted = target.desired(
            InstantiateVnfRequest(flavour_id="simple"), None, vnfd
        )
        assert wanted is not None
        self.assertEqual({"web": 1}, wanted.counts)
