"""Updates of a CNF by the management driver container_update."""

from typing import Any, ClassVar, Final

import yaml

from tests.fixtures import reference_scripts, waiting
from tests.fixtures.cluster import APPS, CORE, CnfCase, start_pods
from tests.fixtures.vnfm import SAMPLES, Csar

MANIFESTS = "Files/kubernetes"
DEF_FILES: Final = [
    f"{MANIFESTS}/{name}.yaml"
    for name in ("configuration", "other", "workloads")
]
PATHS: Final = {
    "metadata": {
        "configmap_secret_paths": [f"{MANIFESTS}/configuration-2.yaml"]
    }
}
#: how each VDU's pods are updated
NEW: Final = ("front", "store", "agent", "cache", "tool")
IN_PLACE: Final = ("probe",)
UNTOUCHED: Final = ("idle",)
IMPATIENT_SCRIPT: Final = """\
from tacker_cnf.mgmt_drivers.container_update import ContainerUpdate

class Impatient(ContainerUpdate):
    failure_grace = 0.3
    contact_timeout = 1.0

Impatient.main()
"""
SCRIPT = "Scripts/update.py"
#: seconds, longer than any test
POD_START_DELAY_S: Final = 3600.0


class UpdateCase(CnfCase):
    """A running VNF of the package cnf-update-before."""

    #: files of that package that are replaced
    files: ClassVar[dict[str, str]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.before = self.package(
            "cnf-update-before", SCRIPT=IMPATIENT_SCRIPT, **self.files
        )
        self.instance_id = self.vnfm.create(self.before)
        request = self.vnfm.request(
            additionalParams={
                "lcm-kubernetes-def-files": DEF_FILES,
                "namespace": self.vnfm.namespace,
            }
        )
        end = self.vnfm.run(self.instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", end["operationState"], str(end))
        self.pods_before = self.pods()

    def package(self, name: str, **files: str) -> str:
        """Onboard a package; return its VNFD id."""
        changed = {
            SCRIPT if path == "SCRIPT" else f"{MANIFESTS}/{path}.yaml": text
            for path, text in files.items()
        }
        return self.vnfm.onboard(
            self.useFixture(Csar(name=name, files=changed))
        )

    def after(self, old: str = "", new: str = "", file: str = "") -> str:
        """Onboard the package cnf-update-after, with a change in a file."""
        if not file:
            return self.package("cnf-update-after")
        source = SAMPLES / "cnf-update-after" / MANIFESTS / f"{file}.yaml"
        text = source.read_text()
        self.assertIn(old, text)
        return self.package(
            "cnf-update-after", **{file: text.replace(old, new)}
        )

    def with_workloads(
        self, bodies: dict[str, Any], name: str = "cnf-update-after"
    ) -> str:
        """Onboard a package with other workloads."""
        text = yaml.safe_dump_all(bodies.values())
        return self.package(name, workloads=text)

    def pods(self) -> dict[str, dict[str, Any]]:
        """Return the pods of each VDU: VDU -> name -> pod."""
        found: dict[str, dict[str, Any]] = {}
        for (kind, name), body in self.objects().items():
            if kind == "pods":
                vdu = body["metadata"]["labels"].get("tacker_vdu_id")
                if vdu:
                    found.setdefault(vdu, {})[name] = body
        return found

    def identities(self, vdu: str) -> set[tuple[str, str]]:
        return identities(self.pods()[vdu])

    def update(self, vnfd_id: str, **request: Any) -> Any:
        return self.vnfm.modify(
            self.instance_id, {"vnfdId": vnfd_id, **PATHS, **request}
        )

    def update_completed(self, vnfd_id: str, **request: Any) -> Any:
        op_occ = self.update(vnfd_id, **request)
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        return op_occ

    def config(self, kind: str, name: str) -> Any:
        place = f"{CORE}/namespaces/{self.vnfm.namespace}/{kind}"
        return self.cluster.call("GET", f"{place}/{name}")["data"]

    def assert_recorded(self) -> None:
        """Check that the record of the instance matches the cluster."""
        recorded = {
            (vnfc["id"], vnfc["metadata"]["uid"])
            for vnfc in self.vnfm.vnfcs(self.instance_id).values()
        }
        actual = {
            one for pods in self.pods().values() for one in identities(pods)
        }
        self.assertEqual(actual, recorded)


def identities(pods: dict[str, Any]) -> set[tuple[str, str]]:
    return {(name, pod["metadata"]["uid"]) for name, pod in pods.items()}


def workloads(state: str) -> dict[str, Any]:
    """Read the workloads of the sample package: name -> manifest."""
    text = (SAMPLES / f"cnf-update-{state}" / DEF_FILES[2]).read_text()
    return {o["metadata"]["name"]: o for o in yaml.safe_load_all(text)}


def image(manifest: Any, name: str) -> None:
    """Set the image of a workload."""
    spec = manifest["spec"]
    pod = spec["template"]["spec"] if "template" in spec else spec
    pod["containers"][0]["image"] = name


def images(pod: Any) -> list[str]:
    return [container["image"] for container in pod["spec"]["containers"]]


def restarts(pod: Any) -> int:
    (status,) = pod["status"]["containerStatuses"]
    return int(status["restartCount"])


class TestUpdate(UpdateCase):
    def test_which_workloads_restart(self) -> None:
        op_occ = self.update_completed(self.after(), vnfInstanceName="newer")
        after = self.pods()
        for vdu in NEW:
            before = identities(self.pods_before[vdu])
            self.assertEqual(
                set(), before & identities(after[vdu]), f"{vdu} is old"
            )
            self.assertEqual(len(before), len(after[vdu]))
        for vdu in (*IN_PLACE, *UNTOUCHED):
            same = identities(self.pods_before[vdu])
            self.assertEqual(same, identities(after[vdu]))
        self.assertEqual(1, restarts(after["probe"]["probe"]))
        self.assertEqual(0, restarts(*after["idle"].values()))
        self.check_content()
        self.check_images(after)
        self.check_changes(op_occ)
        self.assert_recorded()

    def check_content(self) -> None:
        self.assertEqual(
            {"GREETING": "Good morning"},
            self.config("configmaps", "update-config"),
        )
        self.assertEqual(
            {"TOKEN": "YmF0dGVyeS1zdGFwbGU="},
            self.config("secrets", "update-secret"),
        )
        self.assertEqual(
            {"GREETING": "Hello"}, self.config("configmaps", "other-config")
        )

    def check_images(self, after: dict[str, dict[str, Any]]) -> None:
        images = {
            vdu: pod["spec"]["containers"][0]["image"]
            for vdu, pods in after.items()
            for pod in pods.values()
        }
        self.assertEqual("nginx:1.28", images["front"])
        self.assertEqual("busybox:1.38", images["probe"])
        self.assertEqual("nginx:1.27", images["idle"])
        (front,) = after["front"].values()
        (port,) = front["spec"]["containers"][0]["ports"]
        self.assertEqual(80, port["containerPort"])  # nothing else changes

    def check_changes(self, op_occ: Any) -> None:
        changed: dict[str, list[str]] = {}
        for vnfc in op_occ["resourceChanges"]["affectedVnfcs"]:
            changed.setdefault(vnfc["vduId"], []).append(vnfc["changeType"])
        both = ["REMOVED", "ADDED"]
        pods = {vdu: len(self.pods_before[vdu]) for vdu in NEW}
        self.assertEqual(
            {vdu: sorted(both * count) for vdu, count in pods.items()},
            {vdu: sorted(changes) for vdu, changes in changed.items()},
        )
        self.assertEqual("newer", op_occ["changedInfo"]["vnfInstanceName"])
        instance = self.vnfm.instance(self.instance_id)
        self.assertEqual("newer", instance["vnfInstanceName"])
        self.assertEqual("2.0", instance["vnfSoftwareVersion"])
        info = instance["instantiatedVnfInfo"]
        self.assertEqual(
            [f"{MANIFESTS}/configuration-2.yaml", *DEF_FILES[1:]],
            info["metadata"]["lcm-kubernetes-def-files"],
        )

    def test_scale_and_heal_afterwards(self) -> None:
        self.update_completed(self.after())
        idle = self.identities("idle")
        scale = {"type": "SCALE_OUT", "aspectId": "front_aspect"}
        for task, body in (("scale", scale), ("heal", {})):
            end = self.vnfm.run(self.instance_id, task, body)
            self.assertEqual("COMPLETED", end["operationState"], str(end))
            self.assertEqual(2, len(self.pods()["front"]))
            if task == "scale":
                self.assertEqual(idle, self.identities("idle"))
        self.assertNotEqual(idle, self.identities("idle"))
        for pod in self.pods()["front"].values():
            (container,) = pod["spec"]["containers"]
            self.assertEqual("nginx:1.28", container["image"])
            # a heal of the whole VNF takes all that the package changes
            self.assertEqual(8080, container["ports"][0]["containerPort"])
        self.check_content()
        self.assert_recorded()

    def test_another_update_follows(self) -> None:
        self.update_completed(self.after())
        before = self.pods()
        self.update_completed(
            self.before,
            metadata={"configmap_secret_paths": [DEF_FILES[0]]},
        )
        after = self.pods()
        for vdu in NEW:
            unchanged = identities(before[vdu]) & identities(after[vdu])
            self.assertEqual(set(), unchanged, vdu)
        self.assertEqual(2, restarts(after["probe"]["probe"]))
        self.assertEqual(identities(before["idle"]), self.identities("idle"))
        self.assertEqual(
            {"GREETING": "Hello", "LEGACY": "yes"},
            self.config("configmaps", "update-config"),
        )

    def test_images_alone(self) -> None:
        text = (SAMPLES / "cnf-update-before" / DEF_FILES[0]).read_text()
        vnfd_id = self.package("cnf-update-after", configuration=text)
        self.update_completed(vnfd_id, metadata={})
        after = self.pods()
        for vdu, before in self.pods_before.items():
            same = identities(before) == identities(after[vdu])
            self.assertEqual(vdu != "front", same, vdu)
        self.assertEqual(1, restarts(after["probe"]["probe"]))

    def test_configuration_of_the_same_package(self) -> None:
        """Pods that read no changed object keep running."""
        paths = {"configmap_secret_paths": [DEF_FILES[0]]}
        op_occ = self.vnfm.modify(self.instance_id, {"metadata": paths})
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        for vdu, before in self.pods_before.items():
            self.assertEqual(identities(before), self.identities(vdu), vdu)

    def test_a_name_alone(self) -> None:
        op_occ = self.vnfm.modify(self.instance_id, {"vnfInstanceName": "a"})
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        self.assertNotIn("resourceChanges", op_occ)


class TestRules(UpdateCase):
    def refused(self, vnfd_id: str, *messages: str, **request: Any) -> None:
        """Check that an update is refused with these messages."""
        op_occ = self.update(vnfd_id, **request)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        for text in messages:
            self.assertIn(text, op_occ["error"]["detail"])
        self.assertNotIn("Traceback", op_occ["error"]["detail"])
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        for vdu, before in self.pods_before.items():
            self.assertEqual(identities(before), self.identities(vdu), vdu)
        config = self.config("configmaps", "update-config")
        self.assertEqual("Hello", config["GREETING"])

    def test_files(self) -> None:
        nothing = f"{MANIFESTS}/nothing.yaml"
        vnfd_id = self.after()
        self.refused(
            vnfd_id,
            f"The VNF package of VNFD {vnfd_id} has no file {nothing!r}.",
            metadata={"configmap_secret_paths": [nothing]},
        )
        for paths, message in (
            ([f"{MANIFESTS}/workloads.yaml"], "contains a DaemonSet"),
            ("text", "metadata.configmap_secret_paths"),
        ):
            self.refused(
                self.after(),
                message,
                metadata={"configmap_secret_paths": paths},
            )

    def test_names(self) -> None:
        name = "configuration-2"
        other = self.after("name: update-secret", "name: new-secret", name)
        self.refused(other, "Secret new-secret", "Secret update-secret")
        both = self.after("update-", "new-", name)
        self.refused(
            both,
            "contains ConfigMap new-config, Secret new-secret, which the VNF "
            "instance does not have; it has ConfigMap other-config, "
            "ConfigMap update-config, Secret update-secret.",
        )

    def test_a_workload_that_the_new_package_lacks(self) -> None:
        renamed = workloads("after")
        renamed["front"]["metadata"]["name"] = "facade"
        dropped = {k: v for k, v in renamed.items() if k != "front"}
        for new in (dropped, renamed):
            vnfd_id = self.with_workloads(new)
            self.refused(
                vnfd_id,
                f"Deployment front in namespace {self.vnfm.namespace}",
                f"is in none of {MANIFESTS}/configuration-2.yaml",
            )
            self.assert_recorded()

    def test_a_file_that_the_new_package_lacks(self) -> None:
        self.refused(
            self.after(),
            f"has no file {DEF_FILES[0]!r}. The new package has to contain "
            "all manifests",
            metadata={"owner": "another client"},
        )


class TestFailure(UpdateCase):
    """The image of one workload cannot be pulled."""

    def update_failing(self, workload: str) -> Any:
        vnfd_id = self.after(workload, "invalid:1", "workloads")
        op_occ = self.update(vnfd_id)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.assertIn("invalid:1", op_occ["error"]["detail"])
        return op_occ

    def test_rollback(self) -> None:
        for image in ("nginx:1.28", "busybox:1.38", "redis:7.4"):
            before = self.pods()
            op_occ = self.update_failing(image)
            end = self.vnfm.decide(op_occ["id"], "rollback")
            self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
            self.assertEqual(
                {"GREETING": "Hello", "LEGACY": "yes"},
                self.config("configmaps", "update-config"),
            )
            self.assertEqual(
                {"TOKEN": "Y29ycmVjdC1ob3JzZQ=="},
                self.config("secrets", "update-secret"),
            )
            after = self.pods()
            for vdu in ("front", "probe"):
                (pod,) = after[vdu].values()
                (was,) = self.pods_before[vdu].values()
                self.assertEqual(
                    was["spec"]["containers"][0]["image"],
                    pod["spec"]["containers"][0]["image"],
                )
            self.assertEqual(
                identities(before["probe"]), identities(after["probe"])
            )
            self.assertEqual(
                identities(before["idle"]), identities(after["idle"])
            )
            self.assert_recorded()
            instance = self.vnfm.instance(self.instance_id)
            self.assertEqual(self.before, instance["vnfdId"])

    def test_pods_that_were_not_replaced_yet_stay(self) -> None:
        """Pods of the old template, which a rollback restores."""
        self.enlarge("replicasets", "cache", 2)
        before = self.pods()
        new = workloads("after")
        for name in ("front", "cache"):
            image(new[name], "invalid:1")
        op_occ = self.update(self.with_workloads(new))
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        tried = self.identities("cache")
        self.assertEqual(1, len(tried & identities(before["cache"])))
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        after = self.pods()
        self.assertEqual(identities(before["front"]), self.identities("front"))
        self.assertEqual(2, len(after["cache"]))
        self.assertEqual(
            tried & identities(before["cache"]),
            identities(after["cache"]) & identities(before["cache"]),
        )

    def enlarge(self, kind: str, name: str, number: int) -> None:
        """Set the replicas of a workload as another client."""
        place = f"{APPS}/namespaces/{self.vnfm.namespace}/{kind}/{name}"
        scale = self.cluster.call("GET", f"{place}/scale")
        scale["spec"]["replicas"] = number
        self.cluster.call("PUT", f"{place}/scale", scale)
        waiting.until(
            lambda: (
                self.objects()[kind, name]["status"]["readyReplicas"] == number
            ),
            "the replicas",
        )

    def test_a_pod_that_the_kubelet_has_not_seen(self) -> None:
        """It has no restart, and a rollback waits for none."""
        new = workloads("before")
        image(new["probe"], "busybox:2")
        (pod,) = self.pods()["probe"].values()
        node = pod["spec"]["nodeName"]
        self.cluster.sandbox.lose_node(node, detection_delay=1000.0)
        response = self.vnfm.patch(
            self.instance_id,
            {"vnfdId": self.with_workloads(new, "cnf-update-before")},
        )
        location = response.headers["Location"]
        self.wait_image("busybox:2")
        cancel = {"cancelMode": "FORCEFUL"}
        self.vnfm.call("POST", f"{location}/cancel", cancel)
        op_occ = self.vnfm.wait_operation(location)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.vnfm.call("POST", f"{location}/rollback")
        self.wait_image("busybox:1.37")
        self.cluster.sandbox.restore_node(node)
        end = self.vnfm.wait_operation(location)
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        (pod,) = self.pods()["probe"].values()
        self.assertEqual(0, restarts(pod))

    def wait_image(self, name: str) -> None:
        """Wait until the Pod probe is to run an image."""
        key = ("pods", "probe")
        waiting.until(
            lambda: name in images(self.objects()[key]), "the new image"
        )

    def test_rollback_of_a_pod_that_was_recreated(self) -> None:
        """It is of the old package, whatever else the new package changes."""
        new = workloads("after")
        new["tool"]["metadata"]["labels"] = {"only": "new"}
        new["tool"]["spec"]["containers"][0]["workingDir"] = "/srv"
        image(new["front"], "invalid:1")
        op_occ = self.update(self.with_workloads(new))
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        tried = self.identities("tool")
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assertNotEqual(tried, self.identities("tool"))
        (tool,) = self.pods()["tool"].values()
        self.assertNotIn("only", tool["metadata"]["labels"])
        self.assertNotIn("workingDir", tool["spec"]["containers"][0])

    def test_retry(self) -> None:
        op_occ = self.update_failing("nginx:1.28")
        tried = self.pods()
        end = self.vnfm.decide(op_occ["id"], "retry")
        self.assertEqual("FAILED_TEMP", end["operationState"])
        after = self.pods()
        # completed changes are not repeated
        for vdu in ("agent", "tool", "probe", "idle"):
            self.assertEqual(identities(tried[vdu]), identities(after[vdu]))

    def test_an_update_that_failed_is_requested_again(self) -> None:
        """It also waits for pods that have their new image already."""
        for image in ("nginx:1.28", "busybox:1.38"):
            vnfd_id = self.after(image, "invalid:1", "workloads")
            for _ in range(2):
                op_occ = self.update(vnfd_id)
                self.assertEqual(
                    "FAILED_TEMP", op_occ["operationState"], str(op_occ)
                )
                self.assertIn("invalid:1", op_occ["error"]["detail"])
                self.vnfm.decide(op_occ["id"], "fail")
        before = self.pods()
        self.update_completed(self.after())
        self.assertEqual(identities(before["idle"]), self.identities("idle"))
        self.check_ready()

    def check_ready(self) -> None:
        for pods in self.pods().values():
            for pod in pods.values():
                (status,) = pod["status"]["containerStatuses"]
                self.assertTrue(status["ready"], pod["metadata"]["name"])

    def test_cancelled_while_pods_restart(self) -> None:
        vnfd_id = self.after()
        for decision, state in (
            ("rollback", "ROLLED_BACK"),
            ("retry", "COMPLETED"),
        ):
            self.cluster.sandbox.set_pod_start_delay(POD_START_DELAY_S)
            response = self.vnfm.patch(
                self.instance_id, {"vnfdId": vnfd_id, **PATHS}
            )
            location = response.headers["Location"]
            self.wait_marked()
            self.vnfm.call(
                "POST", f"{location}/cancel", {"cancelMode": "FORCEFUL"}
            )
            op_occ = self.vnfm.wait_operation(location)
            self.assertEqual("FAILED_TEMP", op_occ["operationState"])
            self.assertIn("cancelled", op_occ["error"]["detail"])
            start_pods(self.cluster.sandbox)
            end = self.vnfm.decide(op_occ["id"], decision)
            self.assertEqual(state, end["operationState"], str(end))
            config = self.config("configmaps", "update-config")
            greetings = {"rollback": "Hello", "retry": "Good morning"}
            self.assertEqual(greetings[decision], config["GREETING"])
            self.assert_recorded()

    def wait_marked(self) -> None:
        """Wait until the update has changed the Deployment."""
        key = ("deployments", "front")
        waiting.until(
            lambda: (
                "nginx:1.28" in images(self.objects()[key]["spec"]["template"])
            ),
            "the update of the Deployment",
        )

    def test_the_cluster_was_unreachable(self) -> None:
        vnfd_id = self.after()
        self.cluster.sandbox.stop_api_server()
        op_occ = self.update(vnfd_id)
        self.cluster.sandbox.start_api_server()
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertIn("does not answer", op_occ["error"]["detail"])
        end = self.vnfm.decide(op_occ["id"], "retry")
        self.assertEqual("COMPLETED", end["operationState"], str(end))
        self.assert_recorded()


class TestPackageForTacker(UpdateCase):
    """A package that is built for Tacker names Tacker's own script, before
    the operation too, and no hook for rollbacks.
    """

    def package(self, name: str, **files: str) -> str:
        flavour = "Definitions/update_df_simple.yaml"
        text = (SAMPLES / name / flavour).read_text()
        hook = "          modify_information_rollback_end:\n"
        hook += "            implementation: update\n"
        self.assertIn(hook, text)
        text = text.replace(hook, "").replace(SCRIPT, reference_scripts.UPDATE)
        end = "          modify_information_end:\n"
        self.assertIn(end, text)
        start = end.replace("_end", "_start")
        text = text.replace(
            end, f"{start}            implementation: update\n{end}"
        )
        changed = {
            flavour: text,
            reference_scripts.UPDATE: reference_scripts.UPDATE_TEXT,
        }
        changed |= {
            f"{MANIFESTS}/{path}.yaml": text
            for path, text in files.items()
            if path != "SCRIPT"
        }
        return self.vnfm.onboard(
            self.useFixture(Csar(name=name, files=changed))
        )

    def test_the_built_in_driver_updates_and_rolls_back(self) -> None:
        before = self.pods()
        self.cluster.sandbox.set_node_capacity("sandbox-node-1", pods=0)
        self.cluster.sandbox.set_node_capacity("sandbox-node-2", pods=0)
        response = self.vnfm.patch(
            self.instance_id, {"vnfdId": self.after(), **PATHS}
        )
        location = response.headers["Location"]
        op_occ = self.vnfm.wait_operation(location, timeout=120.0)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.assertNotIn("never run", op_occ["error"]["detail"])
        for node in (1, 2):
            name = f"sandbox-node-{node}"
            self.cluster.sandbox.set_node_capacity(name, pods=110)
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ['id']}/rollback"
        plan = self.vnfm.call("POST", f"{path}?dry_run=true").json
        hook = "modify_information_rollback_end"
        self.assertEqual(reference_scripts.UPDATE, plan["scripts"].get(hook))
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assertIn("modify_information_rollback_end", end["scriptLog"])
        config = self.config("configmaps", "update-config")
        self.assertEqual("Hello", config["GREETING"])
        self.assertEqual(identities(before["idle"]), self.identities("idle"))
        self.assert_recorded()
