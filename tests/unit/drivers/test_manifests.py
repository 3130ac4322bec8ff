import copy
import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import manifests
from tacker_cnf.drivers.kubernetes.manifests import Manifest, Rendered
from tests.factories import a_state, a_task

MINE = {"tacker_vnf_instance_id": "an-instance"}
MINE_AND_WEB = MINE | {"tacker_vdu_id": "web"}


def an_object(kind: str, name: str = "thing", **more: Any) -> dict[str, Any]:
    api = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}
    return {
        "apiVersion": api.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": name},
        **more,
    }


def a_workload(kind: str, name: str = "web") -> dict[str, Any]:
    labels = {"app": name}
    spec = {
        "replicas": 7,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {}},
    }
    return an_object(kind, name, spec=spec)


class ManifestTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        # a directory of its own, as parsed files are cached
        self.tree = Path(self.useFixture(fixtures.TempDir()).path)
        self.number = 0

    def render_files(
        self, files: Mapping[str, str | bytes], **parameters: Any
    ) -> Rendered:
        self.number += 1
        tree = self.tree / str(self.number)
        for name, text in files.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = text if isinstance(text, bytes) else text.encode()
            path.write_bytes(raw)
        given = {"lcm-kubernetes-def-files": list(files)} | parameters
        self.state = a_state(parameters=given, counts={"web": 3, "agent": 1})
        return self.render_tree(tree)

    def render_tree(self, tree: Path) -> Rendered:
        return manifests.render(
            a_task().instance.id, a_task(tree).package, self.state
        )

    def render(self, *bodies: Any, **parameters: Any) -> Rendered:
        """Render these objects, each a document of one file."""
        text = "\n---\n".join(map(json.dumps, bodies))
        return self.render_files({"all.yaml": text}, **parameters)

    def render_one(self, body: Any) -> Manifest:
        (manifest,) = self.render(body).objects
        return manifest

    def refused(self, *bodies: Any, **parameters: Any) -> str:
        error = self.assertRaises(
            errors.InvalidParameters, self.render, *bodies, **parameters
        )
        return str(error)


class TestParameters(ManifestTest):
    def test_parameters_are_read(self) -> None:
        rendered = self.render(an_object("Service"), namespace="here")
        self.assertEqual("here", rendered.namespace)
        self.assertEqual(("all.yaml",), rendered.def_files)
        self.assertEqual("an-instance", rendered.instance_id)
        self.assertEqual(
            "tacker_vnf_instance_id=an-instance", rendered.selector
        )

    def test_invalid_parameters_are_reported_with_their_path(self) -> None:
        name = "lcm-kubernetes-def-files"
        cases: list[tuple[dict[str, Any], str]] = [
            ({}, f"missing required field `{name}`"),
            ({name: "a.yaml"}, f"`$.{name}`"),
            ({name: [1]}, f"`$.{name}[0]`"),
            ({name: ["a.yaml"], "namespace": 1}, "`$.namespace`"),
        ]
        for parameters, message in cases:
            error = self.assertRaises(
                errors.InvalidParameters,
                manifests.parameters_of,
                a_state(parameters=parameters),
            )
            self.assertIn("additionalParams: ", str(error))
            self.assertIn(message, str(error))

    def test_unknown_parameters_are_ignored(self) -> None:
        self.render(an_object("Service"), colour="red")


class TestFiles(ManifestTest):
    def test_files_and_documents_in_their_order(self) -> None:
        rendered = self.render_files(
            {
                "b.yaml": "---\n"
                + json.dumps(an_object("Service", "one"))
                + "\n---\n---\n# nothing\n---\n"
                + json.dumps(an_object("Service", "two")),
                "a/c.json": json.dumps(an_object("Service", "three")),
            }
        )
        self.assertEqual(
            ["one", "two", "three"], [m.name for m in rendered.objects]
        )

    def test_a_missing_file_is_reported(self) -> None:
        for name in ("no.yaml", "../1/all.yaml", "/etc/passwd", ".", ""):
            message = self.refused(
                an_object("Service"), **{"lcm-kubernetes-def-files": [name]}
            )
            self.assertEqual(
                f"The VNF package of VNFD a-vnfd has no file {name!r}.",
                message,
            )

    def test_bad_yaml_is_reported_with_its_line(self) -> None:
        text = textwrap.dedent(
            """\
            apiVersion: v1
            kind: Service
            metadata: {name: [
            """
        )
        error = self.assertRaises(
            errors.InvalidParameters, self.render_files, {"a/bad.yaml": text}
        )
        self.assertIn("The manifest a/bad.yaml cannot be read", str(error))
        self.assertIn("a/bad.yaml, line 4", str(error))

    def test_a_file_that_is_not_text(self) -> None:
        for raw in (b"\xff\xfe\xfa", b"a: \x00"):
            error = self.assertRaises(
                errors.InvalidParameters,
                self.render_files,
                {"a.yaml": raw},
            )
            self.assertIn("The manifest a.yaml cannot be read", str(error))

    def test_changes_of_the_result_do_not_change_the_cache(self) -> None:
        files = {"a.yaml": json.dumps(a_workload("Deployment"))}
        first = self.render_files(files)
        before = copy.deepcopy(first.objects)
        for manifest in self.render_tree(self.tree / "1").objects:
            manifest.body["spec"].clear()
            manifest.body["metadata"]["labels"].clear()
        again = self.render_tree(self.tree / "1")
        self.assertEqual(before, again.objects)


