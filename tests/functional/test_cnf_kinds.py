"""Manifests of many kinds, and VNFs beside each other."""

from typing import Any

from tests.fixtures.cluster import (
    APPS,
    CORE,
    CUSTOM,
    DEFINITION,
    RBAC,
    CnfCase,
    CnfService,
)

NETWORK = "/apis/networking.k8s.io/v1"
SCHEDULING = "/apis/scheduling.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

GADGET = f"""\
apiVersion: {CUSTOM}/v1
kind: Gadget
metadata: {{name: one}}
"""
#: one object of each kind of VNFs, dependents before what they need
MANY_KINDS = f"""\
{GADGET}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: reader}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}}
subjects: [{{kind: ServiceAccount, name: worker}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: reader}}
rules: [{{apiGroups: [""], resources: [pods], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: node-reader}}
rules: [{{apiGroups: [""], resources: [nodes], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: node-reader}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: node-reader
subjects: [{{kind: ServiceAccount, name: worker, namespace: default}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: worker}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: web}}
spec:
  rules:
    - host: web.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {{service: {{name: web, port: {{number: 80}}}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: web}}
spec: {{podSelector: {{}}, policyTypes: [Ingress]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly}}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{{name: main, image: busybox}}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: vnf-high}}
value: 1000
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: 1
  maxReplicas: 3
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web}}
spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: web}}}}}}
---
{DEFINITION % "Namespaced"}"""


class KindsCase(CnfCase):
    def create_service(self) -> CnfService:
        return CnfService(allowed_kinds=["*"])

    def request(self, *more: str) -> dict[str, Any]:
        request = self.vnfm.deployment_only()
        names = request["additionalParams"]["lcm-kubernetes-def-files"]
        names += [f"Files/kubernetes/{name}.yaml" for name in more]
        return request

    def start_vnf(self, **files: str) -> str:
        """Instantiate a VNF with more manifests."""
        instance_id = self.vnfm.create_with_files(**files)
        self.assert_completes(instance_id, "instantiate", self.request(*files))
        return instance_id

    def assert_completes(self, instance_id: str, task: str, body: Any) -> None:
        done = self.vnfm.run(instance_id, task, body)
        self.assertEqual("COMPLETED", done["operationState"], done)

    def terminate(self, instance_id: str) -> None:
        body = {"terminationType": "FORCEFUL"}
        self.assert_completes(instance_id, "terminate", body)

    def object_path(self, root: str, plural: str, name: str) -> str:
        """Return the path of an object in the namespace."""
        return f"{root}/namespaces/{self.vnfm.namespace}/{plural}/{name}"


class TestManyKinds(KindsCase):
    def paths(self) -> dict[str, str]:
        """Return the paths of the objects of MANY_KINDS: kind -> path."""
        custom = f"/apis/{CUSTOM}/v1"
        return {
            "Gadget": self.object_path(custom, "gadgets", "one"),
            "RoleBinding": self.object_path(RBAC, "rolebindings", "reader"),
            "Role": self.object_path(RBAC, "roles", "reader"),
            "ClusterRole": f"{RBAC}/clusterroles/node-reader",
            "ClusterRoleBinding": f"{RBAC}/clusterrolebindings/node-reader",
            "ServiceAccount": self.object_path(
                CORE, "serviceaccounts", "worker"
            ),
            "Ingress": self.object_path(NETWORK, "ingresses", "web"),
            "NetworkPolicy": self.object_path(
                NETWORK, "networkpolicies", "web"
            ),
            "CronJob": self.object_path(
                "/apis/batch/v1", "cronjobs", "nightly"
            ),
            "PriorityClass": f"{SCHEDULING}/priorityclasses/vnf-high",
            "HorizontalPodAutoscaler": self.object_path(
                "/apis/autoscaling/v2", "horizontalpodautoscalers", "web"
            ),
            "PodDisruptionBudget": self.object_path(
                "/apis/policy/v1", "poddisruptionbudgets", "web"
            ),
            "CustomResourceDefinition": f"{DEFINITIONS}/gadgets.{CUSTOM}",
        }

    def list_found(self) -> dict[str, Any]:
        return {
            kind: self.cluster.call("GET", path)
            for kind, path in self.paths().items()
        }

    def test_each_kind_is_created_healed_and_deleted(self) -> None:
        instance_id = self.start_vnf(many=MANY_KINDS)
        before = self.list_found()
        for kind, body in before.items():
            self.assertIsNotNone(body, kind)
            labels = body["metadata"]["labels"]
            self.assertEqual(
                instance_id, labels["tacker_vnf_instance_id"], kind
            )
        self.assert_completes(instance_id, "heal", {})
        after = self.list_found()
        for kind in before:
            is_kept = kind == "CustomResourceDefinition"
            uids = [one[kind]["metadata"]["uid"] for one in (before, after)]
            self.assertEqual(is_kept, uids[0] == uids[1], kind)
        self.terminate(instance_id)
        self.assertEqual(dict.fromkeys(before), self.list_found())

    def test_objects_of_other_clients_are_refused_and_kept(self) -> None:
        body = {"metadata": {"name": "vnf-high"}, "value": 5}
        path = f"{SCHEDULING}/priorityclasses"
        foreign = self.cluster.call("POST", path, body)
        instance_id = self.vnfm.create_with_files(many=MANY_KINDS)
        failed = self.vnfm.run(
            instance_id, "instantiate", self.request("many")
        )
        self.assertIn(
            "PriorityClass vnf-high exists in the cluster and does not "
            "belong to this VNF instance",
            failed["error"]["detail"],
        )
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        remaining = {
            kind: body for kind, body in self.list_found().items() if body
        }
        self.assertEqual({"PriorityClass": foreign}, remaining)


