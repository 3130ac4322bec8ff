"""The kinds, namespaces, names and rights that packages may use."""

from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers import path_segment
from tacker_cnf.drivers.kubernetes import object_paths, rbac_rules, vnf_kinds
from tacker_cnf.drivers.kubernetes.cluster_policy import ClusterPolicy
from tacker_cnf.drivers.kubernetes.vnf_kinds import RBAC


class TestKinds(testtools.TestCase):
    def test_no_kind_is_in_both_tables(self) -> None:
        for group, kinds in vnf_kinds.VNF_KINDS.items():
            other = vnf_kinds.OTHER_KINDS.get(group, frozenset())
            self.assertEqual(frozenset(), kinds & other)

    def test_patterns(self) -> None:
        for pattern, group, kind, expected in (
            ("Namespace", "", "Namespace", True),
            ("ClusterRole", RBAC, "ClusterRole", True),
            ("ClusterRole", RBAC, "ClusterRoleBinding", False),
            ("ClusterRole", "vendor.example", "ClusterRole", False),
            (f"ClusterRole.{RBAC}", RBAC, "ClusterRole", True),
            ("Namespace", "vendor.example", "Namespace", False),
            ("*.vendor.example", "vendor.example", "Gadget", True),
            ("*.vendor.example", "other.example", "Gadget", False),
            ("*", "vendor.example", "Gadget", True),
        ):
            policy = ClusterPolicy(allowed_kinds=(pattern,))
            self.assertEqual(
                expected, policy.allows_kind(group, kind), f"{pattern} {kind}"
            )

    def test_a_pattern_that_matches_no_kind(self) -> None:
        error = self.assertRaises(
            msgspec.ValidationError,
            msgspec.convert,
            {"allowed_kinds": ["ClusterRoles"]},
            ClusterPolicy,
        )
        self.assertIn('Did you mean "ClusterRole"?', str(error))

    def test_namespaces(self) -> None:
        for patterns, namespace, expected in (
            (("*",), "default", True),
            (("*",), "kube-system", False),
            (("kube-*",), "kube-public", False),
            (("kube-system",), "kube-system", True),
            (("vnf-*",), "vnf-a", True),
            (("vnf-*",), "a-vnf-", False),
            ((), "default", False),
        ):
            policy = ClusterPolicy(allowed_namespaces=patterns)
            self.assertEqual(
                expected, policy.allows_namespace(namespace), str(patterns)
            )


