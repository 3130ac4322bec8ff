"""Addresses, and what they stand for."""

import ipaddress
from collections.abc import Iterator
from typing import Final

import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: addresses that stand for others: how IPv4 is reached over IPv6 (RFC 6052)
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

#: what private networks were once, and Python says is global (RFC 3879)
SITE_LOCAL: Final = ipaddress.IPv6Network("fec0::/10")


def effective_port(url: httpx.URL) -> int:
    """Tell the port of a URL, said or meant."""
    return url.port or {"https": 443}.get(url.scheme, 80)


def parse(text: object) -> Address:
    """Read an address, without the interface it may be bound to."""
    return ipaddress.ip_address(str(text).partition("%")[0])


def effective_addresses(address: Address) -> Iterator[Address]:
    """Give an address, and those that it stands for."""
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
