"""/healthz and /readyz of the API."""

from typing import Any, Final

import sqlalchemy as sa
from oslo_messaging import MessageDeliveryFailure

from tacker_cnf.db import conductors
from tacker_cnf.services.readiness import RESULT_LIFETIME_S
from tests.fixtures.clock import ManualClock
from tests.fixtures.vnfm import ApiCase, Vnfm

UNREACHABLE: Final = sa.exc.OperationalError("SELECT", {}, OSError("10.0.0.1"))


class TestHealth(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())

    def break_database(self) -> None:
        def refuse(*_: Any) -> None:
            raise UNREACHABLE

        engine = self.vnfm.parts.store.engine
        sa.event.listen(engine, "before_cursor_execute", refuse)
        self.addCleanup(
            sa.event.remove, engine, "before_cursor_execute", refuse
        )

    def check_not_ready(self, *names: str) -> None:
        response = self.vnfm.call("GET", "/readyz")
        self.assert_problem(503, response)
        self.assertEqual(f"Not ready: {', '.join(names)}.", response.detail)

    def test_a_service_that_works_is_ready(self) -> None:
        response = self.vnfm.call("GET", "/readyz")
        self.assertEqual(200, response.status)
        self.assertEqual({"status": "ready"}, response.json)

    def test_an_unreachable_database_is_named(self) -> None:
        self.break_database()
        self.check_not_ready("database")

    def set_schema_version(self, version: str) -> None:
        with self.vnfm.parts.store.engine.begin() as connection:
            change = "UPDATE alembic_version SET version_num = :version"
            connection.execute(sa.text(change), {"version": version})

    def test_an_earlier_schema_is_named(self) -> None:
        self.set_schema_version("0001")
        self.check_not_ready("schema")

    def test_a_service_is_ready_with_a_later_schema(self) -> None:
        self.set_schema_version("9999")
        self.assertEqual(200, self.vnfm.call("GET", "/readyz").status)

    def test_missing_conductors_are_named(self) -> None:
        owner = self.vnfm.conductor.claims.owner
        conductors.unregister(self.vnfm.parts.store, owner)
        self.check_not_ready("conductors")

    def test_an_unreachable_broker_is_named(self) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise MessageDeliveryFailure("amqp://user:s3cret@10.0.0.1")

        self.patch(self.vnfm.parts.transport, "_send", refuse)
        self.check_not_ready("broker")

    def test_liveness_uses_nothing_else(self) -> None:
        self.break_database()
        response = self.vnfm.call("GET", "/healthz")
        self.assertEqual(200, response.status)
        self.assertEqual({"status": "ok"}, response.json)


class TestFlood(ApiCase):
    def test_the_database_is_asked_once_a_second(self) -> None:
        clock = ManualClock()
        vnfm = self.useFixture(Vnfm(clock))
        statements: list[str] = []
        sa.event.listen(
            vnfm.parts.store.engine,
            "before_cursor_execute",
            lambda *args: statements.append(args[2]),
        )

        def versions_read() -> int:
            return sum("FROM alembic_version" in s for s in statements)

        for _ in range(20):
            vnfm.call("GET", "/readyz")
        self.assertEqual(1, versions_read())
        clock.advance(RESULT_LIFETIME_S)
        for _ in range(20):
            vnfm.call("GET", "/readyz")
        self.assertEqual(2, versions_read())
