"""The stream of events, read by clients of the real server."""

import json
import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import fixtures
import sqlalchemy as sa

from tacker_cnf.db import deliveries, events, op_occs, outbox
from tacker_cnf.db.models import LifecycleEvent, VnfLcmOpOcc
from tacker_cnf.db.session import DATABASE_ERRORS
from tacker_cnf.http_server import application
from tacker_cnf.services import event_position, event_streams
from tacker_cnf.sol.timeline import TimelineStep
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tests.factories import NOW, a_stored_instance, an_instance, an_op_occ
from tests.fixtures import waiting
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.served_api import Served
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Vnfm

CREATION: Final = "VnfIdentifierCreationNotification"
OPERATION: Final = "VnfLcmOperationOccurrenceNotification"
PROGRESS: Final = "OperationProgress"
THREAD: Final = "event-streams"


class Event(NamedTuple):
    """An event that a client has received."""

    type: str
    data: Any
    id: str | None


class Client:
    """A client of the stream."""

    def __init__(
        self, served: Served, query: str = "", **headers: str
    ) -> None:
        names = {name.replace("_", "-"): v for name, v in headers.items()}
        self._request = served.send(f"/events?{query}", names)
        self.response = self._request.stream()
        # comments come first while there is nothing else to send
        while (line := self.read_line()) in {"", ": keep-alive"}:
            pass
        assert line == "retry: 1000", line

    def read_line(self) -> str:
        raw: bytes = self.response.readline()
        assert raw, "the stream has ended"
        return raw.decode().rstrip("\n")

    def line(self, expected: str) -> None:
        found = self.read_line()
        assert found == expected, found

    def next(self) -> Event | None:
        """Return the next event; None: the stream has ended."""
        fields: dict[str, str] = {}
        while raw := self.response.readline():
            line = raw.decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if line and name:
                fields[name] = value
            elif "event" in fields:
                return Event(
                    fields["event"],
                    json.loads(fields["data"]),
                    fields.get("id"),
                )
            else:
                fields = {}
        return None

    def read_id(self) -> str:
        """Return the id that is sent first."""
        while not (line := self.read_line()).startswith("id: "):
            pass
        self.line("")
        return line.removeprefix("id: ")

    def until(self, kind: str) -> Event:
        """Return the next event of a type."""
        while event := self.next():
            if event.type == kind:
                return event
        raise AssertionError(f"the stream has ended before {kind}")

    def close(self) -> None:
        self._request.close()


