"""Requests that wait for the state of a lifecycle operation."""

import json
import signal
import threading
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final

import fixtures
import sqlalchemy as sa

from tacker_cnf.db import op_occs
from tacker_cnf.db.models import VnfLcmOpOcc
from tacker_cnf.db.session import DATABASE_ERRORS
from tacker_cnf.services import state_waits
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tests.factories import NOW, a_stored_instance, an_op_occ
from tests.fixtures import waiting
from tests.fixtures.api_server import ApiServer
from tests.fixtures.json_log import JsonLog
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.served_api import Request, Served
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Vnfm

OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
#: of a wait that ends before
LONG: Final = "wait=60"
#: seconds that no test lasts
NEVER_S: Final = 3600.0
THREAD: Final = "state-waits"


class StateWaitCase(ApiCase):
    #: configuration, as {group: {option: value}}
    options: dict[str, dict[str, Any]] = {}  # noqa: RUF012

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(self.create_service())
        self.served = self.useFixture(Served(self.vnfm))
        #: (thread, number of parameters, text)
        self.statements: list[tuple[str, int, str]] = []
        sa.event.listen(
            self.vnfm.parts.store.engine, "before_cursor_execute", self.record
        )

    def create_service(self) -> Vnfm:
        return Vnfm(**self.options)

    def record(
        self, _: Any, __: Any, statement: str, parameters: Any, *___: Any
    ) -> None:
        if statement.startswith("BEGIN"):
            return
        name = threading.current_thread().name
        self.statements.append((name, len(parameters), statement))

    def reads(self) -> Sequence[int]:
        """Return the number of operations that each read of states had."""
        return [size for name, size, _ in self.statements if name == THREAD]

    def until_waiting(self, number: int) -> None:
        """Wait until the states of a number of operations are read."""
        waiting.until(lambda: number in self.reads(), f"{number} waits")

    def of_requests(self) -> Sequence[str]:
        """Return the statements of the threads of requests."""
        return [
            text
            for name, _, text in self.statements
            if name.startswith("request")
        ]

    def add(self, *op_occ_ids: str, project_id: str = OWNER) -> None:
        """Add operations that no conductor claims."""
        with self.vnfm.parts.store.writer() as session:
            for op_occ_id in op_occ_ids:
                op_occ = an_op_occ(
                    id=op_occ_id,
                    operation_state=S.PROCESSING,
                    project_id=project_id,
                )
                op_occs.add(
                    session, op_occ, a_stored_instance(), {}, NOW, NEVER_S
                )

    def change(self, **values: Any) -> None:
        """Change all operations, as another process would."""
        with self.vnfm.parts.store.engine.begin() as connection:
            connection.execute(sa.update(VnfLcmOpOcc).values(**values))

    def complete(self) -> None:
        self.change(operation_state=S.COMPLETED)

    def send(self, op_occ_id: str, query: str, **headers: str) -> Request:
        path = f"{OP_OCCS}/{op_occ_id}?{query}"
        return self.served.send(path, headers)


