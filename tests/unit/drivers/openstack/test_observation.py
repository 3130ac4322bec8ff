"""What operations do to the stack that they find."""

from collections.abc import Mapping, Sequence
from typing import Any

import testtools

from tacker_cnf.drivers.base import PackageCall
from tacker_cnf.drivers.openstack import actions
from tacker_cnf.drivers.openstack.observation import (
    ObservedStack,
    StackObserver,
)
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.lcm.change import ALL
from tacker_cnf.lcm.vnf_plan import ActionType
from tacker_cnf.vnfd.base_hot import BaseHot
from tests.factories import a_context, a_state, a_task
from tests.unit.drivers.openstack.fake_nova import Servers
from tests.unit.drivers.openstack.stack_resources import Listing
from tests.unit.drivers.openstack.test_stack_task import (
    ScriptedHeat,
    build_task,
)

HOT = BaseHot(template="{}", files={})
FIELDS = StackFields(
    template='{"resources": {"a": 1, "b": 3}}', existing=False
)
STACK = "OS::Heat::Stack"
NAME = "vnf-an-instance"
STARTED: dict[str, Any] = {"current": None, "desired": a_state()}
HEALED: dict[str, Any] = {
    "current": a_state(),
    "desired": a_state(),
    "replace": ALL,
    "package_call": PackageCall("heal", {}),
}


class PreviewHeat(ScriptedHeat):
    """A Heat that accepts all, and has one server in the stack."""

    def __init__(self) -> None:
        super().__init__("CREATE_COMPLETE")
        self.listing = Listing()
        self.listing.add("web", "OS::Nova::Server")

    def preview(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        self.previewed = stack, body, existing

    def preview_creation(
        self, name: str, body: Mapping[str, Any]
    ) -> Sequence[tuple[str, str]]:
        del name, body
        return [("OS::Nova::Server", "web")]


def a_stack(status: str) -> Stack:
    return Stack(id="1", name=NAME, status=status)


class TestCreation(testtools.TestCase):
    def observe(
        self, stack: Stack | None, former: str | None = None, **task: Any
    ) -> ObservedStack:
        heat: Any = PreviewHeat()
        nova: Any = None
        observer = StackObserver(
            a_task(**task), a_context(), build_task(heat, **task), nova
        )
        return observer.observe_creation(stack, FIELDS, HOT, former)

    def listed(
        self, stack: Stack | None, former: str | None = None, **task: Any
    ) -> Sequence[tuple[str, str]]:
        """Return type and kind of each action; check the warnings."""
        plan = actions.StackPlan(
            a_task(**task),
            heals_stack="replace" in task,
            observed=self.observe(stack, former, **task),
        )
        found = [(action.type, action.kind) for action in plan.list_actions()]
        is_removed = (ActionType.RECREATE, STACK) in found
        self.assertEqual(is_removed, "deleted" in str([*plan.list_warnings()]))
        return found

    def test_a_stack_that_is_deleted_partly(self) -> None:
        recreated = [
            (ActionType.RECREATE, STACK),
            (ActionType.RECREATE, "OS::Nova::Server"),
        ]
        for status in ("DELETE_FAILED", "DELETE_IN_PROGRESS"):
            self.assertEqual(
                recreated, self.listed(a_stack(status), **STARTED)
            )
            self.assertEqual(
                recreated, self.listed(a_stack(status), "1", **HEALED)
            )

    def test_a_stack_that_an_earlier_attempt_created(self) -> None:
        stack = a_stack("CREATE_FAILED")
        for former, task in ((None, STARTED), ("former", HEALED)):
            self.assertEqual(
                [
                    (ActionType.PATCH, STACK),
                    (ActionType.UNCHANGED, "OS::Nova::Server"),
                ],
                self.listed(stack, former, **task),
            )
            self.assertEqual(
                ["template.resources.b", "files[b.yaml]"],
                [c.path for c in self.observe(stack, former, **task).changes],
            )

    def test_a_healed_stack(self) -> None:
        self.assertEqual(
            [
                (ActionType.RECREATE, STACK),
                (ActionType.RECREATE, "OS::Nova::Server"),
            ],
            self.listed(a_stack("CREATE_COMPLETE"), "1", **HEALED),
        )

    def test_no_stack(self) -> None:
        for task in (STARTED, HEALED):
            self.assertEqual(
                [
                    (ActionType.CREATE, STACK),
                    (ActionType.CREATE, "OS::Nova::Server"),
                ],
                self.listed(None, **task),
            )


class TestHeal(testtools.TestCase):
    def test_the_update_is_listed(self) -> None:
        task = a_task(**HEALED)
        heat: Any = PreviewHeat()
        nova: Any = Servers()
        observer = StackObserver(
            task, a_context(), build_task(heat, **HEALED), nova
        )
        observed = observer.observe_heal(a_stack("CREATE_COMPLETE"), FIELDS)
        first, *_ = actions.StackPlan(
            task, heals_stack=False, observed=observed
        ).list_actions()
        self.assertEqual((ActionType.PATCH, STACK), (first.type, first.kind))
        self.assertIn(
            "template.resources.b", [change.path for change in first.changes]
        )
