"""Changes of the VNF package by a rolling update of Deployments."""

from typing import Any, Final

from tests.fixtures.vnfm import SAMPLES, Csar
from tests.functional.test_cnf_update import (
    DEF_FILES,
    MANIFESTS,
    UpdateCase,
    identities,
    restarts,
)

NEW_FILES: Final = [f"{MANIFESTS}/configuration-2.yaml", *DEF_FILES[1:]]


class ChangeCase(UpdateCase):
    def request(self, vnfd_id: str, **parameters: Any) -> dict[str, Any]:
        given = {
            "upgrade_type": "RollingUpdate",
            "lcm-kubernetes-def-files": NEW_FILES,
        }
        return {"vnfdId": vnfd_id, "additionalParams": given | parameters}

    def change(self, vnfd_id: str, **parameters: Any) -> Any:
        body = self.request(vnfd_id, **parameters)
        return self.vnfm.run(self.instance_id, "change_vnfpkg", body)

    def changed(self, vnfd_id: str, **parameters: Any) -> Any:
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
        op_occ = self.changed(vnfd_id)
        self.assert_untouched("front")
        (front,) = self.pods()["front"].values()
        (container,) = front["spec"]["containers"]
        self.assertEqual("nginx:1.28", container["image"])
        self.assertEqual(8080, container["ports"][0]["containerPort"])
        config = self.config("configmaps", "update-config")
        self.assertEqual("Good morning", config["GREETING"])
        self.check_record(vnfd_id, op_occ)
        self.assert_as_known()
        scale = {"type": "SCALE_OUT", "aspectId": "front_aspect"}
        end = self.vnfm.run(self.instance_id, "scale", scale)
        self.assertEqual("COMPLETED", end["operationState"], str(end))

    def check_record(self, vnfd_id: str, op_occ: Any) -> None:
        told = op_occ["modificationsTriggeredByVnfPkgChange"]
        self.assertEqual(vnfd_id, told["vnfdId"])
        self.assertEqual("2.0", told["vnfSoftwareVersion"])
        changes = op_occ["resourceChanges"]["affectedVnfcs"]
        self.assertEqual({"front"}, {one["vduId"] for one in changes})
        grant = self.vnfm.nfvo.requests[-1]
        self.assertEqual(self.before, grant.vnfd_id)
        self.assertEqual(vnfd_id, grant.dst_vnfd_id)
        instance = self.vnfm.instance(self.instance_id)
        self.assertEqual(vnfd_id, instance["vnfdId"])
        self.assertEqual("IN_USE", self.usage(vnfd_id))
        self.assertEqual("NOT_IN_USE", self.usage(self.before))

    def test_vdus_that_are_named(self) -> None:
        self.changed(self.after(), vdu_params=[{"vdu_id": "idle"}])
        self.assert_untouched()
        self.assertEqual("nginx:1.27", self.image("front"))

    def test_nothing_that_differs(self) -> None:
        vnfd_id = self.package("cnf-update-before")
        files = {"lcm-kubernetes-def-files": DEF_FILES}
        op_occ = self.changed(vnfd_id, **files)
        self.assert_untouched()
        self.assertEqual({}, op_occ["resourceChanges"])
        self.changed(vnfd_id, **files)  # even the same package

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
        self.assert_as_known()


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
        answer = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
        self.assertEqual(400, answer.status, str(answer.json))
        self.assertIn("Pod more", answer.detail)
        self.assertIn("makes no new workload", answer.detail)

    def test_requests_that_cannot_be(self) -> None:
        vnfd_id = self.after()
        for parameters, told in (
            ({"upgrade_type": "BlueGreen"}, "upgrade_type"),
            ({"upgrade_type": None}, "upgrade_type"),
            ({"vdu_params": [{"vdu_id": "moon"}]}, "'moon'"),
            ({"vdu_params": [{}]}, "vdu_id"),
            ({"vdu_params": [{"vdu_id": "store"}]}, "StatefulSet"),
            ({"namespace": "elsewhere"}, "stays in its namespace"),
            ({"lcm-kubernetes-def-files": NEW_FILES[:1]}, "do not make"),
            ({"lcm-kubernetes-def-files": ["no"]}, "has no file"),
        ):
            body = self.request(vnfd_id, **parameters)
            answer = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
            self.assertEqual(400, answer.status, str(answer.json))
            self.assertIn(told, answer.detail)
        nobody = self.request("11111111-2222-4333-8444-555555555555")
        answer = self.vnfm.task(self.instance_id, "change_vnfpkg", nobody)
        self.assertEqual(422, answer.status, str(answer.json))
        self.assert_untouched()
