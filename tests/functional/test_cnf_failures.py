"""Failures on a cluster, and the objects that they leave."""

from typing import Any, Final

import fixtures
import testtools

from tacker_cnf.drivers.kubernetes.api_errors import Conflict
from tacker_cnf.drivers.kubernetes.client import Cluster
from tests.fixtures.cluster import APPS, CORE, DEF_FILES, CnfService
from tests.fixtures.ports import ReservedPort
from tests.fixtures.vnfm import SAMPLES, Csar

FORCEFUL: Final = {"terminationType": "FORCEFUL"}
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: probe}
spec:
  containers: [{name: probe, image: %s}]
"""


SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: %s}
data: {some: %s}
---
"""
#: two values of a Secret
FIRST: Final = "Zmlyc3Q="
LAST: Final = "bGFzdA=="
#: those of the sample VNF, before others
SECRETS: Final = (
    Csar.source("cnf") / "Files/kubernetes/secret.yaml"
).read_text() + "\n---\n"


class FailureCase(testtools.TestCase):
    """A service with a cluster, and its objects before any VNF."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(CnfService())
        self.cluster = self.vnfm.cluster
        self.empty = set(self.objects())

    def objects(self) -> dict[tuple[str, str], Any]:
        return self.cluster.objects(self.vnfm.namespace)

    def assert_rolled_back(self, op_occ: Any) -> None:
        """Roll back a failed instantiation; check that no object is left."""
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], op_occ)
        back = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        self.assertEqual(self.empty, set(self.objects()))
        instance = self.vnfm.instance(op_occ["vnfInstanceId"])
        self.assertEqual("NOT_INSTANTIATED", instance["instantiationState"])
        path = f"/vnflcm/v2/vnf_instances/{instance['id']}"
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)


class TestInstantiate(FailureCase):
    def instantiate_failing(self, **files: str) -> Any:
        """Instantiate a package with these files, which has to fail."""
        instance_id = self.vnfm.create_with_files(**files)
        return self.vnfm.run(instance_id, "instantiate", self.vnfm.request())

    def test_a_manifest_that_the_cluster_refuses(self) -> None:
        pod = POD.replace("name: probe, image", "name: Probe, image")
        op_occ = self.instantiate_failing(pod=pod % "x")
        detail = op_occ["error"]["detail"]
        self.assertIn("pod.yaml: Pod probe: The cluster answered 422", detail)
        self.assertIn("spec.containers[0].name", detail)
        self.assert_rolled_back(op_occ)

    def test_an_unknown_field(self) -> None:
        name = "Files/kubernetes/deployment.yaml"
        text = (Csar.source("cnf") / name).read_text()
        self.assertIn("spec:\n", text)
        misspelled = text.replace("spec:\n", "spec:\n  replicass: 3\n", 1)
        op_occ = self.instantiate_failing(deployment=misspelled)
        self.assertEqual(
            f"The manifest {name}: Deployment web: The cluster answered 400: "
            'Deployment in version "v1" cannot be handled as a Deployment: '
            'strict decoding error: unknown field "spec.replicass"',
            op_occ["error"]["detail"],
        )
        self.assert_rolled_back(op_occ)

    def test_an_image_that_cannot_be_pulled(self) -> None:
        op_occ = self.instantiate_failing(pod=POD % "registry/invalid:1")
        detail = op_occ["error"]["detail"]
        self.assertIn("Pod probe", detail)
        self.assertRegex(detail, "ErrImagePull|ImagePullBackOff")
        self.assertIn("registry/invalid:1", detail)
        self.assert_rolled_back(op_occ)

    def test_a_container_that_crashes(self) -> None:
        op_occ = self.instantiate_failing(pod=POD % "crash:1")
        self.assertIn("Pod probe", op_occ["error"]["detail"])
        self.assert_rolled_back(op_occ)

    def test_no_node_has_enough_resources(self) -> None:
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        op_occ = self.instantiate_failing()
        self.assertIn("Unschedulable", op_occ["error"]["detail"])
        self.assert_rolled_back(op_occ)

    def test_a_quota_that_is_used_up(self) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/resourcequotas"
        self.cluster.call("POST", path, quota)
        op_occ = self.instantiate_failing()
        self.assertIn("exceeded quota", op_occ["error"]["detail"])
        self.assert_rolled_back(op_occ)

    def test_a_quota_that_does_not_allow_a_bare_pod(self) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/resourcequotas"
        self.cluster.call("POST", path, quota)
        op_occ = self.instantiate_failing()
        detail = op_occ["error"]["detail"]
        self.assertIn(
            'The cluster refused (403): pods "probe" is forbidden: exceeded '
            "quota: q",
            detail,
        )
        self.assertNotIn("credentials", detail)
        self.assert_rolled_back(op_occ)

    def test_an_object_of_another_owner_is_not_changed(self) -> None:
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/configmaps"
        foreign = {"metadata": {"name": "web-config"}, "data": {"a": "b"}}
        created = self.cluster.call("POST", path, foreign)
        op_occ = self.instantiate_failing()
        self.assertIn("web-config", op_occ["error"]["detail"])
        self.assertIn("does not belong", op_occ["error"]["detail"])
        self.assert_rolled_back(op_occ)
        self.assertEqual(
            created, self.cluster.call("GET", f"{path}/web-config")
        )

    def instantiate(self, **files: str) -> str:
        """Instantiate a package with these files; return the instance."""
        instance_id = self.vnfm.create_with_files(**files)
        request = self.vnfm.request()
        done = self.vnfm.run(instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", done["operationState"], done)
        return str(instance_id)

    def test_many_objects_of_one_kind(self) -> None:
        names = [f"settings-{number}" for number in range(20)]
        secrets = "".join(SECRET % (name, FIRST) for name in names)
        instance_id = self.instantiate(secret=SECRETS + secrets)
        found = {name for kind, name in self.objects() if kind == "secrets"}
        self.assertEqual(set(), set(names) - found)
        self.vnfm.run(instance_id, "heal", {})
        self.vnfm.run(instance_id, "terminate", FORCEFUL)
        self.assertEqual(self.empty, set(self.objects()))

    def test_one_of_many_objects_is_refused(self) -> None:
        names = [f"settings-{number}" for number in range(20)]
        secrets = "".join(SECRET % (name, FIRST) for name in names)
        refused = (SECRET % ("refused", FIRST)).replace("\ndata", "\ndatum")
        op_occ = self.instantiate_failing(secret=SECRETS + refused + secrets)
        self.assertIn("Secret refused: ", op_occ["error"]["detail"])
        self.assert_rolled_back(op_occ)

    def test_the_last_one_of_two_manifests_of_an_object(self) -> None:
        first = SECRET % ("settings, namespace: other", FIRST)
        last = SECRET % ("settings", LAST)
        for text, kept in ((first + last, LAST), (last + first, FIRST)):
            instance_id = self.instantiate(secret=SECRETS + text)
            secret = self.objects()["secrets", "settings"]
            self.assertEqual({"some": kept}, secret["data"])
            self.vnfm.run(instance_id, "terminate", FORCEFUL)

    def test_a_conflict_without_an_existing_object(self) -> None:
        """The quota of a namespace has changed during the request."""
        create = Cluster.create
        conflicts = iter(range(2))

        def conflict_at_first(*arguments: Any, **options: Any) -> Any:
            if next(conflicts, None) is not None:
                raise Conflict("the object has been modified")
            return create(*arguments, **options)

        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.kubernetes.client.Cluster.create",
                conflict_at_first,
            )
        )
        self.instantiate()

    def test_existing_objects_of_this_vnf_are_adopted(self) -> None:
        op_occ = self.instantiate_failing(pod=POD % "registry/invalid:1")
        self.vnfm.decide(op_occ["id"], "fail")
        # its other objects exist; a second try adopts them, and fails again
        again = self.vnfm.run(
            op_occ["vnfInstanceId"], "instantiate", self.vnfm.request()
        )
        self.assertIn("probe", again["error"]["detail"])
        self.assert_rolled_back(again)

    def test_partial_changes_are_reported(self) -> None:
        op_occ = self.instantiate_failing(pod=POD % "registry/invalid:1")
        added = op_occ["resourceChanges"]["affectedVnfcs"]
        self.assertIn("web", {c["vduId"] for c in added})

    def test_the_namespace_of_the_request_overrides_the_manifest(self) -> None:
        pod = POD.replace("{name: probe}", "{name: probe, namespace: other}")
        self.instantiate(pod=pod % "busybox")
        self.assertIn(("pods", "probe"), self.objects())

    def test_a_namespace_that_does_not_exist(self) -> None:
        instance_id = self.vnfm.create()
        request = self.vnfm.request()
        request["additionalParams"]["namespace"] = "nowhere"
        op_occ = self.vnfm.run(instance_id, "instantiate", request)
        self.assertIn('"nowhere" not found', op_occ["error"]["detail"])
        back = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"])


class TestReadyTimeout(testtools.TestCase):
    def test_pods_that_are_not_ready_in_time(self) -> None:
        vnfm = self.useFixture(CnfService(ready_timeout=0.3))
        vnfm.cluster.sandbox.set_pod_start_delay(60)
        instance_id = vnfm.create()
        op_occ = vnfm.run(instance_id, "instantiate", vnfm.request())
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertIn("in time", op_occ["error"]["detail"])


class TestOtherPods(testtools.TestCase):
    def test_a_pod_of_no_vdu_that_cannot_be_started(self) -> None:
        """It fails before the readiness timeout, which is ten minutes."""
        vnfm = self.useFixture(CnfService(ready_timeout=600.0))
        other = (SAMPLES / "cnf/Files/kubernetes/deployment.yaml").read_text()
        other = other.replace("name: web\n", "name: other\n")
        other = other.replace("nginx:1.27", "registry/invalid:1")
        request = vnfm.request()
        request["additionalParams"]["lcm-kubernetes-def-files"] = [
            *DEF_FILES,
            "Files/kubernetes/other.yaml",
        ]
        instance_id = vnfm.create_with_files(other=other)
        op_occ = vnfm.run(instance_id, "instantiate", request)
        self.assertIn("Pod other-", op_occ["error"]["detail"])
        self.assertRegex(op_occ["error"]["detail"], "ImagePull")


class TestRefusedRequests(FailureCase):
    """Errors in the request or the package: no operation starts."""

    def refused(self, request: Any, **files: str) -> str:
        instance_id = self.vnfm.create_with_files(**files)
        response = self.vnfm.task(instance_id, "instantiate", request)
        self.assertEqual(400, response.status, str(response.content))
        self.assertEqual([], self.vnfm.call("GET", "/v2/vnf_lcm_op_occs").json)
        self.assertEqual(self.empty, set(self.objects()))
        return response.detail

    def with_files(self, *names: str) -> Any:
        request = self.vnfm.request()
        request["additionalParams"]["lcm-kubernetes-def-files"] = names
        return request

    def test_a_file_that_is_not_in_the_package(self) -> None:
        detail = self.refused(self.with_files("Files/kubernetes/nope.yaml"))
        self.assertIn("Files/kubernetes/nope.yaml", detail)

    def test_a_file_outside_of_the_package(self) -> None:
        for name in ("../package.csar", "/etc/passwd"):
            self.assertIn(name, self.refused(self.with_files(name)))

    def test_a_request_without_files(self) -> None:
        request = self.vnfm.request(additionalParams={})
        self.assertIn("lcm-kubernetes-def-files", self.refused(request))

    def test_files_of_a_wrong_type(self) -> None:
        request = self.vnfm.request(
            additionalParams={"lcm-kubernetes-def-files": [1]}
        )
        detail = self.refused(request)
        self.assertIn("Expected `str`, got `int`", detail)
        self.assertIn("lcm-kubernetes-def-files", detail)

    def test_an_empty_list_of_files(self) -> None:
        detail = self.refused(self.with_files())
        self.assertIn("lcm-kubernetes-def-files", detail)

    def test_a_generated_name(self) -> None:
        pod = POD.replace("{name: probe}", "{generateName: probe-}") % "x"
        detail = self.refused(self.vnfm.request(), pod=pod)
        self.assertIn("generateName", detail)

    def test_a_manifest_that_is_not_yaml(self) -> None:
        detail = self.refused(self.vnfm.request(), pod="a: [b\n")
        self.assertIn("Files/kubernetes/pod.yaml", detail)

    def test_a_manifest_without_a_kind(self) -> None:
        detail = self.refused(self.vnfm.request(), pod="apiVersion: v1\n")
        self.assertIn("kind", detail)

    def test_manifests_of_several_namespaces(self) -> None:
        bodies = [
            POD.replace("{name: probe}", f"{{name: {n}, namespace: {n}}}") % n
            for n in ("a", "b")
        ]
        request = self.vnfm.request()
        del request["additionalParams"]["namespace"]
        detail = self.refused(request, pod="---\n".join(bodies))
        self.assertIn("(a, b)", detail)

    def test_a_daemon_set_cannot_be_scaled(self) -> None:
        instance_id = self.vnfm.start_vnf()
        body = {"type": "SCALE_OUT", "aspectId": "agent_aspect"}
        response = self.vnfm.task(instance_id, "scale", body)
        self.assertEqual(400, response.status)
        self.assertIn("DaemonSet", response.detail)
        levels = self.vnfm.instance(instance_id)["instantiatedVnfInfo"]
        self.assertNotIn(1, [s["scaleLevel"] for s in levels["scaleStatus"]])

    def test_heal_with_all_is_refused_for_a_cnf(self) -> None:
        instance_id = self.vnfm.start_vnf(self.vnfm.deployment_only())
        body = {"additionalParams": {"all": True}}
        response = self.vnfm.task(instance_id, "heal", body)
        self.assertEqual(400, response.status)
        self.assertIn("additionalParams.all", response.detail)


class TestVim(FailureCase):
    def instantiate(self, vim: Any) -> Any:
        request = self.vnfm.deployment_only(vimConnectionInfo=vim)
        return self.vnfm.run(self.vnfm.create(), "instantiate", request)

    def test_an_unreachable_cluster(self) -> None:
        with ReservedPort() as reserved:
            vim = self.cluster.vim()
            endpoint = f"https://127.0.0.1:{reserved.port}"
            vim["vim1"]["interfaceInfo"]["endpoint"] = endpoint
            op_occ = self.instantiate(vim)
            self.assertEqual("FAILED_TEMP", op_occ["operationState"])
            self.assertIn(endpoint, op_occ["error"]["detail"])
            self.assertIn("does not answer", op_occ["error"]["detail"])

    def test_an_invalid_token(self) -> None:
        op_occ = self.instantiate(self.cluster.vim(bearer_token="wrong"))
        detail = op_occ["error"]["detail"]
        self.assertEqual("The cluster answered 401: Unauthorized", detail)

    def test_a_token_without_permissions(self) -> None:
        viewer = self.cluster.sandbox.viewer_token
        op_occ = self.instantiate(self.cluster.vim(bearer_token=viewer))
        self.assertIn("403", op_occ["error"]["detail"])
        self.assertIn("cannot create", op_occ["error"]["detail"])

    def test_a_ca_that_did_not_sign_the_certificate(self) -> None:
        vim = self.cluster.vim()
        del vim["vim1"]["interfaceInfo"]["ssl_ca_cert"]
        op_occ = self.instantiate(vim)
        self.assertIn("certificate", op_occ["error"]["detail"])

    def test_secrets_are_not_shown(self) -> None:
        op_occ = self.instantiate(self.cluster.vim(bearer_token="s3cret"))
        self.assertNotIn("s3cret", str(op_occ))

    def test_a_token_with_a_newline_is_refused_and_not_shown(self) -> None:
        op_occ = self.instantiate(self.cluster.vim(bearer_token="s3cret\n"))
        self.assertIn("no token has", op_occ["error"]["detail"])
        self.assertNotIn("s3cret", str(op_occ))

    def test_credentials_that_are_no_strings(self) -> None:
        for access in ({"bearer_token": 5}, {"client_cert": 5}):
            vim = self.cluster.vim()
            vim["vim1"]["accessInfo"] = access
            op_occ = self.instantiate(vim)
            self.assertEqual(400, op_occ["error"]["status"])
            self.assertIn("not valid", op_occ["error"]["detail"])

    def test_registered_credentials_are_sent_to_no_other_address(self) -> None:
        sandbox = self.cluster.sandbox
        vim = {
            "name": "mine",
            "type": "kubernetes",
            "auth_url": sandbox.endpoint,
            "auth_cred": {
                "bearer_token": sandbox.token,
                "ssl_ca_cert": sandbox.ca_pem,
            },
        }
        created = self.vnfm.call("POST", "/v1.0/vims", {"vim": vim}).json[
            "vim"
        ]
        elsewhere = {"endpoint": "https://attacker.example"}
        vim_connection = {"vimId": created["id"], "interfaceInfo": elsewhere}
        op_occ = self.instantiate({"v": vim_connection})
        self.assertIn("bearer_token, or client_cert", str(op_occ["error"]))
        path = f"/v1.0/vims/{created['id']}"
        change = {"vim": {"auth_url": "https://attacker.example"}}
        response = self.vnfm.call("PUT", path, change)
        self.assertEqual(400, response.status)
        self.assertIn("neither sent to another address", response.detail)

    def test_registration_connects_to_the_cluster(self) -> None:
        sandbox = self.cluster.sandbox
        access = {"bearer_token": sandbox.token, "ssl_ca_cert": sandbox.ca_pem}
        with ReservedPort() as reserved:
            cases: tuple[tuple[dict[str, str], str, int], ...] = (
                (access, sandbox.endpoint, 201),
                (access | {"bearer_token": "x"}, sandbox.endpoint, 422),
                (access, f"https://127.0.0.1:{reserved.port}", 422),
                (access | {"ssl_ca_cert": "no PEM"}, sandbox.endpoint, 400),
                ({}, sandbox.endpoint, 400),
                (access, "no URL", 400),
            )
            for number, (cred, url, status) in enumerate(cases):
                body = {
                    "name": f"vim-{number}",
                    "type": "kubernetes",
                    "auth_url": url,
                    "auth_cred": cred,
                }
                response = self.vnfm.call("POST", "/v1.0/vims", {"vim": body})
                self.assertEqual(
                    status, response.status, str(response.content)
                )
        vims = self.vnfm.call("GET", "/v1.0/vims").json["vims"]
        self.assertEqual(["vim-0"], [vim["name"] for vim in vims])


class TestHeal(FailureCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.vnfm.start_vnf()

    def uids(self) -> dict[tuple[str, str], str]:
        return self.cluster.uids(self.vnfm.namespace)

    def test_a_deleted_pod_is_reported(self) -> None:
        name = self.vnfm.vnfc_of(self.vnf, "web")
        pod = self.vnfm.vnfcs(self.vnf)[name]["id"]
        self.cluster.sandbox.kill_pod(self.vnfm.namespace, pod)
        op_occ = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertIn(f"Pod {pod} no longer exists", op_occ["error"]["detail"])
        again = self.vnfm.decide(op_occ["id"], "retry")
        self.assertEqual("FAILED_TEMP", again["operationState"])
        failed = self.vnfm.decide(op_occ["id"], "fail")
        self.assertEqual("FAILED", failed["operationState"])
        # heal of the whole VNF uses no names
        whole = self.vnfm.run(self.vnf, "heal", {})
        self.assertEqual("COMPLETED", whole["operationState"], whole)

    def test_a_retry_keeps_replaced_pods(self) -> None:
        name = self.vnfm.vnfc_of(self.vnf, "web")
        old = self.vnfm.vnfcs(self.vnf)[name]
        nodes = ("sandbox-node-1", "sandbox-node-2")
        for node in nodes:
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        op_occ = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        between = self.uids()
        self.assertNotIn(old["metadata"]["uid"], between.values())
        for node in nodes:
            self.cluster.sandbox.set_node_capacity(node, pods=100)
        again = self.vnfm.decide(op_occ["id"], "retry")
        self.assertEqual("COMPLETED", again["operationState"], again)
        self.assertNotIn("error", again)
        self.assertEqual(between, self.uids())

    def test_a_retry_of_a_heal_of_the_whole_vnf_continues(self) -> None:
        nodes = ("sandbox-node-1", "sandbox-node-2")
        for node in nodes:
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        op_occ = self.vnfm.run(self.vnf, "heal", {})
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        half = self.uids()
        for node in nodes:
            self.cluster.sandbox.set_node_capacity(node, pods=100)
        again = self.vnfm.decide(op_occ["id"], "retry")
        self.assertEqual("COMPLETED", again["operationState"], again)
        after = self.uids()
        self.assertEqual(
            half["deployments", "web"], after["deployments", "web"]
        )
        self.assertEqual(half["pods", "probe"], after["pods", "probe"])

    def test_scale_out_that_fails_is_rolled_back(self) -> None:
        before = self.uids()
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        body = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        op_occ = self.vnfm.run(self.vnf, "scale", body)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        back = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        self.assertEqual(before, self.uids())
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        self.assertEqual(1, self.cluster.call("GET", path)["spec"]["replicas"])
        info = self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]
        self.assertEqual({0}, {s["scaleLevel"] for s in info["scaleStatus"]})
        self.assertEqual(
            1, len(self.vnfm.call("GET", "/v2/vnf_instances").json)
        )

    def test_a_size_set_by_another_client_is_kept(self) -> None:
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        scale = self.cluster.call("GET", f"{path}/scale")
        scale["spec"]["replicas"] = 3  # as an autoscaler does
        self.cluster.call("PUT", f"{path}/scale", scale)
        name = self.vnfm.vnfc_of(self.vnf, "web")
        done = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("COMPLETED", done["operationState"], done)
        vdus = [v["vduId"] for v in self.vnfm.vnfcs(self.vnf).values()]
        self.assertEqual(3, vdus.count("web"))

    def test_a_workload_deleted_without_its_pods_is_created(self) -> None:
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        name = self.vnfm.vnfc_of(self.vnf, "web")
        orphan = {"propagationPolicy": "Orphan"}
        self.cluster.call("DELETE", path, orphan)
        pod = self.vnfm.vnfcs(self.vnf)[name]["id"]
        self.assertIn(("pods", pod), self.objects())
        done = self.vnfm.run(self.vnf, "heal", {"vnfcInstanceId": [name]})
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertNotIn(("pods", pod), self.objects())
        self.assertIn(("deployments", "web"), self.objects())
        vdus = [v["vduId"] for v in self.vnfm.vnfcs(self.vnf).values()]
        self.assertEqual(1, vdus.count("web"))
