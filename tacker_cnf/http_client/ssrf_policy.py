"""The addresses to which clients may have this service connect.

A host name is resolved once, and the connection is made to the address that
was checked.
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

#: metadata services of clouds with addresses that are not link-local
METADATA_ADDRESSES: Final = tuple(
    map(
        ipaddress.ip_network,
        ("100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)


class SsrfPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Resolves hosts to allowed addresses; private networks are allowed."""

    allow_loopback: bool = False
    denied_networks: tuple[Network, ...] = ()

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host.

        :raises httpx.ConnectError: the host has no address, or one that is
            not allowed
        """
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, OverflowError) as error:
            raise httpx.ConnectError(str(error)) from None
        resolved = addresses.of_lookup(found)
        if not all(map(self._is_allowed, resolved)):
            raise httpx.ConnectError("the address is not allowed")
        return [str(address) for address in resolved]

    def resolve_now(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; for threads.

        :raises socket.gaierror: the host has no address
        :raises Forbidden: one of its addresses is not allowed
        """
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (UnicodeError, OverflowError) as error:
            raise socket.gaierror(str(error)) from None
        resolved = addresses.of_lookup(found)
        if not all(map(self._is_allowed, resolved)):
            raise errors.Forbidden(
                f"{host!r:.100} has an address to which this service does not "
                "connect, as that of a metadata service."
            )
        return [str(address) for address in resolved]

    def _is_allowed(self, address: Address) -> bool:
        return all(
            map(self._is_permitted, addresses.effective_addresses(address))
        )

    def _is_permitted(self, address: Address) -> bool:
        if address.is_loopback:
            return self.allow_loopback
        is_special = (
            address.is_multicast
            or address.is_unspecified
            or address.is_link_local
        )
        return not is_special and not any(
            address in network
            for network in (*METADATA_ADDRESSES, *self.denied_networks)
        )


def policy_from_conf(conf: cfg.ConfigOpts) -> SsrfPolicy:
    """Build the policy from [notification].

    :raises VnfmError: an entry of refused_networks is not a network
    """
    options = conf.notification
    try:
        denied = tuple(map(ipaddress.ip_network, options.refused_networks))
    except ValueError as error:
        raise errors.VnfmError(
            f"[notification] refused_networks: {error}."
        ) from None
    return SsrfPolicy(
        allow_loopback=options.loopback_callbacks, denied_networks=denied
    )


class SsrfPolicyTransport(httpx.AsyncBaseTransport):
    """Connects only to addresses that a policy allows."""

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
