from typing import Any

import testtools

from tacker_cnf.lcm import masked_patch
from tacker_cnf.lcm.redaction import without_secrets

KNOWN: dict[str, Any] = {
    "password": "a",
    "user": {"name": "me", "token": {"id": 1}},
    "env": [
        {"name": "TOKEN", "value": "b"},
        {"name": "TOKEN", "value": "c"},
        {"name": "LEVEL", "value": "debug"},
    ],
    "deep": [[{"secret": "d", "x": 1}], "plain", 5],
}


class TestPatched(testtools.TestCase):
    def test_what_was_shown_and_comes_back_loses_nothing(self) -> None:
        shown = without_secrets(KNOWN)
        self.assertNotEqual(KNOWN, shown)
        self.assertEqual(KNOWN, masked_patch.patched(KNOWN, shown))

    def test_nor_does_what_stands_beside_a_change(self) -> None:
        shown = without_secrets(KNOWN)
        shown["env"][2]["value"] = "info"
        shown["env"].append({"name": "MORE", "value": "1"})
        found = masked_patch.patched(KNOWN, shown | {"password": "new"})
        changed = {"name": "LEVEL", "value": "info"}
        more = {"name": "MORE", "value": "1"}
        env = [*KNOWN["env"][:2], changed, more]
        self.assertEqual(KNOWN | {"password": "new", "env": env}, found)

    def test_a_change_is_a_change(self) -> None:
        for patch, expected in (
            ({"env": []}, {"env": []}),
            ({"env": None}, {}),
            ({"env": {"a": 1}}, {"env": {"a": 1}}),
            ({"env": [{"name": "TOKEN", "value": "z"}]},) * 2,
            ({"env": [KNOWN["env"][1]]},) * 2,
        ):
            current = {"env": KNOWN["env"]}
            self.assertEqual(expected, masked_patch.patched(current, patch))
