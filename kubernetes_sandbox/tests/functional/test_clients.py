"""The official Python client and kubectl work with the sandbox."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import testtools
from kubernetes import client, config, dynamic
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

from tests.functional.cluster_fixture import Cluster
from tests.functional.test_cluster import deployment_body


def pod_spec() -> dict[str, Any]:
    """Return the spec of a pod with fields of every protobuf type."""
    expression = {"key": "zone", "operator": "In", "values": ["a", "b"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "nodeSelector": {"disk": "ssd"},
        "affinity": {"nodeAffinity": affinity},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "securityContext": {"runAsUser": 0, "supplementalGroups": [1, 2]},
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "config", "configMap": {"name": "c", "optional": True}},
        ],
        "containers": [
            {
                "name": "main",
                "image": "nginx",
                "args": ["--verbose"],
                "env": [
                    {"name": "A", "value": "1"},
                    {
                        "name": "B",
                        "valueFrom": {
                            "secretKeyRef": {"name": "s", "key": "k"}
                        },
                    },
                ],
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
                "readinessProbe": {"tcpSocket": {"port": 80}},
            }
        ],
    }


class TestDynamicClient(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory())
        options = {"pod_start_delay": 0.05, "pod_stop_delay": 0.05}
        self.cluster = self.useFixture(Cluster(**options)).cluster
        settings = client.Configuration()
        settings.host = self.cluster.endpoint
        settings.ssl_ca_cert = self._file(folder, "ca", self.cluster.ca_pem)
        # Authenticated by a client certificate instead of a token.
        settings.cert_file = self._file(
            folder, "cert", self.cluster.client_cert_pem
        )
        settings.key_file = self._file(
            folder, "key", self.cluster.client_key_pem
        )
        api = client.ApiClient(settings)
        self.addCleanup(api.rest_client.pool_manager.clear)
        cache = str(Path(folder, "discovery"))
        self.dynamic = dynamic.DynamicClient(  # type: ignore[no-untyped-call]
            api, cache_file=cache
        )

    @staticmethod
    def _file(folder: str, name: str, text: str) -> str:
        path = Path(folder, name)
        path.write_text(text)
        return str(path)

    def resource(self, api_version: str, kind: str) -> Any:
        return self.dynamic.resources.get(api_version=api_version, kind=kind)

    def test_deployment_is_applied_watched_and_scaled(self) -> None:
        found = self.resource("apps/v1", "Deployment")
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            **deployment_body("web", 2),
        }
        found.server_side_apply(
            body=body, namespace="default", field_manager="test"
        )
        with contextlib.closing(
            found.watch(namespace="default", timeout=5)
        ) as events:
            for event in events:
                if event["object"].status.readyReplicas == 2:
                    break
        found.scale.patch(
            name="web",
            namespace="default",
            body={"spec": {"replicas": 3}},
            content_type="application/merge-patch+json",
        )
        self.assertRaises(
            ConflictError,
            found.server_side_apply,
            body=body,
            namespace="default",
            field_manager="test",
        )
        scale = found.scale.get(name="web", namespace="default")
        self.assertEqual(3, scale.spec.replicas)

    def test_custom_kind_is_served_while_it_is_defined(self) -> None:
        definitions = self.resource(
            "apiextensions.k8s.io/v1", "CustomResourceDefinition"
        )
        schema = {
            "openAPIV3Schema": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
            }
        }
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": schema,
        }
        spec = {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version],
        }
        definitions.create(
            body={"metadata": {"name": "gadgets.example.com"}, "spec": spec}
        )
        self.dynamic.resources.invalidate_cache()
        gadgets = self.resource("example.com/v1", "Gadget")
        gadgets.create(
            namespace="default",
            body={
                "apiVersion": "example.com/v1",
                "kind": "Gadget",
                "metadata": {"name": "one"},
                "spec": {"size": 1},
            },
        )
        self.assertEqual(1, len(gadgets.get(namespace="default").items))
        definitions.delete(name="gadgets.example.com")
        self.assertRaises(
            NotFoundError, definitions.get, name="gadgets.example.com"
        )


class TestTypedClient(testtools.TestCase):
    def test_lists_default_objects(self) -> None:
        cluster = self.useFixture(Cluster()).cluster
        api = config.new_client_from_config_dict(  # type: ignore[no-untyped-call]
            cluster.kubeconfig()
        )
        self.addCleanup(api.rest_client.pool_manager.clear)
        core = client.CoreV1Api(api)
        for found in (
            core.list_node(),
            core.list_namespace(),
            core.list_config_map_for_all_namespaces(),
            core.list_service_for_all_namespaces(),
            core.list_service_account_for_all_namespaces(),
            client.StorageV1Api(api).list_storage_class(),
            client.RbacAuthorizationV1Api(api).list_cluster_role(),
        ):
            self.assertNotEqual([], found.items)


@testtools.skipIf(shutil.which("kubectl") is None, "kubectl is not here")
class TestKubectl(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = self.enterContext(tempfile.TemporaryDirectory())
        options = {"pod_start_delay": 0.05, "pod_stop_delay": 0.05}
        cluster = self.useFixture(Cluster(**options)).cluster
        Path(self.home, "config").write_text(json.dumps(cluster.kubeconfig()))

    def kubectl(self, *words: str, stdin: Any = None) -> str:
        environment = {
            **os.environ,
            "HOME": self.home,
            "KUBECONFIG": f"{self.home}/config",
        }
        done = subprocess.run(
            ["kubectl", *words],
            input=json.dumps(stdin) if stdin else None,
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_deployment_lifecycle(self) -> None:
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            **deployment_body("web", 2),
        }
        out = self.kubectl("apply", "-f", "-", stdin=body)
        self.assertEqual("deployment.apps/web created\n", out)
        self.kubectl("rollout", "status", "deploy/web", "--timeout=5s")
        out = self.kubectl("get", "deploy", "-o", "wide")
        self.assertRegex(out, r"web +2/2 +2 +2 .* nginx +app=web")
        self.assertRegex(self.kubectl("get", "po"), r"web-\S+ +1/1 +Running")
        body["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
        out = self.kubectl("apply", "-f", "-", stdin=body)
        self.assertEqual("deployment.apps/web configured\n", out)
        self.kubectl("rollout", "status", "deploy/web", "--timeout=5s")
        self.kubectl("scale", "deploy/web", "--replicas=1")
        self.kubectl("wait", "--for=condition=Available", "deploy/web")
        out = self.kubectl("describe", "deploy", "web")
        self.assertIn("ScalingReplicaSet", out)
        self.assertIn("Scheduled", self.kubectl("get", "events"))
        self.kubectl("delete", "deploy", "web", "--wait")
        self.kubectl("wait", "--for=delete", "po", "-l", "app=web")

    def test_objects_that_kubectl_sends_as_protobuf(self) -> None:
        self.kubectl("create", "ns", "demo")
        words = ("--from-literal=k=v", "-n", "demo")
        self.kubectl("create", "configmap", "map", *words)
        self.kubectl("create", "secret", "generic", "hidden", *words)
        out = self.kubectl("-n", "demo", "get", "cm/map", "-o", "json")
        self.assertEqual({"k": "v"}, json.loads(out)["data"])
        out = self.kubectl("-n", "demo", "get", "secret/hidden", "-o", "json")
        self.assertEqual({"k": "dg=="}, json.loads(out)["data"])
        every = ("--verb=get", "--resource=pods")
        self.kubectl("create", "role", "reader", *every, "-n", "demo")
        self.kubectl("create", "clusterrole", "reader", *every)
        who = "--serviceaccount=demo:default"
        bound = ("--role=reader", who, "-n", "demo")
        self.kubectl("create", "rolebinding", "reader", *bound)
        admin = ("--clusterrole=cluster-admin", who)
        self.kubectl("create", "clusterrolebinding", "reader", *admin)
        found = self.kubectl("get", "clusterrole/reader", "-o", "json")
        (rule,) = json.loads(found)["rules"]
        self.assertEqual(["get"], rule["verbs"])
        self.assertTrue(self.kubectl("create", "token", "default").strip())
        out = self.kubectl("auth", "can-i", "create", "pods")
        self.assertEqual("yes\n", out)
        self.kubectl("delete", "ns", "demo", "--wait", "--timeout=10s")

    def test_workloads_that_kubectl_sends_as_protobuf(self) -> None:
        words = ("--image=nginx", "--replicas=2", "--port=80")
        out = self.kubectl("create", "deployment", "web", *words)
        self.assertEqual("deployment.apps/web created\n", out)
        self.kubectl("rollout", "status", "deploy/web", "--timeout=5s")
        self.kubectl("create", "job", "once", "--image=x", "--", "true")
        self.kubectl("wait", "--for=condition=Complete", "job/once")
        self.kubectl("create", "quota", "limited", "--hard=pods=9,cpu=2")
        self.kubectl(
            "create", "pdb", "web", "--selector=app=web", "--min-available=50%"
        )
        self.kubectl("create", "service", "clusterip", "web", "--tcp=80:http")
        self.kubectl("create", "ingress", "web", "--rule=x.example/*=web:80")
        self.kubectl("create", "priorityclass", "low", "--value=-5")
        self.kubectl("autoscale", "deployment", "web", "--max=3")
        for name, path, wanted in (
            ("deploy/web", "spec.replicas", "2"),
            ("quota/limited", "spec.hard.cpu", "2"),
            ("pdb/web", "spec.minAvailable", "50%"),
            ("svc/web", "spec.ports[0].targetPort", "http"),
            ("ingress/web", "spec.rules[0].host", "x.example"),
            ("priorityclass/low", "value", "-5"),
            ("hpa/web", "spec.maxReplicas", "3"),
        ):
            out = self.kubectl("get", name, "-o", f"jsonpath={{.{path}}}")
            self.assertEqual(wanted, out)

    def test_a_job_is_copied_from_a_cron_job(self) -> None:
        body = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "nightly"},
            "spec": {
                "schedule": "0 0 * * *",
                "jobTemplate": {"spec": {"template": {"spec": pod_spec()}}},
            },
        }
        self.kubectl("create", "-f", "-", stdin=body)
        self.kubectl("create", "job", "now", "--from=cronjob/nightly")
        before = self.kubectl("get", "cronjob/nightly", "-o", "json")
        after = self.kubectl("get", "job/now", "-o", "json")
        template = json.loads(before)["spec"]["jobTemplate"]["spec"][
            "template"
        ]
        copied = json.loads(after)["spec"]["template"]
        self.assertEqual(template["spec"], copied["spec"])

    def test_drained_node_gets_no_pods(self) -> None:
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            **deployment_body("web", 2),
        }
        self.kubectl("apply", "-f", "-", stdin=body)
        self.kubectl("drain", "sandbox-node-1", "--timeout=10s")
        self.kubectl("wait", "--for=condition=Available", "deploy/web")
        out = self.kubectl("get", "po", "-o", "wide")
        self.assertNotIn("sandbox-node-1", out)
        out = self.kubectl("get", "nodes")
        self.assertIn("Ready,SchedulingDisabled", out)
        self.kubectl("uncordon", "sandbox-node-1")
