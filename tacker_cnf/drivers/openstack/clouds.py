"""The OpenStack connections of a process."""

import hashlib
import threading
from typing import Final

import msgspec

from tacker_cnf.drivers.openstack.api import OpenstackApi
from tacker_cnf.drivers.openstack.glance import Glance
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.drivers.openstack.openstack_connection import Connection
from tacker_cnf.http_client.exchange import DEFAULT_LIMITS, ExchangeLimits
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo

#: maximum number of cached sessions
MAX_SESSIONS: Final = 256


class Clouds:
    """Caches a session with its service catalogue for each OpenStack."""

    def __init__(
        self,
        timeout: float,
        ssrf_policy: SsrfPolicy,
        limits: ExchangeLimits = DEFAULT_LIMITS,
    ) -> None:
        self._timeout = timeout
        self._ssrf_policy = ssrf_policy
        self._limits = limits
        self._lock = threading.Lock()
        self._apis: dict[str, OpenstackApi] = {}

    def connect(
        self, info: VimConnectionInfo, retry_policy: RetryPolicy
    ) -> Heat:
        """Return the Heat client of an OpenStack; no request is sent yet.

        :raises InvalidVimConnection: the connection lacks an attribute
        """
        return Heat(self._api(info), retry_policy)

    def images(
        self, info: VimConnectionInfo, retry_policy: RetryPolicy
    ) -> Glance:
        """Return the Glance client of an OpenStack; no request is sent yet.

        :raises InvalidVimConnection: the connection lacks an attribute
        """
        return Glance(self._api(info), retry_policy)

    def servers(
        self, info: VimConnectionInfo, retry_policy: RetryPolicy
    ) -> Nova:
        """Return the Nova client of an OpenStack; no request is sent yet.

        :raises InvalidVimConnection: the connection lacks an attribute
        """
        return Nova(self._api(info), retry_policy)

    def _api(self, info: VimConnectionInfo) -> OpenstackApi:
        connection = Connection.from_info(info)
        key = hashlib.sha256(msgspec.json.encode(connection)).hexdigest()
        with self._lock:
            api = self._apis.pop(key, None)
            api = api or OpenstackApi(
                connection, self._timeout, self._ssrf_policy, self._limits
            )
            self._apis[key] = api  # most recently used last
            while len(self._apis) > MAX_SESSIONS:
                self._apis.pop(next(iter(self._apis)))
        return api