class TestDefinitions(KindsCase):
    def gadget(self, *, is_namespaced: bool) -> Any:
        custom = f"/apis/{CUSTOM}/v1"
        path = self.object_path(custom, "gadgets", "one")
        return self.cluster.call(
            "GET", path if is_namespaced else f"{custom}/gadgets/one"
        )

    def test_a_kind_whose_scope_changes(self) -> None:
        for scope in ("Namespaced", "Cluster", "Namespaced"):
            text = f"{GADGET}\n---\n{DEFINITION % scope}"
            instance_id = self.start_vnf(gadgets=text)
            is_namespaced = scope == "Namespaced"
            found = self.gadget(is_namespaced=is_namespaced)
            self.assertIsNotNone(found, scope)
            self.assertIsNone(self.gadget(is_namespaced=not is_namespaced))
            self.terminate(instance_id)
            self.assertIsNone(self.gadget(is_namespaced=is_namespaced))

    def test_an_undefined_kind(self) -> None:
        instance_id = self.vnfm.create_with_files(gadgets=GADGET)
        failed = self.vnfm.run(
            instance_id, "instantiate", self.request("gadgets")
        )
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  containers: [{name: main, image: busybox, command: ["true"]}]
"""


class TestPodsThatEnd(KindsCase):
    def test_a_succeeded_pod_is_ready(self) -> None:
        self.start_vnf(once=POD % "migrate")
        path = self.object_path(CORE, "pods", "migrate")
        pod = self.cluster.call("GET", path)
        self.assertEqual("Succeeded", pod["status"]["phase"])

    def test_a_succeeded_pod_of_a_vdu_fails_at_once(self) -> None:
        instance_id = self.vnfm.create_with_files(pod=POD % "probe")
        failed = self.vnfm.run(instance_id, "instantiate", self.vnfm.request())
        self.assertIn(
            "Pod probe is not ready: Completed", failed["error"]["detail"]
        )


class TestNeighbours(KindsCase):
    """Two VNFs in one namespace, whose pods begin with the same words."""

    OTHERS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-2}
spec:
  replicas: 2
  selector: {matchLabels: {app: web-2}}
  template:
    metadata: {labels: {app: web-2}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config-2}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: nginx}]}
"""

    def other(self) -> str:
        instance_id = self.vnfm.create_with_files(others=self.OTHERS)
        request = self.request("others")
        names = request["additionalParams"]["lcm-kubernetes-def-files"]
        names[:] = names[-1:]
        self.assert_completes(instance_id, "instantiate", request)
        return instance_id

    def uids_of(self, instance_id: str) -> dict[tuple[str, str], str]:
        return {
            key: body["metadata"]["uid"]
            for key, body in self.objects().items()
            if body["metadata"].get("labels", {}).get("tacker_vnf_instance_id")
            == instance_id
        }

    def test_no_operation_changes_the_other_vnf(self) -> None:
        instance_id = self.vnfm.start_vnf(self.vnfm.deployment_only())
        other = self.other()
        before = self.uids_of(other)
        self.assertEqual(5, len(before))  # 1 Deployment, its set, 3 pods
        scaled = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        self.assert_completes(instance_id, "scale", scaled)
        vnfc = self.vnfm.vnfc_of(instance_id, "web")
        self.assert_completes(instance_id, "heal", {"vnfcInstanceId": [vnfc]})
        self.assert_completes(instance_id, "heal", {})
        own = self.uids_of(instance_id)
        self.assertEqual(before, self.uids_of(other))
        self.terminate(instance_id)
        self.assertEqual({}, self.uids_of(instance_id))
        self.assertEqual(before, self.uids_of(other))
        self.assertNotEqual({}, own)

    def test_a_second_vnf_of_the_same_names_is_refused(self) -> None:
        own_vnf = self.vnfm.start_vnf(self.vnfm.deployment_only())
        before = self.uids_of(own_vnf)
        second = self.vnfm.create()
        failed = self.vnfm.run(
            second, "instantiate", self.vnfm.deployment_only()
        )
        self.assertIn("does not belong", failed["error"]["detail"])
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        self.assertEqual(before, self.uids_of(own_vnf))
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        self.assertIsNotNone(self.cluster.call("GET", path))