class TestLists(ManifestTest):
    def test_each_item_is_an_object(self) -> None:
        items = [an_object("Service", name) for name in "ab"]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        rendered = self.render(listed, an_object("Service", "c"))
        self.assertEqual(["a", "b", "c"], [m.name for m in rendered.objects])

    def test_an_empty_list_has_no_objects(self) -> None:
        empty: list[dict[str, Any]] = [{}, {"items": []}, {"items": None}]
        for items in empty:
            listed = {"apiVersion": "v1", "kind": "List", **items}
            self.assertEqual((), self.render(listed).objects)


class TestRejected(ManifestTest):
    def test_a_document_that_is_not_an_object(self) -> None:
        for body in ("text", 5, [an_object("Service")]):
            self.assertEqual(
                "The manifest all.yaml contains a value that is not an object.",
                self.refused(body),
            )

    def test_an_object_without_api_version_or_kind(self) -> None:
        values: list[Any] = [None, 1, []]
        for key in ("apiVersion", "kind"):
            body = an_object("Service")
            for value in values:
                self.assertEqual(
                    f"The manifest all.yaml contains an object without {key}.",
                    self.refused(body | {key: value}),
                )
            del body[key]
            self.assertEqual(
                f"The manifest all.yaml contains an object without {key}.",
                self.refused(body),
            )

    def test_metadata_that_are_not_an_object(self) -> None:
        body = an_object("Service") | {"metadata": "text"}
        self.assertEqual(
            "The manifest all.yaml: metadata of a Service is not an object.",
            self.refused(body),
        )

    def test_the_same_object_twice(self) -> None:
        body = an_object("Service", "web")
        self.assertEqual(
            "Service web is defined in two manifests.",
            self.refused(body, body),
        )

    def test_the_same_name_of_another_kind_or_namespace(self) -> None:
        service = an_object("Service", "web")
        service["metadata"]["namespace"] = "there"
        self.render(
            an_object("Service", "web"), an_object("ConfigMap", "web"), service
        )

    def test_the_same_kind_and_name_of_another_group(self) -> None:
        other = an_object("Service", "web") | {"apiVersion": "example.com/v1"}
        rendered = self.render(an_object("Service", "web"), other)
        self.assertEqual(
            [("apps", "Service", "web"), ("example.com", "Service", "web")],
            [manifest.key for manifest in rendered.objects],
        )


class TestNamespace(ManifestTest):
    def render_names(self, *namespaces: str | None) -> list[dict[str, Any]]:
        bodies = []
        for number, namespace in enumerate(namespaces):
            body = an_object("Service", f"s{number}")
            if namespace:
                body["metadata"]["namespace"] = namespace
            bodies.append(body)
        return bodies

    def test_the_common_namespace_is_used(self) -> None:
        cases: list[tuple[list[str | None], str]] = [
            ([], "default"),
            ([None], "default"),
            (["here"], "here"),
            (["here", None, "here"], "here"),
        ]
        for namespaces, shared in cases:
            rendered = self.render(*self.render_names(*namespaces))
            self.assertEqual(shared, rendered.namespace)

    def test_several_namespaces_need_a_parameter(self) -> None:
        bodies = self.render_names("there", "here", None)
        self.assertEqual(
            "additionalParams.namespace is needed: the manifests name "
            "several namespaces (here, there).",
            self.refused(*bodies),
        )
        self.assertEqual(
            "mine", self.render(*bodies, namespace="mine").namespace
        )


class TestOrder(ManifestTest):
    def test_objects_that_others_need_come_first(self) -> None:
        kinds = [
            "Service",
            "Deployment",
            "CustomResourceDefinition",
            "ConfigMap",
            "Namespace",
        ]
        rendered = self.render(*(an_object(kind, "x") for kind in kinds))
        self.assertEqual(
            [
                "Namespace",
                "CustomResourceDefinition",
                "Service",
                "Deployment",
                "ConfigMap",
            ],
            [m.kind for m in rendered.objects],
        )


