"""Plans, compared with what their execution has done in the cluster."""

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import msgspec

from tacker_cnf.drivers.base import Action, ActionType, Plan
from tacker_cnf.drivers.kubernetes.cluster_connection import VIM_TYPE
from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL
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
#: those that the controller of a StatefulSet creates
CLAIMS: Final = frozenset({"data-store-0"})
#: (kind, name) of an object
Name = tuple[str, str]


class PlanCase(CnfCase):
    """A service with a recording driver."""

    def setUp(self) -> None:
        super().setUp()
        self.driver = RecordingDriver(self.vnfm.parts.drivers, VIM_TYPE)

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
                if INSTANCE_LABEL in labels and name not in CLAIMS:
                    yield (kind, name), body

    def check_plan(self, before: dict[Name, Any]) -> Plan:
        """Check that the last plan names all that was done since, and nothing
        else; return it.
        """
        plan = self.driver.plans[-1]
        after = self.bodies()
        planned: dict[str, set[Name]] = {kind: set() for kind in ActionType}
        for action in plan.actions:
            planned[action.type].add((action.kind, action.name))
        own = {
            name
            for name, body in (before | after).items()
            if not body["metadata"].get("ownerReferences")
        }
        kept = before.keys() & after.keys() & own
        recreated = {n for n in kept if uid(before[n]) != uid(after[n])}
        healed = {
            name
            for name in planned[ActionType.RECREATE] - own
            if name in before and name not in after
        }
        done = {
            ActionType.CREATE: own - before.keys(),
            ActionType.DELETE: own - after.keys(),
            ActionType.RECREATE: recreated | healed,
            ActionType.PATCH: {
                name
                for name in kept - recreated
                if content(before[name]) != content(after[name])
            },
        }
        self.assertEqual(done, planned)
        encoded = msgspec.json.encode(plan.actions)
        self.assertEqual(
            plan.actions, msgspec.json.decode(encoded, type=tuple[Action, ...])
        )
        return plan


def uid(body: Any) -> str:
    return str(body["metadata"]["uid"])


def content(body: Any) -> Any:
    """Return what clients set in an object."""
    return {k: v for k, v in body.items() if k not in {"metadata", "status"}}


class TestLifePlans(PlanCase):
    def run_and_check(self, vnf: str, task: str, body: Any) -> Plan:
        before = self.bodies()
        op_occ = self.vnfm.run(vnf, task, body)
        self.assertEqual("COMPLETED", op_occ["operationState"], op_occ)
        return self.check_plan(before)

    def test_a_life(self) -> None:
        vnf = self.vnfm.create()
        self.run_and_check(vnf, "instantiate", self.vnfm.request())
        scale = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        (action,) = self.run_and_check(vnf, "scale", scale).actions
        self.assertEqual(
            ("Deployment", "web", "web", "the VDU has 2 VNFCs instead of 1"),
            (action.kind, action.name, action.vdu_id, action.reason),
        )
        body = {"vnfcInstanceId": [self.vnfm.vnfc_of(vnf, "web")]}
        (action,) = self.run_and_check(vnf, "heal", body).actions
        self.assertEqual(("Pod", "web"), (action.kind, action.vdu_id))
        whole = self.run_and_check(vnf, "heal", {})
        self.assertIn("out of service", " ".join(whole.warnings))
        self.run_and_check(vnf, "terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual({}, self.bodies())


class TestChangePlans(PlanCase, ChangeCase):
    files: ClassVar[dict[str, str]] = {
        "other": CONFIG % "Hello" + "---\n" + FORMER
    }

    def test_a_change_of_package(self) -> None:
        before = self.bodies()
        other = CONFIG % "Hello" + "---\n" + NEXT
        self.change_completed(self.package("cnf-update-after", other=other))
        self.check_plan(before)
