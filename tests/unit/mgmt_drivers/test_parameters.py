"""The object k8s_cluster_installation_param of additionalParams."""

import pathlib
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import installation_parameters
from tacker_cnf.mgmt_drivers.cluster.installation_parameters import (
    InstallationParameters,
)

SCRIPT = "Scripts/install.sh"


def parameters(**changed: Any) -> dict[str, Any]:
    nodes = {
        "ssh_cp_name": "cp",
        "nic_cp_name": "cp",
        "username": "debian",
        "password": "s3cret",
    }
    return {
        "script_path": SCRIPT,
        "master_node": {
            "vdu_id": "masterNode",
            "cluster_cp_name": "vip",
            **nodes,
        },
        "worker_node": {"vdu_id": "workerNode", **nodes},
        **changed,
    }


class ReadTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.package = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, "package"
        )
        script = self.package / SCRIPT
        script.parent.mkdir(parents=True)
        script.write_text("#!/bin/bash\n")
        (self.package.parent / "secret").write_text("of others")

    def read(self, param: dict[str, Any]) -> InstallationParameters:
        return installation_parameters.read(param, self.package)

    def rejection(self, param: dict[str, Any]) -> str:
        return str(
            self.assertRaises(errors.InvalidParameters, self.read, param)
        )

    def test_defaults(self) -> None:
        read = self.read(parameters())
        self.assertEqual("192.168.0.0/16", read.master_node.pod_cidr)
        self.assertEqual("10.96.0.0/12", read.master_node.cluster_cidr)
        self.assertFalse(read.drain.disable_eviction)
        self.assertEqual({}, read.proxy.environment)

    def test_group_of_a_vdu(self) -> None:
        read = self.read(parameters())
        self.assertIs(read.master_node, read.group_of("masterNode"))
        self.assertIs(read.worker_node, read.group_of("workerNode"))
        self.assertIsNone(read.group_of("store"))

    def test_the_script_has_to_be_named_by_the_package(self) -> None:
        read = self.read(parameters(script_path=f"./{SCRIPT}"))
        for named in (None, (SCRIPT, "other")):
            script = installation_parameters.script(read, self.package, named)
            self.assertEqual(b"#!/bin/bash\n", script)
        error = self.assertRaises(
            errors.InvalidParameters,
            installation_parameters.script,
            read,
            self.package,
            ("Definitions/a.yaml",),
        )
        self.assertIn("script_path: ./Scripts/install.sh is not", str(error))
        self.assertIn("names: Definitions/a.yaml.", str(error))

    def test_a_proxy_is_passed_to_the_nodes(self) -> None:
        read = self.read(
            parameters(
                proxy={
                    "http_proxy": "http://proxy:3128",
                    "no_proxy": "repository.example",
                    "k8s_node_cidr": "10.10.0.0/24",
                }
            )
        )
        self.assertEqual(
            {
                "http_proxy": "http://proxy:3128",
                "no_proxy": "repository.example,10.10.0.0/24",
            },
            read.proxy.environment,
        )

    def test_a_proxy_with_a_password_is_rejected(self) -> None:
        text = self.rejection(
            parameters(proxy={"https_proxy": "http://me:s3cret@proxy:3128"})
        )
        self.assertIn("proxy.https_proxy contains a user or a password", text)
        self.assertNotIn("s3cret", text)

    def test_missing_parameters_are_rejected(self) -> None:
        self.assertIn(
            "additionalParams.k8s_cluster_installation_param is missing",
            self.rejection({}),
        )

    def test_a_missing_attribute_is_named(self) -> None:
        param = parameters()
        del param["master_node"]["cluster_cp_name"]
        text = self.rejection(param)
        self.assertIn("cluster_cp_name", text)
        self.assertIn(
            "additionalParams.k8s_cluster_installation_param.master_node", text
        )

    def test_a_misspelled_attribute_is_named(self) -> None:
        param = parameters()
        param["worker_node"]["pasword"] = "x"
        self.assertIn("pasword", self.rejection(param))

    def test_parameters_of_tacker_that_are_not_supported(self) -> None:
        for name in installation_parameters.UNSUPPORTED:
            rejection = self.rejection(parameters(**{name: {}}))
            self.assertIn(f"_param.{name} is not supported", rejection)
            self.assertIn("script_path", rejection)

    def test_no_parameter_of_tacker_is_ignored(self) -> None:
        """Those that its guides document are read, or refused by name."""
        tacker = {
            *("script_path", "vim_name", "master_node", "worker_node"),
            *("proxy", "helm_installation_script_path", "storage_server"),
            *("private_registry_connection_info", "pv_registration_params"),
            *("ansible", "external_lb_param"),
        }
        read = set(InstallationParameters.__struct_fields__)
        refused = installation_parameters.UNSUPPORTED.keys()
        self.assertEqual(set(), read & refused)
        self.assertEqual(tacker, tacker & (read | refused))

    def test_a_login_without_a_secret_is_rejected(self) -> None:
        param = parameters()
        del param["worker_node"]["password"]
        self.assertIn(
            "worker_node: User debian has neither a password nor a private "
            "key",
            self.rejection(param),
        )

    def test_an_invalid_key_is_rejected_and_not_quoted(self) -> None:
        param = parameters()
        param["master_node"]["private_key"] = "-----BEGIN nothing"
        text = self.rejection(param)
        self.assertIn("master_node: The private key of user debian", text)
        self.assertNotIn("BEGIN nothing", text)

    def test_an_invalid_network_is_rejected(self) -> None:
        param = parameters()
        param["master_node"]["pod_cidr"] = "192.168.0.0/33"
        self.assertIn("master_node.pod_cidr", self.rejection(param))

    def test_one_vdu_for_both_groups_is_rejected(self) -> None:
        param = parameters()
        param["worker_node"]["vdu_id"] = "masterNode"
        self.assertIn("the same vdu_id, masterNode", self.rejection(param))

    def test_a_missing_script_is_rejected(self) -> None:
        self.assertIn(
            "no file Scripts/other.sh",
            self.rejection(parameters(script_path="Scripts/other.sh")),
        )

    def test_a_script_outside_of_the_package_is_rejected(self) -> None:
        for path in ("../secret", str(self.package.parent / "secret")):
            self.assertIn(
                "no file", self.rejection(parameters(script_path=path))
            )


