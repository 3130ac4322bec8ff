"""All VIMs to search are read, on each database server."""

import datetime
from typing import Any

import sqlalchemy as sa
import testtools

from tacker_cnf import conf
from tacker_cnf.conductor.orphans import BATCH_SIZE, OrphanCleaner
from tacker_cnf.db import models, op_occs, session
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.common import VimConnectionInfo
from tests.factories import a_stored_instance, an_op_occ
from tests.services.backends import MARIADB, POSTGRESQL, open_store
from tests.unit.db.test_types import a_vim

COUNT = 2 * BATCH_SIZE + 1


class TestSearches(testtools.TestCase):
    def check_all_are_searched(self, server: str) -> None:
        store = open_store(self, server)
        self.fill(store)
        no_packages: Any = None  # none is read
        orphans = OrphanCleaner(
            store,
            no_packages,
            DriverRegistry(conf.load([])),
            CancelToken(),
            30.0,
        )
        self.assertEqual({}, orphans.build_search_tasks(lambda: False))
        tasks = orphans.build_search_tasks(lambda: True).values()
        self.assertEqual(COUNT, len(tasks))
        # two instantiations with the same VIM
        self.assertEqual({1}, {len(task.origins) for task in tasks})

    def fill(self, store: session.Store) -> None:
        """Add operations of deleted instances, two for each VIM."""
        with store.writer() as writer:
            for number in range(2 * COUNT):
                name = f"{number % COUNT:04}"
                if number < COUNT:
                    url = f"http://{name}.example"
                    writer.add(a_vim(id=name, name=name, auth_url=url))
                vim_connection = VimConnectionInfo(
                    vim_id=name, vim_type="fake"
                )
                op_occ = an_op_occ(
                    id=f"{number:04}",
                    vnf_instance_id=f"{number:04}",
                    operation_params={"flavourId": "simple"},
                )
                op_occs.add(
                    writer,
                    op_occ,
                    a_stored_instance(),
                    {"vim1": vim_connection},
                    op_occ.start_time,
                    0,
                )
            now = datetime.datetime.now(datetime.UTC)
            writer.execute(
                sa.update(models.VnfLcmOpOcc).values(state_entered_time=now)
            )

    def test_all_vims_are_searched_on_postgresql(self) -> None:
        self.check_all_are_searched(POSTGRESQL)

    def test_all_vims_are_searched_on_mariadb(self) -> None:
        self.check_all_are_searched(MARIADB)
