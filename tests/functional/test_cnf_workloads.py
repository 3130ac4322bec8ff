"""Workloads of VDUs, and parameters that are misspelled."""

import dataclasses
import json
from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.kubernetes import manifests
from tacker_cnf.sol import base
from tacker_cnf.vnfd.model import Vnfd
from tests.fixtures.cluster import CnfCase
from tests.fixtures.vnfm import Csar

ROOT = "/vnflcm/v2/vnf_instances"
FLAVOUR = "Definitions/five_kinds_df_small.yaml"
DEPLOYMENT = "Files/kubernetes/deployment.yaml"
DECLARED = """\
          interfaces:
            Vnflcm:
              instantiate:
                inputs:
                  namespaces: {type: string}
                  additional_parameters: {type: vendor.Extra}
"""
EXTRA = """
data_types:
  vendor.Base:
    derived_from: tosca.datatypes.nfv.VnfOperationAdditionalParameters
    properties: {name_space: {type: string}}
  vendor.Extra:
    derived_from: vendor.Base
    properties: {vim_connection: {type: string}}
"""


def text_of(name: str) -> str:
    return (Csar.source("cnf") / name).read_text()


class WorkloadCase(CnfCase):
    def onboard_changed(self, **changed: tuple[str, str]) -> str:
        """Onboard the sample with replacements in some files."""
        names = {"flavour": FLAVOUR, "deployment": DEPLOYMENT}
        files = {
            names[key]: text_of(names[key]).replace(*pair)
            for key, pair in changed.items()
        }
        return self.vnfm.onboard(self.useFixture(Csar(files=files)))

    def instantiate_request(self, **parameters: Any) -> dict[str, Any]:
        """Build a request of the small flavour with more additionalParams."""
        request = self.vnfm.deployment_only()
        request["additionalParams"] |= parameters
        return request

    def refused(self, instance_id: str, task: str, body: Any) -> str:
        before = self.cluster.objects(self.vnfm.namespace)
        path = f"{ROOT}/{instance_id}"
        response = (
            self.vnfm.task(instance_id, task, body)
            if task
            else self.vnfm.patch(instance_id, body)
        )
        self.assertEqual(400, response.status, f"{path} {response.content!r}")
        self.assertEqual(
            before.keys(), self.cluster.objects(self.vnfm.namespace).keys()
        )
        return response.detail

    def assert_done(self, instance_id: str, task: str, body: Any) -> Any:
        done = self.vnfm.run(instance_id, task, body)
        self.assertEqual("COMPLETED", done["operationState"], done)
        return done


class TestMissing(WorkloadCase):
    def test_manifests_that_are_not_listed(self) -> None:
        request = self.vnfm.deployment_only() | {"flavourId": "simple"}
        detail = self.refused(self.vnfm.create(), "instantiate", request)
        for vdu in ("agent", "cache", "probe", "store"):
            self.assertIn(f"VDU {vdu} has no workload", detail)
        self.assertNotIn("VDU web", detail)
        self.assertIn("Deployment web", detail)

    def test_another_name(self) -> None:
        vnfd = self.onboard_changed(flavour=("name: web\n", "name: front\n"))
        instance_id = self.vnfm.create(vnfd)
        detail = self.refused(
            instance_id, "instantiate", self.instantiate_request()
        )
        self.assertEqual(
            "additionalParams.lcm-kubernetes-def-files: VDU web has no "
            "workload: no manifest of a DaemonSet, Deployment, Pod, "
            "ReplicaSet, StatefulSet is named front (properties.name in the "
            "VNFD). The workloads are Deployment web. List the manifest, "
            "correct one of the names, or set additionalParams.vdu_mapping.",
            detail,
        )

    def test_no_workload_at_all(self) -> None:
        files = {"lcm-kubernetes-def-files": ["Files/kubernetes/secret.yaml"]}
        detail = self.refused(
            self.vnfm.create(),
            "instantiate",
            self.instantiate_request(**files),
        )
        self.assertIn("VDU web has no workload", detail)
        self.assertIn("There is no workload", detail)

    def test_a_package_without_the_workload(self) -> None:
        instance_id = self.vnfm.start_vnf(self.vnfm.deployment_only())
        vnfd = self.onboard_changed(flavour=("name: web\n", "name: front\n"))
        detail = self.refused(instance_id, "", {"vnfdId": vnfd})
        self.assertIn("VDU web has no workload", detail)
        parameters: dict[str, Any] = {"upgrade_type": "RollingUpdate"}
        body = {"vnfdId": vnfd, "additionalParams": parameters}
        detail = self.refused(instance_id, "change_vnfpkg", body)
        self.assertIn("VDU web", detail)
        mapped = {"web": {"kind": "Deployment", "name": "web"}}
        parameters["vdu_mapping"] = mapped
        done = self.assert_done(instance_id, "change_vnfpkg", body)
        self.assertNotIn("error", done)
        self.assertEqual(1, len(self.vnfm.vnfcs(instance_id)))


