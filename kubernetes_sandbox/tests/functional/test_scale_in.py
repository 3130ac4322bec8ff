"""The sandbox deletes the pods that a real cluster was recorded to delete."""

from collections.abc import Iterable
from typing import Any

import testtools

from kubernetes_sandbox.controllers.replicaset import pods_to_delete
from tests.functional import comparison, replay
from tests.functional.cluster_fixture import Cluster

Pod = dict[str, Any]


def kinds(pods: Iterable[Pod], *, in_deployment: bool) -> list[str]:
    """Describe pods by the scale-in criteria; order equal ones."""
    return sorted(
        str(
            (
                pod["metadata"].get("annotations"),
                pod["metadata"]["creationTimestamp"],
                pod["status"],
                pod["spec"] if in_deployment else bool(pod["spec"]),
            )
        )
        for pod in pods
    )


class TestScaleIn(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.recording = replay.load("scalein")

    def test_the_same_pods_are_deleted(self) -> None:
        for run in self.recording["runs"]:
            before, after = run["before"], run["after"]
            stayed = [p for p in before if p["metadata"]["name"] in after]
            in_deployment = run["kind"] == "Deployment"
            deployment_pods = before if in_deployment else []
            removed = pods_to_delete(
                before, len(before) - len(after), deployment_pods
            )
            self.assertEqual(
                kinds(stayed, in_deployment=in_deployment),
                kinds(
                    (pod for pod in before if pod not in removed),
                    in_deployment=in_deployment,
                ),
                run["note"],
            )

    def test_a_cost_is_a_plain_integer(self) -> None:
        client = self.useFixture(Cluster())
        for one in self.recording["refused"]:
            status, body = client.request(
                "POST", "/api/v1/namespaces/default/pods", one["body"]
            )
            wanted = one["response"]
            self.assertEqual(wanted["status"], status)
            self.assertEqual(
                [], comparison.body_differences(wanted["body"], body)
            )
