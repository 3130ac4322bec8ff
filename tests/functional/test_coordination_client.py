"""The client of the coordination API that scripts of packages import."""

import json
from typing import Any

import testtools

from tacker_cnf.scripts import coordination_client
from tacker_cnf.scripts.coordination_client import (
    InvalidSubscription,
    SolException,
)
from tests.fixtures.http_receiver import HttpReceiver, ReceivedRequest
from tests.fixtures.http_receiver import Response as ServerResponse

BASIC = {
    "authType": ["BASIC"],
    "paramsBasic": {"userName": "me", "password": "hunter2"},
}
DONE = {"id": "c1", "coordinationResult": "CONTINUE"}
PATH = "/lcmcoord/v1/coordinations"
NOW = {"Retry-After": "0"}


class CoordinationTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(HttpReceiver(basic=("me", "hunter2")))
        self.server.responder = self.respond
        self.responses: list[ServerResponse] = []

    def respond(self, _: ReceivedRequest) -> ServerResponse:
        return self.responses.pop(0)

    def create(self, timeout: Any = None, authentication: Any = BASIC) -> Any:
        return coordination_client.create_coordination(
            self.server.url, authentication, {"inputParams": {}}, timeout
        )

    def failure(self, *arguments: Any) -> str:
        return str(self.assertRaises(SolException, self.create, *arguments))

    def requests(self) -> list[tuple[str, str]]:
        return [(one.method, one.path) for one in self.server.requests]


class TestCoordination(CoordinationTest):
    def test_a_coordination_that_is_done_at_once(self) -> None:
        self.responses = [(201, {}, json.dumps(DONE).encode())]
        self.assertEqual(DONE, self.create())
        (request,) = self.server.requests
        self.assertEqual(("POST", PATH), (request.method, request.path))
        self.assertEqual({"inputParams": {}}, request.json)
        self.assertEqual("1.0.0", request.headers["Version"])
        self.assertIn("Basic", request.headers["Authorization"])

    def test_a_busy_server_and_one_that_needs_time(self) -> None:
        location = {"Location": f"https://elsewhere{PATH}/c1"}
        self.responses = [
            (503, NOW, b"<html>"),
            (202, {**NOW, **location}, b""),
            (202, NOW, b""),
            (200, {}, json.dumps(DONE).encode()),
        ]
        self.assertEqual(DONE, self.create("60"))
        self.assertEqual(
            [("POST", PATH)] * 2 + [("GET", f"{PATH}/c1")] * 2,
            self.requests(),
        )

    def test_time_ends(self) -> None:
        for response in (
            (503, {"Retry-After": "5"}, b""),
            (202, {"Location": "/c1"}, b""),
        ):
            self.responses = [response]
            self.assertEqual(
                "The coordination did not end in time.", self.failure(4)
            )

    def test_failures_of_the_server(self) -> None:
        self.responses = [(403, {}, b"no"), (202, {}, b""), (201, {}, b"{")]
        self.assertIn(f"{PATH}: 403 no", self.failure())
        self.assertIn("has no Location", self.failure())
        self.assertIn(f"POST {self.server.url}{PATH}", self.failure())

    def test_an_unreachable_server(self) -> None:
        error = self.assertRaises(
            SolException,
            coordination_client.create_coordination,
            "http://127.0.0.1:1",
            BASIC,
            {},
        )
        self.assertIn("cannot be reached", str(error))


class TestAuthentication(CoordinationTest):
    def test_it_is_required_and_checked(self) -> None:
        certificate = {
            "authType": ["OAUTH2_CLIENT_CERT"],
            "paramsOauth2ClientCert": {
                "clientId": "me",
                "certificateRef": {"type": "x5t#S256", "value": "x"},
                "tokenEndpoint": "https://example.com",
            },
        }
        for authentication, message in (
            (None, "authentication: "),
            ({"authType": ["BASIC"]}, "requires paramsBasic"),
            (certificate, "requires a client certificate"),
        ):
            for check in (
                lambda value: self.create(None, value),
                coordination_client.check_subsc_auth,
            ):
                error = self.assertRaises(
                    InvalidSubscription, check, authentication
                )
                self.assertIn(message, str(error))
        coordination_client.check_subsc_auth(BASIC, validation=False)

    def test_requests_of_a_script(self) -> None:
        basic = coordination_client.get_http_auth_handle(BASIC)
        client = coordination_client.HttpClient(basic)
        self.responses = [(200, {}, b'{"a": 1}'), (204, {}, b"")]
        response, body = client.do_request(
            f"{self.server.url}/x", "PUT", expected_status=[200], body=[1]
        )
        self.assertEqual((200, {"a": 1}), (response.status_code, body))
        self.assertEqual([1], self.server.requests[0].json)
        url = f"{self.server.url}/y"
        _, body = client.do_request(url, "DELETE", version="2.0.0")
        self.assertIsNone(body)
        self.assertEqual("2.0.0", self.server.requests[1].headers["Version"])

    def test_requests_without_credentials(self) -> None:
        handle = coordination_client.NoAuthHandle()
        self.responses = [(200, {}, b"")]
        coordination_client.HttpClient(handle).do_request(
            self.server.url, "GET"
        )
        (request,) = self.server.requests
        self.assertIsNone(request.headers["Authorization"])

    def test_a_script_needs_no_options(self) -> None:
        coordination_client.init(["--config-file", "/etc/x.conf"])


class TestExceptions(testtools.TestCase):
    def test_messages(self) -> None:
        for error, message in (
            (SolException(sol_detail="a script failed"), "a script failed"),
            (SolException(error_info=1), "A script of a package failed."),
        ):
            self.assertEqual(message, str(error))
