"""Fault injection and workloads."""

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import testtools
import urllib3

from tests.functional.cluster_fixture import Cluster, Watch

_PODS = "/api/v1/namespaces/default/pods"
_SETS = "/apis/apps/v1/namespaces/default/deployments"


def deployment_body(
    name: str, replicas: int = 1, **pod: Any
) -> dict[str, Any]:
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


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _images(pods: Iterable[dict[str, Any]]) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in pods]


class ClusterTestCase(testtools.TestCase):
    options: dict[str, Any] = {"pod_start_delay": 0.05, "pod_stop_delay": 0.05}  # noqa: RUF012

    def setUp(self) -> None:
        super().setUp()
        self.client = self.useFixture(Cluster(**self.options))
        self.cluster = self.client.cluster

    def get(self, path: str) -> Any:
        return self.client.request("GET", path)[1]

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(_PODS)["items"]
        return found

    def wait(self, what: Callable[[], Any]) -> Any:
        for _ in self.client.changes():
            found = what()
            if found:
                return found
        return self.fail(f"It did not happen: {what}")

    def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods()]

    def ready_pods(self) -> list[dict[str, Any]]:
        return [
            pod
            for pod in self.pods()
            if condition(pod, "Ready")["status"] == "True"
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def deploy(self, name: str = "web", replicas: int = 1, **pod: Any) -> None:
        body = deployment_body(name, replicas, **pod)
        self.client.request("POST", _SETS, body)


class TestFaultInjection(ClusterTestCase):
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
        self.client.request("DELETE", f"{_PODS}/{name}")
        # A pod on another node that is deleted later ends.
        later = self.wait(self.ready_pods)[0]["metadata"]["name"]
        self.client.request("DELETE", f"{_PODS}/{later}")
        self.wait(lambda: later not in self.names())
        self.assertIn(
            "deletionTimestamp", self.get(f"{_PODS}/{name}")["metadata"]
        )
        self.wait(self.ready_pods)
        self.client.request(
            "DELETE", f"{_PODS}/{name}", {"gracePeriodSeconds": 0}
        )
        self.assertEqual(404, self.client.request("GET", f"{_PODS}/{name}")[0])
        self.cluster.restore_node(node)
        found = self.get(f"/api/v1/nodes/{node}")
        self.assertEqual("True", condition(found, "Ready")["status"])

    def test_pods_without_toleration_of_a_lost_node_are_deleted(self) -> None:
        for seconds in (1, 2):
            toleration = {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": seconds,
            }
            self.deploy(f"tolerates-{seconds}", tolerations=[toleration])
        self.deploy("patient")
        self.wait(lambda: len(self.ready_pods()) == 3)
        for number in (1, 2):
            self.cluster.lose_node(f"sandbox-node-{number}", 0.1)

        def deleted_pods() -> dict[str, str]:
            return {
                pod["metadata"]["labels"]["app"]: pod["metadata"][
                    "deletionTimestamp"
                ]
                for pod in self.pods()
                if "deletionTimestamp" in pod["metadata"]
            }

        # No kubelet stops the first one before the second one is deleted.
        deleted = self.wait(lambda: len(deleted_pods()) > 1 and deleted_pods())
        self.assertEqual({"tolerates-1", "tolerates-2"}, set(deleted))
        taint = self.get("/api/v1/nodes/sandbox-node-1")["spec"]["taints"][0]
        waited = _time(deleted["tolerates-1"]) - _time(taint["timeAdded"])
        grace_s = 1
        self.assertGreaterEqual(waited.total_seconds(), 1 + grace_s)
        events = self.get("/api/v1/namespaces/default/events")["items"]
        reasons = {event["reason"] for event in events}
        self.assertIn("TaintManagerEviction", reasons)

    def test_binding_without_subresource(self) -> None:
        path = "/api/v1/namespaces/default/bindings"
        body = {
            "metadata": {"name": "absent"},
            "target": {"kind": "Node", "name": "sandbox-node-1"},
        }
        status, answer = self.client.request("POST", path, body)
        self.assertEqual(404, status)
        self.assertEqual('pods "absent" not found', answer["message"])
        for number in (1, 2):
            self.cluster.set_node_capacity(f"sandbox-node-{number}", pods=0)
        self.deploy()
        pod = self.wait(self.pods)[0]["metadata"]["name"]
        body["metadata"] = {"name": pod}
        self.assertEqual(201, self.client.request("POST", path, body)[0])
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
        events = self.get("/api/v1/namespaces/default/events")["items"]
        self.assertIn(
            "FailedScheduling", {event["reason"] for event in events}
        )
        self.cluster.set_node_capacity("sandbox-node-1", pods=5)
        self.wait(self.ready_pods)

    def test_start_delay_can_change(self) -> None:
        self.cluster.set_pod_start_delay(300.0)
        self.deploy()
        self.wait(lambda: [p for p in self.pods() if p["spec"]["nodeName"]])
        self.cluster.set_pod_start_delay(0.05)
        self.deploy("fast")
        (pod,) = self.wait(self.ready_pods)
        self.assertEqual("fast", pod["metadata"]["labels"]["app"])

    def test_api_server_outage(self) -> None:
        self.deploy()
        before = self.wait(self.ready_pods)
        watch = Watch(self.client, _PODS)
        begin = time.monotonic()
        path, seconds = "/sandbox/stop-api-server", 1
        status, _ = self.client.request("POST", path, {"seconds": seconds})
        self.assertEqual(200, status)
        watch.join()  # The server is stopping.
        again = urllib3.Retry(total=600, backoff_factor=1, backoff_max=0.1)
        with self.client.pool.request(
            "GET", self.cluster.endpoint, retries=again, preload_content=False
        ):
            self.assertGreaterEqual(time.monotonic() - begin, seconds)
        self.assertEqual(before, self.ready_pods())

    def test_actions_over_http(self) -> None:
        self.deploy()
        pod = self.wait(self.ready_pods)[0]["metadata"]["name"]
        place = {"namespace": "default", "name": pod}
        request = self.client.request
        viewer = self.cluster.viewer_token
        path = "/sandbox/kill-pod"
        self.assertEqual(403, request("POST", path, place, token=viewer)[0])
        self.assertEqual(200, request("POST", path, place)[0])
        self.assertEqual(404, request("POST", path, place)[0])
        self.assertEqual(400, request("POST", path, {"nope": 1})[0])
        self.assertEqual(404, request("POST", "/sandbox/nope", {})[0])

    def test_invalid_arguments_are_rejected(self) -> None:
        for action, arguments, message in (
            (
                "stop-api-server",
                {"seconds": "2"},
                "seconds is not a number, 0 or more.",
            ),
            ("stop-api-server", {"seconds": True}, "seconds is not"),
            ("stop-api-server", {"seconds": -1}, "seconds is not"),
            ("pod-start-delay", {}, "seconds is missing; use: seconds ("),
            ("pod-start-delay", [], "not an object of: seconds ("),
            (
                "node-capacity",
                {"name": "sandbox-node-1", "pods": 1.5},
                "pods is not an integer, 0 or more.",
            ),
            (
                "lose-node",
                {"node": "x"},
                "Unknown argument 'node'; use: name (a string), detection_delay",
            ),
        ):
            status, body = self.client.request(
                "POST", f"/sandbox/{action}", arguments
            )[:2]
            self.assertEqual(400, status, action)
            self.assertIn(message, str(body))


class TestWorkloads(ClusterTestCase):
    def test_quota_failure_is_a_condition(self) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
        self.client.request(
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
        self.cluster.set_pod_start_delay(60)  # no replacement starts
        path = f"/api/v1/namespaces/default/pods?fieldSelector=metadata.name={name}"
        watch = Watch(self.client, path)
        self.client.request(
            "DELETE", f"/api/v1/namespaces/default/pods/{name}"
        )
        watch.wait(
            lambda: [one["type"] for one in watch.events][-1:] == ["DELETED"]
        )
        status = watch.events[-1]["object"]["status"]
        self.assertEqual("Failed", status["phase"])
        (container,) = status["containerStatuses"]
        self.assertEqual(137, container["state"]["terminated"]["exitCode"])

    def test_pod_starts_when_its_configmap_is_created(self) -> None:
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
        self.client.request(
            "POST", "/api/v1/namespaces/default/configmaps", late
        )
        self.wait(self.ready_pods)

    def test_recreate_never_runs_both_templates(self) -> None:
        body = deployment_body("web", 2)
        body["spec"]["strategy"] = {"type": "Recreate"}
        self.client.request("POST", _SETS, body)
        self.wait(lambda: len(self.ready_pods()) == 2)
        image = [{"op": "replace", "value": "nginx:2"}]
        image[0]["path"] = "/spec/template/spec/containers/0/image"
        content_type = "application/json-patch+json"
        watch = Watch(self.client, _PODS)
        self.client.request(
            "PATCH", f"{_SETS}/web", image, content_type=content_type
        )
        self.wait(lambda: _images(self.ready_pods()) == ["nginx:2"] * 2)
        self.cluster.stop()
        watch.join()
        running: dict[str, dict[str, Any]] = {}
        for event in watch.events:
            pod = event["object"]
            running[pod["metadata"]["name"]] = pod
            if event["type"] == "DELETED":
                del running[pod["metadata"]["name"]]
            self.assertLessEqual(len(set(_images(running.values()))), 1)

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
            status, answer = self.client.request("POST", path, body)
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
        self.client.request("POST", path, body)
        self.wait(
            lambda: self.get(f"{path}/data")["status"]["phase"] == "Bound"
        )
        self.client.request("DELETE", f"{path}/data")
        self.wait(lambda: not self.get("/api/v1/persistentvolumes")["items"])

    def test_namespace_deletion_removes_its_content(self) -> None:
        self.client.create_namespace("short")
        path = "/apis/apps/v1/namespaces/short/deployments"
        self.client.request("POST", path, deployment_body("web", 2))
        self.client.request("DELETE", "/api/v1/namespaces/short")
        status, answer = self.client.request(
            "POST",
            "/api/v1/namespaces/short/configmaps",
            {"metadata": {"name": "late"}},
        )
        self.assertEqual(403, status)
        self.assertIn("because it is being terminated", answer["message"])
        self.wait(
            lambda: (
                self.client.request("GET", "/api/v1/namespaces/short")[0]
                == 404
            )
        )
        self.assertEqual([], self.get("/api/v1/pods")["items"])

    def test_propagation_policies(self) -> None:
        self.deploy()
        self.wait(self.ready_pods)
        orphan = {"propagationPolicy": "Orphan"}
        self.client.request("DELETE", f"{_SETS}/web", orphan)
        self.wait(lambda: self.client.request("GET", f"{_SETS}/web")[0] == 404)
        sets = "/apis/apps/v1/namespaces/default/replicasets"
        remaining = self.get(sets)["items"]
        self.assertEqual(1, len(remaining))
        self.assertNotIn("ownerReferences", remaining[0]["metadata"])
        self.client.request(
            "DELETE", f"{sets}/{remaining[0]['metadata']['name']}"
        )
        self.wait(lambda: not self.pods())
