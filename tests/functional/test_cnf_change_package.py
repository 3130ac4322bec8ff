"""Changes of the VNF package by a rolling update of Deployments."""

from typing import Any, ClassVar, Final

import yaml

from tacker_cnf.drivers.kubernetes.manifests import INSTANCE_LABEL
from tests.fixtures import waiting
from tests.fixtures.cluster import APPS, CORE, RBAC
from tests.fixtures.vnfm import SAMPLES, Csar
from tests.functional.test_cnf_update import (
    DEF_FILES,
    MANIFESTS,
    PATHS,
    UpdateCase,
    identities,
    image,
    restarts,
    workloads,
)

NEW_FILES: Final = [f"{MANIFESTS}/configuration-2.yaml", *DEF_FILES[1:]]
#: VDUs whose pods read what the next package changes, and roll only for it
READERS: Final = ("store", "agent", "cache", "tool", "probe")
CONFIG: Final = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: other-config}
data: {GREETING: %s}
"""
#: objects of the old package: some stay, some change, some are removed
FORMER: Final = """\
apiVersion: v1
kind: Service
metadata: {name: both, labels: {old: label}}
spec:
  type: ClusterIP
  selector: {app: front}
  ports: [{name: one, port: 80}, {name: two, port: 81}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Mi}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-helper}
data: {A: a}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: helper}
spec:
  selector: {matchLabels: {app: helper}}
  template:
    metadata: {labels: {app: helper}}
    spec:
      containers:
        - name: helper
          image: nginx:1.27
          envFrom: [{configMapRef: {name: of-helper}}]
