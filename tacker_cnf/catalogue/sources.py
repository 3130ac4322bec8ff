"""From where packages may be fetched, and at which addresses.

The name of a host is looked up once, and the address that was judged is the
one that is connected to: who answers for the name cannot have another one
used than was seen.
"""

import ipaddress
import socket
from collections.abc import Iterator, Sequence
from typing import Final
from urllib import parse

import httpx

from tacker_cnf import errors
from tacker_cnf.outgoing import addresses
from tacker_cnf.outgoing.addresses import Address
from tacker_cnf.outgoing.clients import Manners, tls

NO_URL: Final = (
    "addressInformation is no URL, such as "
    "https://packages.example.com/vnf.csar."
)


class Sources:
    """The hosts that the configuration allows."""

    def __init__(self, hosts: Sequence[str], schemes: Sequence[str]) -> None:
        names = [host.lower().rstrip(".") for host in hosts]
        self._named = {name for name in names if "*" not in name}
        self._suffixes = tuple(n[1:] for n in names if n.startswith("*."))
        self._any = "*" in names
        self._schemes = frozenset(schemes)

    def check(self, address: str) -> None:
        """Make sure that a package may be fetched from an address.

        :raises Forbidden: the configuration does not allow it
        :raises BadRequest: it is no address of HTTP, or has a password in it
        """
        if not (self._named or self._suffixes or self._any):
            raise errors.Forbidden(
                "Packages are not fetched from elsewhere here: [catalogue] "
                "upload_hosts is empty."
            )
        scheme, host = _parts(address)
        if scheme not in self._schemes:
            raise errors.Forbidden(
                f"addressInformation: the scheme {scheme!r:.20} is not one of "
                f"{', '.join(sorted(self._schemes))}."
            )
        self._check_host(host)
        if (literal := _literal(host)) is not None:
            self._check_address(host, literal)

    def _check_host(self, host: str) -> None:
        if not (
            self._any
            or host in self._named
            or host.endswith(self._suffixes or ("*",))
        ):
            raise errors.Forbidden(
                f"addressInformation: {host!r:.100} is not among [catalogue] "
                "upload_hosts."
            )

    def address_of(self, host: str, port: int) -> str:
        """Look a host up; give the address to connect to.

        :raises Forbidden: one of its addresses is not allowed
        :raises PeerUnreachable: it has none
        """
        host = host.lower().rstrip(".")
        self._check_host(host)
        found = list(_resolved(host, port))
        for address in found:
            self._check_address(host, address)
        return str(found[0])

    def _check_address(self, host: str, address: Address) -> None:
        for one in addresses.meant(address):
            is_odd = _is_odd(one)
            if one.is_global and not is_odd:
                continue
            is_near = one.is_loopback or one.is_link_local
            itself = _literal(host) == address or host == "localhost"
            barred = not itself if is_near else is_odd
            if host not in self._named or barred:
                raise errors.Forbidden(
                    f"addressInformation: {host!r:.100} has an address that "
                    "packages are not fetched from."
                )


def _is_odd(one: Address) -> bool:
    """Tell whether no host that gives packages can have this address."""
    if one in addresses.NAT64:  # judged by what it stands for
        return False
    is_none = one.is_multicast or one.is_unspecified or one.is_reserved
    return is_none or one in addresses.SITE_LOCAL


class Pinned(httpx.BaseTransport):
    """Connects to the address that was judged, and to no other."""

    def __init__(self, sources: Sources, manners: Manners) -> None:
        self._sources = sources
        self._inner = httpx.HTTPTransport(verify=tls(manners), trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        port = addresses.port_of(request.url)
        address = self._sources.address_of(host, port)
        # the certificate has to be that of the name, not of the address
        request.extensions["sni_hostname"] = host
        request.url = request.url.copy_with(host=address)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


def _parts(address: str) -> tuple[str, str]:
    """Give scheme and host of a URL.

    :raises BadRequest: it is none of HTTP, or has a user in it
    """
    try:
        given = httpx.URL(address)
        split = parse.urlsplit(address)
        _ = split.port  # which may be none that there is
    except (httpx.InvalidURL, ValueError):
        raise errors.BadRequest(NO_URL) from None
    if given.userinfo:
        raise errors.BadRequest(
            "addressInformation: give userName and password beside it."
        )
    scheme, host = given.scheme, given.host.lower().rstrip(".")
    if not host and scheme in {"http", "https"}:
        raise errors.BadRequest("addressInformation names no host.")
    if split.scheme.lower() != scheme or not scheme:
        raise errors.BadRequest(NO_URL)
    return scheme, host


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _resolved(host: str, port: int) -> Iterator[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise errors.PeerUnreachable(
            f"{host!r:.100} cannot be looked up."
        ) from None
    for *_, where in found:
        yield addresses.read(where[0])
