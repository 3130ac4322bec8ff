"""Random lives of a VNF of VMs: the plan of each dry run equals what was done.

TACKER_CNF_LIVES=N runs N lives.
"""

import collections
import os
import random
from collections.abc import Sequence
from typing import Any, Final

from tacker_cnf.lcm.vnf_plan import ActionType
from tests.fixtures.openstack import require_fault_injection
from tests.fixtures.openstack_vnf import FORCEFUL, SINGLE
from tests.services.test_openstack_plans import LifeCase

LIVES: Final = int(os.environ.get("TACKER_CNF_LIVES", "1"))
OPERATIONS: Final = 6
MAX_LEVEL: Final = 2
#: a task, and the body of its request
Request = tuple[str, Any]


class TestRandomLives(LifeCase):
    def test_plans_equal_what_is_done(self) -> None:
        require_fault_injection(self)
        counts = collections.Counter[str]()
        for seed in range(LIVES):
            if seed:
                self.vnf.id = self.vnf.create(self.vnf.vnfd_id)
            self.random = random.Random(seed)  # noqa: S311
            self.vnf.start()
            for _ in range(OPERATIONS):
                counts += self.run_one(*self.random.choice(self.requests()))
                self.check_unchanged()
            self.vnf.run_operation("terminate", FORCEFUL)
        print(f"{LIVES} lives: {sorted(counts.items())}")  # noqa: T201

    @property
    def more(self) -> dict[str, Any]:
        """The user data that the flavour of the VNF needs."""
        is_single = self.vnf.info["flavourId"] == "single"
        return {"additionalParams": SINGLE} if is_single else {}

    def level(self) -> int:
        (scale,) = self.vnf.info["scaleStatus"]
        return int(scale["scaleLevel"])

    def to_level(self, level: int) -> Request:
        scale = {"aspectId": "front_aspect", "scaleLevel": level}
        return "scale_to_level", {"scaleInfo": [scale], **self.more}

    def requests(self) -> Sequence[Request]:
        """Return requests that are possible in the state of the VNF."""
        level = self.level()
        found = [self.to_level(self.random.randint(0, MAX_LEVEL))]
        for kind, steps in (
            ("SCALE_OUT", MAX_LEVEL - level),
            ("SCALE_IN", level),
        ):
            if steps:
                body = {"type": kind, "aspectId": "front_aspect", **self.more}
                found.append(("scale", body))
        vnfc = self.random.choice(self.vnf.info["vnfcInfo"])
        found.append(("heal", {"vnfcInstanceId": [vnfc["id"]], **self.more}))
        if self.more:
            body = {"newFlavourId": "simple"}
        else:
            body = {"newFlavourId": "single", "additionalParams": SINGLE}
            found.append(("heal", {"additionalParams": {"all": True}}))
        found.append(("change_flavour", body))
        return found

    def run_one(self, task: str, body: Any) -> collections.Counter[str]:
        """Plan and run an operation, of which some fail at first."""
        if task == "heal" or self.random.random() > 0.3:
            self.run_and_check(task, body)
            return collections.Counter(["COMPLETED"])
        before, stack = self.resources(), self.vnf.stack_id
        plan = self.dry_run(task, body)
        self.vnf.project.fail("front", "No room.")
        op_occ = self.vnf.run(self.vnf.id, task, body)
        self.vnf.project.repair("front")
        state = str(op_occ["operationState"])
        if state == "COMPLETED":  # it has created no server
            self.check_done(plan, before, stack)
        else:
            self.vnf.run_decision(op_occ, "rollback", "ROLLED_BACK")
            self.assertEqual(self.vnf.servers(), self.vnf.ids())
            self.assertEqual(len(before), len(self.resources()))
            if task != "change_flavour":  # its rollback creates servers again
                self.assertEqual(before, self.resources())
        return collections.Counter([state])

    def check_unchanged(self) -> None:
        """Check that the plan of a VNF that stays as it is is empty."""
        plan = self.dry_run(*self.to_level(self.level()))
        types = {action.type for action in plan.actions}
        self.assertEqual({ActionType.UNCHANGED}, types, str(plan.actions))
