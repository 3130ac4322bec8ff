"""A conductor that cannot claim an operation."""

import logging
from typing import Any

import fixtures

from tacker_cnf import conf as configuration
from tacker_cnf.conductor.claims import CLAIM_RETRIES
from tacker_cnf.conductor.service import Conductor
from tacker_cnf.drivers.registry import DriverRegistry
from tests.fixtures.clock import SteppingClock
from tests.unit.db.test_op_occs import OpOccTest


class TestLockedOperation(OpOccTest):
    def test_a_locked_row_is_logged_once(self) -> None:
        conf = configuration.new()
        conf([], default_config_files=[])
        unused: Any = None
        conductor = Conductor(
            conf,
            self.store,
            unused,
            DriverRegistry(conf),
            unused,
            unused,
            SteppingClock(),
        )
        logged = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.lock_rows(3 * (CLAIM_RETRIES + 1))
        for _ in range(3):
            conductor._run_operation("an-op-occ")
        self.assertEqual(
            "Operation locked, the sweep claims it: operation=an-op-occ\n",
            logged.output,
        )
