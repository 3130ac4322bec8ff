"""Tokens that are Secrets, and nodes that come and go."""

import base64
import datetime as dt
from typing import Any

from tests.functional.test_controls import ControlTestCase

_NODES = "/api/v1/nodes"
_SECRETS = "/api/v1/namespaces/kube-system/secrets"
_ACCOUNTS = "/api/v1/namespaces/kube-system/serviceaccounts"
_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
_GROUP = "rbac.authorization.k8s.io"
_JOINERS = "system:bootstrappers:kubeadm:default-node-token"


def a_binding(**subject: str) -> dict[str, Any]:
    ref = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    return {
        "metadata": {"name": "admins"},
        "roleRef": ref,
        "subjects": [subject],
    }


def a_secret(name: str, kind: str, **changes: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    return {"metadata": metadata, "type": kind, **changes}


class TestAccountTokens(ControlTestCase):
    def setUp(self) -> None:
        super().setUp()
        body = {"metadata": {"name": "admin"}}
        self.client.ask("POST", _ACCOUNTS, body)
        secret = a_secret("token", "kubernetes.io/service-account-token")
        notes = {"kubernetes.io/service-account.name": "admin"}
        secret["metadata"]["annotations"] = notes
        self.client.ask("POST", _SECRETS, secret)
        self.data = self.wait(self.filled)

    def filled(self) -> Any:
        return self.get(f"{_SECRETS}/token").get("data")

    def nodes(self) -> int:
        """Ask for the nodes by the token; give the status."""
        token = base64.b64decode(self.data["token"]).decode()
        return self.client.ask("GET", _NODES, token=token)[0]

    def test_one_lets_its_account_in_until_it_is_deleted(self) -> None:
        ca = base64.b64decode(self.data["ca.crt"]).decode()
        self.assertEqual(self.cluster.ca_pem, ca)
        self.assertEqual(403, self.nodes())
        account = {"kind": "ServiceAccount", "name": "admin"}
        body = a_binding(**account, namespace="kube-system")
        self.client.ask("POST", _BINDINGS, body)
        self.assertEqual(200, self.nodes())
        self.client.ask("DELETE", f"{_SECRETS}/token")
        self.assertEqual(401, self.nodes())

    def test_it_goes_with_its_account(self) -> None:
        self.client.ask("DELETE", f"{_ACCOUNTS}/admin")
        self.wait(lambda: self.nodes() == 401)

    def test_one_of_no_account_does_not_stay(self) -> None:
        body = a_secret("vain", "kubernetes.io/service-account-token")
        notes = {"kubernetes.io/service-account.name": "nobody"}
        body["metadata"]["annotations"] = notes
        self.client.ask("POST", _SECRETS, body)
        where = f"{_SECRETS}/vain"
        self.wait(lambda: self.client.ask("GET", where)[0] == 404)


class TestBootstrapTokens(ControlTestCase):
    def ask(self) -> int:
        token = "abcdef.0123456789abcdef"
        return self.client.ask("GET", _NODES, token=token)[0]

    def make(self, seconds: float) -> None:
        group = {"apiGroup": _GROUP, "kind": "Group", "name": _JOINERS}
        self.client.ask("POST", _BINDINGS, a_binding(**group))
        end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
        told = {
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "expiration": end.isoformat(),
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": _JOINERS,
        }
        kind = "bootstrap.kubernetes.io/token"
        body = a_secret("bootstrap-token-abcdef", kind, stringData=told)
        self.client.ask("POST", _SECRETS, body)

    def test_one_lets_a_node_in_until_it_is_deleted(self) -> None:
        self.assertEqual(401, self.ask())
        self.make(3600)
        self.wait(lambda: self.ask() == 200)
        self.client.ask("DELETE", f"{_SECRETS}/bootstrap-token-abcdef")
        self.assertEqual(401, self.ask())

    def test_it_goes_when_its_time_is_up(self) -> None:
        self.make(1.0)
        where = f"{_SECRETS}/bootstrap-token-abcdef"
        self.wait(lambda: self.client.ask("GET", where)[0] == 404)
        self.assertEqual(401, self.ask())


class TestNodes(ControlTestCase):
    wishes: dict[str, Any] = {**ControlTestCase.wishes, "orphan_delay": 0.2}  # noqa: RUF012

    def test_pods_go_with_a_lost_node_and_come_elsewhere(self) -> None:
        self.deploy()
        pod = self.wait(self.ready_pods)[0]
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        self.cluster.lose_node(node)
        self.client.ask("DELETE", f"{_NODES}/{node}")
        self.wait(lambda: name not in self.names())
        (again,) = self.wait(self.ready_pods)
        self.assertNotEqual(node, again["spec"]["nodeName"])

    def names(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in self.pods()}

    def test_one_of_the_same_name_runs_pods(self) -> None:
        (other,) = (
            node
            for node in self.get(_NODES)["items"]
            if node["metadata"]["name"] == "sandbox-node-2"
        )
        for name in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.lose_node(name)
            self.client.ask("DELETE", f"{_NODES}/{name}")
        metadata = {"name": "sandbox-node-2"}
        self.client.ask("POST", _NODES, {**other, "metadata": metadata})
        self.deploy()
        self.wait(self.ready_pods)