class TestRoles(testtools.TestCase):
    def problems(self, **rule: Any) -> list[str]:
        rule = {
            "apiGroups": [""],
            "resources": ["pods"],
            "verbs": ["*"],
        } | rule
        return list(rbac_rules.find_problems("Role", {"rules": [rule]}))

    def test_rules(self) -> None:
        for rule in (
            {},
            {"resources": ["secrets"], "verbs": ["get", "list"]},
            {"apiGroups": ["vendor.example"], "resources": ["*"]},
            {"apiGroups": [RBAC], "resources": ["roles"], "verbs": ["get"]},
        ):
            self.assertEqual([], self.problems(**rule), str(rule))
        for rule in (
            {"verbs": ["impersonate"]},
            {"verbs": ["get", "escalate"]},
            {"verbs": ["bind"]},
            {"resources": ["secrets"]},
            {"resources": ["*"], "verbs": ["get"]},
            {"resources": ["*"], "apiGroups": ["*"]},
            {"resources": ["serviceaccounts"]},
            {"resources": ["serviceaccounts/token"], "verbs": ["create"]},
            {"resources": ["*/token"], "verbs": ["create"]},
            {"resources": ["*/token"], "apiGroups": ["*"]},
            {"resources": ["secrets"], "verbs": ["create"]},
            {"resources": ["roles"], "apiGroups": [RBAC]},
            {"resources": ["rolebindings"], "apiGroups": ["*"]},
        ):
            self.assertNotEqual([], self.problems(**rule), str(rule))

    def test_rules_that_create_pods(self) -> None:
        def problems(*rule: list[str]) -> list[str]:
            groups, resources, verbs = rule
            body = {
                "rules": [
                    {
                        "apiGroups": groups,
                        "resources": resources,
                        "verbs": verbs,
                    }
                ]
            }
            self.assertEqual(
                [], list(rbac_rules.find_pod_rules("RoleBinding", body))
            )
            return list(rbac_rules.find_pod_rules("Role", body))

        for groups, resources, verbs in (
            ([""], ["pods"], ["get", "list", "watch", "patch", "delete"]),
            ([""], ["pods/log", "pods/exec"], ["*"]),
            (["apps"], ["deployments"], ["get", "delete"]),
            (["apps"], ["deployments/scale", "*/scale"], ["patch", "*"]),
            (["vendor.example"], ["jobs", "*"], ["*"]),
            ([""], ["deployments"], ["create"]),
        ):
            self.assertEqual([], problems(groups, resources, verbs))
        for groups, resources, verbs in (
            ([""], ["pods"], ["create"]),
            (["*"], ["pods"], ["*"]),
            ([""], ["pods/ephemeralcontainers"], ["patch"]),
            ([""], ["*/ephemeralcontainers"], ["update"]),
            ([""], ["replicationcontrollers"], ["create"]),
            (["apps"], ["daemonsets"], ["update"]),
            (["apps"], ["deployments"], ["patch"]),
            (["apps"], ["replicasets"], ["create"]),
            (["apps"], ["statefulsets"], ["*"]),
            (["apps"], ["*"], ["create"]),
            (["batch"], ["cronjobs"], ["create"]),
            (["*"], ["jobs"], ["create"]),
        ):
            (problem, *_) = problems(groups, resources, verbs)
            self.assertIn("rules[0].verbs: ", problem)
            self.assertIn("creates pods", problem)

    def test_bindings(self) -> None:
        for kind, name, is_allowed in (
            ("Role", "cluster-admin", True),
            ("ClusterRole", "view", True),
            ("ClusterRole", "edit", False),
            ("ClusterRole", "cluster-admin", False),
        ):
            body = {"roleRef": {"kind": kind, "name": name}}
            found = list(rbac_rules.find_problems("RoleBinding", body))
            self.assertEqual(is_allowed, not found, name)

    def test_malformed_objects(self) -> None:
        roles: tuple[dict[str, Any], ...] = (
            {},
            {"rules": 1},
            {"rules": [1, {"verbs": "get"}]},
        )
        for body in roles:
            self.assertEqual([], list(rbac_rules.find_problems("Role", body)))
        for body in ({}, {"roleRef": []}):
            self.assertTrue(
                list(rbac_rules.find_problems("RoleBinding", body))
            )


class FakeResource:
    """A kind, as the client library has it."""

    def path(self, name: str | None, namespace: str | None) -> str:
        place = f"/namespaces/{namespace}" if namespace else ""
        return f"/api/v1{place}/pods" + (f"/{name}" if name else "")


class TestPaths(testtools.TestCase):
    def test_names_are_quoted(self) -> None:
        for name, expected in (
            ("web", "web"),
            ("vendor:reader", "vendor:reader"),
            ("a?x=1#b", "a%3Fx%3D1%23b"),
            ("%2e%2e", "%252e%252e"),
            ("a b", "a%20b"),
        ):
            path = object_paths.path_of(FakeResource(), name, "default")
            self.assertEqual(
                f"/api/v1/namespaces/default/pods/{expected}", path
            )

    def test_names_that_are_other_paths(self) -> None:
        for name in ("", ".", "..", "a/b", "../../secrets"):
            self.assertRaises(
                errors.InvalidParameters, path_segment.quote, name
            )
            self.assertRaises(
                errors.InvalidParameters,
                object_paths.path_of,
                FakeResource(),
                name,
                "default",
            )

    def test_namespaces_that_are_other_paths(self) -> None:
        for namespace in ("", "..", "a/b", "kube-system?x=1", "a\n", "A"):
            self.assertRaises(
                errors.InvalidParameters,
                object_paths.path_of,
                FakeResource(),
                None,
                namespace,
            )

    def test_kinds(self) -> None:
        for version, kind in (("v1", "Pod"), ("a.example/v1beta1", "Gadget")):
            object_paths.check_kind(version, kind)
        for version, kind in (
            ("", "Pod"),
            ("/v1", "Pod"),
            ("a/b/v1", "Pod"),
            ("../v1", "Pod"),
            ("v1?x", "Pod"),
            ("v1", ""),
            ("v1", "Pod/log"),
        ):
            self.assertRaises(
                errors.InvalidParameters,
                object_paths.check_kind,
                version,
                kind,
            )
