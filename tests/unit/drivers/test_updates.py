"""Comparison of contents, and references that keep an object."""

from typing import Any

import testtools

from tacker_cnf.drivers.kubernetes import content, plan_task

CONTENT = "aGVsbG8sIHdvcmxk"
WRAPPED = f"{CONTENT[:8]}\n  {CONTENT[8:]}\n"


def secret(**content: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", **content}


def config(**content: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", **content}


class TestSameContent(testtools.TestCase):
    def test_equal_bytes_in_different_notations(self) -> None:
        plain = secret(data={"a": CONTENT})
        for other in (
            secret(data={"a": WRAPPED}),
            secret(stringData={"a": "hello, world"}),
        ):
            self.assertTrue(content.is_same_content(plain, other))
        self.assertTrue(
            content.is_same_content(
                config(binaryData={"a": CONTENT}),
                config(binaryData={"a": WRAPPED}),
            )
        )

    def test_different_content(self) -> None:
        for first, second in (
            (secret(data={"a": "AAAA"}), secret(data={"a": "AAAB"})),
            (secret(data={"a": "AAAA"}), secret(data={"b": "AAAA"})),
            (secret(data={"a": "no!"}), secret(data={"a": ""})),
            (secret(data={"a": "no!"}), secret(data={"a": "no?"})),
            # this is text, and not Base64
            (config(data={"a": CONTENT}), config(data={"a": WRAPPED})),
            (
                config(data={"a": CONTENT}),
                config(binaryData={"a": CONTENT}),
            ),
        ):
            self.assertFalse(content.is_same_content(first, second))


def reading(name: str) -> dict[str, Any]:
    """Build the spec of a pod that reads a ConfigMap."""
    environment = [{"configMapRef": {"name": name}}]
    return {
        "serviceAccountName": f"of-{name}",
        "containers": [{"name": "one", "envFrom": environment}],
    }


class TestListReferences(testtools.TestCase):
    def test_references_of_pods_and_of_pod_templates(self) -> None:
        job = {"spec": {"template": {"spec": reading("job")}}}
        found = plan_task.list_references(
            [{"spec": reading("pod")}],
            [
                {"spec": {"template": {"spec": reading("deployment")}}},
                {"spec": {"jobTemplate": job}},
                {"spec": {"template": {"metadata": {}}}},
                {"spec": {"type": "ClusterIP"}},
                {"data": {"a": "b"}},
            ],
        )
        for name in ("pod", "deployment", "job"):
            self.assertIn(("ConfigMap", name), found)
            self.assertIn(("ServiceAccount", f"of-{name}"), found)
        self.assertEqual(
            {"pod", "deployment", "job"},
            {name for kind, name in found if kind == "ConfigMap"},
        )