class TestWait(StateWaitCase):
    def test_the_response_is_sent_when_the_state_changes(self) -> None:
        self.add("a")
        for root in ("/vnflcm/v2", "/v2"):
            self.change(operation_state=S.PROCESSING)
            self.statements.clear()
            request = self.served.send(f"{root}/vnf_lcm_op_occs/a?{LONG}", {})
            self.until_waiting(1)
            self.assertTrue(request.is_waiting)
            (read,) = self.of_requests()
            self.assertNotIn("operation_params", read)
            self.complete()
            self.assertEqual("COMPLETED", request.state())

    def test_a_request_that_has_waited_has_one_line_in_the_log(self) -> None:
        log = self.useFixture(JsonLog())
        self.add("a")
        request_id = f"req-{uuid.uuid4()}"
        headers = {"X-Openstack-Request-Id": request_id}
        request = self.send("a", LONG, **headers)
        self.until_waiting(1)
        self.complete()
        self.assertEqual("COMPLETED", request.state())
        (line,) = (
            line
            for line in log.messages(request_id)
            if line.startswith("Request:")
        )
        self.assertIn("status=200", line)

    def test_an_event_of_this_process_needs_no_interval(self) -> None:
        name = f"{state_waits.__name__}.READ_INTERVAL_S"
        self.useFixture(fixtures.MonkeyPatch(name, NEVER_S))
        may_end = threading.Event()
        self.addCleanup(may_end.set)
        begun = threading.Event()

        def hold(_: Any) -> None:
            begun.set()
            may_end.wait(120)

        self.vnfm.driver.before["apply"] = hold
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        accepted = self.vnfm.task(self.vnfm.create(), "instantiate", body)
        self.assertTrue(begun.wait(120))
        op_occ_id = accepted.headers["Location"].rpartition("/")[2]
        request = self.send(op_occ_id, LONG)
        self.until_waiting(1)
        self.assertTrue(request.is_waiting)
        may_end.set()
        self.assertEqual("COMPLETED", request.state())

    def test_the_response_after_the_time_has_the_current_state(self) -> None:
        self.add("a")
        self.assertEqual("PROCESSING", self.send("a", "wait=1").state())
        self.assertEqual({1}, set(self.reads()))

    def test_another_state_is_answered_at_once(self) -> None:
        self.add("a")
        query = f"{LONG}&state_not=STARTING&state_not=FAILED_TEMP"
        self.assertEqual("PROCESSING", self.send("a", query).state())
        self.complete()
        self.assertEqual("COMPLETED", self.send("a", LONG).state())
        self.assertEqual([], self.reads())

    def test_a_state_that_is_to_be_left(self) -> None:
        self.add("a")
        self.complete()
        query = f"{LONG}&state_not=STARTING&state_not=COMPLETED"
        request = self.send("a", query)
        self.until_waiting(1)
        self.change(operation_state=S.STARTING)
        count = len(self.reads())
        waiting.until(lambda: len(self.reads()) > count + 1, "two reads")
        self.assertTrue(request.is_waiting)
        self.change(operation_state=S.PROCESSING)
        self.assertEqual("PROCESSING", request.state())

    def test_two_requests_wait_for_one_operation(self) -> None:
        self.add("a")
        requests = [self.send("a", LONG) for _ in range(2)]
        waiting.until(lambda: self.shown() == 2, "both requests")
        self.until_waiting(1)
        self.complete()
        states = [request.state() for request in requests]
        self.assertEqual(["COMPLETED"] * 2, states)

    def shown(self) -> int:
        """Return how often a request has read an operation."""
        return len(self.of_requests())

    def test_an_entity_tag_is_compared_after_the_wait(self) -> None:
        self.add("a")
        tag = self.vnfm.call("GET", f"{OP_OCCS}/a").headers["ETag"]
        headers = {"If-None-Match": tag}
        response = self.send("a", "wait=1", **headers).response()
        self.assertEqual(304, response.status)
        request = self.send("a", LONG, **headers)
        self.until_waiting(1)
        self.complete()
        self.assertEqual("COMPLETED", request.state())

    def test_an_operation_that_is_deleted_meanwhile(self) -> None:
        self.add("a")
        request = self.send("a", LONG)
        self.until_waiting(1)
        with self.vnfm.parts.store.engine.begin() as connection:
            connection.execute(sa.delete(VnfLcmOpOcc))
        self.assertEqual(404, request.response().status)

    def test_a_failed_read_is_repeated(self) -> None:
        self.add("a")
        request = self.send("a", LONG)
        self.until_waiting(1)
        failed = threading.Event()

        def fail(*_: Any) -> Any:
            failed.set()
            raise DATABASE_ERRORS[0]

        name = f"{op_occs.__name__}.list_states"
        with fixtures.MonkeyPatch(name, fail):
            self.assertTrue(failed.wait(120))
        self.complete()
        self.assertEqual("COMPLETED", request.state())

    def test_another_server_answers_at_once(self) -> None:
        self.add("a")
        response = self.vnfm.call("GET", f"{OP_OCCS}/a?{LONG}")
        self.assertEqual("PROCESSING", response.json["operationState"])

    def test_requests_that_wait_end_when_the_server_stops(self) -> None:
        self.add("a", "b")
        requests = [self.send(op_occ_id, LONG) for op_occ_id in ("a", "b")]
        self.until_waiting(2)
        self.served.stop()
        states = [request.state() for request in requests]
        self.assertEqual(["PROCESSING"] * 2, states)


