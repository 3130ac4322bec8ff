"""IP addresses, and the addresses that are embedded in them."""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: IPv4 addresses embedded in IPv6 addresses (RFC 6052)
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

#: former private networks, which Python counts as global (RFC 3879)
SITE_LOCAL: Final = ipaddress.IPv6Network("fec0::/10")


def effective_port(url: httpx.URL) -> int:
    """Return the port of a URL, explicit or by default."""
    return url.port or {"https": 443}.get(url.scheme, 80)


def parse(text: object) -> Address:
    """Parse an address; an IPv6 zone is ignored."""
    return ipaddress.ip_address(str(text).partition("%")[0])


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
