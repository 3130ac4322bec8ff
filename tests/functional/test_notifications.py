"""Notifications of the lifecycle of a VNF, and their delivery."""

import asyncio
import datetime
import logging
import threading
from typing import Any, ClassVar

import fixtures
import sqlalchemy as sa
from sqlalchemy.orm import Session

from tacker_cnf import errors, rpc
from tacker_cnf.cmd import manage
from tacker_cnf.cmd.notification_waker import NotificationWaker
from tacker_cnf.db import deliveries, models, outbox, session
from tacker_cnf.drivers.fake import FakeCall
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.notification import delivery_manager, dispatcher
from tacker_cnf.notification.delivery_manager import DeliveryManager
from tacker_cnf.notification.dispatcher import Dispatcher
from tacker_cnf.notification.webhook_client import (
    DeliveryResult,
    WebhookClient,
)
from tests.factories import an_instance
from tests.fixtures import waiting
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Vnfm

PATH = "/vnflcm/v2/subscriptions"
FAST_RETRY = {"retry_interval": 0.02, "max_retry_interval": 0.1}
#: seconds, longer than any test
RETRY_INTERVAL_S = 600.0
INSTANTIATE = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
TERMINATE = {"terminationType": "FORCEFUL"}


class NotificationTest(ApiCase):
    options: ClassVar[dict[str, Any]] = {}
    #: of the subscriptions
    path: ClassVar[str] = PATH
    vnfm: Vnfm

    def setUp(self) -> None:
        super().setUp()
        self.receiver = self.useFixture(HttpReceiver())
        self.vnfm = self.useFixture(self.build_vnfm())

    def build_vnfm(self) -> Vnfm:
        return Vnfm(
            notification=FAST_RETRY | self.options,
            outgoing={"timeout": 2 * RETRY_INTERVAL_S},
        )

    def subscribe(
        self, receiver: HttpReceiver | None = None, **body: Any
    ) -> str:
        uri = (receiver or self.receiver).url
        request = {"callbackUri": uri} | body
        response = self.vnfm.call("POST", self.path, request)
        self.assertEqual(201, response.status, str(response.json))
        return str(response.json["id"])

    def wait_notifications(
        self, count: int, receiver: HttpReceiver | None = None
    ) -> list[Any]:
        """Wait for notifications; return each as (operation, status, state)."""
        received = (receiver or self.receiver).wait(count)
        return [_summarize(request.json) for request in received]

    def count_pending(self) -> int:
        """Count the pending deliveries, and the events without deliveries
        so far.
        """
        count = sa.func.count()
        is_new = models.LifecycleEvent.fanned_out.is_(False)
        with self.vnfm.parts.store.reader() as session:
            return sum(
                session.scalar(query) or 0
                for query in (
                    sa.select(count).select_from(models.Delivery),
                    sa.select(count).where(is_new),
                )
            )

    def manage(self, *args: str) -> str:
        """Run tacker-cnf-manage; return its output."""
        folder = self.useFixture(fixtures.TempDir()).path
        with open(f"{folder}/x.conf", "w") as file:  # noqa: PTH123
            file.write(f"[DEFAULT]\nstate_path = {self.vnfm.state_path}\n")
        stdout = self.useFixture(fixtures.StringStream("stdout")).stream
        with fixtures.MonkeyPatch("sys.stdout", stdout):
            code = manage.main(["--config-dir", folder, *args])
        self.assertEqual(0, code)
        stdout.seek(0)
        return str(stdout.read())

    def start_dispatcher(self) -> Dispatcher:
        return Dispatcher(self.vnfm.conf, self.vnfm.parts.store)

    def restart(self) -> None:
        self.vnfm.dispatcher = self.start_dispatcher()
        self.vnfm.dispatcher.start()

    def wait_delivered(self) -> None:
        waiting.until(
            lambda: self.count_pending() == 0, "the end of all deliveries"
        )


def _summarize(notification: Any) -> tuple[str, ...]:
    if "operation" not in notification:
        return (notification["notificationType"],)
    return (
        notification["operation"],
        notification["notificationStatus"],
        notification["operationState"],
    )


def steps(operation: str, *states: str) -> list[tuple[str, ...]]:
    starts = {"STARTING"}
    return [
        (operation, "START" if state in starts else "RESULT", state)
        for state in states
    ]


