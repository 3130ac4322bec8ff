"""The OpenStacks of a process."""

import hashlib
import threading
from typing import Final

import msgspec

from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.openstack.connection import Connection
from tacker_cnf.drivers.openstack.glance import Glance
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.link import Link
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.sol.common import VimConnectionInfo

#: OpenStacks that a process keeps a session for
KEPT: Final = 256


class Clouds:
    """The OpenStacks of this process, a session and its catalogue each."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._kept: dict[str, Link] = {}

    def connect(self, info: VimConnectionInfo, endurance: Endurance) -> Heat:
        """Give the Heat of an OpenStack; nothing is sent yet.

        :raises InvalidVimConnection: the connection says too little
        """
        return Heat(self._link(info), endurance)

    def images(self, info: VimConnectionInfo, endurance: Endurance) -> Glance:
        """Give the Glance of an OpenStack; nothing is sent yet.

        :raises InvalidVimConnection: the connection says too little
        """
        return Glance(self._link(info), endurance)

    def servers(self, info: VimConnectionInfo, endurance: Endurance) -> Nova:
        """Give the Nova of an OpenStack; nothing is sent yet.

        :raises InvalidVimConnection: the connection says too little
        """
        return Nova(self._link(info), endurance)

    def _link(self, info: VimConnectionInfo) -> Link:
        connection = Connection.of(info)
        key = hashlib.sha256(msgspec.json.encode(connection)).hexdigest()
        with self._lock:
            link = self._kept.pop(key, None)
            link = link or Link(connection, self._timeout)
            self._kept[key] = link  # the newest last
            while len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))
        return link
