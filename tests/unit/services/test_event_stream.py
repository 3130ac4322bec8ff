"""What a stream sends of the log of events, and when it ends."""

from concurrent.futures import Future
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.context import Owner, RequestContext, administrator
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.services import event_log, event_stream
from tacker_cnf.services.event_log import EventLog
from tacker_cnf.services.event_messages import EventFilter, Message
from tacker_cnf.services.event_stream import EventStream
from tests.fixtures.clock import ManualClock

OWNER = Owner("a-project", "a-user")
RETRY = b"retry: 1000\n\n"


def a_message(
    text: str | bytes, number: int | None = None, **attributes: Any
) -> Message:
    content = text if isinstance(text, bytes) else text.encode()
    return Message(
        type="a-type",
        text=content,
        owner=attributes.pop("owner", OWNER),
        number=number,
        **attributes,
    )


def client_of(project_id: str) -> RequestContext:
    return RequestContext(project_id=project_id, overwrite=False)


class StreamTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.log = EventLog()

    def stream(
        self,
        client: RequestContext | None = None,
        begins_with: bytes = b"",
    ) -> EventStream:
        stream = EventStream(
            client or administrator(),
            EventFilter(),
            Deadline.within(60.0, self.clock),
            lambda: None,
            self.log.newest,
        )
        self.assertEqual(RETRY + begins_with, self.read(stream))
        return stream

    def read(self, stream: EventStream) -> bytes | None:
        """Return the next chunk, which has to be there."""
        found = stream.next()
        stream.hand_over(self.log)
        return found.result(0)

    def waits(self, stream: EventStream) -> Future[bytes | None]:
        """Request a chunk for which there is nothing to send."""
        found = stream.next()
        stream.hand_over(self.log)
        self.assertFalse(found.done())
        return found


class TestChunks(StreamTest):
    def test_a_stream_begins_after_the_events_so_far(self) -> None:
        self.log.add(a_message("before"))
        stream = self.stream()
        found = self.waits(stream)
        self.log.add(a_message("a"))
        self.log.add(a_message("b"))
        stream.hand_over(self.log)
        self.assertEqual(b"ab", found.result(0))
        self.waits(stream)

    def test_each_stream_has_its_position(self) -> None:
        first, second = self.stream(), self.stream()
        self.log.add(a_message("a"))
        self.assertEqual(b"a", self.read(first))
        self.log.add(a_message("b"))
        self.assertEqual(b"b", self.read(first))
        self.assertEqual(b"ab", self.read(second))

    def test_a_large_burst_is_sent_in_chunks(self) -> None:
        stream = self.stream()
        half = b"x" * (event_stream.CHUNK_BYTES // 2)
        for _ in range(5):
            self.log.add(a_message(half))
        sizes = [len(self.read(stream) or b"") for _ in range(3)]
        self.assertEqual([2 * len(half), 2 * len(half), len(half)], sizes)
        self.waits(stream)

    def test_the_latest_progress_of_each_operation_is_sent(self) -> None:
        self.log.set_progress("1", a_message("1a "))
        self.log.set_progress("2", a_message("2a "))
        self.log.set_progress("3", a_message("3a "))
        self.log.remove_progress("3")
        stream = self.stream(begins_with=b"1a 2a ")
        self.waits(stream)
        self.log.set_progress("1", a_message("1b "))
        self.log.set_progress("1", a_message("1c "))
        self.assertEqual(b"1c ", self.read(stream))
        self.log.set_progress("1", a_message("1c "))
        self.waits(stream)

    def test_events_that_were_read_before_are_not_repeated(self) -> None:
        stream = self.stream()
        first, second, third = (
            a_message(str(number), number) for number in (1, 2, 3)
        )
        stream.begin(7, [first, second], b"m")
        for message in (second, third):
            self.log.add(message)
        self.assertEqual(b"m12id: 7\n\n3", self.read(stream))


class TestSelection(StreamTest):
    def send(self, client: RequestContext, *messages: Message) -> bytes | None:
        stream = self.stream(client)
        for message in messages:
            self.log.add(message)
        return self.read(stream)

    def test_a_client_gets_what_its_project_may_read(self) -> None:
        other = Owner("other", None)
        messages = (
            a_message("own "),
            a_message("other ", owner=other),
            a_message("public ", owner=other, is_public=True),
            a_message("shared", owner=other, shared_with=("a-project",)),
        )
        self.assertEqual(
            b"own public shared",
            self.send(client_of("a-project"), *messages),
        )
        self.assertEqual(
            b"own other public shared", self.send(administrator(), *messages)
        )

    def test_the_policy_is_checked_for_each_owner(self) -> None:
        client = client_of("a-project")

        def authorize(owner: Owner) -> None:
            if owner.user_id != "a-user":
                raise errors.Forbidden

        client.authorize = authorize
        another = Owner("a-project", "another-user")
        messages = a_message("no", owner=another), a_message("yes")
        self.assertEqual(b"yes", self.send(client, *messages))

    def test_a_filter_names_types_instances_and_operations(self) -> None:
        message = a_message("a", vnf_instance_id="vnf", vnf_lcm_op_occ_id="op")
        for wanted, matches in (
            (EventFilter(), True),
            (EventFilter(types={"a-type", "b"}), True),
            (EventFilter(types={"b"}), False),
            (EventFilter(vnf_instance_ids={"vnf"}), True),
            (EventFilter(vnf_instance_ids={"b"}), False),
            (EventFilter(vnf_lcm_op_occ_ids={"op"}), True),
            (EventFilter({"a-type"}, {"vnf"}, {"b"}), False),
        ):
            self.assertEqual(matches, message.matches(wanted), str(wanted))


class TestEnd(StreamTest):
    def test_a_client_that_reads_too_slowly(self) -> None:
        slow, fast = self.stream(), self.stream()
        large = b"x" * (event_log.MAX_BYTES // 2)
        for _ in range(2):
            self.log.add(a_message(large))
            self.assertEqual(large, self.read(fast))
            slow.hand_over(self.log)
        self.assertFalse(slow.has_ended)
        self.log.add(a_message(large))
        self.assertEqual(large, self.read(fast))
        self.assertIsNone(self.read(slow))
        self.assertIsNone(slow.next().result(0))

    def test_the_time_is_over(self) -> None:
        stream = self.stream()
        found = self.waits(stream)
        self.clock.advance(60.0)
        stream.hand_over(self.log)
        self.assertIsNone(found.result(0))

    def test_a_closed_stream_releases_what_it_uses(self) -> None:
        closed: list[bool] = []
        stream = self.stream()
        stream.on_close = lambda: closed.append(True)
        found = self.waits(stream)
        stream.close()
        self.assertIsNone(found.result(0))
        self.assertEqual([True], closed)

    def test_a_client_that_has_left(self) -> None:
        stream = self.stream()
        self.assertTrue(self.waits(stream).cancel())
        self.log.add(a_message("a"))
        stream.hand_over(self.log)
        stream.close()
        self.assertTrue(stream.has_ended)