def _refuse(_: FakeCall) -> None:
    raise errors.VimRejected("quota exceeded")


CREATED = [("VnfIdentifierCreationNotification",)]
DELETED = [("VnfIdentifierDeletionNotification",)]


class TestSequences(NotificationTest):
    def test_a_whole_lifecycle(self) -> None:
        self.subscribe()
        instance_id = self.vnfm.create_instantiated()
        self.vnfm.run(instance_id, "terminate", TERMINATE)
        self.vnfm.call("DELETE", f"/vnflcm/v2/vnf_instances/{instance_id}")
        done = ("STARTING", "PROCESSING", "COMPLETED")
        self.assertEqual(
            CREATED
            + steps("INSTANTIATE", *done)
            + steps("TERMINATE", *done)
            + DELETED,
            self.wait_notifications(8),
        )
        self.wait_delivered()

    def instantiate_failing(self) -> str:
        self.vnfm.driver.before["apply"] = _refuse
        self.subscribe()
        instance_id = self.vnfm.create()
        op_occ = self.vnfm.run(instance_id, "instantiate", INSTANTIATE)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.vnfm.driver.before.clear()
        return str(op_occ["id"])

    def test_failure_and_decisions(self) -> None:
        for decision, states in (
            ("retry", ("PROCESSING", "COMPLETED")),
            ("rollback", ("ROLLING_BACK", "ROLLED_BACK")),
            ("fail", ("FAILED",)),
        ):
            self.receiver = self.useFixture(HttpReceiver())
            op_occ_id = self.instantiate_failing()
            self.vnfm.decide(op_occ_id, decision)
            failed = ("STARTING", "PROCESSING", "FAILED_TEMP")
            expected = CREATED + steps("INSTANTIATE", *failed, *states)
            received = self.wait_notifications(len(expected))
            self.assertEqual(expected, received)
            for request in self.receiver.received:
                state = request.json.get("operationState")
                if state in {"FAILED_TEMP", "FAILED", "ROLLED_BACK"}:
                    error = request.json["error"]
                    self.assertIn("quota exceeded", error["detail"])
                else:
                    self.assertNotIn("error", request.json)

    def test_a_grant_that_is_refused(self) -> None:
        self.vnfm.nfvo.fails_with = errors.GrantRejected("not today")
        self.subscribe()
        self.vnfm.run(self.vnfm.create(), "instantiate", INSTANTIATE)
        self.assertEqual(
            CREATED + steps("INSTANTIATE", "STARTING", "ROLLED_BACK"),
            self.wait_notifications(3),
        )

    def test_rejected_requests_send_no_notification(self) -> None:
        """A request that is refused changes nothing."""
        self.subscribe()
        instance_id = self.vnfm.create()
        self.assertEqual(
            409, self.vnfm.task(instance_id, "terminate", TERMINATE).status
        )
        self.vnfm.call("DELETE", f"/vnflcm/v2/vnf_instances/{instance_id}")
        self.assertEqual(CREATED + DELETED, self.wait_notifications(2))


