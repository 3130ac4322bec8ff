"""The outcomes of plans, and plans as text."""

from typing import Any, Final

import msgspec
import testtools

from tacker_cnf.lcm import plan_outcome, plan_text
from tacker_cnf.lcm.vnf_plan import (
    Action,
    ActionOutcome,
    ActionType,
    Composition,
    VnfPlan,
)
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.vnf_instance import VnfOperationalState
from tacker_cnf.sol.vnf_lcm_op_occ import (
    AffectedVirtualStorage,
    AffectedVnfc,
    ChangeType,
    LcmOperationStateType,
    LcmOperationType,
    ResourceChanges,
)

CREATE, PATCH = ActionType.CREATE, ActionType.PATCH
RECREATE, DELETE = ActionType.RECREATE, ActionType.DELETE
UNCHANGED: Final = ActionType.UNCHANGED
DONE, SKIPPED = ActionOutcome.DONE, ActionOutcome.SKIPPED
FAILED, NOT_REACHED = ActionOutcome.FAILED, ActionOutcome.NOT_REACHED


def an_action(kind: ActionType, resource: str, **fields: Any) -> Action:
    type_, _, name = resource.rpartition(" ")
    return Action(
        type=kind, kind=type_, name=name, reason="it differs", **fields
    )


def a_plan(*actions: Action, **fields: Any) -> VnfPlan:
    return VnfPlan(
        vnf_instance_id="an-instance",
        operation=LcmOperationType.SCALE,
        actions=actions,
        **fields,
    )


def outcomes(plan: VnfPlan) -> list[ActionOutcome | None]:
    return [action.outcome for action in plan.actions]


class TestOutcomes(testtools.TestCase):
    plan = a_plan(
        an_action(PATCH, "Deployment web", vdu_id="web"),
        an_action(CREATE, "Service web"),
        an_action(RECREATE, "Pod probe", vdu_id="probe"),
        an_action(DELETE, "ConfigMap old", wave=2),
        an_action(UNCHANGED, "Secret token"),
    )

    def interrupted(
        self, error: str, *remaining: Action
    ) -> list[ActionOutcome | None]:
        plan = plan_outcome.interrupted(self.plan, remaining, error)
        self.assertTrue(plan_outcome.is_known(plan))
        return outcomes(plan)

    def test_a_completed_plan(self) -> None:
        self.assertFalse(plan_outcome.is_known(self.plan))
        plan = plan_outcome.completed(self.plan)
        self.assertEqual([DONE] * 4 + [SKIPPED], outcomes(plan))

    def test_the_first_unfinished_action_has_failed(self) -> None:
        # the order of what remains does not matter
        self.assertEqual(
            [DONE, FAILED, NOT_REACHED, NOT_REACHED, SKIPPED],
            self.interrupted(
                "The cluster is full.",
                an_action(DELETE, "ConfigMap old", wave=2),
                an_action(RECREATE, "Pod probe"),
                an_action(CREATE, "Service web"),
                an_action(UNCHANGED, "Deployment web"),
            ),
        )

    def test_a_wave_before_a_later_one(self) -> None:
        late = an_action(CREATE, "Service late", wave=2)
        plan = a_plan(late, an_action(CREATE, "Service early"))
        end = plan_outcome.interrupted(plan, plan.actions, "Cancelled.")
        self.assertEqual([NOT_REACHED, FAILED], outcomes(end))

    def test_a_remaining_action_of_another_type(self) -> None:
        """A pod was deleted, and not created again."""
        self.assertEqual(
            [DONE, DONE, FAILED, DONE, SKIPPED],
            self.interrupted("", an_action(CREATE, "Pod probe")),
        )

    def test_an_error_names_its_resource(self) -> None:
        errors = {
            "Pod probe is not ready: ImagePullBackOff": 2,
            "The manifest a/b.yaml: Pod probe: The cluster answered 422": 2,
            "It failed. Deployment web.": 0,
            "Pod web-5d9c8-x7k2p is not ready": 0,
        }
        for error, number in errors.items():
            expected = [DONE] * 4 + [SKIPPED]
            expected[number] = FAILED
            self.assertEqual(expected, self.interrupted(error), error)
        self.assertEqual(
            [NOT_REACHED, DONE, FAILED, DONE, SKIPPED],
            self.interrupted(
                "Pod probe is not ready", an_action(PATCH, "Deployment web")
            ),
        )

    def test_an_error_that_names_others(self) -> None:
        for error in (
            "Pod probe-2.x and Deployment webs and Service web.x",
            "Secret token",  # the plan leaves it as it is
            "Pod old-1 is not ready",  # of a ConfigMap's name
        ):
            expected = [DONE] * 4 + [SKIPPED]
            if "probe-2" in error:
                expected[2] = FAILED  # the VDU has a pod of that name
            self.assertEqual(expected, self.interrupted(error), error)

    def test_the_workload_with_the_longest_name_has_the_pod(self) -> None:
        plan = a_plan(
            an_action(CREATE, "Deployment web", vdu_id="web"),
            an_action(CREATE, "Deployment web-api", vdu_id="api"),
        )
        end = plan_outcome.interrupted(plan, (), "Pod web-api-5d-x is lost")
        self.assertEqual([DONE, FAILED], outcomes(end))

    def test_the_pod_of_an_unchanged_workload(self) -> None:
        plan = a_plan(
            an_action(PATCH, "Deployment web", vdu_id="web"),
            an_action(UNCHANGED, "Deployment web-api", vdu_id="api"),
        )
        plan = plan_outcome.interrupted(
            plan, (), "Pod web-api-5d9c8-x7k2p is not ready"
        )
        self.assertEqual([DONE, SKIPPED], outcomes(plan))

    def test_a_deletion_that_others_prevent(self) -> None:
        """A retry leaves the resource, as a workload still refers to it."""
        self.assertEqual(
            [FAILED, DONE, DONE, NOT_REACHED, SKIPPED],
            self.interrupted(
                "Deployment web is not ready",
                an_action(UNCHANGED, "ConfigMap old"),
                an_action(UNCHANGED, "Pod probe"),
            ),
        )

    def test_only_the_error_is_known(self) -> None:
        plan = plan_outcome.failed_by_error(
            self.plan, "Deployment web no longer exists."
        )
        self.assertEqual([FAILED, None, None, None, None], outcomes(plan))

    def test_resources_without_names_of_their_own_are_counted(self) -> None:
        server = an_action(CREATE, "OS::Nova::Server VDU_1", vdu_id="VDU_1")
        plan = a_plan(server, server, server)
        end = plan_outcome.interrupted(plan, [server], "quota exceeded")
        self.assertEqual([DONE, DONE, FAILED], outcomes(end))


