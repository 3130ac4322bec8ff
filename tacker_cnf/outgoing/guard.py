"""Which addresses subscribers may have this service call.

The name of a host is looked up once, and an address that was judged is the
one that is connected to.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import Final

import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.outgoing import addresses
from tacker_cnf.outgoing.addresses import Address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: where clouds tell a machine its secrets, beside the link-local ones
METADATA: Final = tuple(
    map(
        ipaddress.ip_network,
        ("100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """Finds where to connect to; private networks are allowed."""

    #: whether this machine itself may be called
    loopback: bool = False
    refused: tuple[Network, ...] = ()

    async def find(self, host: str, port: int) -> Sequence[str]:
        """Look a host up.

        :raises httpx.ConnectError: it has no address, or one that is refused
        """
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, OverflowError) as error:
            raise httpx.ConnectError(str(error)) from None
        known = [addresses.read(where[0]) for *_, where in found]
        if not all(map(self._is_allowed, known)):
            raise httpx.ConnectError("that address is not called from here")
        return [str(address) for address in known]

    def _is_allowed(self, given: Address) -> bool:
        return all(map(self._is_harmless, addresses.meant(given)))

    def _is_harmless(self, one: Address) -> bool:
        if one.is_loopback:
            return self.loopback
        is_odd = one.is_multicast or one.is_unspecified or one.is_link_local
        return not is_odd and not any(
            one in network for network in (*METADATA, *self.refused)
        )


def guard_of(conf: cfg.ConfigOpts) -> Guard:
    """Read [notification].

    :raises VnfmError: what should be a network is none
    """
    options = conf.notification
    try:
        refused = tuple(map(ipaddress.ip_network, options.refused_networks))
    except ValueError as error:
        raise errors.VnfmError(
            f"[notification] refused_networks: {error}."
        ) from None
    return Guard(loopback=options.loopback_callbacks, refused=refused)


class Guarded(httpx.AsyncBaseTransport):
    """Connects where a guard allows it, and nowhere else."""

    def __init__(self, guard: Guard, inner: httpx.AsyncBaseTransport) -> None:
        self._guard = guard
        self._inner = inner

    async def handle_async_request(
        self, request: httpx.Request
    ) -> httpx.Response:
        host = request.url.host
        port = addresses.port_of(request.url)
        address, *_ = await self._guard.find(host, port)
        pinned = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            # the certificate has to be that of the name
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        await self._inner.aclose()