class TestContent(NotificationTest):
    def test_the_request_and_its_links(self) -> None:
        subscription_id = self.subscribe()
        instance_id = self.vnfm.create_instantiated()
        first, *_, last = self.receiver.wait(4)
        self.assertEqual("POST", last.method)
        for name, value in (
            ("Content-Type", "application/json"),
            ("Version", "2.0.0"),
        ):
            self.assertEqual(value, last.headers[name])
        links = last.json["_links"]
        self.assertEqual(
            {"vnfInstance", "subscription", "vnfLcmOpOcc"}, set(links)
        )
        for link in links.values():
            self.assertEqual(200, self.vnfm.call("GET", link["href"]).status)
        self.assertEqual(subscription_id, last.json["subscriptionId"])
        self.assertEqual(instance_id, first.json["vnfInstanceId"])

    def test_links_use_the_configured_endpoint(self) -> None:
        vnfm = self.useFixture(Vnfm(api={"endpoint": "https://vnfm/base/"}))
        vnfm.call("POST", PATH, {"callbackUri": self.receiver.url})
        instance_id = vnfm.create()
        notification = self.receiver.wait(1)[0].json
        self.assertEqual(
            f"https://vnfm/base/vnflcm/v2/vnf_instances/{instance_id}",
            notification["_links"]["vnfInstance"]["href"],
        )

    def test_changes_are_sent_in_full_at_the_end(self) -> None:
        short = self.useFixture(HttpReceiver())
        self.subscribe()
        self.subscribe(short, verbosity="SHORT")
        self.vnfm.create_instantiated()
        for receiver, verbosity in (
            (self.receiver, "FULL"),
            (short, "SHORT"),
        ):
            bodies = [request.json for request in receiver.wait(4)]
            self.assertEqual(verbosity, bodies[-1]["verbosity"])
            has = [bool(t.get("affectedVnfcs")) for t in bodies]
            self.assertEqual([False] * 3 + [verbosity == "FULL"], has)

    def test_all_subscribers_receive_the_same_id(self) -> None:
        other = self.useFixture(HttpReceiver())
        self.subscribe()
        self.subscribe(other)
        self.vnfm.create()
        ids = {r.wait(1)[0].json["id"] for r in (self.receiver, other)}
        self.assertEqual(1, len(ids))

    def test_no_secret_is_sent_or_stored(self) -> None:
        secret = {
            "vim1": FAKE_VIM["vim1"] | {"accessInfo": {"password": "pw-x"}}
        }
        self.subscribe()
        self.vnfm.create_instantiated(
            vimConnectionInfo=secret, additionalParams={"token": "pw-x"}
        )
        received = self.receiver.wait(4)
        self.assertNotIn(b"pw-x", b"".join(r.body for r in received))

    def test_only_subscribed_notifications_are_sent(self) -> None:
        types = ["VnfLcmOperationOccurrenceNotification"]
        expected = {
            "notificationTypes": types,
            "operationTypes": ["TERMINATE"],
            "operationStates": ["COMPLETED"],
        }
        unsubscribed = self.useFixture(HttpReceiver())
        name_filter = {
            "vnfInstanceSubscriptionFilter": {"vnfInstanceNames": ["x"]}
        }
        self.subscribe(filter=expected)
        self.subscribe(unsubscribed, filter=name_filter)
        instance_id = self.vnfm.create_instantiated()
        self.vnfm.run(instance_id, "terminate", TERMINATE)
        self.assertEqual(
            steps("TERMINATE", "COMPLETED"), self.wait_notifications(1)
        )
        self.wait_delivered()
        self.assertEqual([], unsubscribed.received)


class TestAuthentication(NotificationTest):
    def test_notifications_are_authenticated(self) -> None:
        self.receiver = self.useFixture(
            HttpReceiver(oauth2=("vnfm", "s3cret"))
        )
        params = {
            "clientId": "vnfm",
            "clientPassword": "s3cret",
            "tokenEndpoint": f"{self.receiver.url}/token",
        }
        self.subscribe(
            authentication={
                "authType": ["OAUTH2_CLIENT_CREDENTIALS"],
                "paramsOauth2ClientCredentials": params,
            }
        )
        self.vnfm.create_instantiated()
        self.wait_notifications(4)
        # one for the test, one for all notifications
        self.assertEqual(2, self.receiver.issued_tokens)


