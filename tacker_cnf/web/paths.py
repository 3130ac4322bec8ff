"""The paths of the page."""

import urllib.parse
from typing import Final

#: of all paths of the page at the server
ROOT: Final = "/ui"
#: of the form with the content of a VNF package
_UPLOAD: Final = f"{ROOT}/vnf_packages"


def root_of(endpoint: str | None) -> str:
    """Return where browsers find the page: ROOT, behind the path of a proxy.

    :param endpoint: the URL of the API, if it is configured
    """
    return urllib.parse.urlsplit(endpoint or "").path.rstrip("/") + ROOT


def is_page(path: str) -> bool:
    """Return whether a path belongs to the page."""
    return path == ROOT or path.startswith(f"{ROOT}/")


def is_upload(method: str, path: str) -> bool:
    """Return whether a request has the content of a VNF package."""
    return method == "POST" and path.rstrip("/") == _UPLOAD
