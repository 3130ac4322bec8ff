"""Patches with values as they were shown."""

import testtools

from tacker_cnf.lcm import masked_patch, redaction
from tacker_cnf.lcm.shown_names import EXTENSIONS, ShownNames
from tacker_cnf.vnfd.model import PublicNames

CURRENT = {"shown": {"a": 1}, "text": "secret", "map": {"x": [1]}, "pin": 5}
NAMES = ShownNames(vnfd=PublicNames(extensions=("shown",)))


class TestPatched(testtools.TestCase):
    def test_shown_values_sent_back_keep_the_hidden_ones(self) -> None:
        shown = redaction.masked(CURRENT, EXTENSIONS, NAMES)
        self.assertEqual(
            {"shown": {"a": 1}, "text": "***", "map": "***", "pin": "***"},
            shown,
        )
        self.assertEqual(CURRENT, masked_patch.patched(CURRENT, shown))

    def test_other_values_are_set(self) -> None:
        for patch, expected in (
            ({"text": "new"}, CURRENT | {"text": "new"}),
            ({"text": None}, {n: CURRENT[n] for n in ("shown", "map", "pin")}),
            ({"map": {"y": 1}}, CURRENT | {"map": {"x": [1], "y": 1}}),
            ({"other": "***"}, CURRENT | {"other": "***"}),
        ):
            found = masked_patch.patched(CURRENT, patch)
            self.assertEqual(expected, found, str(patch))
