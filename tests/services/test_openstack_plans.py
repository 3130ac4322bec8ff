"""Plans of dry runs, compared with what the operations did in OpenStack."""

from typing import Any, ClassVar, Final

import testtools

from tacker_cnf.lcm.vnf_plan import Action, ActionType, VnfPlan
from tacker_cnf.sol import base
from tests.fixtures.openstack_vnf import FORCEFUL, IN, OUT, SINGLE, VnfService
from tests.fixtures.vnfm import SAMPLES

STACK: Final = "OS::Heat::Stack"
SERVER: Final = "OS::Nova::Server"
VOLUME: Final = "OS::Cinder::Volume"
TEMPLATE: Final = "BaseHOT/simple/front_and_store.yaml"


def named(plan: VnfPlan, kind: ActionType, *types: str) -> set[str]:
    """Return the names in the actions of one type, for some resources."""
    return {
        action.name
        for action in plan.actions
        if action.type is kind and action.kind in types
    }


class PlanCase(testtools.TestCase):
    #: path -> text of files that replace those of the sample package
    files: ClassVar[dict[str, str]] = {}
    #: options of [openstack]
    options: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        super().setUp()
        vnf = VnfService(self, openstack=self.options)
        vnf.files = self.files
        self.vnf = self.useFixture(vnf)

    def dry_run(self, task: str, body: Any) -> VnfPlan:
        path = f"/vnflcm/v2/vnf_instances/{self.vnf.id}/{task}?dry_run=true"
        response = self.vnf.call("POST", path, body)
        self.assertEqual(200, response.status, response.json)
        return base.decode(response.content, VnfPlan)


class LifeCase(PlanCase):
    def resources(self) -> set[str]:
        """Return the ids of the servers and volumes of the VNF."""
        info = self.vnf.info
        volumes = info.get("virtualStorageResourceInfo", ())
        return self.vnf.ids() | {
            volume["storageResource"]["resourceId"] for volume in volumes
        }

    def run_and_check(self, task: str, body: Any) -> VnfPlan:
        """Plan and run an operation; check that the plan names all servers
        and volumes that it deleted and left, and the number of new ones.
        """
        before, stack = self.resources(), self.vnf.stack_id
        plan = self.dry_run(task, body)
        self.assertEqual(before, self.resources())
        self.vnf.run_operation(task, body)
        self.check_done(plan, before, stack)
        return plan

    def check_done(self, plan: VnfPlan, before: set[str], stack: str) -> None:
        """Check what was done since against a plan.

        :param before: the servers and volumes then
        :param stack: the id of the stack then
        """
        after = self.resources()
        types = (SERVER, VOLUME)
        recreated = named(plan, ActionType.RECREATE, *types)
        deleted = named(plan, ActionType.DELETE, *types)
        kept = named(plan, ActionType.UNCHANGED, *types) | named(
            plan, ActionType.PATCH, *types
        )
        self.assertEqual(before - after, recreated | deleted)
        self.assertEqual(before & after, kept)
        created = [a for a in plan.actions if a.type is ActionType.CREATE]
        self.assertEqual(len(after - before), len(created) + len(recreated))
        is_new_stack = named(plan, ActionType.RECREATE, STACK)
        self.assertEqual(stack != self.vnf.stack_id, bool(is_new_stack))


class TestPlans(LifeCase):
    def of_stack(self, plan: VnfPlan) -> Action:
        (action,) = (a for a in plan.actions if a.kind == STACK)
        self.assertEqual(f"vnf-{self.vnf.id}", action.name)
        return action

    def test_a_life(self) -> None:
        vnf = self.vnf
        plan = self.dry_run("instantiate", vnf.request())
        self.assertEqual(ActionType.CREATE, self.of_stack(plan).type)
        self.assertEqual(
            {"front", "store"}, named(plan, ActionType.CREATE, SERVER)
        )
        self.assertEqual((), plan.warnings)
        vnf.start()
        scaled = self.run_and_check("scale", OUT)
        action = self.of_stack(scaled)
        self.assertEqual(
            "VDU front is scaled from 1 to 2 VNFCs", action.reason
        )
        self.assertIn((1, 2), [(c.before, c.after) for c in action.changes])
        self.assertEqual(
            1, len([a for a in scaled.actions if a.type is ActionType.CREATE])
        )
        one = vnf.vnfcs("front")[0]["id"]
        heal = {"vnfcInstanceId": [f"front-{one}"]}
        healed = self.run_and_check("heal", heal)
        self.assertEqual({one}, named(healed, ActionType.RECREATE, SERVER))
        self.run_and_check("heal", {"additionalParams": {"all": False}})
        self.run_and_check("scale", IN)
        level = {"aspectId": "front_aspect", "scaleLevel": 2}
        self.run_and_check("scale_to_level", {"scaleInfo": [level]})
        whole = self.run_and_check("heal", {"additionalParams": {"all": True}})
        self.assertIn("out of service", " ".join(whole.warnings))
        single = {"newFlavourId": "single", "additionalParams": SINGLE}
        changed = self.run_and_check("change_flavour", single)
        self.assertIn("the flavour changes", self.of_stack(changed).reason)
        level = {"instantiationLevelId": "busy", "additionalParams": SINGLE}
        self.run_and_check("scale_to_level", level)
        end = self.dry_run("terminate", FORCEFUL)
        self.assertEqual(
            self.resources(), named(end, ActionType.DELETE, SERVER, VOLUME)
        )
        vnf.run_operation("terminate", FORCEFUL)
        self.assertEqual({}, vnf.project.stacks())


class TestRejectedTemplate(PlanCase):
    options: ClassVar[dict[str, Any]] = {
        "allowed_resource_types": ["OS::No::Such"]
    }
    files: ClassVar[dict[str, str]] = {
        TEMPLATE: (SAMPLES / "vnf" / TEMPLATE)
        .read_text()
        .replace(VOLUME, "OS::No::Such")
    }

    def test_the_plan_warns(self) -> None:
        plan = self.dry_run("instantiate", self.vnf.request())
        (warning,) = plan.warnings
        self.assertIn("Heat would reject the stack", warning)
        self.assertIn("OS::No::Such", warning)
        self.vnf.run_operation(
            "instantiate", self.vnf.request(), "FAILED_TEMP"
        )
