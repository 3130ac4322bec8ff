"""HAProxy on the masters, which balances requests to the API servers.

Only the ``server`` lines of its configuration are changed, one per master:
``server <name> <address>:6443 check``. A new configuration is validated first
and activated by a reload: open connections stay.
"""

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from typing import Final

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.remote import Host

CONFIGURATION: Final = "/etc/haproxy/haproxy.cfg"
#: port of a master's API server, and of HAProxy in front of all of them
API_PORT: Final = 6443
PORT: Final = 16443

_SERVER: Final = re.compile(
    rf"^[ \t]*server[ \t]+(?P<name>\S+)[ \t]+\[?(?P<address>[^\s\]]+?)\]?"
    rf":{API_PORT}(?:[ \t].*)?$",
    re.MULTILINE,
)


def url_host(address: str) -> str:
    """Return an address as it is written in a URL: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def servers(configuration: str) -> dict[str, str]:
    """Return the masters in a configuration: address -> name."""
    found = _SERVER.finditer(configuration)
    return {line["address"]: line["name"] for line in found}


def remove_servers(configuration: str, addresses: Collection[str]) -> str:
    """Return a configuration without the masters of some addresses."""

    def is_retained(line: str) -> bool:
        found = _SERVER.match(line)
        return found is None or found["address"] not in addresses

    return "".join(
        line
        for line in configuration.splitlines(keepends=True)
        if is_retained(line)
    )


def add_servers(configuration: str, masters: Mapping[str, str]) -> str:
    """Return a configuration with more masters, in copies of its last
    ``server`` line.

    :param masters: address -> name
    :raises InfraError: the configuration has no ``server`` line to copy
    """
    missing = dict(masters)
    for address in servers(configuration):
        missing.pop(address, None)
    if not missing:
        return configuration
    lines = list(_SERVER.finditer(configuration))
    if not lines:
        raise errors.InfraError(
            f"{CONFIGURATION} has no line 'server NAME ADDRESS:{API_PORT}' to "
            "copy for another master; the installation script has to write one."
        )
    last = lines[-1]
    new = [
        _server_line(last, name, address) for address, name in missing.items()
    ]
    start, end = configuration[: last.end()], configuration[last.end() :]
    return "\n".join([start, *new]) + end


def _server_line(line: re.Match[str], name: str, address: str) -> str:
    """Return a copy of a line with the name and address of another master."""
    text, start = line[0], line.start()
    spans = sorted(
        [(line.span("name"), name), (line.span("address"), address)],
        reverse=True,
    )
    for (first, last), value in spans:  # from the end: offsets stay valid
        text = text[: first - start] + value + text[last - start :]
    return text


def update_configuration(
    host: Host, edit: Callable[[str], str], timeout: float
) -> None:
    """Change the configuration of one master and reload HAProxy, also when an
    earlier attempt has changed it already.

    :param edit: returns the new configuration for the old one
    :raises VnfmError: the new one is not valid, and the old one was kept; or
        HAProxy did not reload, and the old one was restored
    """
    old = host.get(CONFIGURATION, as_root=True)
    new = edit(old.decode()).encode()
    candidate, backup = f"{CONFIGURATION}.new", f"{CONFIGURATION}.former"
    host.put(new, candidate, mode=0o644, as_root=True)
    _validate(host, candidate, timeout)
    host.check(
        f"cp -p {CONFIGURATION} {backup} && mv -f {candidate} {CONFIGURATION} && "
        f"service haproxy reload || {{ mv -f {backup} {CONFIGURATION}; false; }}",
        as_root=True,
        timeout=timeout,
    )


def _validate(host: Host, path: str, timeout: float) -> None:
    command = shlex.join(("haproxy", "-c", "-f", path))
    result = host.run(command, as_root=True, timeout=timeout)
    if result.exit_code == 0:
        return
    host.check(f"rm -f {path}", as_root=True, timeout=timeout)
    raise errors.InfraError(
        f"{host}: HAProxy rejects its new configuration; the old one was "
        f"kept. {(result.stderr or result.stdout).decode(errors='replace')}"
    )