class TestQuery(StateWaitCase):
    def setUp(self) -> None:
        super().setUp()
        self.add("a")

    def assert_refused(self, message: str, queries: Iterable[str]) -> None:
        for query in queries:
            response = self.vnfm.call("GET", f"{OP_OCCS}/a?{query}")
            self.assert_problem(400, response, message)

    def test_the_time_is_one_to_sixty_whole_seconds(self) -> None:
        values = ("", "0", "61", "100", "-1", "+1", "1.5", "1s", "%D9%A3")
        self.assert_refused(
            "allowed are whole seconds from 1 to 60",
            [f"wait={value}" for value in values],
        )

    def test_the_time_is_not_repeated(self) -> None:
        self.assert_refused("repeated", ["wait=1&wait=1"])

    def test_the_states_are_those_of_the_standard(self) -> None:
        self.assert_refused(
            "allowed are STARTING, PROCESSING, COMPLETED, FAILED_TEMP, "
            "FAILED, ROLLING_BACK, ROLLED_BACK.",
            [
                f"{LONG}&state_not={value}"
                for value in ("", "processing", "STARTING,PROCESSING")
            ],
        )

    def test_a_state_alone_is_refused(self) -> None:
        self.assert_refused("needs wait", ["state_not=PROCESSING"])

    def test_misspelled_parameters_are_refused(self) -> None:
        self.assert_refused('did you mean "wait"', ["Wait=1", "waits=1"])
        self.assert_refused(
            'did you mean "state_not"', ["stateNot=FAILED", "state_no=FAILED"]
        )

    def test_other_parameters_are_ignored(self) -> None:
        response = self.vnfm.call("GET", f"{OP_OCCS}/a?other=1")
        self.assertEqual(200, response.status)


class TestManyRequests(StateWaitCase):
    options = {  # noqa: RUF012
        "api": {"threads": 4, "project_share": 100}
    }

    def send_many(self, number: int) -> Sequence[Request]:
        """Send requests, each for an operation of its own; return them when
        all wait.
        """
        op_occ_ids = [f"op-occ-{i}" for i in range(number)]
        self.add(*op_occ_ids)
        requests = [self.send(op_occ_id, LONG) for op_occ_id in op_occ_ids]
        self.until_waiting(number)
        return requests

    def test_they_need_no_threads(self) -> None:
        requests = self.send_many(200)
        for path in ("/vnflcm/v2/vnf_instances", f"{OP_OCCS}/op-occ-1"):
            self.assertEqual(200, self.served.send(path, {}).response().status)
        self.assertTrue(all(request.is_waiting for request in requests))
        self.complete()
        states = {request.state() for request in requests}
        self.assertEqual({"COMPLETED"}, states)

    def test_one_statement_reads_the_states_for_all(self) -> None:
        requests = self.send_many(100)
        self.statements.clear()
        waiting.until(lambda: len(self.reads()) >= 3, "three reads")
        self.assertEqual({100}, set(self.reads()))
        self.assertEqual([], self.of_requests())
        self.complete()
        for request in requests:
            self.assertEqual("COMPLETED", request.state())
        waiting.until(
            lambda: not any(t.name == THREAD for t in threading.enumerate()),
            "the end of the reads",
        )


