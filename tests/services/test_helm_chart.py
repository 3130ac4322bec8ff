"""The Helm chart of the service: rendered, validated, installed and upgraded
on the sandbox cluster.
"""

import configparser
import json
import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools
import yaml
from kubernetes_sandbox.cluster import SandboxCluster

from tacker_cnf import conf as configuration
from tests.services.backends import skip_or_fail
from tests.services.openstack_command import ROOT

CHART: Final = ROOT / "etc" / "helm" / "tacker-cnf"
DIGEST: Final = f"sha256:{'0' * 64}"
PROFILE: Final = {"type": "Localhost", "localhostProfile": "tacker-cnf.json"}
SCRIPTS: Final = {"scripts": {"run": "signed", "seccompProfile": PROFILE}}
#: values that render other objects or fields than the default ones
VALUES: Final[dict[str, dict[str, Any]]] = {
    "unchanged": {},
    "scripts": SCRIPTS,
    "tls": {
        "api": {
            "tlsSecret": "vnfm-tls",
            "endpoint": "https://vnfm.example:9890",
            "service": {
                "type": "LoadBalancer",
                "annotations": {"vendor.example/pool": "vnfm"},
            },
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "vnfm", "operator": "Exists"}],
        },
        "image": {"digest": DIGEST, "pullSecrets": [{"name": "registry"}]},
    },
    "upgrade": {
        "api": {"image": {"tag": "0.0.9"}},
        "image": {"digest": DIGEST},
    },
    "small": {
        "api": {"replicas": 1},
        "conductor": {"replicas": 1, "stopTimeoutSeconds": 600},
        "metrics": {"annotations": False},
        "migration": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "state": {"existingClaim": "packages"},
    },
    "limited": {
        "configuration": {
            "catalogue": {"max_package_bytes": 8589934592},
            "vims": {"allowed_networks": ["203.0.113.0/24", "2001:db8::/32"]},
        },
        "metrics": {"podMonitor": {"enabled": True, "labels": {"by": "x"}}},
        "networkPolicy": {
            "apiFrom": [{"ipBlock": {"cidr": "198.51.100.0/24"}}],
            "egress": {
                "vims": {
                    "to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}],
                    "ports": [6443],
                }
            },
        },
        "state": {
            "storageClassName": "shared",
            "accessModes": ["ReadWriteOnce"],
        },
    },
}
POD_MONITOR: Final = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podmonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"kind": "PodMonitor", "plural": "podmonitors"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def image_version(pod: dict[str, Any]) -> str:
    """Return the tag or the digest of the image of a pod."""
    (container,) = pod["spec"]["containers"]
    return str(container["image"]).removeprefix("tacker-cnf")[1:]


class ChartCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        for program in ("helm", "kubectl"):
            if shutil.which(program) is None:
                skip_or_fail(self, f"{program} is not installed")
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.environ = os.environ | {"HOME": str(self.folder)}

    def run_program(
        self, *command: str, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            check=False,
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environ,
            timeout=120,
        )

    def run_ok(self, *command: str, stdin: str | None = None) -> str:
        """Run a program that succeeds without a warning; return its stdout."""
        done = self.run_program(*command, stdin=stdin)
        self.assertEqual((0, ""), (done.returncode, done.stderr), str(command))
        return done.stdout

    def values(self, values: dict[str, Any]) -> str:
        """Write a file of values; return its path."""
        path = self.folder / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        return str(path)

    def render(self, values: dict[str, Any]) -> str:
        file = self.values(values)
        chart = ("vnfm", str(CHART), "--values", file)
        return self.run_ok("helm", "template", *chart)

    def objects(self, values: dict[str, Any]) -> list[Any]:
        return list(yaml.safe_load_all(self.render(values)))

    def pods(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the pod templates by the names of their containers."""
        templates = [
            one["spec"]["template"]
            for one in self.objects(values)
            if one["kind"] in {"Deployment", "Job"}
        ]
        return {t["spec"]["containers"][0]["name"]: t for t in templates}


class TestValues(ChartCase):
    def test_lint_finds_nothing(self) -> None:
        self.run_ok("helm", "lint", "--strict", str(CHART))

    def check_rejected(self, text: str, values: dict[str, Any]) -> None:
        chart = ("vnfm", str(CHART), "--values", self.values(values))
        done = self.run_program("helm", "template", *chart)
        self.assertNotEqual(0, done.returncode)
        self.assertIn(text, done.stderr)

    def test_wrong_values_are_rejected(self) -> None:
        self.check_rejected("replica", {"api": {"replica": 3}})
        self.check_rejected("replicas", {"api": {"replicas": -1}})
        self.check_rejected("tag", {"api": {"image": {"tag": 1.0}}})
        self.check_rejected("run", {"scripts": {"run": "some"}})
        self.check_rejected("seccompProfile", {"scripts": {"run": "all"}})
        secrets = ("DEFAULT", "transport_url"), ("database", "connection")
        for group, option in (*secrets, ("nfvo", "password")):
            values = {"configuration": {group: {option: "secret"}}}
            self.check_rejected(group, values)

    def test_the_service_reads_the_rendered_configuration(self) -> None:
        for values in VALUES.values():
            for one in self.objects(values):
                if one["kind"] == "ConfigMap":
                    self.check_configuration(one["data"], values)

    def check_configuration(
        self, data: dict[str, str], values: dict[str, Any]
    ) -> None:
        ((name, text),) = data.items()
        path = self.folder / name
        path.write_text(text)
        conf = configuration.load([f"--config-file={path}"])
        parser = configparser.ConfigParser(default_section="none")
        parser.read_string(text)
        for group, options in parser.items():
            for option in options:
                section = conf if group == "DEFAULT" else conf[group]
                self.assertIn(option, section)
        chosen = values.get("configuration", {})
        for group, options in chosen.items():
            for option, value in options.items():
                self.assertEqual(value, conf[group][option])

    def test_pods_have_no_rights_beyond_their_task(self) -> None:
        for values in VALUES.values():
            pods = self.pods(values)
            for pod in pods.values():
                self.check_rights(pod["spec"])
        self.assertEqual({"api", "conductor"}, set(pods) - {"migration"})

    def check_rights(self, spec: dict[str, Any]) -> None:
        (container,) = spec["containers"]
        self.assertFalse(spec["automountServiceAccountToken"])
        self.assertTrue(spec["securityContext"]["runAsNonRoot"])
        context = container["securityContext"]
        self.assertTrue(context["readOnlyRootFilesystem"])
        self.assertFalse(context["allowPrivilegeEscalation"])
        self.assertEqual({"drop": ["ALL"]}, context["capabilities"])

    def test_only_scripts_get_user_namespaces(self) -> None:
        for values, users, proc, profile in (
            ({}, None, None, {"type": "RuntimeDefault"}),
            (SCRIPTS, False, "Unmasked", PROFILE),
        ):
            for pod in self.pods(values).values():
                spec = pod["spec"]
                context = spec["containers"][0]["securityContext"]
                self.assertIs(users, spec.get("hostUsers"))
                self.assertEqual(proc, context.get("procMount"))
                found = spec["securityContext"]["seccompProfile"]
                self.assertEqual(profile, found)

    def test_a_program_may_have_an_image_of_its_own(self) -> None:
        old, new = {"tag": "0.0.9"}, {"digest": DIGEST}
        api, conductor = {"api": {"image": old}}, {"conductor": {"image": old}}
        back = {"image": old, "api": {"image": new}}
        for values, images in (
            ({"image": new}, (DIGEST, DIGEST, DIGEST)),
            ({"image": new} | api, ("0.0.9", DIGEST, DIGEST)),
            ({"image": new} | conductor, (DIGEST, "0.0.9", DIGEST)),
            (back, (DIGEST, "0.0.9", "0.0.9")),
        ):
            pods = self.pods(values)
            names = ("api", "conductor", "migration")
            found = (image_version(pods[name]) for name in names)
            self.assertEqual(images, tuple(found))

    def test_a_conductor_has_time_for_its_operations(self) -> None:
        spec = self.pods(VALUES["small"])["conductor"]["spec"]
        self.assertEqual(630, spec["terminationGracePeriodSeconds"])


class TestCluster(ChartCase):
    def setUp(self) -> None:
        super().setUp()
        cluster = SandboxCluster(
            nodes=2, pod_start_delay=0.05, pod_stop_delay=0.05
        )
        self.addCleanup(cluster.stop)
        cluster.start()
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(cluster.kubeconfig()))
        self.environ["KUBECONFIG"] = str(kubeconfig)

    def test_the_api_server_knows_every_field(self) -> None:
        definition = json.dumps(POD_MONITOR)
        self.run_ok("kubectl", "create", "-f", "-", stdin=definition)
        for name, values in VALUES.items():
            rendered = self.render(values)
            namespaced = ("kubectl", "--namespace", name)
            self.run_ok("kubectl", "create", "namespace", name)
            apply = (*namespaced, "apply", "--validate=strict", "-f", "-")
            self.run_ok(*apply, stdin=rendered)
            server_side = (*apply, "--server-side", "--force-conflicts")
            self.run_ok(*server_side, stdin=rendered)

    def helm(self, *arguments: str) -> None:
        done = self.run_program("helm", *arguments, "--wait")
        self.assertEqual(0, done.returncode, done.stderr)

    def names(self, kinds: str) -> list[str]:
        output = self.run_ok("kubectl", "get", kinds, "-o", "name")
        return output.split()

    def events(self, reason: str) -> int:
        selector = f"--field-selector=reason={reason}"
        listed = ("kubectl", "get", "events", selector, "-o", "name")
        return len(self.run_ok(*listed).split())

    def test_install_upgrade_and_uninstall(self) -> None:
        self.helm("install", "vnfm", str(CHART))
        self.assertEqual(4, len(self.names("pods")))
        self.assertEqual(1, self.events("Completed"))
        self.upgrade()
        self.helm("uninstall", "vnfm")
        left = self.names("deployments,jobs,pods,pvc,pdb,netpol")
        self.assertEqual(["persistentvolumeclaim/vnfm-tacker-cnf"], left)

    def versions(self) -> dict[str, set[str]]:
        """Return the names of the pods of each image that are to remain."""
        listed = self.run_ok("kubectl", "get", "pods", "-o", "json")
        found: dict[str, set[str]] = defaultdict(set)
        for pod in json.loads(listed)["items"]:
            if "deletionTimestamp" not in pod["metadata"]:
                found[image_version(pod)].add(pod["metadata"]["name"])
        return dict(found)

    def upgrade(self) -> None:
        """Upgrade as the guide says: the conductors, then the API servers."""
        ((old, before),) = self.versions().items()
        upgrade = (
            *("upgrade", "vnfm", str(self.next_release("9.9.9"))),
            # without any value, helm would keep those of the release
            *("--values", self.values({"user": 10001})),
        )
        self.helm(*upgrade, "--set-string", f"api.image.tag={old}")
        self.assertEqual(2, self.events("Completed"))
        versions = self.versions()
        self.assertEqual({old, "9.9.9"}, set(versions))
        api = {name for name in before if "-api-" in name}
        self.assertEqual(api, versions[old])
        self.helm(*upgrade)
        self.assertEqual(3, self.events("Completed"))
        self.assertEqual({"9.9.9"}, set(self.versions()))

    def next_release(self, version: str) -> Path:
        """Write the chart of a later release."""
        chart = self.folder / "chart"
        shutil.copytree(CHART, chart)
        file = chart / "Chart.yaml"
        values = yaml.safe_load(file.read_text())
        values |= {"version": version, "appVersion": version}
        file.write_text(yaml.safe_dump(values))
        return chart
