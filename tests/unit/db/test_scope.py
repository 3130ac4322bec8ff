"""Each statement of a request's session is limited to its client."""

from collections.abc import Callable
from typing import Any

import fixtures
import sqlalchemy as sa

from tacker_cnf import context, errors
from tacker_cnf.db import models, packages, subscriptions, vims
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_vim


def without_rows(statement: Any, _: context.RequestContext) -> Any:
    return statement.where(sa.false())


class ScopeTest(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        self.client = context.administrator()
        self.store.write(None, vims.add, a_vim())

    def hide_rows(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.db.scope.limit_to_client", without_rows
            )
        )

    def test_a_client_uses_all_rows(self) -> None:
        found = self.store.read(self.client, vims.find)
        self.assertEqual(["a-vim"], [vim.id for vim in found])

    def test_hidden_rows_are_not_found(self) -> None:
        self.hide_rows()
        read: list[Callable[..., Any]] = [
            vims.get,
            packages.get,
            subscriptions.get,
            subscriptions.delete,
        ]
        for function in read:
            self.assertRaises(
                errors.NotFound,
                self.store.write,
                self.client,
                function,
                "a-vim",
            )
        self.assertEqual([], self.store.read(self.client, vims.find))

    def test_the_service_itself_uses_all_rows(self) -> None:
        self.hide_rows()
        found = self.store.read(None, vims.get, "a-vim")
        self.assertEqual("a-vim", found.id)

    def test_hidden_rows_are_not_deleted(self) -> None:
        self.hide_rows()
        self.store.write(
            self.client, lambda session: session.execute(sa.delete(models.Vim))
        )
        self.assertEqual(1, len(self.store.read(None, vims.find)))


class TestRetries(StoreTest):
    def test_a_transaction_is_retried_after_a_deadlock(self) -> None:
        self.let_next_transaction_fail()
        self.store.write(None, vims.add, a_vim())
        self.let_next_transaction_fail()
        self.assertEqual("a-vim", self.store.read(None, vims.get, "a-vim").id)
