"""Names as segments of the path of a URL."""

import urllib.parse

from tacker_cnf import errors


def quote(name: str) -> str:
    """Return a name as one segment of a path, percent-encoded.

    :raises InvalidParameters: the name would be another path
    """
    if name in {"", ".", ".."} or "/" in name:
        raise errors.InvalidParameters(
            f"The name {name!r} is not possible: it would be another path of "
            "the VIM's API."
        )
    return urllib.parse.quote(name, safe=":")
