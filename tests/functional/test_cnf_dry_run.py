"""Dry runs on Kubernetes: changes by others, limits, retries, bad requests."""

import re
import socket
import time
from typing import Any, ClassVar, Final

import yaml

from tacker_cnf.lcm.vnf_plan import ActionType, FieldChange, VnfPlan
from tests.fixtures import waiting
from tests.fixtures.cluster import APPS, CORE, CnfService
from tests.fixtures.vnfm import SAMPLES, ApiCase, Response
from tests.functional.test_cnf_budgets import BudgetCase
from tests.functional.test_cnf_change_package import CONFIG, ChangeCase
from tests.functional.test_cnf_plans import DryRunCase
from tests.functional.test_cnf_update import workloads

#: Deployments that no VDU has: the last one is valid
ODD: Final = "\n---\n".join(
    f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: odd-{number}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: odd-{number}}}}}
  template:
    metadata: {{labels: {{app: odd-{number}}}}}
    spec:
      containers: {containers}
"""
    for number, (replicas, containers) in enumerate(
        (
            ("'3'", "[{name: a, image: a}]"),
            ("1", "x"),
            (
                "1",
                "[{name: a, image: a, resources: {requests: {cpu: 1Mib}}}]",
            ),
            ("1", "[{name: a, image: a, resources: {requests: [cpu]}}]"),
            (
                "null",
                "[{name: a, image: a, resources: {limits: {memory: 1Gi}}}]",
            ),
        )
    )
)
SCALE: Final = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
FORCEFUL: Final = {"terminationType": "FORCEFUL"}


def changes(plan: VnfPlan) -> list[tuple[str, str, str]]:
    """Return type, kind and name of what a plan changes."""
    return [
        (action.type, action.kind, action.name)
        for action in plan.actions
        if action.type is not ActionType.UNCHANGED
    ]


class TestChangesByOthers(DryRunCase, ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.vnfm.start_vnf(self.vnfm.deployment_only())
        self.place = f"namespaces/{self.vnfm.namespace}"

    def delete(self, prefix: str, resource: str, name: str) -> None:
        path = f"{prefix}/{self.place}/{resource}/{name}"
        self.cluster.call("DELETE", path)
        pods = f"{CORE}/{self.place}/pods"
        waiting.until(
            lambda: not self.cluster.call("GET", pods)["items"],
            "no pod is left",
        )

    def test_a_deleted_workload(self) -> None:
        body = {"vnfcInstanceId": [self.vnfm.vnfc_of(self.vnf, "web")]}
        self.delete(APPS, "deployments", "web")
        response = self.vnfm.task(self.vnf, "scale?dry_run=true", SCALE)
        self.assert_problem(422, response, "Deployment web no longer exists")
        before = self.bodies()
        plan = self.dry_run(self.vnf, "heal", body)
        self.assertEqual(
            [(ActionType.CREATE, "Deployment", "web")], changes(plan)
        )
        whole = self.dry_run(self.vnf, "heal", {})
        self.assertIn((ActionType.CREATE, "Deployment", "web"), changes(whole))
        self.vnfm.run(self.vnf, "heal", body)
        self.check_done(before, plan.actions)

    def test_an_empty_namespace(self) -> None:
        self.delete(APPS, "deployments", "web")
        self.delete(CORE, "configmaps", "web-config")
        self.delete(CORE, "secrets", "web-secret")
        self.assertEqual(
            [], changes(self.dry_run(self.vnf, "terminate", FORCEFUL))
        )

    def test_the_size_in_the_cluster(self) -> None:
        path = f"{APPS}/{self.place}/deployments/web"
        body = self.cluster.call("GET", path)
        body["spec"]["replicas"] = 3
        self.cluster.call("PUT", path, body)
        action, *_ = self.dry_run(self.vnf, "scale", SCALE).actions
        (change,) = action.changes
        self.assertEqual((3, 2), (change.before, change.after))


class TestRetry(DryRunCase):
    def test_the_values_of_a_secret_are_hidden(self) -> None:
        text = (SAMPLES / "cnf/Files/kubernetes/deployment.yaml").read_text()
        vnf = self.vnfm.create_with_files(
            deployment=text.replace("nginx:1.27", "registry/invalid:1")
        )
        op_occ = self.vnfm.run(vnf, "instantiate", self.vnfm.deployment_only())
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], op_occ)
        place = f"{CORE}/namespaces/{self.vnfm.namespace}/secrets/web-secret"
        body = self.cluster.call("GET", place)
        body["data"]["TOKEN"] = "b3RoZXI="
        self.cluster.call("PUT", place, body)
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ['id']}/retry"
        plan = self.planned(f"{path}?dry_run=true", None)
        self.assertTrue(plan.is_retry)
        self.assertEqual((), plan.warnings)
        (action,) = (a for a in plan.actions if a.kind == "Secret")
        self.assertEqual(
            (FieldChange(path="data.TOKEN", before="***", after="***"),),
            action.changes,
        )
        self.assertEqual(
            [(action.type, "Secret", "web-secret")], changes(plan)
        )


class TestImageThatCannotBePulled(DryRunCase):
    def setUp(self) -> None:
        super().setUp()
        text = (SAMPLES / "cnf/Files/kubernetes/deployment.yaml").read_text()
        vnf = self.vnfm.create_with_files(
            deployment=text.replace("nginx:1.27", "registry/invalid:1")
        )
        op_occ = self.vnfm.run(vnf, "instantiate", self.vnfm.deployment_only())
        self.path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ['id']}"

    def test_a_retry_waits(self) -> None:
        plan = self.planned(f"{self.path}/retry?dry_run=true", None)
        self.assertTrue(plan.is_retry)
        self.assertEqual([], changes(plan))
        (warning,) = plan.warnings
        self.assertIn("the retry waits until the VNF is ready", warning)
        self.assertIn("ImagePullBackOff", warning)

    def test_a_rollback_is_marked(self) -> None:
        plan = self.planned(f"{self.path}/rollback?dry_run=true", None)
        self.assertTrue(plan.is_rollback)
        self.assertEqual({ActionType.DELETE}, {c[0] for c in changes(plan)})


class TestInstantiation(DryRunCase, ApiCase):
    def plan(self) -> VnfPlan:
        return self.dry_run(
            self.vnfm.create(), "instantiate", self.vnfm.request()
        )

    def test_an_object_of_another_owner(self) -> None:
        place = f"{CORE}/namespaces/{self.vnfm.namespace}/configmaps"
        body = {"metadata": {"name": "web-config"}, "data": {}}
        self.cluster.call("POST", place, body)
        (warning,) = self.plan().warnings
        self.assertIn("ConfigMap web-config", warning)
        self.assertIn("already exists", warning)

    def test_a_missing_namespace(self) -> None:
        request = self.vnfm.request()
        request["additionalParams"]["namespace"] = "missing"
        plan = self.dry_run(self.vnfm.create(), "instantiate", request)
        (warning,) = plan.warnings
        self.assertIn("Namespace missing does not exist", warning)

    def test_a_quota_that_does_not_suffice(self) -> None:
        self.quota(pods="2")
        warnings = self.plan().warnings
        self.assertIn(
            "ResourceQuota small allows 2 more of pods, and the new pods "
            "need 5.",
            warnings,
        )

    def test_an_invalid_object(self) -> None:
        vnf = self.vnfm.create_with_files(
            configmap="apiVersion: v1\nkind: ConfigMap\n"
            "metadata: {name: web, labels: {app: not valid}}\n"
        )
        plan = self.dry_run(vnf, "instantiate", self.vnfm.request())
        self.assertIn("The cluster would reject", plan.warnings[0])
        self.assertIn("Files/kubernetes/configmap.yaml", plan.warnings[0])

    def quota(self, **hard: str) -> None:
        place = f"{CORE}/namespaces/{self.vnfm.namespace}/resourcequotas"
        body = {"metadata": {"name": "small"}, "spec": {"hard": hard}}
        self.cluster.call("POST", place, body)

    def test_odd_objects(self) -> None:
        cron = (
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: cron}\n"
            "spec: {schedule: '* * * * *', jobTemplate: {spec: {template: "
            "{spec: {restartPolicy: Never, containers: [{name: a, image: a, "
            "resources: {limits: {memory: 8Gi}}}]}}}}}\n---\n"
        )
        vnf = self.vnfm.create_with_files(configmap=cron + ODD)
        for hard in ({}, {"requests.memory": "512Mi", "services": "0"}):
            if hard:
                self.quota(**hard)
            plan = self.dry_run(vnf, "instantiate", self.vnfm.request())
            self.assertEqual(
                [f"Deployment odd-{number}" for number in range(4)],
                re.findall(r"would reject (Deployment odd-.)", str(plan)),
            )
        self.assertIn(
            "ResourceQuota small allows 536870912 more of requests.memory, "
            "and the new pods need 1073741824.",
            plan.warnings,
        )

    def test_an_unreachable_cluster(self) -> None:
        vim = self.cluster.vim()
        vim["vim1"]["interfaceInfo"]["endpoint"] = "https://127.0.0.1:9"
        request = self.vnfm.request(vimConnectionInfo=vim)
        response = self.vnfm.task(
            self.vnfm.create(), "instantiate?dry_run=true", request
        )
        self.assert_problem(422, response, "127.0.0.1:9")


class TestTimeout(DryRunCase, ApiCase):
    def create_service(self) -> CnfService:
        return CnfService(api={"dry_run_timeout": 1.0})

    def test_a_server_that_does_not_respond(self) -> None:
        server = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        vim = self.cluster.vim()
        port = server.getsockname()[1]
        vim["vim1"]["interfaceInfo"]["endpoint"] = f"https://127.0.0.1:{port}"
        started = time.monotonic()
        response = self.vnfm.task(
            self.vnfm.create(),
            "instantiate?dry_run=true",
            self.vnfm.request(vimConnectionInfo=vim),
        )
        self.assert_problem(422, response, "1 s, the limit for a plan")
        self.assertLess(time.monotonic() - started, 5.0)


class TestBudgets(BudgetCase, DryRunCase):
    def test_a_budget_that_allows_nothing(self) -> None:
        self.budget(minAvailable=3)
        names = list(self.vnfm.vnfcs(self.instance_id))
        plan = self.dry_run(
            self.instance_id, "heal", {"vnfcInstanceId": names}
        )
        self.assertEqual(3, len(changes(plan)))
        self.assertIn(
            "PodDisruptionBudget web allows no eviction", plan.warnings[-1]
        )
        self.assertIn("All VNFCs of VDU web are replaced", plan.warnings[0])
        one = self.dry_run(
            self.instance_id, "heal", {"vnfcInstanceId": names[:1]}
        )
        self.assertEqual((), one.warnings)


class TestFailedOperations(ChangeCase, DryRunCase):
    def decision(self, op_occ: Any, decision: str) -> VnfPlan:
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ['id']}/{decision}"
        return self.planned(f"{path}?dry_run=true", None)

    def test_a_rollback_and_a_retry(self) -> None:
        start = self.contents()
        vnfd_id = self.after("nginx:1.28", "invalid:1", "workloads")
        op_occ = self.change(vnfd_id)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        retry = self.decision(op_occ, "retry")
        self.assertNotIn(
            (ActionType.PATCH, "Deployment", "front"), changes(retry)
        )
        before = self.bodies()
        rollback = self.decision(op_occ, "rollback")
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.check_done(before, rollback.actions)
        self.assertEqual(start.keys(), self.contents().keys())

    def fail_at_front(self) -> Any:
        """Change the package; the API server rejects a Deployment."""
        new = workloads("after")
        spec = new["front"]["spec"]
        labels = {"app": "other"}
        spec["selector"]["matchLabels"] = labels
        spec["template"]["metadata"]["labels"] = labels
        op_occ = self.change(self.with_workloads(new))
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.assertIn("immutable", op_occ["error"]["detail"])
        return op_occ

    def test_a_retry_after_the_configuration_was_written(self) -> None:
        op_occ = self.fail_at_front()
        front = f"namespaces/{self.vnfm.namespace}/deployments/front"
        body = self.cluster.call("GET", f"{APPS}/{front}")
        self.cluster.call("DELETE", f"{APPS}/{front}")
        labels = body["spec"]["selector"]["matchLabels"]
        labels["app"] = "other"
        body["spec"]["template"]["metadata"]["labels"] |= labels
        del body["metadata"]["resourceVersion"], body["metadata"]["uid"]
        self.cluster.call("POST", f"{APPS}/{front}".rpartition("/")[0], body)
        before = self.bodies()
        plan = self.decision(op_occ, "retry")
        self.assertIn(
            (ActionType.PATCH, "StatefulSet", "store"), changes(plan)
        )
        self.assertNotIn("ConfigMap", {c[1] for c in changes(plan)})
        end = self.vnfm.decide(op_occ["id"], "retry")
        self.assertEqual("COMPLETED", end["operationState"], str(end))
        self.check_done(before, plan.actions)

    def test_a_rollback_before_the_pods_restart(self) -> None:
        op_occ, before = self.fail_at_front(), self.bodies()
        plan = self.decision(op_occ, "rollback")
        self.assertIn("ConfigMap", {c[1] for c in changes(plan)})
        self.vnfm.decide(op_occ["id"], "rollback")
        self.check_done(before, plan.actions)


class TestLostWorkloads(ChangeCase, DryRunCase, ApiCase):
    def delete(self, resource: str, name: str, prefix: str = APPS) -> None:
        place = f"namespaces/{self.vnfm.namespace}/{resource}/{name}"
        self.cluster.call("DELETE", f"{prefix}/{place}")

    def test_a_stateful_set(self) -> None:
        self.delete("statefulsets", "store")
        response = self.vnfm.task(
            self.instance_id,
            "change_vnfpkg?dry_run=true",
            self.request(self.after()),
        )
        self.assert_problem(
            422, response, "StatefulSet store no longer exists"
        )

    def test_a_pod(self) -> None:
        self.delete("pods", "probe", CORE)
        waiting.until(lambda: "probe" not in self.pods(), "the deletion")
        request, before = self.request(self.after()), self.bodies()
        plan = self.dry_run(self.instance_id, "change_vnfpkg", request)
        self.assertIn((ActionType.CREATE, "Pod", "probe"), changes(plan))
        self.vnfm.run(self.instance_id, "change_vnfpkg", request)
        self.check_done(before, plan.actions)


class TestObjectsThatStay(ChangeCase, DryRunCase):
    """A claim with another manifest, and what pods of before still read."""

    claim: ClassVar[str] = """
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: %s}}
"""
    files: ClassVar[dict[str, str]] = {"other": CONFIG % "Hi" + claim % "1Mi"}

    def test_they_are_unchanged(self) -> None:
        new = workloads("after")
        for name in ("store", "cache", "probe"):
            spec = new[name]["spec"]
            spec = spec.get("template", {}).get("spec", spec)
            spec.pop("volumes", None)
            for container in spec["containers"]:
                for field in ("env", "envFrom", "volumeMounts"):
                    container.pop(field, None)
        vnfd_id = self.package(
            "cnf-update-after",
            **{
                "workloads": yaml.safe_dump_all(new.values()),
                "configuration-2": CONFIG.replace("other", "update") % "Bye",
                "other": CONFIG % "Hi" + self.claim % "2Mi",
            },
        )
        request, before = self.request(vnfd_id), self.bodies()
        plan = self.dry_run(self.instance_id, "change_vnfpkg", request)
        self.assertNotIn("would reject", str(plan.warnings))
        self.change_completed(vnfd_id)
        self.check_done(before, plan.actions)


class TestRequests(DryRunCase, ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.vnfm.start_vnf(self.vnfm.deployment_only())

    def scale(self, query: str, accept: str = "*/*") -> Response:
        path = f"/vnflcm/v2/vnf_instances/{self.vnf}/scale{query}"
        return self.vnfm.call("POST", path, SCALE, {"Accept": accept})

    def pods(self) -> list[Any]:
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/pods"
        found: list[Any] = self.cluster.call("GET", path)["items"]
        return found

    def operations(self) -> int:
        return len(self.vnfm.call("GET", "/vnflcm/v2/vnf_lcm_op_occs").json)

    def test_text(self) -> None:
        response = self.scale("?dry_run=true", "text/plain")
        self.assertEqual("text/plain", response.type)
        text = response.content.decode()
        self.assertIn(
            "  ~ Deployment web  (the VDU is scaled from 1 to 2", text
        )
        self.assertIn("      ~ spec.replicas: 1 -> 2\n", text)
        self.assertIn("  adds 1 COMPUTE of VDU web\n", text)
        self.assertIn("Plan: 1 to change, 2 unchanged.", text)

    def test_a_mistyped_query_starts_nothing(self) -> None:
        before = self.operations()
        for query in (
            "?dryrun=true",
            "?dry_run=True",
            "?dry_run=",
            "?dry_run=true&dry_run=false",
        ):
            self.assert_problem(400, self.scale(query), "dry_run")
        self.assert_problem(
            406, self.scale("?dry_run=true", "text/html"), "text/plain"
        )
        self.assertEqual(before, self.operations())
        self.assertEqual(202, self.scale("?dry_run=false").status)

    def test_a_rejected_request(self) -> None:
        response = self.vnfm.task(
            self.vnf, "scale?dry_run=true", SCALE | {"aspectId": "nope"}
        )
        self.assert_problem(400, response, "nope")
        response = self.vnfm.task(
            self.vnfm.create(), "scale?dry_run=true", SCALE
        )
        self.assert_problem(409, response, "NOT_INSTANTIATED")

    def test_while_an_operation_runs(self) -> None:
        self.cluster.sandbox.set_pod_start_delay(30.0)
        started = self.vnfm.task(self.vnf, "scale", SCALE)
        waiting.until(lambda: len(self.pods()) == 2, "the new pod")
        plan = self.dry_run(self.vnf, "terminate", FORCEFUL)
        op_occ_id = started.headers["Location"].rpartition("/")[2]
        self.assertEqual(op_occ_id, plan.operation_in_progress)
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ_id}/cancel"
        self.vnfm.call("POST", path, {"cancelMode": "FORCEFUL"})
        self.vnfm.wait_operation(started.headers["Location"])

    def test_nothing_is_stored(self) -> None:
        before, instance = self.operations(), self.vnfm.instance(self.vnf)
        plan = self.dry_run(self.vnf, "scale", SCALE)
        assert plan.grant_request is not None
        self.assertEqual("web", plan.grant_request.add_resources[0].vdu_id)
        self.assertEqual(before, self.operations())
        self.assertEqual(instance, self.vnfm.instance(self.vnf))

    def test_a_modification(self) -> None:
        path = f"/vnflcm/v2/vnf_instances/{self.vnf}?dry_run=true"
        response = self.vnfm.call("PATCH", path, {"vnfInstanceName": "new"})
        self.assertEqual(200, response.status, response.json)
        self.assertEqual("MODIFY_INFO", response.json["operation"])
        self.assertNotIn("actions", response.json)
        self.assertNotIn("vnfInstanceName", self.vnfm.instance(self.vnf))
        text = self.vnfm.call(
            "PATCH", path, {"vnfInstanceName": "new"}, {"Accept": "text/plain"}
        ).content.decode()
        self.assertIn("Plan: nothing to change on the VIM.", text)
