"""The command tacker-cnf and servers that a test controls."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from urllib import parse

import fixtures
import testtools
from trustme import CA

from tacker_cnf.cli import backoff, event_stream, op_follow, rest_client
from tests.fixtures import keystone, waiting
from tests.fixtures.command_line import CommandLine, Output
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.raw_server import RawServer

ID: Final = "2b1b2db8-020d-4687-b328-31885edaf7c8"
INSTANCE_ID: Final = "b152ad6d-ad2a-4e3e-a7b6-a1eaf728372c"
OP_OCC: Final = f"/vnflcm/v2/vnf_lcm_op_occs/{ID}"
NOT_FOUND: Final[Response] = (404, {}, b'{"status": 404, "detail": "no"}')
AN_INSTANCE: Final = {
    "id": INSTANCE_ID,
    "vnfInstanceName": "demo",
    "vnfProductName": "Five Kinds",
    "vnfSoftwareVersion": "1.0",
    "instantiationState": "NOT_INSTANTIATED",
}
#: seconds after which a process is stuck
TIMEOUT_S: Final = 60


def as_json(value: Any, status: int = 200) -> Response:
    return status, {}, json.dumps(value).encode()


def an_op_occ(state: str, **more: Any) -> Response:
    return as_json(
        {
            "id": ID,
            "operation": "HEAL",
            "operationState": state,
            "vnfInstanceId": INSTANCE_ID,
            "startTime": "2026-11-25T18:00:00Z",
            "stateEnteredTime": "2026-11-25T18:00:00Z",
            **more,
        }
    )


def an_event(kind: str, data: Any, event_id: str = "") -> str:
    fields = f"event: {kind}\ndata: {json.dumps(data)}\n"
    return f"{fields}id: {event_id}\n\n" if event_id else f"{fields}\n"


def a_progress(done: int, state: str = "PROCESSING") -> str:
    step = {
        "step": "infra",
        "attempt": 1,
        "startTime": "2026-11-25T18:00:00Z",
        "done": done,
        "total": 2,
    }
    data = {"operationState": state, "timeline": [step]}
    return an_event("OperationProgress", data)


def a_change(state: str, event_id: str = "7") -> str:
    data = {"operationState": state, "vnfLcmOpOccId": ID}
    return an_event(op_follow.CHANGE, data, event_id)


def a_stream(*events: str) -> Response:
    kind = {"Content-Type": "text/event-stream"}
    return 200, kind, "".join(events).encode()


class ServerCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(HttpReceiver())
        self.server.responder = self.respond
        self.command = self.useFixture(CommandLine(self, self.server.url))
        #: path -> its responses; the last one is repeated
        self.responses: dict[str, list[Response]] = defaultdict(list)
        for module, name in (
            (backoff, "FIRST_DELAY_S"),
            (backoff, "MAX_DELAY_S"),
            (op_follow, "PAUSE_S"),
        ):
            self.useFixture(
                fixtures.MonkeyPatch(f"{module.__name__}.{name}", 0.01)
            )

    def respond(self, request: ReceivedRequest) -> Response:
        found = self.responses[parse.urlsplit(request.path).path]
        if not found:
            return NOT_FOUND
        return found.pop(0) if len(found) > 1 else found[0]

    def requests(self, path: str) -> list[ReceivedRequest]:
        return [
            request
            for request in self.server.requests
            if parse.urlsplit(request.path).path == path
        ]

    def watch(self, status: int, *op_occs: Response) -> Output:
        """Watch an operation that has one state after the other."""
        self.responses[OP_OCC] = list(op_occs)
        return self.command.expect(status, "op", "watch", ID)


class TestWatch(ServerCase):
    def test_progress_comes_with_events(self) -> None:
        self.responses["/events"] = [
            a_stream(
                ": keep-alive\n\n",
                a_progress(0),
                a_progress(1),
                a_change("COMPLETED"),
            )
        ]
        processing = an_op_occ("PROCESSING")
        output = self.watch(0, processing, processing, an_op_occ("COMPLETED"))
        lines = [line.split(": ", 1)[1] for line in output.stdout.splitlines()]
        self.assertEqual(
            [
                "PROCESSING",
                "infra:  running  0/2",
                "infra:  running  1/2",
                "COMPLETED",
            ],
            lines,
        )
        (request,) = self.requests("/events")
        query = parse.parse_qs(parse.urlsplit(request.path).query)
        self.assertEqual([ID], query["vnf_lcm_op_occ_id"])
        self.assertEqual("text/event-stream", request.headers["Accept"])

    def test_a_connection_that_ends_is_replaced(self) -> None:
        unavailable = as_json({"status": 503, "detail": "busy"}, 503)
        self.responses["/events"] = [
            a_stream(a_progress(0), a_change("PROCESSING", "7")),
            unavailable,
            a_stream(a_progress(1), a_change("FAILED_TEMP", "8")),
        ]
        processing = an_op_occ("PROCESSING")
        failed = an_op_occ(
            "FAILED_TEMP",
            error={"status": 422, "detail": "Quota exceeded."},
            _links={"retry": {"href": "x"}},
        )
        output = self.watch(1, *[processing] * 4, failed)
        self.assertIn("is FAILED_TEMP: Quota exceeded.", output.stderr)
        self.assertIn(f"op retry {ID}", output.stderr)
        self.assertEqual(
            [None, "7", "7"],
            [r.headers["Last-Event-ID"] for r in self.requests("/events")],
        )

    def test_an_operation_that_ended_without_an_event(self) -> None:
        """It ended between two connections."""
        self.responses["/events"] = [a_stream()]
        output = self.watch(
            0, *[an_op_occ("PROCESSING")] * 2, an_op_occ("COMPLETED")
        )
        self.assertEqual(2, len(self.requests("/events")))
        self.assertIn("COMPLETED", output.stdout)

    def test_a_server_without_events(self) -> None:
        output = self.watch(
            1,
            an_op_occ("STARTING"),
            an_op_occ("STARTING"),
            an_op_occ("PROCESSING", progress="INFRA: 1 of 2"),
            an_op_occ("FAILED"),
        )
        self.assertIn("INFRA: 1 of 2", output.stdout)
        self.assertEqual(1, len(self.requests("/events")))
        self.assertEqual(
            [
                "",
                *(f"wait=30&state_not={s}" for s in ("STARTING",) * 2),
                "wait=30&state_not=PROCESSING",
            ],
            [parse.urlsplit(r.path).query for r in self.requests(OP_OCC)],
        )

    def test_requests_are_repeated_while_the_server_is_busy(self) -> None:
        busy = as_json({"status": 503, "detail": "busy"}, 503)
        processing, completed = an_op_occ("PROCESSING"), an_op_occ("COMPLETED")
        self.watch(0, processing, busy, busy, processing, busy, completed)
        self.responses["/events"] = [a_stream(a_change("COMPLETED"))]
        self.watch(0, processing, busy, processing, busy, completed)

    def test_a_rollback_succeeds_in_another_state(self) -> None:
        rolled_back = an_op_occ("ROLLED_BACK")
        self.watch(0, an_op_occ("ROLLING_BACK"), rolled_back)
        self.watch(1, an_op_occ("PROCESSING"), rolled_back)
        self.watch(1, rolled_back)

    def test_a_server_that_is_lost(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(f"{backoff.__name__}.MAX_FAILURES", 2)
        )
        self.responses["/events"] = [as_json({"detail": "busy"}, 503)]
        for interval, lines in ((60.0, 1), (0.0, 2)):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f"{backoff.__name__}.REPORT_INTERVAL_S", interval
                )
            )
            output = self.watch(3, an_op_occ("PROCESSING"))
            self.assertEqual(
                [
                    *["busy (HTTP 503) Trying again ..."] * lines,
                    "busy (HTTP 503)",
                    "The operation may continue. Watch it again:",
                    f"  tacker-cnf op watch {ID}",
                ],
                output.stderr.splitlines(),
            )
        self.assertEqual(6, len(self.requests("/events")))

    def test_a_server_that_falls_silent(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(f"{event_stream.__name__}.MAX_SILENCE_S", 0.1)
        )
        states = [*["PROCESSING"] * 2, "COMPLETED"]
        released = threading.Event()
        self.addCleanup(released.set)

        def respond(line: str, connection: socket.socket) -> None:
            if "/events" in line:
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n: keep-alive\n\n")
                released.wait(TIMEOUT_S)
            elif OP_OCC in line:
                state = states.pop(0) if len(states) > 1 else states[0]
                content = an_op_occ(state)[2]
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + content)
            else:
                connection.sendall(b"HTTP/1.1 404 no\r\n\r\n")

        server = self.useFixture(RawServer(respond))
        self.command.expect(0, "--endpoint", server.url, "op", "watch", ID)
        streams = [line for line in server.requests if "/events" in line]
        self.assertEqual(2, len(streams))

    def test_interrupted(self) -> None:
        """The operation continues, and can be watched again."""
        self.responses[OP_OCC] = [an_op_occ("PROCESSING")]
        self.responses["/events"] = [a_stream()]
        program = Path(sys.executable).parent / "tacker-cnf"
        process = subprocess.Popen(
            [program, "op", "watch", ID],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        waiting.until(lambda: self.requests("/events"), "the command")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(130, process.returncode, error)
        self.assertEqual(
            "The operation continues. Watch it again:\n"
            f"  tacker-cnf op watch {ID}\n",
            error,
        )
        methods = {request.method for request in self.server.requests}
        self.assertEqual({"GET"}, methods)


class TestEvents(ServerCase):
    def follow(self, *arguments: str) -> tuple[list[str], dict[str, Any]]:
        """Follow the events of a server that rejects the next connection."""
        stream = a_stream(
            a_change("PROCESSING"), an_event("unknown", {"a": "\x1b"})
        )
        forbidden = as_json({"status": 403, "detail": "You may not."}, 403)
        self.responses["/events"] = [stream, forbidden]
        output = self.command.expect(1, "events", *arguments)
        self.assertEqual("You may not. (HTTP 403)\n", output.stderr)
        query = parse.urlsplit(self.requests("/events")[0].path).query
        return output.stdout.splitlines(), parse.parse_qs(query)

    def test_a_line_for_each(self) -> None:
        lines, query = self.follow("--op", ID, "--type", "a", "--type", "b")
        self.assertEqual(
            [f"{op_follow.CHANGE}  PROCESSING  {ID}", "unknown"], lines
        )
        self.assertEqual(
            {"vnf_lcm_op_occ_id": [ID], "type": ["a", "b"]}, query
        )

    def test_json_since_an_event(self) -> None:
        lines, query = self.follow("--json", "--since", "6")
        self.assertEqual({}, query)
        self.assertEqual("7", json.loads(lines[0])["id"])
        self.assertEqual({"a": "\ufffd"}, json.loads(lines[1])["data"])
        first, second = self.requests("/events")
        self.assertEqual("6", first.headers["Last-Event-ID"])
        self.assertEqual("7", second.headers["Last-Event-ID"])

    def test_the_vnf_is_named(self) -> None:
        path = f"{rest_client.INSTANCES}/{INSTANCE_ID}"
        self.responses[path] = [as_json(AN_INSTANCE)]
        change = {"vnfInstanceId": INSTANCE_ID}
        stream = a_stream(*[an_event("a", change)] * 2)
        forbidden = as_json({"status": 403, "detail": "You may not."}, 403)
        self.responses["/events"] = [stream, forbidden]
        output = self.command.expect(1, "events")
        self.assertEqual(["a  demo"] * 2, output.stdout.splitlines())
        self.assertEqual(1, len(self.requests(path)))

    def test_a_server_without_events(self) -> None:
        output = self.command.expect(1, "events")
        self.assertIn("This server has no events", output.stderr)


class TestDescribe(ServerCase):
    def describe(self, status: int, vims: Response) -> Output:
        """Describe a VNF instance on one VIM."""
        path = f"{rest_client.INSTANCES}/{INSTANCE_ID}"
        instance = AN_INSTANCE | {"vimConnectionInfo": {"one": {"vimId": "v"}}}
        self.responses[path] = [as_json(instance)]
        self.responses[rest_client.OP_OCCS] = [as_json([])]
        self.responses[rest_client.VIMS] = [vims]
        return self.command.expect(status, "describe", INSTANCE_ID)

    def test_without_the_right_to_list_vims(self) -> None:
        output = self.describe(0, as_json({"detail": "You may not."}, 403))
        self.assertIn("OperationInProgress", output.stdout)
        self.assertNotIn("VimReachable", output.stdout)

    def test_vims_that_cannot_be_listed(self) -> None:
        output = self.describe(1, as_json({"detail": "broken"}, 500))
        self.assertIn("broken", output.stderr)


A_PACKAGE: Final = {
    "id": ID,
    "onboardingState": "ONBOARDED",
    "operationalState": "ENABLED",
    "usageState": "NOT_IN_USE",
}


class PackageServer:
    """A server that onboards a package, and fails as a test wants.

    :param lost: methods whose response is lost, once for each
    :param rejected: methods that are rejected
    """

    def __init__(self, lost: str = "", rejected: str = "") -> None:
        self._lost = lost.split()
        self._rejected = rejected.split()
        self.state: str | None = None

    def respond(self, request: ReceivedRequest) -> Response:
        response = self._answer(request.method)
        if request.method in self._lost:
            self._lost.remove(request.method)
            raise ConnectionAbortedError
        return response

    def _answer(self, method: str) -> Response:
        if method in self._rejected:
            return as_json({"detail": f"{method} is broken."}, 500)
        if method == "DELETE" and self.state == "ENABLED":
            return as_json({"detail": "disable it first"}, 409)
        states = {"POST": "CREATED", "PUT": "ENABLED", "PATCH": "DISABLED"}
        if method != "GET":
            self.state = states.get(method)
        return as_json(A_PACKAGE)


class TestPackageCleanup(ServerCase):
    """Nothing is left of a package whose onboarding or check failed."""

    def check(self, server: PackageServer) -> str:
        """Check a package; return the errors."""
        self.server.responder = server.respond
        return self.command.expect(1, "package", "check", __file__).stderr

    def test_responses_that_are_lost(self) -> None:
        for lost in ("PUT", "GET GET GET"):
            server = PackageServer(lost)
            self.assertIn("closed connection", self.check(server))
            self.assertIsNone(server.state)

    def test_an_upload_that_is_rejected(self) -> None:
        server = PackageServer(rejected="PUT PATCH")
        errors = self.check(server)
        self.assertEqual("PUT is broken. (HTTP 500)\n", errors)
        self.assertIsNone(server.state)

    def test_what_remains_is_named(self) -> None:
        for server, state, reason in (
            (PackageServer("PUT", "PATCH"), "ENABLED", "disable it first"),
            (PackageServer("PUT PATCH"), "DISABLED", "closed connection"),
            (PackageServer("PUT", "DELETE"), "DISABLED", "DELETE is broken"),
            (PackageServer("", "DELETE"), "DISABLED", "DELETE is broken"),
        ):
            errors = self.check(server)
            self.assertEqual(state, server.state)
            self.assertIn(f"VNF package {ID} may remain: ", errors)
            self.assertIn(reason, errors)
            self.assertIn(f"package delete {ID} --disable", errors)


class TestInvalidResponses(ServerCase):
    def test_shapes(self) -> None:
        for value in (None, 1, [], {}, [1], {"id": 1}, {"vims": 1}, "x" * 99):
            self.server.responder = lambda _, value=value: as_json(value)  # type: ignore[misc]
            for command in (
                f"vnf show {INSTANCE_ID}",
                f"vnf heal {INSTANCE_ID}",
                f"describe {INSTANCE_ID}",
                f"op show {ID}",
                f"op watch {ID}",
                f"package show {ID}",
                f"package check {__file__}",
                "vnf instantiate demo --vim v",
                "vnf create v",
            ):
                output = self.command.expect(1, *command.split())
                self.assertIn(
                    "The response of the server is not", output.stderr
                )

    def test_a_list_of_other_values(self) -> None:
        self.server.responder = lambda _: as_json([1])
        for command in ("vnf list", "op list", "package list"):
            output = self.command.expect(1, *command.split())
            self.assertIn("The response of the server is not", output.stderr)

    def test_a_response_that_is_too_long(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                f"{rest_client.__name__}.MAX_RESPONSE_BYTES", 9
            )
        )
        self.server.responder = lambda _: as_json(["a" * 10])
        output = self.command.expect(1, "vnf", "list")
        self.assertIn("more than 9 bytes", output.stderr)

    def test_a_redirection_is_not_followed(self) -> None:
        self.server.responder = lambda _: (
            302,
            {"Location": f"{self.server.url}/other"},
            b"",
        )
        output = self.command.expect(1, "vnf", "list")
        self.assertIn("302", output.stderr)
        self.assertEqual(1, len(self.server.requests))

    def test_pages_are_of_the_same_list(self) -> None:
        """The link of a page cannot lead to another server."""
        pages = itertools.count()

        def page(_: ReceivedRequest) -> Response:
            following = "<http://192.0.2.1/x?nextpage_opaque_marker=m>"
            headers = {"Link": f'{following}; rel="next"'}
            return 200, {} if next(pages) else headers, b'[{"id": "i"}]'

        self.server.responder = page
        self.assertEqual(
            "i\ni",
            self.command.succeed("vnf", "list", "-f", "value", "-c", "id"),
        )
        first, second = self.server.requests
        self.assertEqual(f"{first.path}?nextpage_opaque_marker=m", second.path)

    def test_what_is_not_http(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for answer, message in (
            (b"", "closed connection"),
            (b"SSH-2.0-OpenSSH_9\r\n\r\n", "SSH-2.0"),
            (head, "99 more expected"),
            (chunked, "ended prematurely"),
            (b"HTTP/1.1 200 OK\r\n\r\n<html>", "is not JSON"),
            (b"HTTP/1.1 500 \x1b[2J\r\n\r\n", "answered 500 \ufffd[2J."),
        ):
            server = self.useFixture(RawServer.sending(answer))
            output = self.command.expect(
                1, "--endpoint", server.url, "vnf", "list"
            )
            self.assertIn(message, output.stderr)


class TestTls(testtools.TestCase):
    def test_the_certificate_is_verified(self) -> None:
        authority = CA()
        server = self.useFixture(HttpReceiver(authority=authority))
        server.responder = lambda _: as_json([])
        command = self.useFixture(CommandLine(self, server.url))
        output = command.expect(1, "vnf", "list")
        self.assertIn("certificate verify failed", output.stderr)
        file = Path(self.useFixture(fixtures.TempDir()).path) / "ca.pem"
        authority.cert_pem.write_to_path(file)
        self.useFixture(fixtures.EnvironmentVariable("OS_CACERT", str(file)))
        command.succeed("vnf", "list")


class TestKeystone(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(HttpReceiver())
        self.keystone = self.useFixture(HttpReceiver())
        self.server.responder = lambda _: as_json([])
        self.command = self.useFixture(CommandLine(self))

    def serve(self, kind: str) -> dict[str, str]:
        """Have a catalogue with one service; return the credentials."""
        self.keystone.responder = keystone.with_service(kind, self.server.url)
        return {
            "auth_url": f"{self.keystone.url}/v3",
            "username": "me",
            "password": "hunter2",
            "project_name": "nfv",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }

    def set_environment(self, values: Iterable[tuple[str, str]]) -> None:
        for name, value in values:
            self.useFixture(
                fixtures.EnvironmentVariable(f"OS_{name.upper()}", value)
            )

    def test_the_server_is_in_the_catalogue(self) -> None:
        self.set_environment(self.serve("nfv-orchestration").items())
        self.assertEqual(
            "[]", self.command.succeed("vnf", "list", "-f", "json")
        )
        (request,) = self.server.requests
        self.assertEqual("a-token", request.headers["X-Auth-Token"])
        self.assertEqual("/vnflcm/v2/vnf_instances", request.path)

    def test_a_cloud_of_clouds_yaml(self) -> None:
        auth = self.serve("nfv-orchestration")
        file = Path(self.useFixture(fixtures.TempDir()).path) / "clouds.yaml"
        file.write_text(json.dumps({"clouds": {"mine": {"auth": auth}}}))
        self.set_environment([("client_config_file", str(file))])
        self.command.succeed("--os-cloud", "mine", "vnf", "list")
        output = self.command.expect(2, "--os-cloud", "yours", "vnf", "list")
        self.assertIn("Cloud yours was not found.", output.stderr)

    def test_a_catalogue_without_the_server(self) -> None:
        self.set_environment(self.serve("other").items())
        output = self.command.expect(1, "vnf", "list")
        self.assertIn("nfv-orchestration", output.stderr)

    def test_no_server_is_named(self) -> None:
        output = self.command.expect(2, "vnf", "list")
        self.assertIn("TACKER_CNF_ENDPOINT", output.stderr)

    def test_an_endpoint_that_is_no_url(self) -> None:
        for endpoint in ("vnfm", "ftp://vnfm", "http://", "127.0.0.1:9890"):
            output = self.command.expect(
                2, "--endpoint", endpoint, "vnf", "list"
            )
            self.assertIn(repr(endpoint), output.stderr)
