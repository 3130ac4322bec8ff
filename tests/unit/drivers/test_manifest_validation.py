"""Malformed manifests of a new package are rejected before any change."""

from pathlib import Path
from typing import Any, Final

import fixtures
import testtools
import yaml

from tacker_cnf import errors
from tests.unit.drivers import update_plans
from tests.unit.drivers.update_plans import CONFIGS, REST, texts

WORKLOADS: Final = REST[1]
CRON_JOB: Final = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: 0 3 * * *
  jobTemplate:
    spec:
      template:
        spec:
          containers: [{name: nightly, image: "busybox:1.37"}]
"""
CONTAINERS: Final = ("spec", "template", "spec", "containers")
ABSENT: Final = object()
#: file, object, path of a field, its value -> part of the error
CASES: Final[tuple[tuple[str, str, tuple[Any, ...], Any, str], ...]] = (
    (WORKLOADS, "front", ("spec",), None, "`null` - at `$.spec`"),
    (WORKLOADS, "front", ("spec",), ABSENT, "required field `spec`"),
    (WORKLOADS, "front", ("spec",), "x", "got `str` - at `$.spec`"),
    (
        WORKLOADS,
        "store",
        ("spec", "template"),
        ABSENT,
        "required field `template` - at `$.spec`",
    ),
    (
        WORKLOADS,
        "agent",
        ("spec", "template", "spec"),
        None,
        "`null` - at `$.spec.template.spec`",
    ),
    (
        WORKLOADS,
        "cache",
        CONTAINERS,
        {"name": "cache"},
        "`array`, got `object` - at `$.spec.template.spec.containers`",
    ),
    (WORKLOADS, "cache", CONTAINERS, [], "of length >= 1"),
    (
        WORKLOADS,
        "front",
        (*CONTAINERS, 0, "name"),
        ABSENT,
        "required field `name` - at `$.spec.template.spec.containers[0]`",
    ),
    (
        WORKLOADS,
        "front",
        (*CONTAINERS, 0, "name"),
        5,
        "`str`, got `int` - at `$.spec.template.spec.containers[0].name`",
    ),
    (
        WORKLOADS,
        "cache",
        ("spec", "template", "spec", "volumes", 0, "projected", "sources"),
        ["x"],
        "volumes[0].projected.sources[0]`",
    ),
    (
        WORKLOADS,
        "probe",
        ("spec", "containers", 0, "env"),
        {"A": "a"},
        "`$.spec.containers[0].env`",
    ),
    (WORKLOADS, "tool", ("spec", "containers"), None, "$.spec.containers`"),
    (
        WORKLOADS,
        "nightly",
        ("spec", "jobTemplate", "spec", "template"),
        ABSENT,
        "required field `template` - at `$.spec.jobTemplate.spec`",
    ),
    (CONFIGS, "update-config", ("data",), "a: b", "`str` - at `$.data`"),
    (CONFIGS, "update-config", ("data", "GREETING"), 5, "at `$.data[...]`"),
    (CONFIGS, "update-secret", ("stringData",), ["a"], "`$.stringData`"),
)


def changed(text: str, name: str, place: tuple[Any, ...], value: Any) -> str:
    bodies = list(yaml.safe_load_all(text))
    (found,) = (b for b in bodies if b["metadata"]["name"] == name)
    *path, last = place
    for key in path:
        found = found[key]
    if value is ABSENT:
        del found[last]
    else:
        found[last] = value
    return yaml.safe_dump_all(bodies)


class TestManifestValidation(testtools.TestCase):
    def tree(self, files: dict[str, str]) -> Path:
        root = Path(self.useFixture(fixtures.TempDir()).path)
        return update_plans.write(root / "tree", files)

    def files(self) -> dict[str, str]:
        files = texts()
        files[WORKLOADS] += "---\n" + CRON_JOB
        return files

    def test_valid_manifests_are_accepted(self) -> None:
        update_plans.read(self.tree(self.files()))

    def test_malformed_fields_are_reported_with_their_path(self) -> None:
        for file, name, place, value, message in CASES:
            files = self.files()
            files[file] = changed(files[file], name, place, value)
            tree = self.tree(files)
            for plan in (update_plans.update, update_plans.package_change_to):
                error = self.assertRaises(errors.InvalidParameters, plan, tree)
                self.assertIn(f"The manifest {file}: ", str(error))
                self.assertIn(f" {name}: ", str(error))
                self.assertIn(message, str(error))

    def test_null_values_and_custom_kinds_are_accepted(self) -> None:
        """Null equals a missing value; custom kinds are not checked."""
        files = self.files()
        pod = ("spec", "template", "spec")
        for key in ("initContainers", "volumes", "imagePullSecrets"):
            files[WORKLOADS] = changed(
                files[WORKLOADS], "front", (*pod, key), None
            )
        files[WORKLOADS] += (
            "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"
            "metadata: {name: many}\nspec: {tasks: []}\n"
            "---\napiVersion: example.com/v1\nkind: Secret\n"
            "metadata: {name: update-secret}\ndata: [a]\n"
        )
        update_plans.read(self.tree(files))

    def test_a_custom_kind_named_like_a_core_kind(self) -> None:
        """Only objects of the core API are updated."""
        other = (
            "apiVersion: example.com/v1\nkind: Secret\n"
            "metadata: {name: update-secret}\n---\n"
        )
        files = self.files()
        files[REST[0]] = other + files[REST[0]]
        plan = update_plans.update(self.tree(files))
        self.assertEqual(
            {
                ("", "ConfigMap", "update-config"),
                ("", "Secret", "update-secret"),
            },
            {pair.after.key for pair in plan.written},
        )
        files[CONFIGS] = other + files[CONFIGS]
        error = self.assertRaises(
            errors.InvalidParameters, update_plans.update, self.tree(files)
        )
        self.assertIn("contains a Secret of example.com; only", str(error))
