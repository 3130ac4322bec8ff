from typing import Any

import testtools

from tacker_cnf.lcm import masked_patch
from tacker_cnf.lcm.redaction import without_secrets

CURRENT: dict[str, Any] = {
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
    def test_a_shown_value_sent_back_keeps_its_secrets(self) -> None:
        shown = without_secrets(CURRENT)
        self.assertNotEqual(CURRENT, shown)
        self.assertEqual(CURRENT, masked_patch.patched(CURRENT, shown))

    def test_unchanged_entries_beside_a_change_keep_their_secrets(
        self,
    ) -> None:
        shown = without_secrets(CURRENT)
        shown["env"][2]["value"] = "info"
        shown["env"].append({"name": "MORE", "value": "1"})
        found = masked_patch.patched(CURRENT, shown | {"password": "new"})
        changed = {"name": "LEVEL", "value": "info"}
        more = {"name": "MORE", "value": "1"}
        env = [*CURRENT["env"][:2], changed, more]
        self.assertEqual(CURRENT | {"password": "new", "env": env}, found)

    def test_changed_lists_are_replaced(self) -> None:
        for patch, expected in (
            ({"env": []}, {"env": []}),
            ({"env": None}, {}),
            ({"env": {"a": 1}}, {"env": {"a": 1}}),
            ({"env": [{"name": "TOKEN", "value": "z"}]},) * 2,
            ({"env": [CURRENT["env"][1]]},) * 2,
        ):
            current = {"env": CURRENT["env"]}
            self.assertEqual(expected, masked_patch.patched(current, patch))
