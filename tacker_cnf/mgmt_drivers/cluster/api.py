"""The Kubernetes API of the cluster, at the cluster's own address.

HAProxy on the master that has this address leads to any API server that
answers.
"""

from collections.abc import Callable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.client import Cluster, ClusterPool
from tacker_cnf.drivers.retry_policy import RetryPolicy
from tacker_cnf.mgmt_drivers.cluster.memory import Memory
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.common import VimConnectionInfo

#: seconds for one answer, and that the cluster's address may take to move
REQUEST_TIMEOUT_S: Final = 30.0
OUTAGE_TIMEOUT_S: Final = 60.0


class Api:
    """Connects when the cluster is needed first.

    :param url: of the cluster's own address
    :param log_in: returns credentials that a master has made
    """

    def __init__(
        self,
        url: str,
        memory: Memory,
        deadline: Deadline,
        log_in: Callable[[], dict[str, Any]],
    ) -> None:
        self.url = url
        self._memory = memory
        self._deadline = deadline
        self._log_in = log_in
        self._cluster: Cluster | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster, connected.

        :raises InfraError: no API server answers, or no master makes
            credentials that it accepts
        """
        if self._cluster is None:
            self._cluster = self._connect_or_renew()
        return self._cluster

    @property
    def credentials(self) -> dict[str, Any]:
        """What logs in to the cluster: a token, and the CA."""
        if self._memory.credentials is None:
            self.renew()
        return self._memory.credentials or {}

    def renew(self) -> None:
        """Have a master make credentials.

        :raises InfraError: none does
        """
        self._memory.credentials = self._log_in()
        self._cluster = None

    def _connect_or_renew(self) -> Cluster:
        is_stored = self._memory.credentials is not None
        try:
            return self._connect()
        except errors.VimRejected:
            if not is_stored:
                raise
        self.renew()  # the token that was kept has been deleted
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
        return ClusterPool(REQUEST_TIMEOUT_S).connect(info, retry_policy)
