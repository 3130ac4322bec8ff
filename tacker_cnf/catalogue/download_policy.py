"""Check the URLs and addresses from which packages are downloaded.

A host name is resolved once, and the connection uses the address that was
checked: a DNS server cannot return another one after the check.
"""

from collections.abc import Sequence
from typing import Final
from urllib import parse

import httpx

from tacker_cnf import errors
from tacker_cnf.http_client import addresses
from tacker_cnf.http_client.addresses import Address
from tacker_cnf.sol import uri

INVALID_URL: Final = (
    "addressInformation is not a valid URL, such as "
    "https://packages.example.com/vnf.csar."
)


class DownloadPolicy:
    """The hosts that the configuration allows."""

    def __init__(self, hosts: Sequence[str], schemes: Sequence[str]) -> None:
        names = [host.lower().rstrip(".") for host in hosts]
        self._host_names = {name for name in names if "*" not in name}
        self._suffixes = tuple(n[1:] for n in names if n.startswith("*."))
        self._any = "*" in names
        self._schemes = frozenset(schemes)

    def check(self, address: str) -> None:
        """Check that the configuration allows downloads from a URL.

        :raises Forbidden: the configuration does not allow the URL
        :raises BadRequest: it is not valid, or contains a user
        """
        if not (self._host_names or self._suffixes or self._any):
            raise errors.Forbidden(
                "Packages cannot be downloaded: [catalogue] upload_hosts is "
                "empty."
            )
        scheme, host = _split_url(address)
        if scheme not in self._schemes:
            raise errors.Forbidden(
                f"addressInformation: the scheme {scheme!r:.20} is not one of "
                f"{', '.join(sorted(self._schemes))}."
            )
        self._check_host(host)
        if (literal := addresses.parse_literal(host)) is not None:
            self._check_address(host, literal)

    def _check_host(self, host: str) -> None:
        if not (
            self._any
            or host in self._host_names
            or host.endswith(self._suffixes or ("*",))
        ):
            raise errors.Forbidden(
                f"addressInformation: {host!r:.100} is not among [catalogue] "
                "upload_hosts."
            )

    def resolve(self, host: str, port: int) -> str:
        """Resolve a host and return the address to connect to.

        :raises Forbidden: one of its addresses is not allowed
        :raises PeerUnreachable: the host has no address
        """
        host = host.lower().rstrip(".")
        self._check_host(host)
        try:
            found = addresses.look_up(host, port)
        except OSError:
            raise errors.PeerUnreachable(
                f"{host!r:.100} cannot be resolved."
            ) from None
        for address in found:
            self._check_address(host, address)
        return str(found[0])

    def _check_address(self, host: str, address: Address) -> None:
        for effective in addresses.effective_addresses(address):
            is_special = _is_special(effective)
            if effective.is_global and not is_special:
                continue
            is_local = effective.is_loopback or effective.is_link_local
            is_explicit = (
                addresses.parse_literal(host) == address or host == "localhost"
            )
            is_denied = not is_explicit if is_local else is_special
            if host not in self._host_names or is_denied:
                raise errors.Forbidden(
                    f"addressInformation: {host!r:.100} has an address from "
                    "which packages cannot be downloaded."
                )


def _is_special(address: Address) -> bool:
    """Return whether no host can serve packages at an address."""
    if address in addresses.NAT64:  # the embedded IPv4 address is checked
        return False
    return address.is_reserved or addresses.is_refused(address)


def _split_url(address: str) -> tuple[str, str]:
    """Return scheme and host of a URL.

    :raises BadRequest: it is not valid, or contains a user
    """
    try:
        url = httpx.URL(address)
        split = parse.urlsplit(address)
        _ = split.port  # raises ValueError if out of range
    except (httpx.InvalidURL, ValueError):
        raise errors.BadRequest(INVALID_URL) from None
    try:
        uri.check_no_user("addressInformation", address)
    except ValueError as error:
        raise errors.BadRequest(f"{error}: userName and password.") from None
    scheme, host = url.scheme, url.host.lower().rstrip(".")
    if not host and scheme in {"http", "https"}:
        raise errors.BadRequest("addressInformation has no host.")
    if split.scheme.lower() != scheme or not scheme:
        raise errors.BadRequest(INVALID_URL)
    return scheme, host
