"""The shown names of VNF instances in lists."""

import sqlalchemy as sa

from tacker_cnf.db import models, packages, shown_names
from tacker_cnf.lcm.shown_names import ADDITIONAL_PARAMS, ShownNames
from tests.factories import an_instance
from tests.unit.db.test_instances import InstanceTest
from tests.unit.db.test_types import a_package

VNFD = '{"publicNames": {"parameters": ["site"]}}'


class TestNamesOfLists(InstanceTest):
    def names(self, entries: list[str]) -> list[tuple[str, ShownNames]]:
        with self.store.reader() as session:
            return list(
                shown_names.with_names(session, entries, lambda entry: entry)
            )

    def setUp(self) -> None:
        super().setUp()
        with self.store.writer() as session:
            other = a_package(id="other", vnfd_id="other", content_id="other")
            packages.add(session, other)
            session.flush()
            row = models.VnfPackage
            session.execute(
                sa.update(row).where(row.id == "other").values(vnfd=VNFD)
            )
        for number in range(60):
            owner = "other" if number % 2 else "a-package"
            self.add(an_instance(id=f"vnf-{number}"), package_id=owner)
        self.ids = [f"vnf-{number}" for number in range(60)]

    def test_each_entry_has_the_names_of_its_package(self) -> None:
        found = self.names([*self.ids, "deleted"])
        self.assertEqual(
            [(f"vnf-{n}", bool(n % 2)) for n in range(60)]
            + [("deleted", False)],
            [
                (entry, names.shows(ADDITIONAL_PARAMS, "site"))
                for entry, names in found
            ],
        )

    def test_queries_do_not_grow_with_the_number_of_entries(self) -> None:
        self.names(self.ids[:2])  # the packages are cached
        queries = self.record_locks()
        self.names(self.ids[:25])
        self.assertEqual(1, len(queries))
