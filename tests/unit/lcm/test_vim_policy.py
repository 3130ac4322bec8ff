"""The policy in extra of a VIM."""

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import vim_policy
from tacker_cnf.sol.common import VimConnectionInfo


class Policy(msgspec.Struct, frozen=True):
    """The policy of a type of VIM."""

    level: int = 1
    names: tuple[str, ...] = ()


class TestRead(testtools.TestCase):
    def test_each_attribute_has_its_default(self) -> None:
        for extra, defaults, expected in (
            ({}, {}, Policy()),
            ({"policy": None}, {"level": 2}, Policy(2)),
            ({"policy": {}}, {"level": 2}, Policy(2)),
            ({"policy": {"level": 3}}, {"level": 2}, Policy(3)),
            (
                {"policy": {"names": ["a"]}},
                {"level": 2, "names": ["b"]},
                Policy(2, ("a",)),
            ),
        ):
            found = vim_policy.read(extra, Policy, defaults)
            self.assertEqual(expected, found)

    def test_values_that_are_not_valid(self) -> None:
        for policy, message in (
            ("x", "extra.policy: expected an object."),
            ([], "extra.policy: expected an object."),
            ({"levels": 1}, 'did you mean "level"?'),
            ({"other": 1}, "it has level, names."),
            ({"level": "x"}, "Expected `int`, got `str` - at `$.level`."),
        ):
            error = self.assertRaises(
                errors.InvalidVimConnection,
                vim_policy.read,
                {"policy": policy},
                Policy,
                {},
            )
            self.assertIn(message, str(error))

    def test_types_of_vims_without_policies(self) -> None:
        vim_policy.refuse({})
        self.assertRaises(
            errors.InvalidVimConnection, vim_policy.refuse, {"level": 1}
        )

    def test_misspelled_names(self) -> None:
        vim_policy.check_name({"policy": {}, "region": "north"})
        for name in ("Policy", "pol.icy", "pol-icy"):
            self.assertRaises(
                errors.BadRequest, vim_policy.check_name, {name: {}}
            )


class TestExtra(testtools.TestCase):
    def test_changes(self) -> None:
        for before, after, expected in (
            ({}, {}, {}),
            ({"a": 1}, {"b": 2}, {"b": 2}),
            ({"a": 1, "policy": 3}, {"b": 2}, {"b": 2, "policy": 3}),
            ({"policy": 3}, {"policy": 4}, {"policy": 4}),
            ({"policy": 3}, {"policy": None}, {}),
            ({}, {"policy": None}, {}),
        ):
            self.assertEqual(expected, vim_policy.changed(before, after))

    def test_parts(self) -> None:
        extra = {"a": 1, "policy": 2}
        self.assertEqual({"policy": 2}, vim_policy.select(extra))
        self.assertEqual({}, vim_policy.select({"a": 1}))
        self.assertEqual({"a": 1}, vim_policy.without(extra))
        info = VimConnectionInfo(vim_type="x", extra=extra)
        found = vim_policy.without_policies({"vim1": info})
        self.assertEqual({"a": 1}, found["vim1"].extra)