class TestLabels(ManifestTest):
    def test_every_object_has_the_label_of_the_instance(self) -> None:
        for kind in ("Service", "Namespace", "ClusterRole", "Anything"):
            body = self.render_one(an_object(kind)).body
            self.assertEqual(MINE, body["metadata"]["labels"])

    def test_labels_of_the_manifest_are_kept(self) -> None:
        body = an_object("Service")
        for own in ({"app": "x"}, {}, None):
            body["metadata"]["labels"] = own
            labels = self.render_one(body).body["metadata"]["labels"]
            self.assertEqual((own or {}) | MINE, labels)

    def test_an_object_without_metadata(self) -> None:
        body = an_object("Service")
        del body["metadata"]
        manifest = self.render_one(body)
        self.assertEqual(MINE, manifest.body["metadata"]["labels"])
        self.assertEqual("", manifest.name)

    def test_pods_of_a_vdu_have_its_label(self) -> None:
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
            manifest = self.render_one(a_workload(kind))
            self.assertEqual("web", manifest.vdu_id)
            self.assertEqual(MINE, manifest.body["metadata"]["labels"])
            template = manifest.body["spec"]["template"]
            self.assertEqual(
                {"app": "web"} | MINE_AND_WEB, template["metadata"]["labels"]
            )
            # the selector is not changed
            self.assertEqual(
                {"matchLabels": {"app": "web"}},
                manifest.body["spec"]["selector"],
            )

    def test_a_bare_pod_has_the_label_of_its_vdu(self) -> None:
        manifest = self.render_one(an_object("Pod", "web"))
        self.assertEqual("web", manifest.vdu_id)
        self.assertEqual(MINE_AND_WEB, manifest.body["metadata"]["labels"])

    def test_pods_of_other_workloads_have_the_label_of_the_instance(
        self,
    ) -> None:
        for body in (
            a_workload("Deployment", "sidecar"),
            a_workload("Job", "web"),
            a_workload("ReplicationController", "web"),
        ):
            manifest = self.render_one(body)
            self.assertIsNone(manifest.vdu_id)
            template = manifest.body["spec"]["template"]
            self.assertEqual(
                body["spec"]["template"]["metadata"]["labels"] | MINE,
                template["metadata"]["labels"],
            )

    def test_a_service_named_like_a_vdu_is_no_workload(self) -> None:
        manifest = self.render_one(an_object("Service", "web"))
        self.assertIsNone(manifest.vdu_id)

    def test_jobs_and_pods_of_a_cron_job_are_labelled(self) -> None:
        job: dict[str, Any] = {"spec": {"template": {"spec": {}}}}
        body = an_object("CronJob", spec={"jobTemplate": job})
        job = self.render_one(body).body["spec"]["jobTemplate"]
        self.assertEqual(MINE, job["metadata"]["labels"])
        template = job["spec"]["template"]
        self.assertEqual(MINE, template["metadata"]["labels"])

    def test_claims_of_a_stateful_set_are_labelled(self) -> None:
        body = a_workload("StatefulSet")
        body["spec"]["volumeClaimTemplates"] = [
            {"metadata": {"name": "data"}},
            {"metadata": {"name": "log", "labels": {"a": "b"}}},
        ]
        data, log = self.render_one(body).body["spec"]["volumeClaimTemplates"]
        self.assertEqual(
            {"name": "data", "labels": MINE_AND_WEB}, data["metadata"]
        )
        self.assertEqual({"a": "b"} | MINE_AND_WEB, log["metadata"]["labels"])

    def test_a_custom_kind_with_a_template_is_not_changed(
        self,
    ) -> None:
        body = an_object("Widget", spec={"template": {"colour": "red"}})
        manifest = self.render_one(body)
        self.assertEqual(body["spec"], manifest.body["spec"])


class TestReplicas(ManifestTest):
    def test_replicas_are_those_of_the_target(self) -> None:
        for kind in ("Deployment", "ReplicaSet", "StatefulSet"):
            spec = self.render_one(a_workload(kind)).body["spec"]
            self.assertEqual(3, spec["replicas"])

    def test_replicas_are_set_if_the_manifest_has_none(self) -> None:
        body = a_workload("Deployment")
        del body["spec"]["replicas"]
        self.assertEqual(3, self.render_one(body).body["spec"]["replicas"])

    def test_replicas_of_other_workloads_are_kept(self) -> None:
        for body in (
            a_workload("DaemonSet"),
            a_workload("Deployment", "sidecar"),
            an_object("Widget", "web", spec={"replicas": 7}),
        ):
            spec = self.render_one(body).body["spec"]
            self.assertEqual(7, spec["replicas"])

    def test_a_vdu_is_found_by_its_name(self) -> None:
        rendered = self.render(
            a_workload("Deployment", "web"), an_object("Pod", "agent")
        )
        self.assertEqual(
            {"web": "Deployment", "agent": "Pod"},
            {vdu: m.kind for vdu, m in rendered.workloads.items()},
        )
        self.assertEqual({"web": 3, "agent": 1}, rendered.counts)
