"""The Kubernetes API of the cluster, at the cluster's virtual IP address.

HAProxy on the master that has this address forwards to any API server that
responds.
"""

from collections.abc import Callable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.client import Cluster, ClusterPool
from tacker_cnf.http_client import ssrf_policy
from tacker_cnf.mgmt_drivers.cluster.memory import Memory
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo

#: seconds for one response
REQUEST_TIMEOUT_S: Final = 30.0
#: seconds for a failover of the cluster's address
OUTAGE_TIMEOUT_S: Final = 60.0


class Api:
    """A connection that is opened at the first use.

    :param url: of the cluster's virtual IP address
    :param create_credentials: creates credentials on a master and returns
        them: bearer_token, ssl_ca_cert
    """

    def __init__(
        self,
        url: str,
        memory: Memory,
        deadline: Deadline,
        create_credentials: Callable[[], dict[str, Any]],
    ) -> None:
        self.url = url
        self._memory = memory
        self._deadline = deadline
        self._create_credentials = create_credentials
        self._cluster: Cluster | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster, connected.

        :raises InfraError: no API server responds, or no master creates
            credentials that it accepts
        """
        if self._cluster is None:
            self._cluster = self._connect_or_renew()
        return self._cluster

    @property
    def credentials(self) -> dict[str, Any]:
        """The credentials of the cluster: bearer_token, ssl_ca_cert."""
        if self._memory.credentials is None:
            self.renew()
        return self._memory.credentials or {}

    def renew(self) -> None:
        """Create new credentials on a master.

        :raises InfraError: no master is reachable, or it failed
        """
        self._memory.credentials = self._create_credentials()
        self._cluster = None

    def _connect_or_renew(self) -> Cluster:
        is_stored = self._memory.credentials is not None
        try:
            return self._connect()
        except errors.VimRejected:
            if not is_stored:
                raise
        self.renew()  # the stored token has been deleted in the cluster
        return self._connect()

    def _connect(self) -> Cluster:
        info = VimConnectionInfo(
            vim_type="kubernetes",
            interface_info={
                "endpoint": self.url,
                "ssl_ca_cert": self.credentials["ssl_ca_cert"],
            },
            access_info={"bearer_token": self.credentials["bearer_token"]},
        )
        retry_policy = RetryPolicy(
            self._deadline,
            contact_timeout=OUTAGE_TIMEOUT_S,
            outage_timeout=OUTAGE_TIMEOUT_S,
        )
        pool = ClusterPool(REQUEST_TIMEOUT_S, ssrf_policy.OF_SCRIPTS)
        return pool.connect(info, retry_policy)
