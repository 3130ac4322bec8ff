"""Sessions cached for OpenStacks."""

import concurrent.futures
import threading
from typing import Any
from unittest import mock

import testtools

from tacker_cnf.drivers.openstack import clouds
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
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
        callers = 4
        together = threading.Barrier(callers, timeout=60)

        def create_api(*args: Any) -> object:
            created.append(args)
            return object()

        def connect() -> object:
            together.wait()
            return openstacks.connect(CONNECTION, retry_policy)

        openstacks = clouds.Clouds(1, SsrfPolicy())
        retry_policy = RetryPolicy(
            Deadline.within(600), contact_timeout=600, outage_timeout=600
        )
        with (
            mock.patch.object(clouds, "OpenstackApi", create_api),
            concurrent.futures.ThreadPoolExecutor(callers) as pool,
        ):
            for future in [pool.submit(connect) for _ in range(callers)]:
                future.result()
        self.assertEqual(1, len(created))
