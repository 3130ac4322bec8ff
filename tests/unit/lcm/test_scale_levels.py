from typing import Any

import testtools

from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.scale_level_matching import match_levels
from tests.factories import a_flavour, a_target, a_vnfc


def found(web: int) -> InfraResult:
    """Make what is found: so many web, and the agent."""
    agent = a_vnfc("agent-1", vdu="agent")
    webs = [a_vnfc(f"web-{number}") for number in range(web)]
    return InfraResult(vnfc_resource_info=(agent, *webs))


#: known level and number of web, found number, what was told ->
#: the level then, and what is told
CASES: tuple[tuple[int, int, int, Any, int, Any], ...] = (
    (0, 1, 1, {}, 0, {}),
    (0, 1, 3, {}, 2, {}),
    (2, 3, 1, {}, 0, {}),
    (0, 1, 4, {}, 3, {}),
    (0, 1, 5, {}, 0, {"web_aspect": {"web": 5}}),
    (2, 3, 0, {}, 2, {"web_aspect": {"web": 0}}),
    # what never moved may be of no level
    (2, 1, 1, {}, 2, {}),
    # unless it was told before
    (0, 5, 5, {"web_aspect": {"web": 5}}, 0, {"web_aspect": {"web": 5}}),
    (0, 2, 2, {"web_aspect": {"web": 5}}, 1, {}),
    (0, 1, 1, {"gone_aspect": {"web": 5}}, 0, {}),
)


class TestLevelled(testtools.TestCase):
    def test_levels_follow_where_they_can(self) -> None:
        for level, known, there, told, then, unmatched in CASES:
            with self.subTest(level=level, known=known, there=there):
                current = a_target(
                    scale_levels={"web_aspect": level},
                    counts={"web": known, "agent": 1},
                )
                now = match_levels(current, a_flavour(), found(there), told)
                self.assertEqual({"web_aspect": then}, now.target.scale_levels)
                self.assertEqual(there, now.target.counts.get("web", 0))
                self.assertEqual(unmatched, now.unmatched)

    def test_an_aspect_that_the_package_no_longer_has(self) -> None:
        current = a_target(scale_levels={"gone": 1, "web_aspect": 0})
        now = match_levels(current, a_flavour(), found(2), {})
        self.assertEqual({"gone": 1, "web_aspect": 1}, now.target.scale_levels)
