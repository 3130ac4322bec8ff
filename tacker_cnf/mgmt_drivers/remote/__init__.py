"""Commands and files on the machines of a VNF, over SSH.

Example of its use in a management script::

    deadline = Deadline.within(600)
    with Host("192.0.2.7", login, deadline) as host:
        host.put(content, "/etc/haproxy/haproxy.cfg", as_root=True)
        host.check("service haproxy reload", as_root=True)
"""

from tacker_cnf.mgmt_drivers.remote.commands import CommandResult
from tacker_cnf.mgmt_drivers.remote.host import Host
from tacker_cnf.mgmt_drivers.remote.keys import Login
from tacker_cnf.mgmt_drivers.remote.parallel import at_once, on_all

__all__ = ["CommandResult", "Host", "Login", "at_once", "on_all"]
