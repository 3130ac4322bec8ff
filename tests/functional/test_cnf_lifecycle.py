"""The lifecycle of a CNF on a cluster, kind by kind."""

from typing import Any

import testtools

from tests.fixtures.cluster import APPS, CUSTOM, DEFINITION, CnfService

#: VDU -> the resource of its workload
WORKLOADS = {
    "web": "deployments",
    "cache": "replicasets",
    "store": "statefulsets",
    "agent": "daemonsets",
    "probe": "pods",
}


class TestLifecycle(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # one test creates kinds that packages may not create by default
        kinds = ["CustomResourceDefinition", "TokenReview"]
        self.vnfm = self.useFixture(CnfService(allowed_kinds=kinds))
        self.cluster = self.vnfm.cluster
        self.empty = self.cluster.objects(self.vnfm.namespace)

    def objects(self) -> dict[tuple[str, str], Any]:
        return self.cluster.objects(self.vnfm.namespace)

    def test_instantiate_records_every_pod_as_a_vnfc(self) -> None:
        self.vnfm.parts.store.public_names = frozenset({"vdu_reses"})
        instance_id = self.vnfm.start_vnf()
        vnfcs = self.vnfm.vnfcs(instance_id)
        pods = {name for kind, name in self.objects() if kind == "pods"}
        self.assertEqual(pods, {v["id"] for v in vnfcs.values()})
        kinds = {
            v["vduId"]: v["computeResource"]["vimLevelResourceType"]
            for v in vnfcs.values()
        }
        self.assertEqual(
            {
                "web": "Deployment",
                "cache": "ReplicaSet",
                "store": "StatefulSet",
                "agent": "DaemonSet",
                "probe": "Pod",
            },
            kinds,
        )
        for name, vnfc in vnfcs.items():
            self.assertEqual(f"{vnfc['vduId']}-{vnfc['id']}", name)
            self.assertEqual(vnfc["id"], vnfc["computeResource"]["resourceId"])
        info = self.vnfm.instance(instance_id)["instantiatedVnfInfo"]
        self.assertEqual(self.vnfm.namespace, info["metadata"]["namespace"])
        self.assertEqual(set(WORKLOADS), set(info["metadata"]["vdu_reses"]))
        self.assertEqual("STARTED", info["vnfState"])

    def test_every_object_has_the_instance_as_a_label(self) -> None:
        instance_id = self.vnfm.start_vnf()
        for key, body in self.objects().items():
            if key in self.empty:
                continue
            labels = body["metadata"].get("labels", {})
            self.assertEqual(
                instance_id, labels.get("tacker_vnf_instance_id"), str(key)
            )

    def test_the_level_sets_the_replicas(self) -> None:
        request = self.vnfm.request(instantiationLevelId="busy")
        instance_id = self.vnfm.start_vnf(request)
        vdus = [v["vduId"] for v in self.vnfm.vnfcs(instance_id).values()]
        self.assertEqual(3, vdus.count("web"))
        self.assertEqual(3, vdus.count("store"))
        self.assertEqual(2, vdus.count("cache"))

    def test_scale_changes_replicas_and_nothing_else(self) -> None:
        instance_id = self.vnfm.start_vnf()
        for vdu in ("web", "cache", "store"):
            before = self.objects()
            for kind, replicas in (("SCALE_OUT", 2), ("SCALE_IN", 1)):
                done = self.vnfm.run(
                    instance_id,
                    "scale",
                    {"type": kind, "aspectId": f"{vdu}_aspect"},
                )
                self.assertEqual("COMPLETED", done["operationState"])
                after = self.objects()
                key = (WORKLOADS[vdu], vdu)
                self.assertEqual(replicas, after[key]["spec"]["replicas"])
            for key, body in before.items():
                if key[1].startswith(vdu) or f"-{vdu}-" in key[1]:
                    continue
                self.assertEqual(body["metadata"], after[key]["metadata"])
            self.assertEqual(
                before[WORKLOADS[vdu], vdu]["spec"],
                after[WORKLOADS[vdu], vdu]["spec"],
            )

    def test_scale_is_recorded_in_level_and_changes(self) -> None:
        instance_id = self.vnfm.start_vnf()
        body = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        done = self.vnfm.run(instance_id, "scale", body | {"numberOfSteps": 2})
        changes = done["resourceChanges"]["affectedVnfcs"]
        self.assertEqual(["ADDED"] * 2, [c["changeType"] for c in changes])
        info = self.vnfm.instance(instance_id)["instantiatedVnfInfo"]
        levels = {s["aspectId"]: s["scaleLevel"] for s in info["scaleStatus"]}
        self.assertEqual(2, levels["web_aspect"])
        self.assertEqual(0, levels["store_aspect"])

    def test_volume_claims_stay_when_a_stateful_set_is_scaled_in(self) -> None:
        instance_id = self.vnfm.start_vnf()
        for kind in ("SCALE_OUT", "SCALE_IN"):
            body = {"type": kind, "aspectId": "store_aspect"}
            self.vnfm.run(instance_id, "scale", body)
        claims = [
            name
            for kind, name in self.objects()
            if kind == "persistentvolumeclaims"
        ]
        self.assertEqual(2, len(claims))

    def test_heal_of_a_vnfc_replaces_that_pod_alone(self) -> None:
        instance_id = self.vnfm.start_vnf()
        for vdu in WORKLOADS:
            before = self.cluster.uids(self.vnfm.namespace)
            name = self.vnfm.vnfc_of(instance_id, vdu)
            old = self.vnfm.vnfcs(instance_id)[name]
            done = self.vnfm.run(
                instance_id, "heal", {"vnfcInstanceId": [name]}
            )
            self.assertEqual("COMPLETED", done["operationState"], vdu)
            changes = done["resourceChanges"]["affectedVnfcs"]
            self.assertEqual(
                ["REMOVED", "ADDED"], [c["changeType"] for c in changes]
            )
            self.assertEqual(old["id"], changes[0]["id"])
            self.assertEqual({vdu}, {c["vduId"] for c in changes})
            after = self.cluster.uids(self.vnfm.namespace)
            replaced = set(before.values()) - set(after.values())
            self.assertEqual({old["metadata"]["uid"]}, replaced)

    def test_heal_accepts_the_id_of_the_resource(self) -> None:
        instance_id = self.vnfm.start_vnf()
        name = self.vnfm.vnfc_of(instance_id, "web")
        pod = self.vnfm.vnfcs(instance_id)[name]["id"]
        done = self.vnfm.run(instance_id, "heal", {"vnfcInstanceId": [pod]})
        self.assertEqual("COMPLETED", done["operationState"])
        self.assertNotIn(name, self.vnfm.vnfcs(instance_id))

    def test_heal_of_the_whole_vnf_keeps_data_and_replicas(self) -> None:
        instance_id = self.vnfm.start_vnf()
        body = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        self.vnfm.run(instance_id, "scale", body)
        before = self.cluster.uids(self.vnfm.namespace)
        done = self.vnfm.run(instance_id, "heal", {})
        self.assertEqual("COMPLETED", done["operationState"])
        after = self.cluster.uids(self.vnfm.namespace)
        same = {key for key in before if after.get(key) == before[key]}
        kept_kinds = {kind for kind, _ in same - set(self.empty)}
        self.assertEqual({"persistentvolumeclaims"}, kept_kinds)
        vdus = [v["vduId"] for v in self.vnfm.vnfcs(instance_id).values()]
        self.assertEqual(2, vdus.count("web"))

    def test_terminate_leaves_nothing(self) -> None:
        for how in (
            {"terminationType": "FORCEFUL"},
            {"terminationType": "GRACEFUL"},
            {
                "terminationType": "GRACEFUL",
                "gracefulTerminationTimeout": 1,
            },
        ):
            instance_id = self.vnfm.start_vnf()
            done = self.vnfm.run(instance_id, "terminate", how)
            self.assertEqual("COMPLETED", done["operationState"], str(how))
            self.assertEqual(set(self.empty), set(self.objects()))
            instance = self.vnfm.instance(instance_id)
            self.assertEqual(
                "NOT_INSTANTIATED", instance["instantiationState"]
            )
            self.assertNotIn("vimConnectionInfo", instance)

    def test_it_can_be_instantiated_again(self) -> None:
        instance_id = self.vnfm.start_vnf()
        end = {"terminationType": "FORCEFUL"}
        self.vnfm.run(instance_id, "terminate", end)
        done = self.vnfm.run(
            instance_id, "instantiate", self.vnfm.deployment_only()
        )
        self.assertEqual("COMPLETED", done["operationState"])

    def test_a_client_certificate_authenticates(self) -> None:
        sandbox = self.cluster.sandbox
        request = self.vnfm.deployment_only(
            vimConnectionInfo=self.cluster.vim(
                client_cert=sandbox.client_cert_pem,
                client_key=sandbox.client_key_pem,
            )
        )
        instance_id = self.vnfm.start_vnf(request)
        text = str(self.vnfm.instance(instance_id))
        self.assertNotIn("PRIVATE KEY", text)

    def test_any_kind_is_created_and_deleted(self) -> None:
        # the object is before its definition
        extra = f"""\
apiVersion: {CUSTOM}/v1
kind: Gadget
metadata: {{name: one}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: reader}}
rules: [{{apiGroups: [""], resources: [pods], verbs: [get]}}]
---
apiVersion: authentication.k8s.io/v1
kind: TokenReview
spec: {{token: x}}
---
{DEFINITION % "Namespaced"}"""
        instance_id = self.vnfm.create_with_files(extra=extra)
        request = self.vnfm.deployment_only()
        names = request["additionalParams"]["lcm-kubernetes-def-files"]
        names.append("Files/kubernetes/extra.yaml")
        done = self.vnfm.run(instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", done["operationState"], done)
        gadgets = f"/apis/{CUSTOM}/v1/namespaces/{self.vnfm.namespace}/gadgets"
        self.assertIsNotNone(self.cluster.call("GET", f"{gadgets}/one"))
        end = {"terminationType": "FORCEFUL"}
        done = self.vnfm.run(instance_id, "terminate", end)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertIsNone(self.cluster.call("GET", gadgets))
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces"
        self.assertIsNone(
            self.cluster.call(
                "GET", f"{roles}/{self.vnfm.namespace}/roles/reader"
            )
        )
        self.assertIsNotNone(self.cluster.call("GET", APPS))

    def test_a_package_that_lacks_a_manifest_is_refused(self) -> None:
        text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}"
        instance_id = self.vnfm.create_with_files(extra=text)
        request = self.vnfm.deployment_only()
        extra = "Files/kubernetes/extra.yaml"
        request["additionalParams"]["lcm-kubernetes-def-files"].append(extra)
        end = self.vnfm.run(instance_id, "instantiate", request)
        self.assertEqual("COMPLETED", end["operationState"], end)
        other = self.vnfm.onboard()
        path = f"/vnflcm/v2/vnf_instances/{instance_id}"
        refused = self.vnfm.call("PATCH", path, {"vnfdId": other})
        self.assertEqual(400, refused.status)
        self.assertIn(f"has no file {extra!r}", refused.detail)
        end = self.vnfm.run(
            instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(self.empty, self.objects())
