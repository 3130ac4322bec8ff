import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.descriptor import Aspect, Flavour, Level, Vdu


def a_vdu(name: str, low: int = 0, high: int = 99) -> Vdu:
    return Vdu(id=name, name=name, min_instances=low, max_instances=high)


def a_flavour(**overrides: object) -> Flavour:
    aspect = Aspect(
        id="web",
        name="web",
        max_scale_level=5,
        step_deltas=("small", "large"),
        deltas={
            "front": {"small": 1, "large": 3},
            "cache": {"small": 0, "large": 1},
        },
    )
    parts: dict[str, object] = {
        "id": "simple",
        "vdus": {
            "front": a_vdu("front", 1),
            "cache": a_vdu("cache", 2),
            "lone": a_vdu("lone", 4),
        },
        "aspects": {"web": aspect},
        "initial_deltas": {"front": 2},
    }
    return Flavour(**parts | overrides)  # type: ignore[arg-type]


LEVELS = {
    "low": Level(id="low", scale_levels={"web": 0}, counts={"front": 2}),
    "high": Level(id="high", scale_levels={"web": 3}, counts={"lone": 7}),
}


class TestCountsSetByLevel(testtools.TestCase):
    def test_a_vdu_with_one_count_in_all_levels_stays(self) -> None:
        flavour = a_flavour(levels=LEVELS, default_level="low")
        expected = scaling.counts_at(flavour, {"web": 0})
        self.assertEqual(
            {"front": 2, "cache": 2, "lone": 4},
            scaling.counts_set_by_level(flavour, "low", expected),
        )
        one = a_flavour(levels={"low": LEVELS["low"]}, default_level="low")
        self.assertEqual({}, scaling.counts_set_by_level(one, "low", expected))
        self.assertEqual(
            {"lone": 4},
            scaling.counts_set_by_level(one, "low", {"front": 2, "cache": 2}),
        )


class TestCountsOfLevel(testtools.TestCase):
    def test_without_levels_initial_deltas_then_minimum_count(self) -> None:
        self.assertEqual(
            {"front": 2, "cache": 2, "lone": 4},
            scaling.counts_of_level(a_flavour(), None),
        )

    def test_none_is_the_default_level(self) -> None:
        flavour = a_flavour(levels=LEVELS, default_level="low")
        self.assertEqual(
            {"front": 2, "cache": 2, "lone": 4},
            scaling.counts_of_level(flavour, None),
        )

    def test_a_vdu_without_a_count_follows_the_scale_levels(self) -> None:
        flavour = a_flavour(levels=LEVELS, default_level="low")
        self.assertEqual(
            {"front": 2 + 7, "cache": 2 + 2, "lone": 7},
            scaling.counts_of_level(flavour, "high"),
        )

    def test_unknown_level(self) -> None:
        flavour = a_flavour(levels=LEVELS, default_level="low")
        for call in (scaling.counts_of_level, scaling.scale_levels_of):
            error = self.assertRaises(
                errors.UnknownLevel,
                call,
                flavour,
                "top",
            )
            self.assertEqual(
                "instantiationLevelId: there is no instantiation level 'top' "
                "in flavour simple; it has low, high.",
                str(error),
            )

    def test_a_level_of_a_flavour_without_levels_is_rejected(self) -> None:
        self.assertRaises(
            errors.UnknownLevel,
            scaling.counts_of_level,
            a_flavour(),
            "low",
        )


class TestScaleLevels(testtools.TestCase):
    def test_every_aspect_has_a_scale_level(self) -> None:
        flavour = a_flavour(levels=LEVELS, default_level="low")
        self.assertEqual({"web": 3}, scaling.scale_levels_of(flavour, "high"))
        self.assertEqual(
            {"web": 0}, scaling.scale_levels_of(a_flavour(), None)
        )

    def test_max_levels(self) -> None:
        self.assertEqual({"web": 5}, scaling.max_levels(a_flavour()))


