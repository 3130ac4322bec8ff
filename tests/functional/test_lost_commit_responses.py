"""Commits whose responses are lost, and requests between transactions."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import testtools
from oslo_db import exception as db_errors
from sqlalchemy import orm

from tacker_cnf.context import RequestContext
from tests.fixtures import waiting
from tests.fixtures.vnfm import FAKE_VIM, Vnfm

INSTANCES = "/vnflcm/v2/vnf_instances"
REQUEST = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
OUT = {"type": "SCALE_OUT", "aspectId": "web_aspect"}


class StoreCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.store = self.vnfm.parts.store


class TestLostResponses(StoreCase):
    """A repeated transaction finds that it was committed."""

    def drop_commit_responses(self, count: int) -> list[int]:
        """Drop the responses to the next commits of op-occ writers."""
        remaining = [count]
        store, original = self.store, self.store.writer

        @contextmanager
        def writer(
            context: RequestContext | None = None,
        ) -> Iterator[orm.Session]:
            with original(context) as session:
                yield session
            if session.info.get("announced") and remaining[0] > 0:
                remaining[0] -= 1
                raise db_errors.DBConnectionError

        store.writer = writer  # type: ignore[method-assign]
        return remaining

    def test_an_operation_completes(self) -> None:
        instance_id = self.vnfm.create()
        remaining = self.drop_commit_responses(
            3
        )  # STARTING, PROCESSING, COMPLETED
        end = self.vnfm.run(instance_id, "instantiate", REQUEST)
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(1, len(self.vnfm.nfvo.requests))
        scaled = self.vnfm.run(instance_id, "scale", OUT)
        self.assertEqual("COMPLETED", scaled["operationState"])
        self.assertEqual([0], remaining)

    def test_a_failure_is_recorded_once(self) -> None:
        def fail(_task: Any) -> None:
            raise RuntimeError

        self.vnfm.driver.before["apply"] = fail
        instance_id = self.vnfm.create()
        self.drop_commit_responses(3)
        end = self.vnfm.run(instance_id, "instantiate", REQUEST)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.vnfm.driver.before.clear()
        retried = self.vnfm.decide(end["id"], "retry")
        self.assertEqual("COMPLETED", retried["operationState"])


class TestConcurrentChanges(StoreCase):
    def test_a_change_during_the_checks_of_a_request_is_kept(self) -> None:
        """A modification starts and ends after a request has read the
        instance, and before it reserves it.
        """
        instance_id = self.vnfm.create_instantiated()
        path = f"{INSTANCES}/{instance_id}"
        calls: list[int] = []

        def patch() -> None:
            extra = {"vim1": {"extra": {"region": "new"}}}
            body = {"vimConnectionInfo": extra}
            response = self.vnfm.call("PATCH", path, body)
            self.vnfm.wait_operation(response.headers["Location"])

        def modify(task: Any) -> None:
            if task.operation_id:  # the request is accepted
                return
            calls.append(1)
            if len(calls) == 1:
                # another client: this thread is in a request
                other = threading.Thread(target=patch)
                other.start()
                other.join()

        self.vnfm.driver.before["plan"] = modify
        end = self.vnfm.run(instance_id, "scale", OUT)
        self.assertEqual("COMPLETED", end["operationState"])
        self.assertEqual(2, len(calls))
        vim = self.vnfm.instance(instance_id)["vimConnectionInfo"]["vim1"]
        self.assertEqual({"region": "new"}, vim["extra"])

    def test_an_instance_that_changes_all_the_time_is_reported(self) -> None:
        instance_id = self.vnfm.create_instantiated()

        def change(_task: Any) -> None:
            statement = "UPDATE vnf_instances SET generation = generation + 1"
            with self.store.engine.begin() as connection:
                connection.exec_driver_sql(statement)

        self.vnfm.driver.before["plan"] = change
        response = self.vnfm.task(instance_id, "scale", OUT)
        self.assertEqual(409, response.status)
        self.assertIn("keeps changing", response.detail)

    def test_a_retry_while_the_previous_attempt_ends(self) -> None:
        def fail(_task: Any) -> None:
            raise RuntimeError

        self.vnfm.driver.before["apply"] = fail
        release_started, release_allowed = threading.Event(), threading.Event()
        claims = self.vnfm.conductor.claims
        original = claims.release

        def delay_release(op_occ_id: str) -> None:
            if not release_started.is_set():
                release_started.set()
                release_allowed.wait(60)
            original(op_occ_id)

        claims.release = delay_release  # type: ignore[method-assign]
        sweeps: list[int] = []
        idle = sweeps.append
        self.vnfm.conductor.sweep = lambda: idle(1)  # type: ignore[method-assign]
        response = self.vnfm.task(self.vnfm.create(), "instantiate", REQUEST)
        location = response.headers["Location"]
        self.assertEqual(
            "FAILED_TEMP", self.vnfm.wait_operation(location)["operationState"]
        )
        self.assertTrue(release_started.wait(60))
        self.vnfm.driver.before.clear()
        self.assertEqual(
            202, self.vnfm.call("POST", f"{location}/retry").status
        )
        op_occ_id = location.rpartition("/")[2]
        queue = self.vnfm.conductor.queue
        waiting.until(
            lambda: op_occ_id in queue._requeued,
            "the wake-up while the claim is held",
        )
        release_allowed.set()
        end = self.vnfm.wait_operation(location)
        self.assertEqual("COMPLETED", end["operationState"])
