"""Strict parsing of the JSON of clients."""

import msgspec
import testtools

from tacker_cnf.sol import strict
from tacker_cnf.sol.base import SolType


class Inner(SolType):
    name: str = ""
    more: tuple["Inner", ...] = ()


class Outer(SolType):
    needed: str
    inner: Inner | None = None
    many: dict[str, Inner] = msgspec.field(default_factory=dict)
    free: dict[str, object] = msgspec.field(default_factory=dict)
    patch: str | msgspec.UnsetType | None = msgspec.UNSET


class StrictTest(testtools.TestCase):
    def rejection(self, text: bytes) -> str:
        error = self.assertRaises(
            msgspec.ValidationError, strict.decode, text, Outer
        )
        return str(error)

    def test_a_misspelled_attribute_has_its_path(self) -> None:
        for text, message in (
            (b'{"Needed": 1}', '"Needed"; did you mean "needed"?'),
            (b'{"inner": {"nmae": 1}}', 'at `$.inner`; did you mean "name"?'),
            (b'{"many": {"x": {"Name": 1}}}', "at `$.many[...]`"),
            (
                b'{"inner": {"more": [{}, {"More": 1}]}}',
                "at `$.inner.more[1]`",
            ),
        ):
            self.assertIn(message, self.rejection(text))

    def test_keys_of_maps_are_not_checked(self) -> None:
        text = (
            b'{"needed": "x", "free": {"Needed": null}, "moon": {"nmae": 1}}'
        )
        self.assertEqual(
            Outer(needed="x", free={"Needed": None}),
            strict.decode(text, Outer),
        )

    def test_null_means_absent(self) -> None:
        text = b'{"needed": "x", "inner": null, "many": null, "patch": null}'
        self.assertEqual(
            Outer(needed="x", patch=None), strict.decode(text, Outer)
        )
        self.assertIn("got `null`", self.rejection(b'{"needed": null}'))
        self.assertIn(
            "`$.many", self.rejection(b'{"needed": "", "many": {"a": null}}')
        )

    def test_a_number_out_of_range_has_its_path(self) -> None:
        text = b'{"needed": "", "inner": {"name": 1e999}}'
        self.assertIn("`$.inner.name`", self.rejection(text))
