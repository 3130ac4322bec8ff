"""The addresses to which clients may have this service connect.

A host name is resolved once, and the connection is made to the address that
was checked.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable, Sequence
from typing import Final, Self
from urllib import parse

import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.http_client import addresses
from tacker_cnf.http_client.addresses import Address, Network


class SsrfPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Checks schemes, and resolves hosts to allowed addresses.

    Addresses at which no peer is are refused; others are allowed, those of
    private networks too, unless the configuration restricts them.
    """

    schemes: frozenset[str] = frozenset({"http", "https"})
    allow_loopback: bool = False
    #: empty: all
    allowed_networks: tuple[Network, ...] = ()
    denied_networks: tuple[Network, ...] = ()
    #: options for messages, such as "[vims] allow_loopback"
    schemes_option: str = ""
    loopback_option: str = ""
    networks_option: str = ""

    @classmethod
    def of_callbacks(cls, conf: cfg.ConfigOpts) -> Self:
        """Build the policy for subscribers from [notification].

        :raises VnfmError: an entry of refused_networks is not a network
        """
        option = "[notification] refused_networks"
        return cls(
            allow_loopback=conf.notification.loopback_callbacks,
            denied_networks=_networks(
                option, conf.notification.refused_networks
            ),
            loopback_option="[notification] loopback_callbacks",
            networks_option=option,
        )

    @classmethod
    def of_vims(cls, conf: cfg.ConfigOpts) -> Self:
        """Build the policy for VIMs from [vims].

        :raises VnfmError: an entry of allowed_networks is not a network
        """
        option = "[vims] allowed_networks"
        return cls(
            schemes=frozenset(conf.vims.schemes),
            allow_loopback=conf.vims.allow_loopback,
            allowed_networks=_networks(option, conf.vims.allowed_networks),
            schemes_option="[vims] schemes",
            loopback_option="[vims] allow_loopback",
            networks_option=option,
        )

    def check_url(self, url: str) -> None:
        """Check what needs no DNS server: the scheme of a URL, and its
        host if that is an address.

        :raises Forbidden: it is not allowed
        """
        try:
            split = parse.urlsplit(url)
            host = split.hostname
        except ValueError:
            host = None
        if not host:
            raise errors.Forbidden(f"{url!r:.200} is not a valid URL.")
        self.check_scheme(split.scheme, host)
        if (literal := addresses.parse_literal(host)) is not None:
            self._check_addresses(host, [literal])

    def check_scheme(self, scheme: str | None, host: str) -> None:
        """Check the scheme of a URL.

        :raises Forbidden: it is not allowed
        """
        if scheme not in self.schemes:
            raise errors.Forbidden(
                f"This service does not connect to {host!r:.100} by "
                f"{scheme!r:.20}: {self.schemes_option or 'it'} allows "
                f"{', '.join(sorted(self.schemes))}."
            )

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
        try:
            self._check_addresses(host, resolved)
        except errors.Forbidden as error:
            raise httpx.ConnectError(str(error)) from None
        return [str(address) for address in resolved]

    def resolve_now(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; for threads.

        :raises socket.gaierror: the host has no address
        :raises Forbidden: one of its addresses is not allowed
        """
        resolved = addresses.look_up(host, port)
        self._check_addresses(host, resolved)
        return [str(address) for address in resolved]

    def _check_addresses(self, host: str, found: Iterable[Address]) -> None:
        """Check all addresses of a host.

        :raises Forbidden: one is not allowed
        """
        for address in found:
            if reason := self._reason_against(address):
                raise errors.Forbidden(
                    f"This service does not connect to {host!r:.100}: {reason}"
                )

    def _reason_against(self, address: Address) -> str | None:
        """Return why an address is refused, and which option allows it; None:
        it is allowed.
        """
        embedded = list(addresses.effective_addresses(address))
        if any(map(addresses.is_refused, embedded)):
            return (
                "it has a link-local, multicast or reserved address, or that "
                "of a metadata service, which no option allows."
            )
        if any(one.is_loopback for one in embedded):
            if self.allow_loopback:
                return None
            return (
                "it has a loopback address, which only "
                f"{self.loopback_option} allows."
            )
        denied = any(
            one in network
            for one in embedded
            for network in self.denied_networks
        )
        # the operating system connects to the IPv4 address of a mapped one
        effective = getattr(address, "ipv4_mapped", None) or address
        allowed = not self.allowed_networks or any(
            effective in network for network in self.allowed_networks
        )
        if denied or not allowed:
            return f"{self.networks_option} does not allow its address."
        return None


#: for scripts: what limits them is their isolation
OF_SCRIPTS: Final = SsrfPolicy(allow_loopback=True)


def _networks(option: str, entries: Iterable[str]) -> tuple[Network, ...]:
    try:
        return tuple(map(ipaddress.ip_network, entries))
    except ValueError as error:
        raise errors.VnfmError(f"{option}: {error}.") from None


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
