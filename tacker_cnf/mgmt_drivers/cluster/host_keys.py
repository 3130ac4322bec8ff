"""The SSH host keys of new servers, as Nova reports them: in the metadata of a
server, or on its console, where cloud-init prints them.
"""

import contextlib
import enum
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.mgmt_drivers.remote.keys import HostKey
from tacker_cnf.runtime.cancellation import Deadline

#: key of a server's metadata with its host key
METADATA_KEY: Final = "ssh_host_key"
#: seconds between two reads of a console
POLL_INTERVAL_S: Final = 3.0
#: types of keys, the preferred one first
TYPES: Final = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
)
#: what cloud-init (cc_keys_to_console) prints at the end of a boot
_PRINTED: Final = re.compile(
    r"-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----",
    re.DOTALL,
)
_KEY: Final = re.compile(rf"({'|'.join(TYPES)}) ([A-Za-z0-9+/]+=*)")


class HostKeyPolicy(enum.StrEnum):
    """What a server without a known host key has to present."""

    REQUIRED = "required"
    TRUST_ON_FIRST_USE = "trust_on_first_use"


class HostKeys:
    """Finds the host keys of new servers.

    :param connect: returns a Nova client
    :param deadline: of the hook
    """

    def __init__(
        self,
        policy: HostKeyPolicy,
        connect: Callable[[], Nova],
        deadline: Deadline,
    ) -> None:
        self._policy = policy
        self._nova = functools.cache(connect)
        self._deadline = deadline

    def find(self, server: str, timeout: float) -> str | None:
        """Return the host key that a server has to present; None: any.

        :param timeout: seconds to wait for it while the server boots
        :raises HostKeyUnknown: Nova does not report it in time
        """
        if self._policy is HostKeyPolicy.TRUST_ON_FIRST_USE:
            return None
        deadline = self._deadline.limited(timeout)
        while True:
            key = _reported_key(self._nova(), server)
            if key is not None:
                return str(key)
            if deadline.remaining <= POLL_INTERVAL_S:
                break
            deadline.clock.sleep(POLL_INTERVAL_S)
        raise errors.HostKeyUnknown(
            f"Nova reports no SSH host key of server {server}: neither its "
            f"metadata {METADATA_KEY!r} nor its console, where cloud-init "
            "prints the keys (ssh.emit_keys_to_console). No login and no "
            "command was sent to it. Set the metadata in the template, use an "
            "image with cloud-init, or have the operator set [openstack] "
            "ssh_host_keys to trust_on_first_use."
        )


def _reported_key(nova: Nova, server: str) -> HostKey | None:
    found = nova.find(server)
    if found is None:
        return None
    text = found.metadata.get(METADATA_KEY)
    if text is not None:
        return HostKey.parse(text)
    return preferred(printed_keys(nova.console(server)))


def printed_keys(console: str) -> Iterator[HostKey]:
    """Parse the host keys that cloud-init has printed at the last boot."""
    for block in _PRINTED.findall(console)[-1:]:
        for found in _KEY.finditer(block):
            with contextlib.suppress(errors.InvalidParameters):
                yield HostKey.parse(found[0])


def preferred(keys: Iterable[HostKey]) -> HostKey | None:
    """Return the key of the preferred type, which the connection requests."""
    return min(keys, key=lambda key: TYPES.index(key.type), default=None)
