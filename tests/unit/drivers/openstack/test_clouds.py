"""Sessions cached for OpenStacks."""

import concurrent.futures
import threading
from typing import Any
from unittest import mock

import testtools

from tacker_cnf.drivers.openstack import clouds
from tacker_cnf.drivers.retry_policy import RetryPolicy
from tacker_cnf.runtime.cancellation import Deadline
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
    def test_concurrent_callers_share_one_session(self) -> None:
        created: list[Any] = []
        several = threading.Event()

        def create_api(*args: Any) -> object:
            created.append(args)
            if len(created) > 1:
                several.set()
            several.wait(0.2)
            return object()

        openstacks = clouds.Clouds(1)
        retry_policy = RetryPolicy(
            Deadline.within(1), contact_timeout=1, outage_timeout=1
        )
        with (
            mock.patch.object(clouds, "OpenstackApi", create_api),
            concurrent.futures.ThreadPoolExecutor(4) as pool,
        ):
            for _ in range(4):
                pool.submit(openstacks.connect, CONNECTION, retry_policy)
        self.assertEqual(1, len(created))
