"""Token Secrets, and nodes that join and leave."""

import base64
import datetime as dt
from typing import Any

from tests.functional.test_cluster import ClusterTestCase

_NODES = "/api/v1/nodes"
_SECRETS = "/api/v1/namespaces/kube-system/secrets"
_ACCOUNTS = "/api/v1/namespaces/kube-system/serviceaccounts"
_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
_GROUP = "rbac.authorization.k8s.io"
_JOINERS = "system:bootstrappers:kubeadm:default-node-token"


def binding_body(**subject: str) -> dict[str, Any]:
    ref = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    return {
        "metadata": {"name": "admins"},
        "roleRef": ref,
        "subjects": [subject],
    }


def secret_body(name: str, kind: str, **changes: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    return {"metadata": metadata, "type": kind, **changes}


class TestAccountTokens(ClusterTestCase):
    def setUp(self) -> None:
        super().setUp()
        body = {"metadata": {"name": "admin"}}
        self.client.request("POST", _ACCOUNTS, body)
        secret = secret_body("token", "kubernetes.io/service-account-token")
        annotations = {"kubernetes.io/service-account.name": "admin"}
        secret["metadata"]["annotations"] = annotations
        self.client.request("POST", _SECRETS, secret)
        self.data = self.wait(self.filled)

    def filled(self) -> Any:
        return self.get(f"{_SECRETS}/token").get("data")

    def nodes(self) -> int:
        """List the nodes with the token; return the status."""
        token = base64.b64decode(self.data["token"]).decode()
        return self.client.request("GET", _NODES, token=token)[0]

    def test_token_is_valid_until_its_secret_is_deleted(self) -> None:
        ca = base64.b64decode(self.data["ca.crt"]).decode()
        self.assertEqual(self.cluster.ca_pem, ca)
        self.assertEqual(403, self.nodes())
        account = {"kind": "ServiceAccount", "name": "admin"}
        body = binding_body(**account, namespace="kube-system")
        self.client.request("POST", _BINDINGS, body)
        self.assertEqual(200, self.nodes())
        self.client.request("DELETE", f"{_SECRETS}/token")
        self.assertEqual(401, self.nodes())

    def test_secret_is_deleted_with_its_account(self) -> None:
        self.client.request("DELETE", f"{_ACCOUNTS}/admin")
        self.wait(lambda: self.nodes() == 401)

    def test_secret_of_an_absent_account_is_deleted(self) -> None:
        body = secret_body("vain", "kubernetes.io/service-account-token")
        annotations = {"kubernetes.io/service-account.name": "absent"}
        body["metadata"]["annotations"] = annotations
        self.client.request("POST", _SECRETS, body)
        where = f"{_SECRETS}/vain"
        self.wait(lambda: self.client.request("GET", where)[0] == 404)


class TestBootstrapTokens(ClusterTestCase):
    def request(self) -> int:
        token = "abcdef.0123456789abcdef"
        return self.client.request("GET", _NODES, token=token)[0]

    def make(self, seconds: float) -> None:
        group = {"apiGroup": _GROUP, "kind": "Group", "name": _JOINERS}
        self.client.request("POST", _BINDINGS, binding_body(**group))
        end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
        data = {
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "expiration": end.isoformat(),
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": _JOINERS,
        }
        kind = "bootstrap.kubernetes.io/token"
        body = secret_body("bootstrap-token-abcdef", kind, stringData=data)
        self.client.request("POST", _SECRETS, body)

    def test_token_is_valid_until_its_secret_is_deleted(self) -> None:
        self.assertEqual(401, self.request())
        self.make(3600)
        self.wait(lambda: self.request() == 200)
        self.client.request("DELETE", f"{_SECRETS}/bootstrap-token-abcdef")
        self.assertEqual(401, self.request())

    def test_expired_secret_is_deleted(self) -> None:
        self.make(1.0)
        where = f"{_SECRETS}/bootstrap-token-abcdef"
        self.wait(lambda: self.client.request("GET", where)[0] == 404)
        self.assertEqual(401, self.request())


class TestNodes(ClusterTestCase):
    options: dict[str, Any] = {**ClusterTestCase.options, "orphan_delay": 0.2}  # noqa: RUF012

    def test_pods_of_a_deleted_node_are_replaced(self) -> None:
        self.deploy()
        pod = self.wait(self.ready_pods)[0]
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        self.cluster.lose_node(node)
        self.client.request("DELETE", f"{_NODES}/{node}")
        self.wait(lambda: name not in self.names())
        (again,) = self.wait(self.ready_pods)
        self.assertNotEqual(node, again["spec"]["nodeName"])

    def test_node_of_the_same_name_runs_pods(self) -> None:
        (other,) = (
            node
            for node in self.get(_NODES)["items"]
            if node["metadata"]["name"] == "sandbox-node-2"
        )
        for name in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.lose_node(name)
            self.client.request("DELETE", f"{_NODES}/{name}")
        metadata = {"name": "sandbox-node-2"}
        self.client.request("POST", _NODES, {**other, "metadata": metadata})
        self.deploy()
        self.wait(self.ready_pods)