class TestStep(testtools.TestCase):
    def test_steps(self) -> None:
        for from_level, steps, front, cache in (
            (0, 1, 1, 0),
            (1, 1, 3, 1),
            (0, 2, 4, 1),
            (0, 5, 13, 4),
            (2, 3, 9, 3),
            (5, -1, -3, -1),
            (2, -2, -4, -1),
            (3, 0, 0, 0),
        ):
            self.assertEqual(
                {"front": front, "cache": cache},
                scaling.step(a_flavour(), "web", from_level, steps),
                str((from_level, steps)),
            )

    def test_out_of_range(self) -> None:
        for from_level, steps in ((0, -1), (5, 1), (0, 6), (2, -3)):
            self.assertRaises(
                errors.ScaleOutOfRange,
                scaling.step,
                a_flavour(),
                "web",
                from_level,
                steps,
            )

    def test_the_error_has_the_level_and_the_range(self) -> None:
        error = self.assertRaises(
            errors.ScaleOutOfRange,
            scaling.step,
            a_flavour(),
            "web",
            4,
            2,
        )
        self.assertEqual(
            "+2 from scale level 4 of aspect web is 6, outside of 0 to 5",
            str(error),
        )

    def test_unknown_aspect(self) -> None:
        error = self.assertRaises(
            errors.UnknownAspect,
            scaling.step,
            a_flavour(),
            "db",
            0,
            1,
        )
        self.assertEqual(
            "There is no scaling aspect 'db' in flavour simple; it has web",
            str(error),
        )

    def test_a_step_of_an_aspect_without_deltas(self) -> None:
        still = Aspect(id="still", name="still", max_scale_level=2)
        flavour = a_flavour(aspects={"still": still})
        self.assertEqual({}, scaling.step(flavour, "still", 0, 1))
        still = msgspec.structs.replace(still, deltas={"front": {}})
        flavour = a_flavour(aspects={"still": still})
        self.assertEqual({"front": 0}, scaling.step(flavour, "still", 0, 1))


class TestCounts(testtools.TestCase):
    def test_counts_at_scale_levels(self) -> None:
        flavour = a_flavour()
        base = scaling.counts_at(flavour, {})
        self.assertEqual(base, scaling.counts_at(flavour, {"web": 0}))
        self.assertEqual(set(flavour.vdus), set(base))
        for level in range(6):
            change = scaling.step(flavour, "web", 0, level)
            self.assertEqual(
                {vdu: n + change.get(vdu, 0) for vdu, n in base.items()},
                scaling.counts_at(flavour, {"web": level, "other": 9}),
            )

    def test_counts_of_an_aspect(self) -> None:
        counts = {"front": 3, "other": 9}
        self.assertEqual(
            {"front": 3, "cache": 0},
            scaling.counts_of_aspect(a_flavour(), "web", counts),
        )


class TestLevelOf(testtools.TestCase):
    def test_it_is_the_inverse_of_step(self) -> None:
        flavour = a_flavour()
        base = scaling.counts_of_level(flavour, None)
        for level in range(6):
            change = scaling.step(flavour, "web", 0, level)
            counts = {vdu: n + change.get(vdu, 0) for vdu, n in base.items()}
            self.assertEqual(level, scaling.level_of(flavour, "web", counts))

    def test_no_matching_level(self) -> None:
        for front, cache in ((4, 2), (3, 3), (1, 2), (18, 7), (0, 0)):
            counts = {"front": front, "cache": cache}
            self.assertIsNone(scaling.level_of(a_flavour(), "web", counts))

    def test_a_high_level_is_found_by_division(self) -> None:
        aspect = Aspect(
            id="web",
            name="web",
            max_scale_level=1_000_000,
            step_deltas=("one",),
            deltas={"front": {"one": 2}},
        )
        flavour = a_flavour(aspects={"web": aspect})
        counts = {"front": 2 + 2 * 999_999}
        self.assertEqual(999_999, scaling.level_of(flavour, "web", counts))
        for level, expected in (
            (1_000_000, 1_000_000),
            (1_000_001, None),
            (1_000_002, None),
            (-1, None),
        ):
            counts = {"front": 2 + 2 * level}
            found = scaling.level_of(flavour, "web", counts)
            self.assertEqual(expected, found, str(level))

    def test_a_vdu_without_a_count_has_none(self) -> None:
        flavour = a_flavour(initial_deltas={"front": 0, "cache": 0})
        self.assertEqual(0, scaling.level_of(flavour, "web", {}))
        self.assertIsNone(scaling.level_of(a_flavour(), "web", {}))

    def test_an_aspect_without_deltas_has_no_level(self) -> None:
        for deltas in ({}, {"front": {"none": 0}}):
            still = Aspect(
                id="still",
                name="still",
                max_scale_level=2,
                step_deltas=("none",),
                deltas=deltas,
            )
            flavour = a_flavour(aspects={"still": still})
            self.assertIsNone(scaling.level_of(flavour, "still", {"front": 2}))

    def test_without_initial_delta_the_default_level_is_the_base(self) -> None:
        level = Level(id="l", scale_levels={"web": 1}, counts={"front": 6})
        flavour = a_flavour(
            levels={"l": level},
            default_level="l",
            initial_deltas={},
        )
        counts = {"front": 5, "cache": 2}
        self.assertEqual(0, scaling.level_of(flavour, "web", counts))

    def test_unknown_aspect(self) -> None:
        self.assertRaises(
            errors.UnknownAspect,
            scaling.level_of,
            a_flavour(),
            "db",
            {},
        )
