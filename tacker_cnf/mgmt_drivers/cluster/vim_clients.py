"""The clients of the OpenStack on which the nodes run."""

from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.clouds import Clouds
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.http_client import ssrf_policy
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance

#: seconds for each response, for the first contact, and for an outage
REQUEST_TIMEOUT_S: Final = 30.0
CONTACT_TIMEOUT_S: Final = 10.0
OUTAGE_TIMEOUT_S: Final = 60.0


def heat(instance: VnfInstance, deadline: Deadline) -> Heat:
    """Return a Heat client.

    :raises InfraError: the input of the script has no credentials
    """
    return _clouds().connect(_connection(instance), _retry_policy(deadline))


def nova(instance: VnfInstance, deadline: Deadline) -> Nova:
    """Return a Nova client.

    :raises InfraError: the input of the script has no credentials
    """
    return _clouds().servers(_connection(instance), _retry_policy(deadline))


def _clouds() -> Clouds:
    return Clouds(REQUEST_TIMEOUT_S, ssrf_policy.OF_SCRIPTS)


def _retry_policy(deadline: Deadline) -> RetryPolicy:
    return RetryPolicy(
        deadline,
        contact_timeout=CONTACT_TIMEOUT_S,
        outage_timeout=OUTAGE_TIMEOUT_S,
    )


def _connection(instance: VnfInstance) -> VimConnectionInfo:
    connection = next(iter(instance.vim_connection_info.values()), None)
    if connection is None or not connection.access_info:
        raise errors.InfraError(
            "The script's input has no credentials of the VNF's VIM. Set "
            "vim_credentials = true in [scripts] of the conductor's "
            "configuration."
        )
    return connection
