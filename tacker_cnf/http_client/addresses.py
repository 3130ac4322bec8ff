"""IP addresses, and the addresses that are embedded in them."""

import ipaddress
import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: IPv4 addresses embedded in IPv6 addresses (RFC 6052)
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

#: networks in which no peer has its address, besides those of link-local and
#: multicast addresses
REFUSED_NETWORKS: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            # "this" network, and reserved addresses with the broadcast one
            "0.0.0.0/8",
            "240.0.0.0/4",
            # metadata services with addresses that are not link-local
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
            # IPv4-compatible addresses (RFC 4291 2.5.5.1)
            "::/96",
            # NAT64 with prefixes of any length (RFC 8215)
            "64:ff9b:1::/48",
            # former private networks, which Python counts as global (RFC 3879)
            "fec0::/10",
        ),
    )
)


def effective_port(url: httpx.URL) -> int:
    """Return the port of a URL, explicit or by default."""
    return url.port or {"https": 443}.get(url.scheme, 80)


def parse(text: object) -> Address:
    """Parse an address; an IPv6 zone is ignored."""
    return ipaddress.ip_address(str(text).partition("%")[0])


def look_up(host: str, port: int) -> list[Address]:
    """Resolve a host; waits for a DNS server.

    :raises socket.gaierror: the host has no address
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (UnicodeError, OverflowError) as error:
        raise socket.gaierror(str(error)) from None
    return of_lookup(found)


def parse_literal(host: str) -> Address | None:
    """Parse a host that is an address; None: it is a name."""
    try:
        return parse(host)
    except ValueError:
        return None


def is_refused(address: Address) -> bool:
    """Return whether no peer has this address, whatever the configuration
    allows; embedded addresses are not looked at.
    """
    return (
        address.is_multicast
        or address.is_unspecified
        or address.is_link_local
        or (
            not address.is_loopback
            and any(address in network for network in REFUSED_NETWORKS)
        )
    )


def of_lookup(found: Iterable[Sequence[Any]]) -> list[Address]:
    """Return the addresses in the result of socket.getaddrinfo."""
    return [parse(socket_address[0]) for *_, socket_address in found]


def effective_addresses(address: Address) -> Iterator[Address]:
    """Yield an address, and those that are embedded in it."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in NAT64:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
