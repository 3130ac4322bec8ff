from typing import Any

import msgspec
import testtools

from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.scale_level_matching import (
    build_observed_info,
    match_levels,
)
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo
from tacker_cnf.vnfd.model import Aspect
from tests.factories import a_flavour, a_state, a_vdu, a_vnfc, an_info


def found(web: int) -> Observed:
    """Build a driver result of some web VNFCs and one agent."""
    agent = a_vnfc("agent-1", vdu="agent")
    webs = [a_vnfc(f"web-{number}") for number in range(web)]
    return Observed(vnfc_resource_info=(agent, *webs))


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
                current = a_state(
                    scale_levels={"web_aspect": level},
                    counts={"web": old, "agent": 1},
                )
                match = match_levels(
                    current, a_flavour(), found(new), unmatched_before
                )
                self.assertEqual(
                    {"web_aspect": new_level}, match.state.scale_levels
                )
                self.assertEqual(new, match.state.counts.get("web", 0))
                self.assertEqual(unmatched, match.unmatched)

    def test_an_aspect_that_the_package_no_longer_has(self) -> None:
        current = a_state(scale_levels={"removed": 1, "web_aspect": 0})
        match = match_levels(current, a_flavour(), found(2), {})
        self.assertEqual(
            {"removed": 1, "web_aspect": 1}, match.state.scale_levels
        )

    def test_each_aspect_is_matched(self) -> None:
        names = [f"aspect_{number}" for number in range(8)]
        aspects = {
            name: Aspect(
                id=name,
                name=name,
                max_scale_level=3,
                step_deltas=("one",),
                deltas={f"vdu_{name}": {"one": 1}},
            )
            for name in names
        }
        flavour = a_flavour(
            aspects=aspects,
            vdus={f"vdu_{name}": a_vdu(f"vdu_{name}") for name in names},
            levels={},
            default_level=None,
        )
        # one of them did not change
        counts = {f"vdu_{name}": 2 for name in names} | {"vdu_aspect_3": 1}
        vnfcs = tuple(
            a_vnfc(f"{vdu}-{number}", vdu)
            for vdu, count in counts.items()
            for number in range(count)
        )
        match = match_levels(
            a_state(
                scale_levels=dict.fromkeys(names, 0),
                counts={f"vdu_{name}": 1 for name in names},
            ),
            flavour,
            Observed(vnfc_resource_info=vnfcs),
            {},
        )
        self.assertEqual(
            dict.fromkeys(names, 1) | {"aspect_3": 0},
            match.state.scale_levels,
        )
        self.assertEqual({}, match.unmatched)


class TestObservedInfo(testtools.TestCase):
    def build(self, before: Any, web: int) -> InstantiatedVnfInfo:
        return build_observed_info(
            before,
            a_state(scale_levels={"web_aspect": 0}),
            a_flavour(),
            found(web),
            {},
        )

    def test_levels_and_unmatched_counts(self) -> None:
        unmatched = {"unmatched_counts": {"web_aspect": {"web": 5}}}
        before = an_info(metadata=unmatched)
        for was, web, level, metadata in (
            (None, 1, 0, {}),
            (None, 3, 2, {}),
            (None, 5, 0, unmatched),
            (before, 5, 0, unmatched),
            (before, 1, 0, {}),
        ):
            info = self.build(was, web)
            (scale,) = info.scale_status
            self.assertEqual(level, scale.scale_level)
            self.assertEqual(metadata, info.metadata)
            self.assertEqual(web + 1, len(info.vnfc_info))

    def test_the_metadata_of_the_instance_names_vnfcs(self) -> None:
        vnfc = a_vnfc("web-0")
        indexed = msgspec.structs.replace(vnfc, metadata={"vdu_idx": 0})
        info = build_observed_info(
            None,
            a_state(),
            a_flavour(),
            Observed(vnfc_resource_info=(indexed,)),
            {"VDU_VNFc_mapping": {"web": ["first"]}},
        )
        self.assertEqual(["first"], [v.id for v in info.vnfc_info])