class TestBindings(KindsCase):
    def test_a_binding_of_a_pod_that_is_missing(self) -> None:
        text = """\
apiVersion: v1
kind: Binding
metadata: {name: missing}
target: {apiVersion: v1, kind: Node, name: sandbox-node-1}
"""
        instance_id = self.vnfm.create_with_files(bindings=text)
        failed = self.vnfm.run(
            instance_id, "instantiate", self.request("bindings")
        )
        self.assertIn('pods "missing" not found', failed["error"]["detail"])
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)


REVISIONS = "/apis/apps/v1"
REVIEWS = """\
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec:
  user: viewer
  resourceAttributes: {verb: get, resource: pods}
---
apiVersion: authorization.k8s.io/v1
kind: LocalSubjectAccessReview
metadata: {namespace: %(namespace)s}
spec:
  user: viewer
  resourceAttributes:
    {verb: get, resource: pods, namespace: %(namespace)s}
---
apiVersion: authorization.k8s.io/v1
kind: SelfSubjectAccessReview
spec: {resourceAttributes: {verb: get, resource: pods}}
---
apiVersion: authentication.k8s.io/v1
kind: TokenReview
spec: {token: x}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: first}
revision: 1
data: {raw: test}
"""


class TestReviews(KindsCase):
    """Kinds that the API server answers and never stores, and one that its
    own garbage collector cannot change.
    """

    def text(self) -> str:
        return REVIEWS % {"namespace": self.vnfm.namespace}

    def revision(self) -> Any:
        path = self.object_path(REVISIONS, "controllerrevisions", "first")
        return self.cluster.call("GET", path)

    def test_reviews_are_created_healed_and_deleted(self) -> None:
        instance_id = self.start_vnf(questions=self.text())
        before = self.revision()
        self.assert_completes(instance_id, "heal", {})
        after = self.revision()
        self.assertNotEqual(before["metadata"], after["metadata"])
        self.terminate(instance_id)
        self.assertIsNone(self.revision())

    def test_a_second_try_finds_the_objects_of_the_first(self) -> None:
        instance_id = self.vnfm.create_with_files(
            questions=self.text(), pod=POD % "probe"
        )
        others = ("services", "replicaset", "statefulset", "daemonset")
        request = self.request("questions", "pod", *others)
        request["flavourId"] = "simple"
        failed = self.vnfm.run(instance_id, "instantiate", request)
        before = self.revision()
        self.assertIn("Pod probe", failed["error"]["detail"])
        again = self.vnfm.decide(failed["id"], "retry")
        self.assertIn("Pod probe", again["error"]["detail"])
        self.assertEqual(before, self.revision())
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        self.assertIsNone(self.revision())


class TestFinalizers(KindsCase):
    """Objects whose finalizers no client removes."""

    HELD = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/hold]}
---
apiVersion: v1
kind: Pod
metadata: {name: held, finalizers: [example.com/hold]}
spec: {containers: [{name: main, image: nginx}]}
"""

    def create_service(self) -> CnfService:
        return CnfService(finalizer_timeout=0.3)

    def release(self, plural: str) -> None:
        path = self.object_path(CORE, plural, "held")
        body = self.cluster.call("GET", path)
        body["metadata"].pop("finalizers")
        self.cluster.call("PUT", path, body)

    def test_a_termination_names_them_and_can_be_retried(self) -> None:
        instance_id = self.start_vnf(held=self.HELD)
        body = {"terminationType": "FORCEFUL"}
        failed = self.vnfm.run(instance_id, "terminate", body)
        for kind, plural in (("Pod", "pods"), ("ConfigMap", "configmaps")):
            self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
            self.assertIn(
                f"{kind} held is being deleted; its finalizers "
                "(example.com/hold) block the deletion",
                failed["error"]["detail"],
            )
            self.release(plural)
            failed = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("COMPLETED", failed["operationState"], failed)