class TestLimit(StateWaitCase):
    options = {  # noqa: RUF012
        "api": {"max_waits": 1}
    }

    def test_a_further_request_is_rejected(self) -> None:
        self.add("a")
        first = self.send("a", LONG)
        self.until_waiting(1)
        refused = self.send("a", LONG).response()
        self.assertEqual(503, refused.status)
        self.assertIn("[api] max_waits", refused.json["detail"])
        self.assertEqual("10", refused.headers["Retry-After"])
        self.complete()
        self.assertEqual("COMPLETED", first.state())
        self.change(operation_state=S.PROCESSING)
        self.assertEqual("PROCESSING", self.send("a", "wait=1").state())

    def test_a_closed_connection_ends_its_wait(self) -> None:
        self.add("a", "b")
        first = self.send("a", LONG)
        self.until_waiting(1)
        self.assertEqual(503, self.send("b", LONG).response().status)
        first.close()

        def is_accepted() -> bool:
            return self.send("b", "wait=1").response().status == 200

        waiting.until(is_accepted, "the place of the first one")


class TestSigterm(ApiCase):
    def test_it_ends_the_waits(self) -> None:
        server = self.useFixture(
            ApiServer(self, api={"max_waits": 1, "threads": 1})
        )
        path = self.create_operation(server)
        client = server.connect()
        client.sendall(
            f"GET {path}?{LONG} HTTP/1.1\r\n"
            "Host: 127.0.0.1\r\nVersion: 2.0.0\r\n\r\n".encode()
        )
        # it waits when another one is answered after it
        server.get("/vnflcm/api_versions")
        self.assertEqual(503, server.get(f"{path}?{LONG}").status)
        server.program.signal(signal.SIGTERM)
        response = client.makefile("rb").read()
        self.assertEqual(b"200", response.split()[1], str(response))
        self.assertEqual(0, server.program.stop())

    def create_operation(self, server: ApiServer) -> str:
        """Start an operation, which no conductor runs; return its path."""
        csar = self.useFixture(Csar())
        server.upload(server.create_package(), csar.read())
        created = server.call(
            "POST",
            "/vnflcm/v2/vnf_instances",
            json.dumps({"vnfdId": csar.vnfd_id}),
        )
        accepted = server.call(
            "PATCH",
            f"/vnflcm/v2/vnf_instances/{created.json['id']}",
            json.dumps({"vnfInstanceName": "a-name"}),
            {"Content-Type": "application/merge-patch+json"},
        )
        self.assertEqual(202, accepted.status, str(accepted.content))
        op_occ_id = accepted.headers["Location"].rpartition("/")[2]
        return f"{OP_OCCS}/{op_occ_id}"


class TestProjects(StateWaitCase):
    options = {  # noqa: RUF012
        "api": {"max_waits": 2, "project_share": 50}
    }

    def create_service(self) -> Vnfm:
        self.projects = Projects(**self.options)
        return self.projects

    def token(self, project: str) -> str:
        """Return a token of a project."""
        self.projects.become(project)
        self.vnfm.call("GET", OP_OCCS)
        return self.projects.token

    def request(self, project: str, op_occ_id: str) -> Request:
        headers = {"X-Auth-Token": self.token(project)}
        return self.send(op_occ_id, LONG, **headers)

    def test_an_operation_of_another_project_is_not_found(self) -> None:
        self.add("a")
        self.assertEqual(404, self.request(UNTRUSTED, "a").response().status)
        self.assertEqual([], self.reads())

    def test_the_project_is_checked_after_the_wait(self) -> None:
        self.add("a")
        request = self.request(OWNER, "a")
        self.until_waiting(1)
        self.change(operation_state=S.COMPLETED, project_id=UNTRUSTED)
        self.assertEqual(404, request.response().status)

    def test_a_project_has_its_share_of_the_waits(self) -> None:
        self.add("a")
        self.add("b", project_id=UNTRUSTED)
        first = self.request(OWNER, "a")
        self.until_waiting(1)
        refused = self.request(OWNER, "a").response()
        self.assertEqual(503, refused.status)
        other = self.request(UNTRUSTED, "b")
        self.until_waiting(2)
        self.complete()
        self.assertEqual("COMPLETED", first.state())
        self.assertEqual("COMPLETED", other.state())
