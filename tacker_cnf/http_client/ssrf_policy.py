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
from tacker_cnf.http_client import addresses
from tacker_cnf.http_client.addresses import Address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: where clouds tell a machine its secrets, beside the link-local ones
METADATA_ADDRESSES: Final = tuple(
    map(
        ipaddress.ip_network,
        ("100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)


class SsrfPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Finds where to connect to; private networks are allowed."""

    #: whether this machine itself may be called
    allow_loopback: bool = False
    denied_networks: tuple[Network, ...] = ()

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Look a host up.

        :raises httpx.ConnectError: it has no address, or one that is refused
        """
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, OverflowError) as error:
            raise httpx.ConnectError(str(error)) from None
        resolved = [
            addresses.parse(socket_address[0]) for *_, socket_address in found
        ]
        if not all(map(self._is_allowed, resolved)):
            raise httpx.ConnectError("that address is not called from here")
        return [str(address) for address in resolved]

    def _is_allowed(self, address: Address) -> bool:
        return all(
            map(self._is_permitted, addresses.effective_addresses(address))
        )

    def _is_permitted(self, one: Address) -> bool:
        if one.is_loopback:
            return self.allow_loopback
        is_special = (
            one.is_multicast or one.is_unspecified or one.is_link_local
        )
        return not is_special and not any(
            one in network
            for network in (*METADATA_ADDRESSES, *self.denied_networks)
        )


def policy_from_conf(conf: cfg.ConfigOpts) -> SsrfPolicy:
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
    return SsrfPolicy(
        allow_loopback=options.loopback_callbacks, denied_networks=refused
    )


class SsrfPolicyTransport(httpx.AsyncBaseTransport):
    """Connects where a guard allows it, and nowhere else."""

    def __init__(
        self, ssrf_policy: SsrfPolicy, inner: httpx.AsyncBaseTransport
    ) -> None:
        self._ssrf_policy = ssrf_policy
        self._inner = inner

    async def handle_async_request(
        self, request: httpx.Request
    ) -> httpx.Response:
        host = request.url.host
        port = addresses.effective_port(request.url)
        address, *_ = await self._ssrf_policy.resolve(host, port)
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