class EventsCase(ApiCase):
    #: configuration, as {group: {option: value}}
    options: Mapping[str, dict[str, Any]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(self.create_service())
        self.store = self.vnfm.parts.store
        self.served = self.useFixture(Served(self.vnfm))

    def create_service(self) -> Vnfm:
        return Vnfm(**self.options)

    def client(self, query: str = "", **headers: str) -> Client:
        return Client(self.served, query, **headers)

    def announce(
        self, name: str, project_id: str = OWNER, number: int | None = None
    ) -> int:
        """Announce the creation of an instance, as another process would;
        return the number of the event.

        :param number: the number that the event gets; None: the next one
        """
        instance = an_instance(id=name, project_id=project_id)
        with self.store.writer() as session:
            outbox.announce_creation(session, instance, NOW)
            session.flush()
            newest = events.newest(session)
            if number is not None:
                session.execute(
                    sa.update(LifecycleEvent)
                    .where(LifecycleEvent.id == newest)
                    .values(id=number)
                )
            return number or newest

    def add_operation(
        self,
        op_occ_id: str = "an-op-occ",
        project_id: str = OWNER,
        state: S = S.PROCESSING,
    ) -> None:
        """Add an operation that no conductor claims."""
        with self.store.writer() as session:
            op_occs.add(
                session,
                an_op_occ(
                    id=op_occ_id, operation_state=state, project_id=project_id
                ),
                a_stored_instance(),
                {},
                NOW,
                3600.0,
            )

    def has_thread(self) -> bool:
        return any(t.name == THREAD for t in threading.enumerate())


class TestStream(EventsCase):
    def test_an_operation_from_its_start_to_its_end(self) -> None:
        client = self.client()
        self.vnfm.driver.before["apply"] = lambda call: (
            call.context.report_progress("1 of 2")
        )
        instance_id = self.vnfm.create()
        created = client.until(CREATION)
        self.assertEqual(instance_id, created.data["vnfInstanceId"])
        self.assertNotIn("subscriptionId", created.data)
        self.assertEqual(
            {
                "vnfInstance": {
                    "href": f"/vnflcm/v2/vnf_instances/{instance_id}"
                }
            },
            created.data["_links"],
        )
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        self.vnfm.run(instance_id, "instantiate", body)
        states = []
        while "COMPLETED" not in states:
            states.append(client.until(OPERATION).data["operationState"])
        self.assertEqual(["STARTING", "PROCESSING", "COMPLETED"], states)
        progress = client.until(PROGRESS).data
        self.assertEqual("COMPLETED", progress["operationState"])
        self.assertEqual(
            [("GRANT", "COMPLETED"), ("INFRA", "COMPLETED")],
            [(s["step"], s["outcome"]) for s in progress["timeline"]],
        )
        self.assertEqual("1 of 2", progress["timeline"][1]["message"])

    def test_the_headers(self) -> None:
        response = self.client().response
        self.assertEqual(200, response.status)
        self.assertEqual("text/event-stream", response.headers["Content-Type"])
        self.assertEqual("no-store", response.headers["Cache-Control"])
        self.assertEqual("no", response.headers["X-Accel-Buffering"])

    def test_a_stream_begins_with_the_operations_that_run(self) -> None:
        self.add_operation()
        for _ in range(2):
            event = self.client().until(PROGRESS)
            self.assertEqual("PROCESSING", event.data["operationState"])
            self.assertIsNone(event.id)

    def test_an_operation_that_ends_between_two_reads(self) -> None:
        client = self.client()
        self.add_operation(state=S.COMPLETED)
        client.until(OPERATION)
        progress = client.until(PROGRESS)
        self.assertEqual("COMPLETED", progress.data["operationState"])

    def test_each_change_of_a_timeline_is_sent(self) -> None:
        self.add_operation()
        client = self.client()
        client.until(PROGRESS)
        for version in range(1, 3):
            with self.store.engine.begin() as connection:
                connection.execute(
                    sa.update(VnfLcmOpOcc).values(
                        progress_version=version,
                        timeline=(
                            TimelineStep(
                                step="INFRA", attempt=version, start_time=NOW
                            ),
                        ),
                    )
                )
            (step,) = client.until(PROGRESS).data["timeline"]
            self.assertEqual(version, step["attempt"])

    def test_filters(self) -> None:
        self.add_operation()
        for query, expected in (
            ("vnf_instance_id=b&vnf_instance_id=c", ["b", "c"]),
            (f"type={CREATION}", ["a", "b", "c"]),
            ("vnf_lcm_op_occ_id=an-op-occ", []),
        ):
            client = self.client(query)
            if not expected:
                found = client.next()
                assert found is not None
                self.assertEqual(PROGRESS, found.type)
                continue
            for name in ("a", "b", "c"):
                self.announce(name)
            for name in expected:
                event = client.next()
                assert event is not None
                self.assertEqual(name, event.data["vnfInstanceId"])

    def test_the_thread_ends_with_the_last_stream(self) -> None:
        clients = [self.client(), self.client()]
        waiting.until(self.has_thread, "the thread")
        for client in clients:
            client.close()
        # the server notices it when it sends
        self.announce("a")
        self.announce("b")
        waiting.until(lambda: not self.has_thread(), "the end of the thread")
        self.assertEqual(CREATION, self.announce_to(self.client()).type)

    def announce_to(self, client: Client) -> Event:
        self.announce("a")
        return client.until(CREATION)

    def test_a_failed_read_is_repeated(self) -> None:
        client = self.client()
        failed = threading.Event()

        def fail(*_: Any, **__: Any) -> Any:
            failed.set()
            raise DATABASE_ERRORS[0]

        name = f"{events.__name__}.list_new"
        with fixtures.MonkeyPatch(name, fail):
            self.announce("a")
            self.assertTrue(failed.wait(120))
        self.assertEqual("a", client.until(CREATION).data["vnfInstanceId"])

    def test_the_end_of_the_server_ends_the_streams(self) -> None:
        clients = [self.client(), self.client()]
        self.served.stop()
        for client in clients:
            self.assertIsNone(client.next())

    def test_a_stream_without_events_has_comments(self) -> None:
        name = f"{application.__name__}.KEEPALIVE_S"
        self.useFixture(fixtures.MonkeyPatch(name, 0.05))
        client = self.client()
        client.read_id()
        client.line(": keep-alive")

    def test_an_error_does_not_end_the_streams(self) -> None:
        client = self.client()
        failed = threading.Event()

        def fail(*_: Any) -> Any:
            failed.set()
            raise ValueError("a defect")

        name = f"{event_streams.__name__}.RETRY_DELAY_S"
        self.useFixture(fixtures.MonkeyPatch(name, 0.05))
        name = f"{events.__name__}.list_versions"
        with fixtures.MonkeyPatch(name, fail):
            self.announce("a")
            self.assertTrue(failed.wait(120))
        self.announce("b")
        found = [client.until(CREATION).data["vnfInstanceId"] for _ in "ab"]
        self.assertEqual(["a", "b"], found)

    def test_an_event_that_cannot_be_decoded_is_skipped(self) -> None:
        client = self.client()
        with self.store.engine.begin() as connection:
            connection.execute(
                sa.text(
                    "INSERT INTO lifecycle_events (announcement, project_id,"
                    " fanned_out) VALUES ('of another key', 'x', 1)"
                )
            )
        number = self.announce("a")
        event = client.until(CREATION)
        self.assertEqual(str(number), event.id)


class TestEnd(EventsCase):
    options: Mapping[str, dict[str, Any]] = {"api": {"event_stream_time": 0.5}}

    def test_a_stream_ends_after_some_time(self) -> None:
        client = self.client()
        self.assertEqual("0", client.read_id())
        self.assertIsNone(client.next())

    def test_another_server_sends_it_too(self) -> None:
        """It has no STREAM, and uses a thread."""
        response = self.vnfm.call("GET", "/events")
        self.assertIn(b"retry: 1000\n\n", response.content)


class TestResumption(EventsCase):
    def ids(self, client: Client, number: int) -> list[str]:
        return [
            client.until(CREATION).data["vnfInstanceId"] for _ in range(number)
        ]

    def fan_out(self, session: Any) -> None:
        """Do what the dispatcher does, unless it has done it already."""
        session.execute(sa.update(LifecycleEvent).values(fanned_out=True))

    def test_a_stream_continues_after_the_last_event(self) -> None:
        for name in ("a", "b", "c"):
            self.announce(name)
        for headers, query in (
            ({"Last_Event_ID": "1"}, ""),
            ({}, "last_event_id=1"),
        ):
            client = self.client(query, **headers)
            self.assertEqual(["b", "c"], self.ids(client, 2))
        self.announce("d")
        self.assertEqual(["d"], self.ids(client, 1))

    def test_each_event_has_the_id_to_continue_with(self) -> None:
        client = self.client()
        for name in ("a", "b"):
            number = self.announce(name)
            self.assertEqual(str(number), client.until(CREATION).id)

    def test_a_stream_without_events_has_an_id_to_continue_with(self) -> None:
        number = self.announce("a")
        for headers in ({}, {"Last_Event_ID": str(number)}):
            client = self.client(f"type={PROGRESS}", **headers)
            self.assertEqual(str(number), client.read_id())

    def test_the_end_of_an_operation_is_not_missed(self) -> None:
        self.add_operation()
        client = self.client(f"type={PROGRESS}")
        number = client.read_id()
        client.until(PROGRESS)
        client.close()
        self.add_operation("ended", state=S.COMPLETED)
        resumed = self.client(f"type={PROGRESS}", Last_Event_ID=number)
        progress = [resumed.until(PROGRESS).data for _ in range(2)]
        self.assertEqual(
            [("ended", "COMPLETED"), ("an-op-occ", "PROCESSING")],
            [(p["vnfLcmOpOccId"], p["operationState"]) for p in progress],
        )

    def test_delivered_events_are_kept(self) -> None:
        self.announce("a")
        self.announce("b")
        with self.store.writer() as session:
            self.fan_out(session)
            deliveries.delete_old_events(session, 3600.0, 10)
        client = self.client(Last_Event_ID="0")
        self.assertEqual(["a", "b"], self.ids(client, 2))

    def test_deleted_events_are_reported(self) -> None:
        for name in ("a", "b", "c"):
            self.announce(name)
        with self.store.writer() as session:
            self.fan_out(session)
            deliveries.delete_old_events(session, -1.0, 10)
        client = self.client(Last_Event_ID="1")
        event = client.next()
        assert event is not None
        self.assertEqual(
            Event("EventsMissed", {"lastEventId": "1"}, "3"), event
        )
        # the newest event is kept, so that this one has missed nothing
        client = self.client(Last_Event_ID="3")
        self.announce("d")
        self.assertEqual(["d"], self.ids(client, 1))

    def test_too_many_events_are_reported_as_missed(self) -> None:
        name = f"{event_streams.__name__}.MAX_BACKLOG"
        self.useFixture(fixtures.MonkeyPatch(name, 2))
        for name in ("a", "b", "c", "d"):
            self.announce(name)
        client = self.client(Last_Event_ID="2")
        self.assertEqual(["c", "d"], self.ids(client, 2))
        event = self.client(Last_Event_ID="1").next()
        assert event is not None
        self.assertEqual(("EventsMissed", "4"), (event.type, event.id))

    def test_an_event_that_is_added_while_a_stream_begins(self) -> None:
        """The thread reads it before the stream follows the log."""
        self.client()
        self.announce("a")
        original = events.list_new
        may_add = True

        def list_new(*args: Any, **options: Any) -> Any:
            nonlocal may_add
            found = original(*args, **options)
            if may_add and threading.current_thread().name != THREAD:
                may_add = False
                other = self.client()
                self.announce("b")
                other.until(CREATION)
            return found

        name = f"{events.__name__}.list_new"
        with fixtures.MonkeyPatch(name, list_new):
            client = self.client(Last_Event_ID="0")
        self.assertEqual(["a", "b"], self.ids(client, 2))

    def test_an_event_that_is_committed_late_is_not_lost(self) -> None:
        """Its number is lower than that of an event that was sent before."""
        client = self.client()
        first = self.announce("a")
        client.until(CREATION)
        self.announce("b", number=first + 2)
        event = client.until(CREATION)
        self.assertEqual(str(first), event.id)
        resumed = self.client(Last_Event_ID=str(event.id))
        self.announce("late", number=first + 1)
        self.assertEqual(["late"], self.ids(client, 1))
        self.assertEqual(["b", "late"], self.ids(resumed, 2))

    def test_an_event_that_was_rolled_back_is_not_awaited(self) -> None:
        name = f"{event_position.__name__}.GAP_TIMEOUT_S"
        self.useFixture(fixtures.MonkeyPatch(name, 0.0))
        client = self.client()
        first = self.announce("a")
        self.announce("b", number=first + 2)
        self.assertEqual(
            [str(first), str(first + 2)],
            [client.until(CREATION).id for _ in range(2)],
        )


class TestRefusals(EventsCase):
    options: Mapping[str, dict[str, Any]] = {"api": {"max_event_streams": 1}}

    def test_invalid_requests(self) -> None:
        for query, headers, message in (
            ("typ=x", {}, 'unknown parameter "typ"; did you mean "type"?'),
            ("x=x", {}, "allowed are vnf_instance_id"),
            ("type=x", {}, "type: 'x' is not valid; allowed are Vnf"),
            ("", {"Last-Event-ID": "x"}, "Last-Event-ID: 'x' is not the id"),
            ("last_event_id=-1", {}, "'-1' is not the id"),
        ):
            response = self.vnfm.call(
                "GET", f"/events?{query}", headers=headers
            )
            self.assert_problem(400, response, message)

    def test_too_many_streams(self) -> None:
        client = self.client()
        response = self.vnfm.call("GET", "/events")
        self.assert_problem(503, response, "[api] max_event_streams")
        client.close()
        self.announce("a")
        self.announce("b")

        def is_free() -> bool:
            request = self.served.send("/events", {})
            return request.stream().status == 200

        waiting.until(is_free, "a place")

    def test_an_unreachable_database(self) -> None:
        def fail(*_: Any) -> Any:
            raise DATABASE_ERRORS[0]

        name = f"{events.__name__}.newest"
        with fixtures.MonkeyPatch(name, fail):
            response = self.vnfm.call("GET", "/events")
        self.assert_problem(503, response)
        self.assertEqual(200, self.client().response.status)


class TestProjects(EventsCase):
    def create_service(self) -> Vnfm:
        self.projects = Projects()
        return self.projects

    def client_of(self, project: str, *roles: str) -> Client:
        self.projects.become(project, *roles)
        self.projects.call("GET", "/vnflcm/api_versions")
        return self.client(X_Auth_Token=self.projects.token)

    def test_a_client_reads_the_events_of_its_project(self) -> None:
        clients = {
            OWNER: self.client_of(OWNER),
            UNTRUSTED: self.client_of(UNTRUSTED),
            "": self.client_of("another", "admin"),
        }
        self.announce("theirs", UNTRUSTED)
        self.announce("ours", OWNER)
        for project, expected in (
            (UNTRUSTED, ["theirs"]),
            (OWNER, ["ours"]),
            ("", ["theirs", "ours"]),
        ):
            found = [
                clients[project].until(CREATION).data["vnfInstanceId"]
                for _ in expected
            ]
            self.assertEqual(expected, found)
        self.add_operation(OWNER)
        for project in (OWNER, ""):
            clients[project].until(PROGRESS)
        self.announce("end", UNTRUSTED)
        event = clients[UNTRUSTED].next()
        assert event is not None
        self.assertEqual("end", event.data["vnfInstanceId"])

    def test_the_policy_is_checked(self) -> None:
        self.projects.write_policy(events__index="role:admin")
        response = self.projects.call("GET", "/events")
        self.assert_problem(403, response, "events:index")