class MergeTest(testtools.TestCase):
    def test_a_request_changes_only_its_own_attributes(self) -> None:
        param = {
            "k8s_cluster_installation_param": {
                "worker_node": {"password": "new"}
            }
        }
        merged = installation_parameters.merge_parameters(parameters(), param)
        self.assertEqual("new", merged["worker_node"]["password"])
        self.assertEqual("debian", merged["worker_node"]["username"])
        self.assertEqual("s3cret", merged["master_node"]["password"])

    def test_a_heal_overrides_logins(self) -> None:
        merged = installation_parameters.merge_parameters(
            parameters(),
            {"master_node_username": "ops", "worker_node_password": "new"},
        )
        self.assertEqual("ops", merged["master_node"]["username"])
        self.assertEqual("s3cret", merged["master_node"]["password"])
        self.assertEqual("new", merged["worker_node"]["password"])

    def test_a_request_without_parameters_changes_nothing(self) -> None:
        self.assertEqual(
            parameters(),
            installation_parameters.merge_parameters(parameters(), None),
        )
        self.assertEqual(
            parameters(),
            installation_parameters.merge_parameters(
                parameters(), {"other": 1}
            ),
        )

    def test_request_scoped_parameters_are_not_stored(self) -> None:
        first = parameters(drain={"timeout": 20.0})
        self.assertEqual(
            first, installation_parameters.persistent_parameters({}, first)
        )
        param = installation_parameters.merge_parameters(
            first,
            {
                "k8s_cluster_installation_param": {
                    "drain": {"disable_eviction": True},
                    "command_timeout": 5.0,
                    "worker_node": {"username": "ops"},
                }
            },
        )
        stored = installation_parameters.persistent_parameters(first, param)
        self.assertEqual({"timeout": 20.0}, stored["drain"])
        self.assertNotIn("command_timeout", stored)
        self.assertEqual("ops", stored["worker_node"]["username"])

    def test_a_value_that_is_no_object_is_rejected(self) -> None:
        self.assertRaises(
            errors.InvalidParameters,
            installation_parameters.merge_parameters,
            None,
            {"k8s_cluster_installation_param": "on"},
        )