class TestFailures(NotificationTest):
    def test_order_is_kept_while_the_subscriber_fails(self) -> None:
        self.subscribe()
        self.receiver.next_statuses.extend([500, 503, 404, 429, 302, 500])
        self.vnfm.create_instantiated()
        done = ("STARTING", "PROCESSING", "COMPLETED")
        self.assertEqual(
            CREATED + steps("INSTANTIATE", *done), self.wait_notifications(4)
        )

    def test_a_subscriber_that_recovers_receives_everything(self) -> None:
        self.subscribe()
        self.receiver.stop()
        first = self.vnfm.create_instantiated()
        second = self.vnfm.create()
        back = self.useFixture(HttpReceiver(port=self.receiver.port))
        received = back.wait(5)
        by_instance: dict[str, list[Any]] = {first: [], second: []}
        for request in received:
            by_instance[request.json["vnfInstanceId"]].append(
                _summarize(request.json)
            )
        done = ("STARTING", "PROCESSING", "COMPLETED")
        self.assertEqual(
            CREATED + steps("INSTANTIATE", *done), by_instance[first]
        )
        self.assertEqual(CREATED, by_instance[second])

    def test_one_refused_instance_does_not_block_others(self) -> None:
        self.subscribe()
        rejected_id = self.vnfm.create()
        self.wait_notifications(1)

        def respond(request: ReceivedRequest) -> Response:
            if request.json["vnfInstanceId"] == rejected_id:
                return 500, {}, b""
            return self.receiver._default_response(request)

        self.receiver.responder = respond
        self.vnfm.run(rejected_id, "instantiate", INSTANTIATE)
        other = self.vnfm.create()
        self.receiver.wait(1, vnfInstanceId=other)

    def test_dead_and_slow_subscribers_delay_no_other(self) -> None:
        dead, slow = (self.useFixture(HttpReceiver()) for _ in range(2))
        for receiver in (dead, slow, self.receiver):
            self.subscribe(receiver)
        dead.stop()
        slow.delay = RETRY_INTERVAL_S
        self.vnfm.create_instantiated()
        self.wait_notifications(4)
        self.assertEqual([], slow.received)
        slow.release_delayed()
        self.assertEqual(
            self.wait_notifications(4), self.wait_notifications(4, slow)
        )

    def test_unreadable_credentials_block_no_other_subscriber(self) -> None:
        subscription_id = self.subscribe(
            authentication={
                "authType": ["BASIC"],
                "paramsBasic": {"userName": "u", "password": "p"},
            }
        )
        other = self.useFixture(HttpReceiver())
        self.subscribe(other)
        with self.vnfm.parts.store.writer() as session:
            session.execute(
                sa.text(
                    "UPDATE lccn_subscriptions SET authentication = 'of"
                    " another key' WHERE id = :id"
                ),
                {"id": subscription_id},
            )
        self.vnfm.create()
        other.wait(1)
        self.assertEqual([], self.receiver.received)

    def test_retry_after_is_read(self) -> None:
        self.receiver.status = 503
        self.receiver.headers = {"Retry-After": "100"}
        client = WebhookClient(
            self.receiver.url,
            None,
            HttpClientOptions(),
            SsrfPolicy(allow_loopback=True),
        )

        async def deliver() -> DeliveryResult:
            try:
                return await client.deliver(b"{}")
            finally:
                client.close()

        self.assertEqual(100.0, asyncio.run(deliver()).retry_after)

    def test_subscriptions_are_not_queried_for_each_event(self) -> None:
        self.set_check_interval(RETRY_INTERVAL_S)
        queries = []
        rounds = self.count_rounds()

        def record_statement(
            _: Any, __: Any, statement: str, *___: Any
        ) -> None:
            if statement.startswith("SELECT lccn_subscriptions.id \n"):
                queries.append(statement)

        engine = self.vnfm.parts.store.engine
        sa.event.listen(engine, "before_cursor_execute", record_statement)
        self.vnfm.dispatcher.stop()
        self.restart()

        def many_rounds() -> bool:
            self.vnfm.dispatcher.wake()
            return len(rounds) > 10

        waiting.until(many_rounds, "ten queries for events")
        self.assertEqual(1, len(queries))

    def set_check_interval(self, seconds: float) -> None:
        """Set the interval of queries for deleted subscriptions."""
        name = f"{dispatcher.__name__}.UNSUBSCRIBE_CHECK_INTERVAL_S"
        self.useFixture(fixtures.MonkeyPatch(name, seconds))

    def count_rounds(self) -> list[DeliveryManager]:
        """Record the manager of each query for events."""
        rounds: list[DeliveryManager] = []
        fan_out = DeliveryManager.fan_out

        async def record(manager: DeliveryManager) -> bool:
            rounds.append(manager)
            return await fan_out(manager)

        name = f"{delivery_manager.__name__}.DeliveryManager.fan_out"
        self.useFixture(fixtures.MonkeyPatch(name, record))
        return rounds

    def test_a_subscriber_is_not_flooded(self) -> None:
        self.subscribe()
        self.receiver.delay = RETRY_INTERVAL_S
        vnfd_id = self.vnfm.onboard()
        self.vnfm.dispatcher.stop()
        for _ in range(12):
            self.vnfm.create(vnfd_id)
        self.restart()
        waiting.until(
            lambda: self.receiver.active_requests == 4, "the requests"
        )
        self.receiver.release_delayed()
        self.receiver.wait(12)
        self.assertEqual(4, self.receiver.max_active_requests)

    def test_a_deleted_subscription_gets_nothing_more(self) -> None:
        self.set_check_interval(0.0)
        rounds = self.count_rounds()
        subscription_id = self.subscribe()
        self.receiver.status = 500
        self.vnfm.create()
        waiting.until(lambda: len(self.receiver.requests) > 1, "a retry")
        worker = rounds[-1]._workers[subscription_id]
        self.vnfm.call("DELETE", f"{PATH}/{subscription_id}")
        with self.vnfm.parts.store.reader() as session:
            count = sa.select(sa.func.count()).select_from(models.Delivery)
            self.assertEqual(0, session.scalar(count))
        self.vnfm.dispatcher.wake()
        waiting.until(worker.task.done, "the end of the deliveries")


