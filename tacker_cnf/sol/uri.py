"""URIs that clients specify and this service sends requests to."""

import ipaddress
import re
from typing import Annotated, Final
from urllib import parse

import msgspec

#: http or https, without user and password; IETF RFC 3986, 3.2 and 3.3
HttpUri = Annotated[
    str,
    msgspec.Meta(
        max_length=2048,
        pattern=r"^https?://"
        r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~]+)(:[0-9]{1,5})?"
        r"([/?][A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]*)?\Z",
    ),
]
_NUMBERS: Final = re.compile(r"[0-9]+(\.[0-9]+){3}")


def check_no_user(name: str, uri: object) -> None:
    """Check that a URL has no user name and no password (IETF RFC 3986,
    3.2.1): they would be in logs, answers and errors.

    :param name: name of the attribute or option, for the error
    :raises ValueError: it has one, which the error does not contain
    """
    # the end of the authority, as every parser of URLs reads it
    authority = re.split(r"[/?#\\]", str(uri).partition("://")[2])[0]
    if "@" in authority:
        raise ValueError(
            f"{name} contains a user name or a password; set them by their "
            "own attributes"
        )


def check_address(name: str, uri: str) -> None:
    """Check the port and the IP address of a URI, beyond HttpUri's pattern.

    :param name: name of the attribute, for the error
    :raises ValueError: the port or the IP address is invalid
    """
    try:
        address = parse.urlsplit(uri)
        host, _ = address.hostname or "", address.port
        if ":" in host or _NUMBERS.fullmatch(host):
            ipaddress.ip_address(host)
    except ValueError as error:
        raise ValueError(f"{name} is not a valid URI: {error}") from None
