"""The OpenStacks that a process keeps a session for."""

import concurrent.futures
import threading
from typing import Any
from unittest import mock

import testtools

from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.openstack import clouds
from tacker_cnf.halting import Deadline
from tacker_cnf.sol.common import VimConnectionInfo

CONNECTION = VimConnectionInfo(
    vim_type="ETSINFV.OPENSTACK_KEYSTONE.V_3",
    interface_info={"endpoint": "http://keystone.example/v3"},
    access_info={
        "username": "u",
        "password": "p",
        "project": "nfv",
        "userDomain": "Default",
        "projectDomain": "Default",
    },
)


class TestClouds(testtools.TestCase):
    def test_those_who_come_at_once_share_one_way(self) -> None:
        made: list[Any] = []
        several = threading.Event()

        def link(*given: Any) -> object:
            made.append(given)
            if len(made) > 1:
                several.set()
            several.wait(0.2)
            return object()

        kept = clouds.Clouds(1)
        patience = Endurance(Deadline.within(1), contact=1, outage=1)
        with (
            mock.patch.object(clouds, "Link", link),
            concurrent.futures.ThreadPoolExecutor(4) as pool,
        ):
            for _ in range(4):
                pool.submit(kept.connect, CONNECTION, patience)
        self.assertEqual(1, len(made))