class TestOtherProcesses(NotificationTest):
    options: ClassVar[dict[str, Any]] = {"poll_interval": RETRY_INTERVAL_S}

    def test_events_of_an_api_server_are_sent_at_once(self) -> None:
        self.subscribe()
        self.vnfm.create()
        self.receiver.wait(1)
        store = session.open_store(self.vnfm.conf)
        self.addCleanup(store.close)
        NotificationWaker(
            store, rpc.ConductorClient(self.vnfm.parts.transport)
        )
        now = datetime.datetime.now(datetime.UTC)
        for count in (2, 3):
            with store.writer() as writer:
                outbox.announce_creation(writer, an_instance(), now)
            self.receiver.wait(count)


class TestParked(NotificationTest):
    options: ClassVar[dict[str, Any]] = {
        "park_after": 0.3,
        "poll_interval": 0.1,
    }

    def park_subscription(self, status: int) -> str:
        subscription_id = self.subscribe()
        self.receiver.status = status
        self.vnfm.create()
        waiting.until(
            lambda: "1 parked" in self.manage(*LIST), "the parked delivery"
        )
        return subscription_id

    def test_parked_notifications_are_listed_and_sent_again(self) -> None:
        for status in (400, 503):
            self.receiver = self.useFixture(HttpReceiver())
            subscription_id = self.park_subscription(status)
            listed = self.manage(*LIST)
            for fact in (
                subscription_id,
                self.receiver.url,
                "VnfIdentifierCreationNotification",
                f"answered {status}",
            ):
                self.assertIn(fact, listed)
            self.receiver.status = 204
            output = self.manage("notifications", "resend", subscription_id)
            self.assertIn("1 ", output)
            self.receiver.wait(1)
            self.wait_delivered()
            self.assertIn("No notification is parked", self.manage(*LIST))

    def test_parked_notifications_are_dropped(self) -> None:
        self.park_subscription(404)
        self.assertIn("1 ", self.manage("notifications", "drop"))
        self.assertEqual(0, self.count_pending())

    def test_later_notifications_are_sent(self) -> None:
        self.park_subscription(404)
        self.receiver.status = 204
        instance_id = self.vnfm.create_instantiated()
        done = ("STARTING", "PROCESSING", "COMPLETED")
        self.receiver.wait(3, operation="INSTANTIATE")
        received = [
            _summarize(request.json)
            for request in self.receiver.received
            if request.json["vnfInstanceId"] == instance_id
        ]
        self.assertEqual(CREATED + steps("INSTANTIATE", *done), received)


LIST = ("notifications", "list")


def _is_dispatcher() -> bool:
    return threading.current_thread().name.startswith("notification")