class TestText(testtools.TestCase):
    plan = a_plan(
        an_action(PATCH, "Deployment web", vdu_id="web"),
        an_action(CREATE, "Service web"),
        an_action(UNCHANGED, "Secret token"),
    )

    def test_outcomes(self) -> None:
        plan = plan_outcome.interrupted(self.plan, self.plan.actions, "")
        self.assertEqual(
            """\
Rollback of SCALE of VNF instance an-instance

  ~ Deployment web  (it differs, VDU web)  failed
  + Service web  (it differs)  not reached

Plan: 1 to create, 1 to change, 1 unchanged.
Outcome: 1 skipped, 1 failed, 1 not reached.
""",
            plan_text.render_executed(
                msgspec.structs.replace(plan, is_rollback=True)
            ),
        )

    def test_changes_since(self) -> None:
        changes = ResourceChanges(
            affected_vnfcs=(
                AffectedVnfc(
                    id="1",
                    vdu_id="web",
                    change_type=ChangeType.ADDED,
                    compute_resource=ResourceHandle(resource_id="web-5d9c"),
                ),
            ),
            affected_virtual_storages=(
                AffectedVirtualStorage(
                    id="2",
                    virtual_storage_desc_id="data",
                    change_type=ChangeType.REMOVED,
                    storage_resource=ResourceHandle(resource_id="old-data"),
                ),
            ),
        )
        text = plan_text.render_executed(
            a_plan(resource_changes=changes),
        )
        self.assertIn(
            """
Changes
  ADDED VNFC web-5d9c of web
  REMOVED storage old-data of data

Plan:""",
            text,
        )

    def test_the_composition_of_the_vnf(self) -> None:
        plan = a_plan(
            current=Composition(
                flavour_id="simple",
                vnf_state=VnfOperationalState.STARTED,
                scale_levels={"web_aspect": 0},
                vnfc_counts={"web": 1, "db": 2},
            ),
            desired=Composition(
                flavour_id="large",
                vnf_state=VnfOperationalState.STARTED,
                scale_levels={"web_aspect": 2},
                vnfc_counts={"web": 3, "db": 2, "cache": 1},
            ),
        )
        self.assertIn(
            """SCALE of VNF instance an-instance
  flavour: simple -> large
  scale level of web_aspect: 0 -> 2
  VNFCs of VDU web: 1 -> 3
  VNFCs of VDU cache: none -> 1

Plan:""",
            plan_text.render(plan),
        )

    def test_the_composition_that_ends(self) -> None:
        current = Composition(
            flavour_id="simple", vnf_state=VnfOperationalState.STOPPED
        )
        self.assertIn(
            "  flavour: simple -> none\n  vnfState: STOPPED -> none\n",
            plan_text.render(a_plan(current=current)),
        )

    def test_unknown_outcomes(self) -> None:
        text = plan_text.render_executed(self.plan)
        self.assertIn("  + Service web  (it differs)\n", text)
        self.assertTrue(text.endswith(plan_text.UNKNOWN_OUTCOME + "\n"))
        self.assertIn("\nOutcome: 3 not known. ", text)

    def test_outcomes_of_a_running_operation(self) -> None:
        plan = msgspec.structs.replace(
            self.plan, operation_state=LcmOperationStateType.PROCESSING
        )
        self.assertTrue(
            plan_text.render_executed(plan).endswith(
                "\nOutcome: not known yet, the operation is PROCESSING.\n"
            )
        )

    def test_the_operation_that_has_the_instance(self) -> None:
        for state, message in (
            ("PROCESSING", "is PROCESSING, and may change"),
            ("FAILED_TEMP", "until it is retried, rolled back or failed"),
        ):
            plan = msgspec.structs.replace(
                self.plan,
                is_retry=True,
                operation_in_progress="an-operation",
                operation_in_progress_state=LcmOperationStateType(state),
            )
            text = plan_text.render(plan)
            self.assertTrue(text.startswith("Retry of SCALE of VNF"))
            self.assertIn(f"Operation an-operation is {state}", text)
            self.assertIn(message, text)
            self.assertIn("would be rejected", text)

    def test_nothing_to_change(self) -> None:
        text = plan_text.render_executed(a_plan())
        self.assertTrue(text.endswith("Outcome: nothing to change.\n"), text)

    def test_a_dry_run_has_no_outcome(self) -> None:
        text = plan_text.render(self.plan)
        self.assertTrue(text.startswith("SCALE of VNF instance an-instance\n"))
        self.assertNotIn("Outcome", text)
