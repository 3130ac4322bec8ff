"""Answers of hostile VIMs: redirects, and bodies that are not for users."""

import json
from typing import Any, Final

from tests.fixtures import keystone
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.raw_server import RawServer
from tests.fixtures.vnfm import ApiCase, Response, Vnfm
from tests.functional.test_vim_addresses import KINDS, VIMS, a_vim

#: what the answer of another service contains
SECRET: Final = "n3ighbour"
PAGE: Final = f"<html>{SECRET}</html>".encode()


def http(
    status: str, body: bytes, kind: str = "application/json", *headers: str
) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *headers]
    head += [f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


#: answers of other services, all with the secret
FOREIGN: Final = (
    f"SSH-2.0-{SECRET}\r\n".encode(),
    f"HTTP/1.1 200 OK\r\n{SECRET}\r\n\r\n".encode(),
    f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{SECRET}".encode(),
    http("200 OK", PAGE, "text/html"),
    http("200 OK", PAGE),
    http("200 OK", encoded({"secret": SECRET})),
    http("200 OK", encoded([SECRET])),
    http("200 OK", encoded({SECRET: SECRET, "groups": 5, "versions": 5})),
    http("200 OK", encoded({"versions": [SECRET], "token": SECRET})),
    http("300 Multiple Choices", PAGE, "text/html"),
    http("304 Not Modified", b"", "text/html"),
    http("400 Bad Request", encoded({"error": SECRET})),
    http("400 Bad Request", encoded({"errors": [{"secret": SECRET}]})),
    http("401 Unauthorized", SECRET.encode(), "text/plain"),
    http("403 Forbidden", encoded({"message": SECRET})),
    http("404 Not Found", PAGE, "text/html"),
    http("409 Conflict", encoded({"kind": SECRET, "message": SECRET})),
    http("418 Teapot", encoded({"explanation": SECRET})),
    http(f"500 {SECRET}", PAGE, "text/html"),
    http(f"599 {SECRET}", encoded({"message": SECRET})),
    http("200 OK", b"x", "text/plain", f"Content-Encoding: {SECRET}"),
    http("200 OK", b"[" * 100_000 + SECRET.encode()),
)


class AnswerCase(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        # no repetition
        self.vnfm = self.useFixture(
            Vnfm(
                kubernetes={"contact_timeout": 0.0, "outage_timeout": 0.0},
                openstack={"contact_timeout": 0.0, "outage_timeout": 0.0},
            )
        )

    def register(self, kind: str, url: str) -> Response:
        return self.vnfm.call("POST", VIMS, a_vim(kind, url))

    def register_heat(self, url: str) -> Response:
        """Register an OpenStack whose catalogue has this URL of Heat."""
        server = self.useFixture(HttpReceiver())
        server.responder = keystone.with_heat(url)
        return self.register("openstack", server.url)


class TestRedirects(AnswerCase):
    def test_credentials_are_not_sent_to_another_server(self) -> None:
        victim = self.useFixture(HttpReceiver())
        for status in (301, 302, 303, 305, 307, 308):
            answer = http(
                f"{status} Moved", b"", "text/plain", f"Location: {victim.url}"
            )
            server = self.useFixture(RawServer.sending(answer))
            responses = [self.register(kind, server.url) for kind in KINDS]
            responses.append(self.register_heat(server.url))
            for response in responses:
                self.assert_problem(422, response, "redirects to another")
            self.assertEqual([], victim.requests)

    def test_a_redirect_within_a_cluster(self) -> None:
        answer = http("302 Found", b"", "text/plain", "Location: /other")
        server = self.useFixture(RawServer.sending(answer))
        response = self.register("kubernetes", server.url)
        self.assert_problem(422, response, "302")
        self.assertEqual(1, len(server.requests))


class TestForeignText(AnswerCase):
    def test_answers_of_other_services_are_not_shown(self) -> None:
        for answer in FOREIGN:
            server = self.useFixture(RawServer.sending(answer))
            responses = [self.register(kind, server.url) for kind in KINDS]
            if b" 200 " not in answer[:20] or SECRET.encode() in answer[:80]:
                responses.append(self.register_heat(server.url))
            for response in responses:
                self.assertNotIn(SECRET, response.content.decode())
                self.assert_problem(422, response)

    def test_messages_of_vims_are_shown(self) -> None:
        status = {"kind": "Status", "message": "calm\ndown", "code": 403}
        error = {"error": {"message": "calm\ndown", "code": 403}}
        for kind, body in (("kubernetes", status), ("openstack", error)):
            answer = http("403 Forbidden", encoded(body))
            server = self.useFixture(RawServer.sending(answer))
            response = self.register(kind, server.url)
            self.assert_problem(422, response, "calm down")

    def test_long_messages_are_cut(self) -> None:
        long = "x" * 1_000_000
        status = {"kind": "Status", "message": long, "code": 403}
        error = {"error": {"message": long, "code": 403}}
        for kind, body in (("kubernetes", status), ("openstack", error)):
            answer = http("403 Forbidden", encoded(body))
            server = self.useFixture(RawServer.sending(answer))
            response = self.register(kind, server.url)
            self.assert_problem(422, response, "xxx")
            self.assertLess(len(response.content), 4000)
