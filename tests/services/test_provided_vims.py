"""VIMs provided by VNFs: concurrent transactions stay consistent."""

import datetime
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.db import keys, schema, vims
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.db.types import VAULT
from tacker_cnf.lcm.script_output import ProvidedVim
from tests.fixtures import waiting
from tests.services.backends import MARIADB, POSTGRESQL, Database

T = TypeVar("T")
ProvidedVims = Mapping[str, ProvidedVim | None]
CLUSTER = ProvidedVim(type="fake", auth_url="https://k8s", auth_cred={})
ROUNDS = 10


class TestOnPostgresql(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.database = self.useFixture(Database(self, self.server))
        key = Path(self.useFixture(fixtures.TempDir()).path) / "key"
        keys.create(key)
        VAULT.open(keys.load(key))
        self.store = Store(self.database.url)
        self.addCleanup(self.store.close)
        schema.upgrade(self.store)
        self.pool = ThreadPoolExecutor(4)
        self.addCleanup(self.pool.shutdown)
        self.database.execute(
            "INSERT INTO vnf_packages (id, onboarding_state,"
            " operational_state, user_defined_data, created_at, vnfd_id,"
            " project_id, is_public)"
            " VALUES ('p', 'ONBOARDED', 'ENABLED', '{}',"
            " '2026-01-01 00:00:00', 'd', 'x', FALSE)"
        )
        for instance_id in "abcd":
            self.database.execute(
                "INSERT INTO vnf_instances (id, vnfd_id, vnf_provider,"
                " vnf_product_name, vnf_software_version, vnfd_version,"
                " instantiation_state, created_at, generation, project_id,"
                " vnf_package_id) VALUES (:id, 'd', 'p', 'n', '1', '1',"
                " 'INSTANTIATED', '2026-01-01 00:00:00', 0, 'x', 'p')",
                id=instance_id,
            )

    def update_provided(
        self, instance_id: str, provided_vims: ProvidedVims
    ) -> None:
        @transaction
        def write() -> None:
            now = datetime.datetime.now(datetime.UTC)
            with self.store.writer() as session:
                vims.update_provided(session, instance_id, provided_vims, now)

        write()

    def record_use(self, instance_id: str, vim_id: str) -> None:
        @transaction
        def write() -> None:
            with self.store.writer() as session:
                vims.record_use(session, instance_id, [vim_id])

        write()

    def list_provided(self) -> dict[str, str]:
        """Return the provider of each VIM: VIM name -> instance id."""
        with self.store.reader() as session:
            found = vims.list_provided(session)
            self.assertEqual(len(vims.find(session)), len(found))
        return {vim.name: vim.vnf_instance_id for vim in found}

    def provide_vim(self) -> str:
        """Let instance a provide a VIM; return the VIM's id."""
        self.update_provided("a", {"k8s": CLUSTER})
        with self.store.reader() as session:
            return vims.list_provided(session)[0].vim_id

    def run_blocked(
        self, first: Callable[[Any], object], then: Callable[[], T]
    ) -> Future[T]:
        """Start a transaction, and end it when a second one waits for it."""
        with self.store.writer() as session:
            first(session)
            session.flush()
            second = self.pool.submit(then)
            waiting.until(
                self.database.has_lock_waiter, "the second transaction to wait"
            )
        return second

    def test_two_instances_provide_the_same_name(self) -> None:
        now = datetime.datetime.now(datetime.UTC)
        provided_vims = {"also": CLUSTER, "k8s": CLUSTER}
        second = self.run_blocked(
            lambda session: vims.update_provided(
                session, "a", {"k8s": CLUSTER}, now
            ),
            lambda: self.update_provided("b", provided_vims),
        )
        error = second.exception(60)
        self.assertIsInstance(error, errors.ScriptFailed)
        self.assertIn("instance b names VIM 'k8s' as its own", str(error))
        self.assertEqual({"k8s": "a"}, self.list_provided())

    def test_many_instances_provide_the_same_names(self) -> None:
        provided_vims = {"one": CLUSTER, "two": CLUSTER}
        for _ in range(ROUNDS):
            barrier = threading.Barrier(4)

            def provide(
                instance_id: str, barrier: Any = barrier
            ) -> str | None:
                barrier.wait(60)
                try:
                    self.update_provided(instance_id, provided_vims)
                except errors.ScriptFailed:
                    return None
                return instance_id

            (winner,) = filter(None, self.pool.map(provide, "abcd"))
            self.assertEqual(
                {"one": winner, "two": winner}, self.list_provided()
            )
            self.update_provided(winner, dict.fromkeys(provided_vims))
            self.assertEqual({}, self.list_provided())

    def test_a_vim_used_by_another_instance_while_it_is_deleted(self) -> None:
        now = datetime.datetime.now(datetime.UTC)
        vim_id = self.provide_vim()
        second = self.run_blocked(
            lambda session: vims.update_provided(
                session, "a", {"k8s": None}, now
            ),
            lambda: self.record_use("b", vim_id),
        )
        self.assertIsInstance(second.exception(60), ReferenceError)
        self.assertEqual({}, self.list_provided())

    def test_a_vim_deleted_while_another_instance_uses_it(self) -> None:
        vim_id = self.provide_vim()
        second = self.run_blocked(
            lambda session: vims.record_use(session, "b", [vim_id]),
            lambda: self.update_provided("a", {"other": CLUSTER, "k8s": None}),
        )
        self.assertIsNone(second.exception(60))
        self.assertEqual({"k8s": "a", "other": "a"}, self.list_provided())
        self.assertIn(
            f"Provided VIM in use, not deleted: vim={vim_id} name=k8s",
            self.log.output,
        )

    def test_a_vnf_terminated_while_another_instance_uses_its_vim(
        self,
    ) -> None:
        vim_id = self.provide_vim()

        @transaction
        def withdraw() -> None:
            with self.store.writer() as session:
                vims.delete_provided(session, "a")

        second = self.run_blocked(
            lambda session: vims.record_use(session, "b", [vim_id]), withdraw
        )
        self.assertIsNone(second.exception(60))
        with self.store.reader() as session:
            self.assertEqual([], [*vims.list_provided(session)])
            self.assertEqual(vim_id, vims.get(session, vim_id).id)


class TestOnMariadb(TestOnPostgresql):
    server = MARIADB
