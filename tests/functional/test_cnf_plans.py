"""Plans, compared with what their execution has done in the cluster."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

from tacker_cnf.drivers.kubernetes.cluster_connection import VIM_TYPE
from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL
from tacker_cnf.lcm.vnf_plan import Action, ActionType, FieldChange, VnfPlan
from tacker_cnf.sol import base
from tests.fixtures.cluster import APPS, CORE, RBAC, CnfCase
from tests.fixtures.recording_driver import RecordingDriver
from tests.functional.test_cnf_change_package import (
    CONFIG,
    FORMER,
    NEXT,
    ChangeCase,
)

#: resource -> prefix of its path
RESOURCES: Final = {
    "configmaps": CORE,
    "persistentvolumeclaims": CORE,
    "pods": CORE,
    "secrets": CORE,
    "services": CORE,
    "daemonsets": APPS,
    "deployments": APPS,
    "replicasets": APPS,
    "statefulsets": APPS,
    "roles": RBAC,
    "networkpolicies": "/apis/networking.k8s.io/v1",
}
#: those that the controller of a StatefulSet creates, which no manifest has
CLAIMS: Final = frozenset(f"data-store-{n}" for n in range(3))
#: (kind, name) of an object
Name = tuple[str, str]


class DryRunCase(CnfCase):
    """Dry runs, compared with what is in the cluster."""

    def bodies(self) -> dict[Name, Any]:
        """Return the objects of the VNF that have no controller, and the pods
        of workloads.
        """
        return dict(self._bodies())

    def _bodies(self) -> Iterator[tuple[Name, Any]]:
        place = f"namespaces/{self.vnfm.namespace}"
        for resource, prefix in RESOURCES.items():
            listed = self.cluster.call("GET", f"{prefix}/{place}/{resource}")
            kind = listed["kind"].removesuffix("List")
            for body in listed["items"]:
                name = body["metadata"]["name"]
                labels = body["metadata"].get("labels", {})
                if INSTANCE_LABEL in labels:
                    yield (kind, name), body

    def contents(self) -> dict[Name, Any]:
        """Return what clients have set in the objects."""
        return {
            name: content(body)
            for name, body in self._bodies()
            if not body["metadata"].get("ownerReferences")
        }

    def dry_run(self, vnf: str, task: str, body: Any) -> VnfPlan:
        """Plan an operation by a dry run; check that it changes nothing."""
        path = f"/vnflcm/v2/vnf_instances/{vnf}/{task}?dry_run=true"
        return self.planned(path, body)

    def planned(self, path: str, body: Any) -> VnfPlan:
        before = self.contents()
        response = self.vnfm.call("POST", path, body)
        self.assertEqual(200, response.status, response.json)
        self.assertEqual(before, self.contents())
        return base.decode(response.content, VnfPlan)

    def check_done(
        self,
        before: dict[Name, Any],
        actions: Iterable[Action],
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        """Check that actions name all that was done since, and nothing else.

        :param ignored: names of objects that they do not name
        """
        after = self.bodies()
        planned: dict[str, set[Name]] = {kind: set() for kind in ActionType}
        for action in actions:
            planned[action.type].add((action.kind, action.name))
        own = {
            name
            for name, body in (before | after).items()
            if not body["metadata"].get("ownerReferences")
            and name[1] not in ignored
        }
        kept = before.keys() & after.keys() & own
        recreated = {n for n in kept if uid(before[n]) != uid(after[n])}
        healed = {
            name
            for name in planned[ActionType.RECREATE] - own
            if name in before and is_replaced(before[name], after.get(name))
        }
        patched = {
            name
            for name in kept - recreated
            if content(before[name]) != content(after[name])
        }
        done = {
            ActionType.CREATE: {
                name for name in own - before.keys() if name[1] not in CLAIMS
            },
            ActionType.DELETE: own - after.keys(),
            ActionType.RECREATE: recreated | healed,
            ActionType.PATCH: patched,
            ActionType.UNCHANGED: kept - recreated - patched,
        }
        self.assertEqual(done, planned)


def uid(body: Any) -> str:
    return str(body["metadata"]["uid"])


def is_replaced(before: Any, after: Any) -> bool:
    return after is None or uid(before) != uid(after)


def content(body: Any) -> Any:
    """Return what clients set in an object."""
    return {k: v for k, v in body.items() if k not in {"metadata", "status"}}


class PlanCase(DryRunCase):
    """A service with a recording driver."""

    def setUp(self) -> None:
        super().setUp()
        self.driver = RecordingDriver(self.vnfm.parts.drivers, VIM_TYPE)


class TestLifePlans(PlanCase):
    def run_and_check(self, vnf: str, task: str, body: Any) -> VnfPlan:
        before = self.bodies()
        plan = self.dry_run(vnf, task, body)
        op_occ = self.vnfm.run(vnf, task, body)
        self.assertEqual("COMPLETED", op_occ["operationState"], op_occ)
        self.check_done(before, plan.actions)
        by_request = self.driver.plans[-1]
        self.check_done(before, by_request.actions, CLAIMS)
        return plan

    def test_a_life(self) -> None:
        vnf = self.vnfm.create()
        self.run_and_check(vnf, "instantiate", self.vnfm.request())
        scale = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        action, *_ = self.run_and_check(vnf, "scale", scale).actions
        self.assertEqual(
            (
                "Deployment",
                "web",
                "web",
                "the VDU is scaled from 1 to 2 VNFCs",
            ),
            (action.kind, action.name, action.vdu_id, action.reason),
        )
        self.assertEqual(
            (FieldChange(path="spec.replicas", before=1, after=2),),
            action.changes,
        )
        level = {"instantiationLevelId": "busy"}
        plan = self.run_and_check(vnf, "scale_to_level", level)
        scaled = {a.name for a in plan.actions if a.changes}
        self.assertEqual({"web", "cache", "store"}, scaled)
        body = {"vnfcInstanceId": [self.vnfm.vnfc_of(vnf, "web")]}
        action, *_ = self.run_and_check(vnf, "heal", body).actions
        self.assertEqual(("Pod", "web"), (action.kind, action.vdu_id))
        whole = self.run_and_check(vnf, "heal", {})
        self.assertIn("out of service", " ".join(whole.warnings))
        self.run_and_check(vnf, "terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual({}, self.bodies())

    def test_a_stop_and_a_start(self) -> None:
        vnf = self.vnfm.create()
        self.vnfm.run(vnf, "instantiate", self.vnfm.request())
        stop = {
            "changeStateTo": "STOPPED",
            "stopType": "GRACEFUL",
            "gracefulStopTimeout": 5,
        }
        plan = self.run_and_check(vnf, "operate", stop)
        self.assertEqual(
            {
                ("Deployment", ActionType.PATCH),
                ("ReplicaSet", ActionType.PATCH),
                ("StatefulSet", ActionType.PATCH),
                ("DaemonSet", ActionType.PATCH),
                ("Pod", ActionType.DELETE),
            },
            {
                (action.kind, action.type)
                for action in plan.actions
                if action.type is not ActionType.UNCHANGED
            },
        )
        scale = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        plan = self.run_and_check(vnf, "scale", scale)
        (warning,) = plan.warnings
        self.assertEqual(
            "VDU web will start with 2 VNFCs instead of 1: the VNF is STOPPED.",
            warning,
        )
        self.assertEqual((), self.run_and_check(vnf, "heal", {}).warnings)
        body = {"vnfcInstanceId": ["web-0"]}
        rejected = self.vnfm.task(vnf, "heal", body)
        self.assertIn("the VNF is STOPPED: start it", rejected.detail)
        self.run_and_check(vnf, "operate", {"changeStateTo": "STARTED"})


class TestChangePlans(PlanCase, ChangeCase):
    files: ClassVar[dict[str, str]] = {
        "other": CONFIG % "Hello" + "---\n" + FORMER
    }

    def test_a_change_of_package(self) -> None:
        before = self.bodies()
        other = CONFIG % "Hello" + "---\n" + NEXT
        vnfd_id = self.package("cnf-update-after", other=other)
        plan = self.dry_run(
            self.instance_id, "change_vnfpkg", self.request(vnfd_id)
        )
        self.assertIn(
            "The only VNFC of VDU probe is replaced: the VDU is out of "
            "service until the new one is ready.",
            plan.warnings,
        )
        (service,) = (a for a in plan.actions if a.kind == "Service")
        self.assertEqual(
            ["metadata.labels.old", "spec.ports[two]"],
            [change.path for change in service.changes],
        )
        self.change_completed(vnfd_id)
        self.check_done(before, plan.actions)
        self.check_done(before, self.driver.plans[-1].actions, CLAIMS)