class TestMapping(WorkloadCase):
    def test_a_vdu_mapped_to_a_workload(self) -> None:
        vnfd = self.onboard_changed(flavour=("name: web\n", "name: front\n"))
        instance_id = self.vnfm.create(vnfd)
        mapped = {"web": {"kind": "Deployment", "name": "web"}}
        request = self.instantiate_request(vdu_mapping=mapped)
        self.assert_done(instance_id, "instantiate", request)
        out = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        self.assert_done(instance_id, "scale", out)
        self.assert_done(instance_id, "heal", {})
        vnfcs = self.vnfm.vnfcs(instance_id).values()
        self.assertEqual(["web"] * 2, [vnfc["vduId"] for vnfc in vnfcs])
        end = {"terminationType": "FORCEFUL"}
        self.assert_done(instance_id, "terminate", end)

    def test_invalid_mappings(self) -> None:
        instance_id = self.vnfm.create()
        web = {"kind": "Deployment", "name": "web"}
        for mapped, message in (
            ({"moon": web}, "there is no VDU 'moon', only web"),
            (
                {"web": {**web, "kind": "Service"}},
                "a Service is not a workload",
            ),
            ({"web": {**web, "name": "moon"}}, "VDU web has no workload"),
            ({"web": {"kind": "Deployment"}}, "required field `name`"),
            ({"web": {**web, "nmae": "x"}}, 'did you mean "name"?'),
            ([], "Expected `object`"),
        ):
            request = self.instantiate_request(vdu_mapping=mapped)
            detail = self.refused(instance_id, "instantiate", request)
            self.assertIn(message, detail)
            self.assertIn("vdu_mapping", detail)
        both = self.vnfm.request()
        both["additionalParams"]["vdu_mapping"] = {"web": web, "cache": web}
        detail = self.refused(instance_id, "instantiate", both)
        self.assertIn("VDUs cache, web are both the Deployment web", detail)


class TestParameters(WorkloadCase):
    def test_misspelled_parameters_are_refused(self) -> None:
        instance_id = self.vnfm.create()
        for name, suggested in (
            ("namespase", "namespace"),
            ("Namespace", "namespace"),
            ("lcm_kubernetes_def_files", "lcm-kubernetes-def-files"),
            ("vim_connection", "vim_connections"),
            ("vdu-mapping", "vdu_mapping"),
        ):
            request = self.instantiate_request(**{name: "other"})
            detail = self.refused(instance_id, "instantiate", request)
            self.assertIn(
                f'Unknown parameter "{name}"; did you mean "{suggested}"?',
                detail,
            )

    def test_misspelled_parameters_of_each_operation(self) -> None:
        instance_id = self.vnfm.start_vnf(self.vnfm.deployment_only())
        for task, body in (
            ("heal", {"additionalParams": {"All": True}}),
            (
                "change_vnfpkg",
                {
                    "vnfdId": self.vnfm.onboard(),
                    "additionalParams": {
                        "upgrade_type": "RollingUpdate",
                        "vdu_parms": [],
                    },
                },
            ),
        ):
            detail = self.refused(instance_id, task, body)
            self.assertIn("did you mean", detail)

    def test_declared_and_unrelated_parameters_are_accepted(self) -> None:
        old = "        flavour_description: The Deployment alone\n"
        new = old + DECLARED.replace("          ", "      ", 1).replace(
            "\n          ", "\n      "
        )
        text = text_of(FLAVOUR).replace(old, new)
        files = {FLAVOUR: text + EXTRA}
        vnfd = self.vnfm.onboard(self.useFixture(Csar(files=files)))
        request = self.instantiate_request(
            namespaces="a",
            name_space="b",
            vim_connection="c",
            my_script_parameter="d",
            vim_connections=None,
        )
        instance_id = self.vnfm.create(vnfd)
        done = self.assert_done(instance_id, "instantiate", request)
        shown_params = done["operationParams"]["additionalParams"]
        self.assertEqual("b", shown_params["name_space"])
        # nothing declares it
        self.assertEqual("***", shown_params["my_script_parameter"])

    def test_records_of_an_earlier_release_are_not_guessed(
        self,
    ) -> None:
        known_params = {"instantiate": (manifests.InstantiationParameters,)}
        task = self.vnfm.infra_task()
        change = msgspec.structs.replace(
            task.change, parameters={"name_space": "a"}
        )
        task = dataclasses.replace(task, change=change)
        self.assertRaises(
            errors.InvalidParameters,
            parameters.check_names,
            task,
            known_params,
        )
        vnfd = json.loads(base.encode(task.package.vnfd))
        for flavour in vnfd["flavours"].values():
            flavour.pop("parameters", None)
        package = dataclasses.replace(
            task.package, vnfd=msgspec.convert(vnfd, Vnfd)
        )
        earlier = dataclasses.replace(task, package=package)
        parameters.check_names(earlier, known_params)

    def test_all_is_false_or_absent(self) -> None:
        instance_id = self.vnfm.start_vnf(self.vnfm.deployment_only())
        for value in (False, None):
            body = {"additionalParams": {"all": value}}
            self.assert_done(instance_id, "heal", body)
        refused: tuple[tuple[Any, str], ...] = (
            (True, "Remove the parameter"),
            ("no", "Expected `bool | null`, got `str`"),
        )
        for value, message in refused:
            body = {"additionalParams": {"all": value}}
            self.assertIn(message, self.refused(instance_id, "heal", body))