class TestDispatchers(NotificationTest):
    def test_pending_notifications_are_sent_after_a_restart(self) -> None:
        self.subscribe()
        self.vnfm.dispatcher.stop()
        self.vnfm.create_instantiated()
        self.assertEqual([], self.receiver.received)
        self.restart()
        done = ("STARTING", "PROCESSING", "COMPLETED")
        self.assertEqual(
            CREATED + steps("INSTANTIATE", *done), self.wait_notifications(4)
        )

    def test_it_continues_after_an_outage_of_the_database(self) -> None:
        """Every call fails for some time, some calls after their commit."""
        self.subscribe()
        instance_id = self.vnfm.create_instantiated()
        self.wait_notifications(4)
        store = self.vnfm.parts.store
        engine = store.engine
        broken = threading.Event()
        refused: list[None] = []

        def refuse(*_: Any) -> None:
            if broken.is_set() and _is_dispatcher():
                refused.append(None)
                raise sa.exc.OperationalError(
                    "", {}, Exception("is unreachable")
                )

        for event in ("begin", "commit"):
            sa.event.listen(engine, event, refuse)
        broken.set()
        self.vnfm.run(instance_id, "terminate", TERMINATE)
        waiting.until(lambda: len(refused) > 3, "refused calls")
        broken.clear()
        done = ("STARTING", "PROCESSING", "COMPLETED")
        self.assertEqual(
            steps("TERMINATE", *done), self.wait_notifications(7)[4:]
        )
        self.wait_delivered()

    def test_the_database_is_unreachable_when_it_starts(self) -> None:
        """The outage is logged where it begins, not as a fault."""
        logger = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        self.vnfm.dispatcher.stop()

        def refuse(_session: Any) -> None:
            raise sa.exc.OperationalError("", {}, Exception("is unreachable"))

        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.db.deliveries.list_pending_subscriptions", refuse
            )
        )
        self.restart()
        waiting.until(
            lambda: "Outbox not read, retrying" in logger.output, "a refusal"
        )
        self.assertNotIn("Traceback", logger.output)

    def test_a_lost_response_of_the_database(self) -> None:
        """An event whose commit was not acknowledged is sent once."""
        self.subscribe()
        instance_id = self.vnfm.create()
        self.wait_notifications(1)
        dropped = []

        def lose(session: Any) -> None:
            if _is_dispatcher() and session.info.get("event_written"):
                dropped.append(session)
                raise sa.exc.OperationalError("", {}, Exception("lost"))

        fan_out = deliveries.fan_out

        def marked(session: Any, *args: Any) -> None:
            fan_out(session, *args)
            session.info["event_written"] = not dropped

        self.useFixture(
            fixtures.MonkeyPatch("tacker_cnf.db.deliveries.fan_out", marked)
        )
        sa.event.listen(Session, "after_commit", lose)
        self.addCleanup(sa.event.remove, Session, "after_commit", lose)
        self.vnfm.call("DELETE", f"/vnflcm/v2/vnf_instances/{instance_id}")
        self.assertEqual(CREATED + DELETED, self.wait_notifications(2))
        self.assertEqual(1, len(dropped))
        self.wait_delivered()

    def test_two_dispatchers_send_each_once_and_in_order(self) -> None:
        self.subscribe()
        other = self.start_dispatcher()
        other.start()
        self.addCleanup(other.stop)
        vnfd_id = self.vnfm.onboard()
        threads = [
            threading.Thread(target=self.run_lifecycle, args=(vnfd_id,))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        received = self.receiver.wait(4 * 7)
        self.wait_delivered()
        self.assertEqual(4 * 7, len(received))
        done = ("STARTING", "PROCESSING", "COMPLETED")
        for instance_id in {r.json["vnfInstanceId"] for r in received}:
            self.assertEqual(
                CREATED
                + steps("INSTANTIATE", *done)
                + steps("TERMINATE", *done),
                [
                    _summarize(r.json)
                    for r in received
                    if r.json["vnfInstanceId"] == instance_id
                ],
            )

    def run_lifecycle(self, vnfd_id: str) -> None:
        instance_id = self.vnfm.create(vnfd_id)
        self.vnfm.run(instance_id, "instantiate", INSTANTIATE)
        self.vnfm.run(instance_id, "terminate", TERMINATE)

    def test_it_stops_at_once_while_a_subscriber_is_slow(self) -> None:
        self.subscribe()
        self.receiver.delay = RETRY_INTERVAL_S
        self.vnfm.create()
        waiting.until(
            lambda: self.receiver.active_requests == 1, "the requests"
        )
        self.vnfm.dispatcher.stop()
        self.assertEqual(1, self.receiver.active_requests)
        self.receiver.release_delayed()
        self.restart()
