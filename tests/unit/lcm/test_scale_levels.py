from typing import Any

import testtools

from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.scale_level_matching import match_levels
from tests.factories import a_flavour, a_target, a_vnfc


def found(web: int) -> InfraResult:
    """Build a driver result of some web VNFCs and one agent."""
    agent = a_vnfc("agent-1", vdu="agent")
    webs = [a_vnfc(f"web-{number}") for number in range(web)]
    return InfraResult(vnfc_resource_info=(agent, *webs))


#: level and number of web before, found number, counts that matched no level
#: before -> new level, counts that match no level
CASES: tuple[tuple[int, int, int, Any, int, Any], ...] = (
    (0, 1, 1, {}, 0, {}),
    (0, 1, 3, {}, 2, {}),
    (2, 3, 1, {}, 0, {}),
    (0, 1, 4, {}, 3, {}),
    (0, 1, 5, {}, 0, {"web_aspect": {"web": 5}}),
    (2, 3, 0, {}, 2, {"web_aspect": {"web": 0}}),
    # an unchanged count may match no level
    (2, 1, 1, {}, 2, {}),
    # unless it matched none before
    (0, 5, 5, {"web_aspect": {"web": 5}}, 0, {"web_aspect": {"web": 5}}),
    (0, 2, 2, {"web_aspect": {"web": 5}}, 1, {}),
    (0, 1, 1, {"removed_aspect": {"web": 5}}, 0, {}),
)


class TestMatchLevels(testtools.TestCase):
    def test_levels_match_counts_where_possible(self) -> None:
        for level, old, new, unmatched_before, new_level, unmatched in CASES:
            with self.subTest(level=level, old=old, new=new):
                current = a_target(
                    scale_levels={"web_aspect": level},
                    counts={"web": old, "agent": 1},
                )
                match = match_levels(
                    current, a_flavour(), found(new), unmatched_before
                )
                self.assertEqual(
                    {"web_aspect": new_level}, match.target.scale_levels
                )
                self.assertEqual(new, match.target.counts.get("web", 0))
                self.assertEqual(unmatched, match.unmatched)

    def test_an_aspect_that_the_package_no_longer_has(self) -> None:
        current = a_target(scale_levels={"removed": 1, "web_aspect": 0})
        match = match_levels(current, a_flavour(), found(2), {})
        self.assertEqual(
            {"removed": 1, "web_aspect": 1}, match.target.scale_levels
        )
