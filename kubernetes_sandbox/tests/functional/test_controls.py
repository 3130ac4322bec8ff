"""What a test does to the cluster shows as it would on a real one."""

import contextlib
import socket
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

import testtools

from tests.functional.exchange import Cluster, Watch

_PODS = "/api/v1/namespaces/default/pods"
_SETS = "/apis/apps/v1/namespaces/default/deployments"


def a_deployment(name: str, replicas: int = 1, **pod: Any) -> dict[str, Any]:
    labels = {"app": name}
    spec = {
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "nginx"}],
        **pod,
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def condition(obj: dict[str, Any], kind: str) -> dict[str, Any]:
    for one in obj["status"].get("conditions") or ():
        if one["type"] == kind:
            return dict(one)
    return {"status": None, "reason": None}


class ControlTestCase(testtools.TestCase):
    wishes: dict[str, Any] = {"pod_start_delay": 0.05, "pod_stop_delay": 0.05}  # noqa: RUF012

    def setUp(self) -> None:
        super().setUp()
        self.client = self.useFixture(Cluster(**self.wishes))
        self.cluster = self.client.cluster

    def get(self, path: str) -> Any:
        return self.client.ask("GET", path)[1]

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(_PODS)["items"]
        return found

    def wait(self, what: Callable[[], Any], seconds: float = 5.0) -> Any:
        end = time.monotonic() + seconds
        while True:
            found = what()
            if found or time.monotonic() > end:
                self.assertTrue(found)
                return found
            time.sleep(0.02)

    def ready_pods(self) -> list[dict[str, Any]]:
        return [
            pod
            for pod in self.pods()
            if condition(pod, "Ready")["status"] == "True"
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def deploy(self, name: str = "web", replicas: int = 1, **pod: Any) -> None:
        body = a_deployment(name, replicas, **pod)
        self.client.ask("POST", _SETS, body)


class TestControls(ControlTestCase):
    def test_crashed_container_is_restarted(self) -> None:
        self.deploy()
        pod = self.wait(self.ready_pods)[0]
        name = pod["metadata"]["name"]
        self.cluster.crash_pod("default", name)
        self.wait(lambda: not self.ready_pods())
        again = self.wait(self.ready_pods)[0]
        status = again["status"]["containerStatuses"][0]
        self.assertEqual(name, again["metadata"]["name"])
        self.assertEqual(1, status["restartCount"])
        self.assertEqual(1, status["lastState"]["terminated"]["exitCode"])

    def test_killed_pod_is_replaced(self) -> None:
        self.deploy()
        before = self.wait(self.ready_pods)[0]["metadata"]["name"]
        self.cluster.kill_pod("default", before)
        self.assertNotIn(before, [p["metadata"]["name"] for p in self.pods()])
        self.wait(self.ready_pods)

    def test_pods_of_a_lost_node_wait_for_a_forced_delete(self) -> None:
        self.deploy()
        pod = self.wait(self.ready_pods)[0]
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        self.cluster.lose_node(node)
        pod = self.get(f"{_PODS}/{name}")
        self.assertEqual("Running", pod["status"]["phase"])
        self.assertEqual("False", condition(pod, "Ready")["status"])
        lost = self.get(f"/api/v1/nodes/{node}")
        self.assertEqual("Unknown", condition(lost, "Ready")["status"])
        self.client.ask("DELETE", f"{_PODS}/{name}")
        time.sleep(0.3)
        self.assertIn(
            "deletionTimestamp", self.get(f"{_PODS}/{name}")["metadata"]
        )
        self.wait(self.ready_pods)
        self.client.ask("DELETE", f"{_PODS}/{name}", {"gracePeriodSeconds": 0})
        self.assertEqual(404, self.client.ask("GET", f"{_PODS}/{name}")[0])
        self.cluster.restore_node(node)
        found = self.get(f"/api/v1/nodes/{node}")
        self.assertEqual("True", condition(found, "Ready")["status"])

    def test_pods_that_do_not_bear_a_lost_node_are_deleted(self) -> None:
        short = {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 1,
        }
        self.deploy(tolerations=[short])
        self.deploy("patient")
        pods = {p["metadata"]["labels"]["app"]: p for p in self.pods()}
        for number in (1, 2):
            self.cluster.lose_node(f"sandbox-node-{number}", 0.1)

        def going() -> set[str]:
            return {
                pod["metadata"]["name"]
                for pod in self.pods()
                if "deletionTimestamp" in pod["metadata"]
            }

        self.assertEqual(set(), going())
        self.wait(going)
        time.sleep(0.3)  # nobody ends them, and the other is borne longer
        self.assertEqual({pods["web"]["metadata"]["name"]}, going())
        told = self.get("/api/v1/namespaces/default/events")["items"]
        reasons = {event["reason"] for event in told}
        self.assertIn("TaintManagerEviction", reasons)

    def test_a_binding_means_a_pod(self) -> None:
        path = "/api/v1/namespaces/default/bindings"
        body = {
            "metadata": {"name": "nobody"},
            "target": {"kind": "Node", "name": "sandbox-node-1"},
        }
        status, answer = self.client.ask("POST", path, body)
        self.assertEqual(404, status)
        self.assertEqual('pods "nobody" not found', answer["message"])
        for number in (1, 2):
            self.cluster.set_node_capacity(f"sandbox-node-{number}", pods=0)
        self.deploy()
        pod = self.wait(self.pods)[0]["metadata"]["name"]
        body["metadata"] = {"name": pod}
        self.assertEqual(201, self.client.ask("POST", path, body)[0])
        self.wait(self.ready_pods)

    def test_full_nodes_take_no_pod_until_there_is_room(self) -> None:
        for number in (1, 2):
            self.cluster.set_node_capacity(f"sandbox-node-{number}", pods=0)
        self.deploy()
        self.wait(
            lambda: [
                p
                for p in self.pods()
                if condition(p, "PodScheduled")["reason"] == "Unschedulable"
            ]
        )
        told = self.get("/api/v1/namespaces/default/events")["items"]
        self.assertIn("FailedScheduling", {event["reason"] for event in told})
        self.cluster.set_node_capacity("sandbox-node-1", pods=5)
        self.wait(self.ready_pods)

    def test_start_delay_can_change(self) -> None:
        self.cluster.set_pod_start_delay(30.0)
        self.deploy()
        time.sleep(0.3)
        self.assertEqual([], self.ready_pods())

    def listens(self) -> bool:
        url = urllib.parse.urlsplit(self.cluster.endpoint)
        with contextlib.suppress(OSError):
            socket.create_connection((url.hostname, url.port or 0)).close()
            return True
        return False

    def test_the_api_server_goes_away_and_comes_back(self) -> None:
        self.deploy()
        before = self.wait(self.ready_pods)
        self.assertEqual(
            200,
            self.client.ask("POST", "/sandbox/api-away", {"seconds": 1})[0],
        )
        time.sleep(0.3)
        self.assertFalse(self.listens())
        self.wait(self.listens)
        self.assertEqual(before, self.ready_pods())

    def test_controls_answer_over_http(self) -> None:
        self.deploy()
        pod = self.wait(self.ready_pods)[0]["metadata"]["name"]
        place = {"namespace": "default", "name": pod}
        ask = self.client.ask
        viewer = self.cluster.viewer_token
        path = "/sandbox/kill-pod"
        self.assertEqual(403, ask("POST", path, place, token=viewer)[0])
        self.assertEqual(200, ask("POST", path, place)[0])
        self.assertEqual(404, ask("POST", path, place)[0])
        self.assertEqual(400, ask("POST", path, {"nope": 1})[0])
        self.assertEqual(404, ask("POST", "/sandbox/nope", {})[0])


class TestWorkloads(ControlTestCase):
    def test_quota_keeps_pods_away_and_says_so(self) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
        self.client.ask(
            "POST", "/api/v1/namespaces/default/resourcequotas", quota
        )
        self.deploy(replicas=2)
        self.wait(self.ready_pods)
        found = self.wait(
            lambda: condition(self.get(f"{_SETS}/web"), "ReplicaFailure").get(
                "message"
            )
        )
        self.assertIn(
            "is forbidden: exceeded quota: q, requested: pods=1, used: pods=1,"
            " limited: pods=1",
            found,
        )

    def test_init_containers_run_first(self) -> None:
        self.cluster.set_pod_start_delay(0.2)
        initial = [{"name": "first", "image": "busybox"}]
        self.deploy(initContainers=initial)
        self.wait(
            lambda: [
                p
                for p in self.pods()
                if condition(p, "Initialized")["status"] == "False"
            ]
        )
        pod = self.wait(self.ready_pods)[0]
        status = pod["status"]["initContainerStatuses"][0]
        self.assertEqual("Completed", status["state"]["terminated"]["reason"])

    def test_a_pod_that_never_ran_ends_failed(self) -> None:
        self.deploy(containers=[{"name": "main", "image": "invalid:1"}])
        pod = self.wait(
            lambda: [
                p for p in self.pods() if p["status"].get("containerStatuses")
            ]
        )[0]
        name = pod["metadata"]["name"]
        self.cluster.set_pod_start_delay(60)  # none comes in its place
        path = f"/api/v1/namespaces/default/pods?fieldSelector=metadata.name={name}"
        watch = Watch(self.client, path)
        self.client.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}")
        self.wait(lambda: [e for e in watch.events if e["type"] == "DELETED"])
        status = watch.events[-1]["object"]["status"]
        self.assertEqual("Failed", status["phase"])
        (container,) = status["containerStatuses"]
        self.assertEqual(137, container["state"]["terminated"]["exitCode"])

    def test_missing_reference_is_made_good(self) -> None:
        source = [{"configMapRef": {"name": "late"}}]
        container = {"name": "main", "image": "nginx", "envFrom": source}
        self.deploy(containers=[container])
        self.wait(
            lambda: [
                p for p in self.pods() if p["status"].get("containerStatuses")
            ]
        )
        self.assertEqual([], self.ready_pods())
        late = {"metadata": {"name": "late"}, "data": {}}
        self.client.ask("POST", "/api/v1/namespaces/default/configmaps", late)
        self.wait(self.ready_pods)

    def test_recreate_never_runs_both_templates(self) -> None:
        body = a_deployment("web", 2)
        body["spec"]["strategy"] = {"type": "Recreate"}
        self.client.ask("POST", _SETS, body)
        self.wait(lambda: len(self.ready_pods()) == 2)
        image = [{"op": "replace", "value": "nginx:2"}]
        image[0]["path"] = "/spec/template/spec/containers/0/image"
        form = "application/json-patch+json"
        self.client.ask("PATCH", f"{_SETS}/web", image, form=form)
        while True:
            images = {p["spec"]["containers"][0]["image"] for p in self.pods()}
            self.assertNotEqual({"nginx", "nginx:2"}, images)
            if images == {"nginx:2"}:
                break
        self.wait(lambda: len(self.ready_pods()) == 2)

    def test_job_completes_or_fails(self) -> None:
        path = "/apis/batch/v1/namespaces/default/jobs"
        for name, command in (("good", "true"), ("bad", "exit 1")):
            container = {
                "name": "main",
                "image": "busybox",
                "command": ["sh", "-c", command],
            }
            pod = {"restartPolicy": "Never", "containers": [container]}
            spec = {"backoffLimit": 1, "template": {"spec": pod}}
            body = {"metadata": {"name": name}, "spec": spec}
            status, answer = self.client.ask("POST", path, body)
            self.assertEqual(201, status, answer)
        self.wait(
            lambda: condition(self.get(f"{path}/good"), "Complete")["status"]
        )
        self.wait(
            lambda: condition(self.get(f"{path}/bad"), "Failed")["status"]
        )

    def test_claim_without_class_is_provisioned(self) -> None:
        path = "/api/v1/namespaces/default/persistentvolumeclaims"
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        body = {"metadata": {"name": "data"}, "spec": spec}
        self.client.ask("POST", path, body)
        self.wait(
            lambda: self.get(f"{path}/data")["status"]["phase"] == "Bound"
        )
        self.client.ask("DELETE", f"{path}/data")
        self.wait(lambda: not self.get("/api/v1/persistentvolumes")["items"])

    def test_namespace_goes_with_all_it_holds(self) -> None:
        self.client.create_namespace("short")
        path = "/apis/apps/v1/namespaces/short/deployments"
        self.client.ask("POST", path, a_deployment("web", 2))
        self.client.ask("DELETE", "/api/v1/namespaces/short")
        status, answer = self.client.ask(
            "POST",
            "/api/v1/namespaces/short/configmaps",
            {"metadata": {"name": "late"}},
        )
        self.assertEqual(403, status)
        self.assertIn("because it is being terminated", answer["message"])
        self.wait(
            lambda: (
                self.client.ask("GET", "/api/v1/namespaces/short")[0] == 404
            )
        )
        self.assertEqual([], self.get("/api/v1/pods")["items"])

    def test_orphans_stay_and_background_takes_all(self) -> None:
        self.deploy()
        self.wait(self.ready_pods)
        orphan = {"propagationPolicy": "Orphan"}
        self.client.ask("DELETE", f"{_SETS}/web", orphan)
        self.wait(lambda: self.client.ask("GET", f"{_SETS}/web")[0] == 404)
        sets = "/apis/apps/v1/namespaces/default/replicasets"
        left = self.get(sets)["items"]
        self.assertEqual(1, len(left))
        self.assertNotIn("ownerReferences", left[0]["metadata"])
        self.client.ask("DELETE", f"{sets}/{left[0]['metadata']['name']}")
        self.wait(lambda: not self.pods())
