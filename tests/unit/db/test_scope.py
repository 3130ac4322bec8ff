"""Each statement of a request's session is limited to its client."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from tacker_cnf import context, errors
from tacker_cnf.db import (
    instances,
    models,
    op_occs,
    packages,
    scope,
    subscriptions,
    vims,
)
from tacker_cnf.db.subscription_types import LIFECYCLE
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LcmOpOccNotificationVerbosityType,
)
from tests.factories import NOW, a_stored_instance, an_instance, an_op_occ
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_package, a_vim

TABLES = (
    models.VnfPackage,
    models.Vim,
    models.VnfInstance,
    models.VnfLcmOpOcc,
    models.LccnSubscription,
)
NAMES = [table.__tablename__ for table in TABLES]


def a_contact() -> subscriptions.Contact:
    return subscriptions.Contact(
        subscription=LccnSubscription(
            id="a-subscription",
            callback_uri="http://subscriber.example",
            verbosity=LcmOpOccNotificationVerbosityType.FULL,
            project_id="a-project",
        ),
        authentication=None,
        api_base="",
    )


OTHER = {"project_id": "another-project"}
ELSEWHERE = context.of_project("another-project")


def _of_lifecycle(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.partial(function, kind=LIFECYCLE)


class ScopeTest(StoreTest):
    """Rows of one project, used by a client of another."""

    def setUp(self) -> None:
        super().setUp()
        self.store.write(None, vims.add, a_vim())
        self.store.write(None, packages.add, a_package(vnfd_id="a-vnfd"))
        with self.store.writer() as session:
            instances.add(session, an_instance(), "a-package", NOW)
            op_occs.add(session, an_op_occ(), a_stored_instance(), {}, NOW, 0)
            subscriptions.add(session, a_contact(), NOW)

    def share(self, row: Any) -> None:
        self.store.write(None, lambda session: session.add(row))

    def publish(self) -> None:
        for table in (models.Vim, models.VnfPackage):
            statement = sa.update(table).values(is_public=True)
            self.store.write(None, scope.count_changed, statement)

    def visible(self, client: context.RequestContext | None) -> list[str]:
        """Return the tables of which a client sees the row."""
        seen = []
        with self.store.reader(client) as session:
            for table in TABLES:
                ids = session.scalars(sa.select(table.id)).all()
                columns = sa.select(table.id, table.project_id)
                found = scope.rows(session, columns).all()
                self.assertEqual(ids, [row.id for row in found])
                if ids:
                    seen.append(table.__tablename__)
        return seen

    def test_a_client_uses_the_rows_of_its_project(self) -> None:
        own = context.of_project("a-project")
        for client in (own, context.administrator(), None):
            self.assertEqual(NAMES, self.visible(client))

    def test_rows_of_another_project_are_not_found(self) -> None:
        self.assertEqual([], self.visible(ELSEWHERE))
        read: Mapping[Callable[..., Any], str] = {
            vims.get: "a-vim",
            packages.get: "a-package",
            packages.get_attributes: "a-package",
            instances.get: "an-instance",
            instances.load: "an-instance",
            instances.etag: "an-instance",
            op_occs.get: "an-op-occ",
            op_occs.load: "an-op-occ",
            op_occs.load_shown: "an-op-occ",
            op_occs.etag: "an-op-occ",
            op_occs.get_state: "an-op-occ",
            _of_lifecycle(subscriptions.get): "a-subscription",
            _of_lifecycle(subscriptions.delete): "a-subscription",
        }
        for function, row_id in read.items():
            self.assertRaises(
                errors.NotFound, self.store.write, ELSEWHERE, function, row_id
            )
            self.store.read(None, function, row_id)

    def test_rows_of_another_project_are_not_changed(self) -> None:
        for table in TABLES:
            for statement in (
                sa.delete(table),
                sa.update(table).values(user_id="an-untrusted-user"),
            ):
                changed = self.store.write(
                    ELSEWHERE, scope.count_changed, statement
                )
                self.assertEqual(0, changed, str(statement))
        self.assertEqual(NAMES, self.visible(None))

    def test_shared_rows_are_found(self) -> None:
        self.share(models.VimShare(vim_id="a-vim", project_id="other"))
        self.assertEqual([], self.visible(ELSEWHERE))
        self.share(
            models.VimShare(vim_id="a-vim", project_id=ELSEWHERE.project_id)
        )
        self.assertEqual(["vims"], self.visible(ELSEWHERE))
        self.share(
            models.VnfPackageShare(
                vnf_package_id="a-package", project_id=ELSEWHERE.project_id
            )
        )
        self.assertEqual(["vnf_packages", "vims"], self.visible(ELSEWHERE))

    def test_public_rows_are_found(self) -> None:
        self.publish()
        self.assertEqual(["vnf_packages", "vims"], self.visible(ELSEWHERE))

    def test_a_vim_that_a_project_may_not_use_is_not_used(self) -> None:
        self.store.write(None, vims.add, a_vim(id="b-vim", name="b", **OTHER))
        named = ["a-vim", "b-vim"]
        self.store.write(None, vims.record_use, "an-instance", named)
        used = self.store.read(
            None, lambda s: s.scalars(sa.select(models.VimUse.vim_id)).all()
        )
        self.assertEqual(["a-vim"], used)

    def test_a_package_in_use_elsewhere_is_in_use(self) -> None:
        self.publish()
        found = self.store.read(
            ELSEWHERE, packages.get_attributes, "a-package"
        )
        self.assertEqual("IN_USE", found["usage_state"])

    def test_the_policy_is_checked_for_each_row(self) -> None:
        owners: list[context.Owner] = []
        client = context.of_project("a-project")
        client.authorize = owners.append
        read: Mapping[Callable[..., Any], str] = {
            vims.get: "a-vim",
            packages.get: "a-package",
            packages.get_attributes: "a-package",
            instances.get: "an-instance",
            instances.etag: "an-instance",
            op_occs.get: "an-op-occ",
            op_occs.load_shown: "an-op-occ",
            op_occs.etag: "an-op-occ",
            op_occs.get_state: "an-op-occ",
            _of_lifecycle(subscriptions.get): "a-subscription",
        }
        for function, row_id in read.items():
            self.store.read(client, function, row_id)
            self.assertEqual([context.Owner("a-project", None)], owners)
            owners.clear()


class TestRetries(StoreTest):
    def test_a_transaction_is_retried_after_a_deadlock(self) -> None:
        self.let_next_transaction_fail()
        self.store.write(None, vims.add, a_vim())
        self.let_next_transaction_fail()
        self.assertEqual("a-vim", self.store.read(None, vims.get, "a-vim").id)
