"""Search for labelled objects, with errors in parts of the cluster."""

import json
import os
import socket
from typing import Any

import testtools
from oslo_context.fixture import ClearRequestContext

from tacker_cnf import conf as configuration
from tacker_cnf import context, errors
from tacker_cnf.drivers.base import SearchTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)

ID = "an-instance"
KINDS = {
    "/api/v1": {"configmaps": "ConfigMap", "secrets": "Secret"},
    "/apis/apps/v1": {"deployments": "Deployment"},
    "/apis/example.com/v1": {"gadgets": "Gadget"},
}


class ApiServer:
    """An API server with one object of each kind that rejects some paths."""

    def __init__(self, namespace: str) -> None:
        #: (method, end of the path) -> status
        self.refused: dict[tuple[str, str], int] = {}
        self.deleted: list[str] = []
        #: User-Agent headers of the requests
        self.agents: set[str] = set()
        #: X-Openstack-Request-Id headers of the requests
        self.request_ids: set[str | None] = set()
        self._namespace = namespace

    def respond(self, request: ReceivedRequest) -> Response:
        path = request.path.split("?")[0]
        self.agents.add(request.headers["User-Agent"])
        self.request_ids.add(request.headers.get("X-Openstack-Request-Id"))
        for (method, end), status in self.refused.items():
            if request.method == method and path.endswith(end):
                return status, {}, b"{}"
        if request.method == "DELETE":
            self.deleted.append(path.rsplit("/", 1)[1])
        return 200, {}, json.dumps(self._body(path)).encode()

    def _body(self, path: str) -> Any:
        if path == "/apis":
            groups = [key.split("/")[2:] for key in KINDS if "apis" in key]
            return {
                "kind": "APIGroupList",
                "groups": [_group(*group) for group in groups],
            }
        if path in KINDS:
            resources = [*map(_resource, *_names(path))]
            return {"kind": "APIResourceList", "resources": resources}
        plural = path.rsplit("/", 1)[1]
        exists = "/namespaces/" not in path or self._namespace in path
        return {"items": [self._object(plural)] if exists else []}

    def _object(self, plural: str) -> Any:
        labels = {"tacker_vnf_instance_id": ID}
        meta = {"name": plural, "namespace": self._namespace, "uid": plural}
        return {"metadata": {**meta, "labels": labels}}


def _names(path: str) -> tuple[Any, Any]:
    return tuple(KINDS[path]), tuple(KINDS[path].values())


def _group(name: str, version: str) -> Any:
    group_version = {"groupVersion": f"{name}/{version}", "version": version}
    return {
        "name": name,
        "versions": [group_version],
        "preferredVersion": group_version,
    }


def _resource(plural: str, kind: str) -> Any:
    verbs = ["list", "delete"]
    return {"name": plural, "kind": kind, "namespaced": True, "verbs": verbs}


class TestLabelSearch(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(ClearRequestContext())
        receiver = self.useFixture(HttpReceiver())
        self.api = ApiServer("open")
        receiver.responder = self.api.respond
        conf = configuration.load([])
        conf.set_override("allow_loopback", group="vims", override=True)
        conf.set_override("schemes", ["http"], group="vims")
        self.driver = KubernetesDriver(conf)
        self.url = receiver.url

    def task(self, *namespaces: str) -> SearchTask:
        return SearchTask(
            vim_connection=VimConnectionInfo(
                vim_type="ETSINFV.KUBERNETES.V_1",
                interface_info={"endpoint": self.url},
                access_info={"bearer_token": "secret"},
            ),
            instance_id=ID,
            tenants=frozenset(namespaces),
        )

    def clean(self, *namespaces: str) -> set[str]:
        return set(self.driver.clean(self.task(*namespaces)))

    def forbid(self, *namespaces: str) -> None:
        """Forbid lists of the whole cluster, and of some namespaces."""
        for path, kinds in KINDS.items():
            for plural in kinds:
                self.api.refused["GET", f"{path}/{plural}"] = 403
                for namespace in namespaces:
                    end = f"/namespaces/{namespace}/{plural}"
                    self.api.refused["GET", end] = 403

    def test_the_user_agent_names_the_process(self) -> None:
        self.clean()
        name = f"tacker_cnf ({socket.gethostname()}:{os.getpid()})"
        self.assertEqual({name}, self.api.agents)

    def test_requests_for_an_operation_have_the_id_of_its_request(
        self,
    ) -> None:
        request_id = "req-d9aa0b8e-5a2f-4d63-9c1c-1f6a0f6c4a11"
        context.enter_request(request_id)
        self.clean()
        name = f"tacker_cnf ({socket.gethostname()}:{os.getpid()})"
        self.assertEqual({f"{name} {request_id}"}, self.api.agents)
        self.assertEqual({request_id}, self.api.request_ids)

    def test_a_discovery_that_got_503_is_repeated(self) -> None:
        self.api.refused["GET", "/apis/apps/v1"] = 503
        self.assertRaises(errors.VimUnreachable, self.clean)
        self.assertRaises(
            errors.VimUnreachable, self.driver.search, self.task()
        )
        self.api.refused.clear()
        self.assertIn("Deployment open/deployments", self.clean())

    def test_a_group_of_an_unavailable_extension_server(self) -> None:
        self.api.refused["GET", "/apis/example.com/v1"] = 503
        (found,) = self.driver.search(self.task()).values()
        self.assertEqual(3, len(found), str(found))
        self.assertRaises(errors.VimUnreachable, self.clean)
        self.assertEqual(
            {"configmaps", "secrets", "deployments"}, set(self.api.deleted)
        )

    def test_forbidden_namespaces_beside_an_allowed_one(
        self,
    ) -> None:
        closed = [f"closed-{number}" for number in range(9)]
        self.forbid(*closed)
        (found,) = self.driver.search(self.task("open", *closed)).values()
        self.assertEqual(4, len(found), str(found))
        refused = self.assertRaises(
            errors.VimRejected, self.clean, "open", *closed
        )
        self.assertIn("403", str(refused))
        self.assertEqual(4, len(self.api.deleted))

    def test_a_forbidden_namespace(self) -> None:
        self.forbid("open")
        self.assertRaises(errors.VimRejected, self.clean, "open")
        self.assertEqual({}, self.driver.search(self.task("open")))

    def test_forbidden_lists_without_a_known_namespace(self) -> None:
        self.forbid()
        self.assertRaises(errors.VimRejected, self.clean)

    def test_a_forbidden_kind(self) -> None:
        self.forbid()
        self.api.refused["GET", "/namespaces/open/secrets"] = 403
        self.assertEqual(3, len(self.clean("open")))

    def test_all_other_objects_are_deleted_after_a_failure(self) -> None:
        self.api.refused["DELETE", "/deployments"] = 403
        self.api.refused["DELETE", "/gadgets/gadgets"] = 403
        refused = self.assertRaises(errors.VimRejected, self.clean)
        self.assertIn("Deployment open/deployments", str(refused))
        self.assertIn("Gadget open/gadgets", str(refused))
        self.assertEqual({"configmaps", "secrets"}, set(self.api.deleted))
