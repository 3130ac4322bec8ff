"""Two clients change one VNF package: the second reads the first change."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import testtools

from tacker_cnf.db import packages
from tacker_cnf.sol.vnf_package import OperationalState
from tests.fixtures import waiting
from tests.fixtures.vnfm import Response, Vnfm
from tests.functional.test_packages import MERGE_PATCH, PACKAGES
from tests.services.backends import MARIADB, POSTGRESQL, Database


class TestPackageStates(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.database = self.useFixture(Database(self, self.server))
        options = {"connection": self.database.url}
        self.vnfm = self.useFixture(Vnfm(database=options))
        vnfd_id = self.vnfm.onboard()
        (package,) = self.vnfm.call("GET", PACKAGES).json
        self.assertEqual(vnfd_id, package["vnfdId"])
        self.package_id = str(package["id"])
        self.path = f"{PACKAGES}/{self.package_id}"
        self.pool = ThreadPoolExecutor(1)
        self.addCleanup(self.pool.shutdown)

    @contextmanager
    def first_caller(self, state: OperationalState) -> Iterator[None]:
        """Run the first client's transaction until the context ends."""
        with self.vnfm.parts.store.writer() as session:
            row = packages.get(session, self.package_id, lock=True)
            row.operational_state = state
            session.flush()
            yield

    def second_caller(self, method: str, body: Any = None) -> Future[Response]:
        """Start the second client's request; wait until it waits for a lock."""
        called = threading.Event()

        def call() -> Response:
            called.set()
            return self.vnfm.call(method, self.path, body, MERGE_PATCH)

        response = self.pool.submit(call)
        called.wait()
        waiting.until(
            lambda: self.database.has_lock_waiter() or response.done(),
            "the second client",
            60.0,
        )
        return response

    def test_a_package_disabled_twice_at_once(self) -> None:
        with self.first_caller(OperationalState.DISABLED):
            body = {"operationalState": "DISABLED"}
            response = self.second_caller("PATCH", body)
        second = response.result(60)
        self.assertEqual(409, second.status, str(second.content))
        self.assertIn("is DISABLED already", second.detail)

    def test_a_package_deleted_while_it_is_enabled(self) -> None:
        with self.first_caller(OperationalState.DISABLED):
            pass
        with self.first_caller(OperationalState.ENABLED):
            response = self.second_caller("DELETE")
        second = response.result(60)
        self.assertEqual(409, second.status, str(second.content))
        self.assertIn("is ENABLED", second.detail)
        self.assertEqual(200, self.vnfm.call("GET", self.path).status)

    def test_data_of_two_users_are_merged(self) -> None:
        with self.vnfm.parts.store.writer() as session:
            row = packages.get(session, self.package_id, lock=True)
            row.user_defined_data = {"first": 1}
            session.flush()
            body = {"userDefinedData": {"second": 2}}
            response = self.second_caller("PATCH", body)
        self.assertEqual(200, response.result(60).status)
        self.assertEqual(
            {"first": 1, "second": 2},
            self.vnfm.call("GET", self.path).json["userDefinedData"],
        )


class TestPackageStatesOnMariadb(TestPackageStates):
    server = MARIADB
