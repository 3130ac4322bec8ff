"""Random lives of a VNF: the plan of each dry run equals what was done.

TACKER_CNF_LIVES=N runs N lives, the first of them those that run without it.
"""

import collections
import contextlib
import os
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

from testtools import content

from tacker_cnf.lcm import merge
from tacker_cnf.lcm.vnf_plan import ActionType
from tests.fixtures.cluster import APPS, CORE, CnfService
from tests.functional.test_cnf_plans import CLAIMS, PlanCase

LIVES: Final = int(os.environ.get("TACKER_CNF_LIVES", "2"))
OPERATIONS: Final = 10
FILES: Final = "lcm-kubernetes-def-files"
SMALL_FILES: Final = [
    f"Files/kubernetes/{name}.yaml"
    for name in ("configmap", "secret", "deployment")
]
ASPECTS: Final = frozenset({"web_aspect", "cache_aspect", "store_aspect"})
#: decision about a failed operation -> its final state
ENDS: Final = {"retry": "COMPLETED", "rollback": "ROLLED_BACK"}
#: fields of a specification that the API server sets
CHOSEN: Final = frozenset({"clusterIP", "clusterIPs", "nodeName", "volumes"})
#: a task, and the body of its request
Request = tuple[str, Any]


class TestRandomLives(PlanCase):
    def setUp(self) -> None:
        super().setUp()
        self.counts = collections.Counter[str]()

    def create_service(self) -> CnfService:
        # a controller has this long to notice that the quota is deleted
        return CnfService(failure_grace=2.0)

    def test_plans_equal_what_is_done(self) -> None:
        for seed in range(LIVES):
            self.random = random.Random(seed)  # noqa: S311
            with self.subTest(seed=seed):
                self.live()
        counts = sorted(self.counts.items())
        self.addDetail("counts", content.text_content(str(counts)))
        print(f"{LIVES} lives: {counts}")  # noqa: T201
        self.assertGreater(self.counts["COMPLETED"], LIVES)

    def live(self) -> None:
        self.vnf = self.vnfm.create()
        request = self.vnfm.request()
        self.all_files = request["additionalParams"][FILES]
        self.run_and_check("instantiate", request)
        for _ in range(OPERATIONS):
            if self.random.random() < 0.25:
                self.change_by_others()
            self.run_and_check(*self.random.choice(self.requests()))
            self.check_unchanged()
        self.run_and_check("terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual({}, self.bodies())

    @property
    def info(self) -> Any:
        return self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]

    def levels(self, name: str) -> dict[str, int]:
        return {
            scale["aspectId"]: scale["scaleLevel"]
            for scale in self.info[name]
            if scale["aspectId"] in ASPECTS
        }

    def requests(self) -> Sequence[Request]:
        """Return requests that are possible in the state of the VNF."""
        stopped = self.info["vnfState"] == "STOPPED"
        state = "STARTED" if stopped else "STOPPED"
        found: list[Request] = [
            ("heal", {}),
            ("operate", {"changeStateTo": state}),
        ]
        levels, maxima = (
            self.levels("scaleStatus"),
            self.levels("maxScaleLevels"),
        )
        for aspect, level in levels.items():
            aspect_id = {"aspectId": aspect}
            if level < maxima[aspect]:
                found.append(("scale", {"type": "SCALE_OUT", **aspect_id}))
            if level > 0:
                found.append(("scale", {"type": "SCALE_IN", **aspect_id}))
            target = self.random.randint(0, maxima[aspect])
            scale = {**aspect_id, "scaleLevel": target}
            found.append(("scale_to_level", {"scaleInfo": [scale]}))
        if not stopped:
            found += [("change_flavour", self.other_flavour())] * 2
        if vnfcs := self.info.get("vnfcInfo"):
            size = self.random.randint(1, min(3, len(vnfcs)))
            chosen = self.random.sample(vnfcs, size)
            body = {"vnfcInstanceId": [vnfc["id"] for vnfc in chosen]}
            found += [("heal", body)] * 3
        return found

    def other_flavour(self) -> Any:
        is_simple = self.info["flavourId"] == "simple"
        return {
            "newFlavourId": "small" if is_simple else "simple",
            "additionalParams": {
                FILES: SMALL_FILES if is_simple else self.all_files
            },
        }

    def change_by_others(self) -> None:
        """Change an object as another client would."""
        place = f"namespaces/{self.vnfm.namespace}"
        changes: list[tuple[str, dict[str, Any]]] = [
            (f"{CORE}/{place}/configmaps/web-config", {"data": {"a": "b"}}),
            (
                f"{APPS}/{place}/deployments/web",
                {"metadata": {"labels": {"team": "blue"}}},
            ),
        ]
        path, patch = self.random.choice(changes)
        body = self.cluster.call("GET", path)
        for name, values in patch.items():
            body[name] = merge.patched(body[name], values)
        self.cluster.call("PUT", path, body)
        self.counts["changed by others"] += 1

    def run_and_check(self, task: str, body: Any) -> None:
        """Plan and run an operation; check that its plan equals what is done,
        or if it fails, that of its retry or rollback.
        """
        before, contents = self.bodies(), self.contents()
        plan = self.dry_run(self.vnf, task, body)
        with self.quota(self.random.random() < 0.2):
            op_occ = self.vnfm.run(self.vnf, task, body)
        state = op_occ["operationState"]
        self.counts[state] += 1
        if state == "COMPLETED":
            self.check_done(before, plan.actions)
            return
        self.assertEqual("FAILED_TEMP", state, op_occ)
        decision = self.random.choice(
            [
                name
                for name in ("retry", "rollback")
                if name in op_occ["_links"]
            ]
        )
        before = self.bodies()
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ['id']}/{decision}"
        plan = self.planned(f"{path}?dry_run=true", None)
        decided = self.vnfm.decide(op_occ["id"], decision)
        self.assertEqual(ENDS[decision], decided["operationState"], decided)
        self.counts[decided["operationState"]] += 1
        self.check_done(before, plan.actions)
        if decision == "rollback":
            self.check_restored(contents, self.contents())

    def check_restored(self, before: Any, after: Any) -> None:
        """Check that a rollback has restored the objects, but for what the
        API server chooses for new ones.
        """
        restored, expected = (
            {
                name: {
                    key: value
                    for key, value in body.get("spec", {}).items()
                    if key not in CHOSEN
                }
                for name, body in bodies.items()
                if name[1] not in CLAIMS  # they are kept
            }
            for bodies in (after, before)
        )
        self.assertEqual(expected, restored)

    @contextlib.contextmanager
    def quota(self, is_set: bool) -> Iterator[None]:
        """Let the cluster create no pods."""
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/resourcequotas"
        if is_set:
            quota = {
                "metadata": {"name": "q"},
                "spec": {"hard": {"pods": "0"}},
            }
            self.cluster.call("POST", path, quota)
        try:
            yield
        finally:
            if is_set:
                self.cluster.call("DELETE", f"{path}/q")

    def check_unchanged(self) -> None:
        """Check that the plan of a VNF that stays as it is is empty."""
        if levels := self.levels("scaleStatus"):
            scales = [
                {"aspectId": aspect, "scaleLevel": level}
                for aspect, level in levels.items()
            ]
            body = {"scaleInfo": scales}
            plan = self.dry_run(self.vnf, "scale_to_level", body)
            types = {action.type for action in plan.actions}
            self.assertLessEqual(types, {ActionType.UNCHANGED}, plan.actions)
            self.counts["unchanged"] += 1