"""
KEPT_CLAIM: Final = "persistentvolumeclaims/data"
OLD: Final = (
    "services/both",
    KEPT_CLAIM,
    "roles/reader",
    "configmaps/of-helper",
    "deployments/helper",
)
NEW: Final = ("networkpolicies/closed",)
PLACES: Final = {
    "deployments": APPS,
    "networkpolicies": "/apis/networking.k8s.io/v1",
    "roles": RBAC,
}
#: objects of the new package
NEXT: Final = """\
apiVersion: v1
kind: Service
metadata: {name: both}
spec:
  selector: {app: front}
  ports: [{name: one, port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {}}
"""


class ChangeCase(UpdateCase):
    def request(self, vnfd_id: str, **parameters: Any) -> dict[str, Any]:
        body = {
            "upgrade_type": "RollingUpdate",
            "lcm-kubernetes-def-files": NEW_FILES,
        }
        return {"vnfdId": vnfd_id, "additionalParams": body | parameters}

    def change(self, vnfd_id: str, **parameters: Any) -> Any:
        body = self.request(vnfd_id, **parameters)
        return self.vnfm.run(self.instance_id, "change_vnfpkg", body)

    def change_completed(self, vnfd_id: str, **parameters: Any) -> Any:
        op_occ = self.change(vnfd_id, **parameters)
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        return op_occ

    def usage(self, vnfd_id: str) -> str:
        path = f"/vnfpkgm/v1/vnf_packages?filter=(eq,vnfdId,{vnfd_id})"
        (package,) = self.vnfm.call("GET", path).json
        return str(package["usageState"])

    def image(self, vdu: str) -> str:
        (pod,) = self.pods()[vdu].values()
        return str(pod["spec"]["containers"][0]["image"])

    def assert_untouched(self, *but: str) -> None:
        after = self.pods()
        for vdu, before in self.pods_before.items():
            same = identities(before) == identities(after[vdu])
            self.assertEqual(vdu not in but, same, vdu)
        self.assertEqual(0, restarts(after["probe"]["probe"]))


class TestChange(ChangeCase):
    def test_deployments_roll(self) -> None:
        links = self.vnfm.instance(self.instance_id)["_links"]
        self.assertTrue(links["changeVnfPkg"]["href"].endswith("_vnfpkg"))
        vnfd_id = self.after()
        op_occ = self.change_completed(vnfd_id)
        self.assert_untouched("front", *READERS)
        (front,) = self.pods()["front"].values()
        (container,) = front["spec"]["containers"]
        self.assertEqual("nginx:1.28", container["image"])
        self.assertEqual(8080, container["ports"][0]["containerPort"])
        config = self.config("configmaps", "update-config")
        self.assertEqual({"GREETING": "Good morning"}, config)
        secret = self.config("secrets", "update-secret")
        self.assertEqual({"TOKEN": "YmF0dGVyeS1zdGFwbGU="}, secret)
        self.check_record(vnfd_id, op_occ)
        self.assert_recorded()
        scale = {"type": "SCALE_OUT", "aspectId": "front_aspect"}
        end = self.vnfm.run(self.instance_id, "scale", scale)
        self.assertEqual("COMPLETED", end["operationState"], str(end))

    def check_record(self, vnfd_id: str, op_occ: Any) -> None:
        modifications = op_occ["modificationsTriggeredByVnfPkgChange"]
        self.assertEqual(vnfd_id, modifications["vnfdId"])
        self.assertEqual("2.0", modifications["vnfSoftwareVersion"])
        changes = op_occ["resourceChanges"]["affectedVnfcs"]
        vdus = {one["vduId"] for one in changes}
        self.assertEqual({"front", *READERS}, vdus)
        grant = self.vnfm.nfvo.requests[-1]
        self.assertEqual(self.before, grant.vnfd_id)
        self.assertEqual(vnfd_id, grant.dst_vnfd_id)
        instance = self.vnfm.instance(self.instance_id)
        self.assertEqual(vnfd_id, instance["vnfdId"])
        self.assertEqual("IN_USE", self.usage(vnfd_id))
        self.assertEqual("NOT_IN_USE", self.usage(self.before))

    def test_vdus_named_by_the_request(self) -> None:
        self.change_completed(self.after(), vdu_params=[{"vdu_id": "idle"}])
        self.assert_untouched()
        self.assertEqual("nginx:1.27", self.image("front"))

    def test_a_package_without_differences(self) -> None:
        vnfd_id = self.package("cnf-update-before")
        files = {"lcm-kubernetes-def-files": DEF_FILES}
        op_occ = self.change_completed(vnfd_id, **files)
        self.assert_untouched()
        self.assertEqual({}, op_occ["resourceChanges"])
        self.change_completed(vnfd_id, **files)  # even the same package

    def test_rollback(self) -> None:
        vnfd_id = self.after("nginx:1.28", "invalid:1", "workloads")
        op_occ = self.change(vnfd_id)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.assertIn("invalid:1", op_occ["error"]["detail"])
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assertEqual("nginx:1.27", self.image("front"))
        config = self.config("configmaps", "update-config")
        self.assertEqual("Hello", config["GREETING"])
        instance = self.vnfm.instance(self.instance_id)
        self.assertEqual(self.before, instance["vnfdId"])
        self.assertEqual("1.0", instance["vnfSoftwareVersion"])
        self.assertEqual("IN_USE", self.usage(self.before))
        self.assertEqual("NOT_IN_USE", self.usage(vnfd_id))
        self.assert_recorded()


class TestAfterAnUpdate(ChangeCase):
    """An update changed only images: no manifest has the present state."""

    def test_a_rollback_keeps_the_pods_of_before(self) -> None:
        vnfd_id = self.package("cnf-update-after")
        updated = self.vnfm.modify(
            self.instance_id, {"vnfdId": vnfd_id, **PATHS}
        )
        self.assertEqual("COMPLETED", updated["operationState"], str(updated))
        before = self.pods()["front"]
        op_occ = self.change(
            self.after("nginx:1.28", "invalid:1", "workloads")
        )
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        after = self.pods()["front"]
        self.assertEqual(identities(before), identities(after))
        (front,) = after.values()
        (container,) = front["spec"]["containers"]
        self.assertEqual("nginx:1.28", container["image"])
        self.assertEqual(80, container["ports"][0]["containerPort"])


class TestPodsThatReadConfiguration(ChangeCase):
    """Only ConfigMaps and Secrets that pods read differ."""

    def with_greeting(self, greeting: str) -> str:
        text = CONFIG % greeting
        return self.package("cnf-update-before", other=text)

    def test_pods_that_read_a_changed_config_map_restart(self) -> None:
        files = {"lcm-kubernetes-def-files": DEF_FILES}
        self.change_completed(self.with_greeting("Bye"), **files)
        self.assert_untouched("idle")
        config = self.config("configmaps", "other-config")
        self.assertEqual({"GREETING": "Bye"}, config)
        self.pods_before = self.pods()
        self.change_completed(self.with_greeting("Bye"), **files)
        self.assert_untouched()

    def test_vdus_not_named_by_the_request_stay(self) -> None:
        files = {"lcm-kubernetes-def-files": DEF_FILES}
        vdu_params = [{"vdu_id": "front"}]
        vnfd_id = self.with_greeting("Bye")
        self.change_completed(vnfd_id, vdu_params=vdu_params, **files)
        self.assert_untouched()

    def test_a_rollback_restarts_the_restarted_pods(self) -> None:
        new = workloads("before")
        image(new["front"], "invalid:1")
        text = yaml.safe_dump_all(new.values())
        vnfd_id = self.package(
            "cnf-update-before", workloads=text, other=CONFIG % "Bye"
        )
        files = {"lcm-kubernetes-def-files": DEF_FILES}
        op_occ = self.change(vnfd_id, **files)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        tried = self.identities("idle")
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assertEqual(set(), tried & self.identities("idle"))
        self.assert_untouched("idle")
        config = self.config("configmaps", "other-config")
        self.assertEqual({"GREETING": "Hello"}, config)
        self.assert_recorded()


class TestImagesOfBarePods(ChangeCase):
    """A bare Pod runs an image that its present package does not have."""

    def setUp(self) -> None:
        super().setUp()
        self.change_completed(self.after())
        self.assertEqual("busybox:1.37", self.image("probe"))
        bodies = workloads("after")
        image(bodies["probe"], "busybox:1.36")
        self.workloads = bodies

    def third(self) -> str:
        """Onboard a package with another image and configuration."""
        source = SAMPLES / "cnf-update-after" / NEW_FILES[0]
        return self.package(
            "cnf-update-after",
            **{
                "workloads": yaml.safe_dump_all(self.workloads.values()),
                "configuration-2": source.read_text().replace(
                    "Good morning", "Good evening"
                ),
            },
        )

    def test_it_keeps_its_image(self) -> None:
        before = self.identities("probe")
        self.change_completed(self.third())
        self.assertEqual(set(), before & self.identities("probe"))
        self.assertEqual("busybox:1.37", self.image("probe"))

    def test_a_rollback_restores_its_image(self) -> None:
        image(self.workloads["store"], "invalid:1")
        image(self.workloads["front"], "invalid:1")
        op_occ = self.change(self.third())
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        tried = self.identities("probe")
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ['id']}"
        dry_run = self.vnfm.call("POST", f"{path}/rollback?dry_run=true").json
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assertEqual(set(), tried & self.identities("probe"))
        self.assertEqual("busybox:1.37", self.image("probe"))
        kept = self.vnfm.call("GET", f"{path}/plan").json
        for plan in (dry_run, kept):
            (action,) = (a for a in plan["actions"] if a["name"] == "probe")
            self.assertEqual("RECREATE", action["type"])


class TestObjects(ChangeCase):
    """Objects that only one of the two packages has."""

    files: ClassVar[dict[str, str]] = {
        "other": CONFIG % "Hello" + "---\n" + FORMER
    }

    def next_package(self, **files: str) -> str:
        other = CONFIG % "Hello" + "---\n" + NEXT
        return self.package("cnf-update-after", other=other, **files)

    def existing_objects(self, *places: str) -> dict[str, Any]:
        """Return the objects that exist of these: place -> object without
        what the cluster records in it.
        """
        found = {}
        for place in places:
            body = self.cluster.call("GET", self.path(place))
            if body is not None:
                meta = body["metadata"]
                attributes = {"labels": meta.get("labels"), "uid": meta["uid"]}
                rest = ("spec", "data", "rules")
                found[place] = attributes | {k: body.get(k) for k in rest}
        return found

    def path(self, place: str) -> str:
        kind, name = place.split("/")
        root = PLACES.get(kind, CORE)
        return f"{root}/namespaces/{self.vnfm.namespace}/{kind}/{name}"

    def test_objects_are_created_and_deleted(self) -> None:
        foreign = {
            "metadata": {"name": "foreign", "labels": {INSTANCE_LABEL: "x"}}
        }
        configs = self.path("configmaps/foreign").removesuffix("/foreign")
        self.cluster.call("POST", configs, foreign)
        self.change_completed(self.next_package())
        self.assertEqual(
            {"services/both", "networkpolicies/closed", KEPT_CLAIM},
            self.existing_objects(*OLD, *NEW).keys(),
        )
        (service,) = self.existing_objects("services/both").values()
        (port,) = service["spec"]["ports"]
        self.assertEqual(80, port["port"])
        self.assertNotIn("old", service["labels"])
        end = self.vnfm.run(
            self.instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.assertEqual("COMPLETED", end["operationState"], str(end))
        self.assertEqual({}, self.existing_objects(*OLD, *NEW))
        self.assertIn(
            "configmaps/foreign", self.existing_objects("configmaps/foreign")
        )

    def test_a_rollback_restores_the_objects(self) -> None:
        before = self.existing_objects(*OLD, *NEW)
        new = workloads("after")
        image(new["front"], "invalid:1")
        text = yaml.safe_dump_all(new.values())
        op_occ = self.change(self.next_package(workloads=text))
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.assertIn(NEW[0], self.existing_objects(*NEW))
        self.assertEqual(
            OLD, tuple(self.existing_objects(*OLD))
        )  # until all is ready
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assertEqual(before, self.existing_objects(*OLD, *NEW))

    def test_cancelled_during_a_deletion(self) -> None:
        """A rollback creates deleted objects again; a retry deletes them."""
        role = self.path("roles/reader")
        for decision, left in (("rollback", True), ("retry", False)):
            role_object = self.cluster.call("GET", role)
            role_object["metadata"]["finalizers"] = ["example.com/held"]
            self.cluster.call("PUT", role, role_object)
            response = self.vnfm.task(
                self.instance_id,
                "change_vnfpkg",
                self.request(self.next_package()),
            )
            location = response.headers["Location"]
            waiting.until(
                lambda: (
                    "deletionTimestamp"
                    in self.cluster.call("GET", role)["metadata"]
                ),
                "the deletion",
            )
            cancel = {"cancelMode": "FORCEFUL"}
            self.vnfm.call("POST", f"{location}/cancel", cancel)
            op_occ = self.vnfm.wait_operation(location)
            self.assertEqual("FAILED_TEMP", op_occ["operationState"])
            role_object = self.cluster.call("GET", role)
            del role_object["metadata"]["finalizers"]
            self.cluster.call("PUT", role, role_object)
            self.vnfm.decide(op_occ["id"], decision)
            objects = self.existing_objects(*OLD, *NEW)
            self.assertEqual(left, "roles/reader" in objects)
            self.assertEqual(left, "deployments/helper" in objects)
            self.assertEqual(not left, NEW[0] in objects)

    def test_objects_that_pods_still_read_stay(self) -> None:
        """The StatefulSet is of the old package until it is healed."""
        new = workloads("after")
        for name in ("store", "cache"):
            pod = new[name]["spec"]["template"]["spec"]
            del pod["containers"][0][
                "envFrom" if name == "store" else "volumeMounts"
            ]
            pod.pop("volumes", None)
        config = CONFIG.replace("other", "update") % "Bye"
        files = {
            "workloads": yaml.safe_dump_all(new.values()),
            "configuration-2": config,
        }
        self.change_completed(self.next_package(**files))
        secret = "secrets/update-secret"
        self.assertIn(secret, self.existing_objects(secret))
        end = self.vnfm.run(self.instance_id, "heal", {})
        self.assertEqual("COMPLETED", end["operationState"], str(end))
        self.assertNotIn(secret, self.existing_objects(secret))


class TestRefusals(ChangeCase):
    def test_a_workload_that_the_vnf_does_not_have(self) -> None:
        sample = SAMPLES / "cnf-update-after"
        flavour = "Definitions/update_df_simple.yaml"
        vnfd = (sample / flavour).read_text()
        idle = "    idle:\n      type: tosca.nodes.nfv.Vdu.Compute\n"
        self.assertIn(idle, vnfd)
        node = vnfd[vnfd.index(idle) : vnfd.index("  policies:")]
        more = node.replace("idle", "more")
        manifests = (sample / DEF_FILES[2]).read_text()
        pod = "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: more}\n"
        pod += "spec: {containers: [{name: more, image: nginx}]}\n"
        files = {
            flavour: vnfd.replace(node, more + node),
            DEF_FILES[2]: manifests + pod,
        }
        csar = self.useFixture(Csar(name="cnf-update-after", files=files))
        body = self.request(self.vnfm.onboard(csar))
        response = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
        self.assertEqual(400, response.status, str(response.json))
        self.assertIn("Pod more", response.detail)
        self.assertIn("cannot add VDUs", response.detail)

    def test_a_workload_of_another_kind_or_name(self) -> None:
        for attributes, message in (
            ({"kind": "StatefulSet"}, "have a StatefulSet of that name"),
            ({"name": "facade"}, "Its kind and name cannot change"),
        ):
            new = workloads("after")
            front = new["front"]
            front["kind"] = attributes.get("kind", front["kind"])
            front["metadata"]["name"] = attributes.get("name", "front")
            body = self.request(self.with_workloads(new))
            response = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
            self.assertEqual(400, response.status, str(response.json))
            resource = f"Deployment front in namespace {self.vnfm.namespace}"
            for text in (f"VDU front: {resource}", NEW_FILES[0], message):
                self.assertIn(text, response.detail)
        self.assert_untouched()

    def test_a_workload_that_is_malformed(self) -> None:
        new = workloads("after")
        del new["front"]["spec"]
        vnfd_id = self.with_workloads(new)
        message = (
            f"The manifest {DEF_FILES[2]}: Deployment front: Object missing "
            "required field `spec`."
        )
        body = self.request(vnfd_id)
        response = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
        self.assertEqual(400, response.status, str(response.json))
        self.assertEqual(message, response.detail)
        op_occ = self.update(vnfd_id)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertIn(message, op_occ["error"]["detail"])
        config = self.config("configmaps", "update-config")
        self.assertEqual("Hello", config["GREETING"])
        self.assert_untouched()

    def test_content_of_an_immutable_config_map(self) -> None:
        fixed = CONFIG % "Hello" + "immutable: true\n"
        text = fixed.replace("other", "fixed")
        before = self.package(
            "cnf-update-before", other=CONFIG % "Hello" + "---\n" + text
        )
        after = self.package(
            "cnf-update-before",
            other=CONFIG % "Hello" + "---\n" + text.replace("Hello", "Bye"),
        )
        files = {"lcm-kubernetes-def-files": DEF_FILES}
        self.change_completed(before, **files)
        body = self.request(after, **files)
        response = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
        self.assertEqual(400, response.status, str(response.json))
        self.assertIn("ConfigMap fixed-config is immutable", response.detail)
        self.change_completed(before, **files)  # its content is the same

    def test_content_of_immutable_objects(self) -> None:
        place = f"{CORE}/namespaces/{self.vnfm.namespace}/configmaps"
        config = self.cluster.call("GET", f"{place}/update-config")
        self.cluster.call(
            "PUT", f"{place}/update-config", config | {"immutable": True}
        )
        op_occ = self.change(self.after())
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.assertIn("update-config is immutable", op_occ["error"]["detail"])
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assert_untouched()

    def test_invalid_requests(self) -> None:
        vnfd_id = self.after()
        for parameters, message in (
            ({"upgrade_type": "BlueGreen"}, "upgrade_type"),
            ({"upgrade_type": None}, "upgrade_type"),
            ({"vdu_params": [{"vdu_id": "moon"}]}, "'moon'"),
            ({"vdu_params": [{}]}, "vdu_id"),
            ({"vdu_params": [{"vdu_id": "store"}]}, "StatefulSet"),
            ({"namespace": "elsewhere"}, "stays in its namespace"),
            ({"lcm-kubernetes-def-files": NEW_FILES[:1]}, "is in none of"),
            ({"lcm-kubernetes-def-files": ["no"]}, "has no file"),
            ({"object_kinds": [["v1", "Pod"]]}, "read-only: the VNFM sets it"),
        ):
            body = self.request(vnfd_id, **parameters)
            response = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
            self.assertEqual(400, response.status, str(response.json))
            self.assertIn(message, response.detail)
        unknown_id = self.request("11111111-2222-4333-8444-555555555555")
        response = self.vnfm.task(
            self.instance_id, "change_vnfpkg", unknown_id
        )
        self.assertEqual(422, response.status, str(response.json))
        self.assert_untouched()
