"""What handlers know of a request: its session, and the root of the page."""

from typing import Any, Final, NamedTuple

import pecan

from tacker_cnf.api import http
from tacker_cnf.web.sessions import Session

#: key that this package sets in the WSGI environ
_VISIT: Final = "tacker_cnf.web.visit"


class Visit(NamedTuple):
    """The session of a request, and what its response makes of it."""

    session: Session
    #: where the browser finds the page: ROOT, behind the path of a proxy
    root: str
    #: whether the browser uses HTTPS
    is_secure: bool


def enter(environ: dict[str, Any], visit: Visit) -> None:
    """Set the visit of a request."""
    environ[_VISIT] = visit


def visit_of(environ: dict[str, Any]) -> Visit:
    """Return the visit of a request."""
    visit: Visit = environ[_VISIT]
    return visit


def current() -> Visit:
    """Return the visit of the request that is handled."""
    return visit_of(pecan.request.environ)


def needs_log_in() -> bool:
    """Return whether clients have to log in."""
    return bool(http.settings().auth_strategy != "noauth")
