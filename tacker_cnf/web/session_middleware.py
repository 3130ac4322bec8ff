"""The middleware of sessions: the token of the cookie becomes that of the
request; a browser without one is sent to log in.
"""

import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.api import middleware
from tacker_cnf.api.middleware import Environ, Wsgi
from tacker_cnf.web import paths, requests, sessions
from tacker_cnf.web.paths import ROOT
from tacker_cnf.web.requests import Visit
from tacker_cnf.web.sessions import Session, SessionCookies

LOG_IN: Final = "/login"
#: paths below the root for which no log in is necessary
_PUBLIC: Final = re.compile(rf"{ROOT}(/login|/logout|/static/.*)")
#: what caches may keep, and send to others
_STATIC: Final = f"{ROOT}/static/"
#: headers by which a client authenticates at the API
_CREDENTIALS: Final = ("HTTP_X_AUTH_TOKEN", "HTTP_X_SERVICE_TOKEN")
_NEXT: Final = re.compile(r"/[A-Za-z0-9_][A-Za-z0-9._~/-]*(\?[\w.~%&=+-]*)?")


class SessionMiddleware:
    """Finds the session of each request.

    :param private: the application for clients that have logged in
    :param public: the application for all others
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        cookies: SessionCookies,
        private: Wsgi,
        public: Wsgi,
    ) -> None:
        self._endpoint: str | None = conf.api.endpoint
        self._has_log_in = conf.api.auth_strategy != "noauth"
        self._cookies = cookies
        self._private = private
        self._public = public

    def __call__(
        self, environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Process a request (PEP 3333)."""
        _check_sender(environ, self._endpoint)
        found = self._cookies.read(environ.get("HTTP_COOKIE", ""))
        session = found or sessions.new_session()
        requests.enter(environ, self._visit(environ, session))
        start = start_response
        if found is None and not environ["PATH_INFO"].startswith(_STATIC):
            start = self._with_cookie(environ, session, start_response)
        if _PUBLIC.fullmatch(environ["PATH_INFO"]):
            return self._public(environ, start)
        for name in _CREDENTIALS:
            environ.pop(name, None)
        if not self._has_log_in:
            return self._private(environ, start)
        if session.token is None or session.is_expired:
            return _send_to_log_in(environ, start)
        environ["HTTP_X_AUTH_TOKEN"] = session.token
        try:
            return self._private(environ, start)
        except middleware.ForeignErrorResponse as error:
            if error.status != 401:
                raise
            return _send_to_log_in(environ, start)

    def _visit(self, environ: Environ, session: Session) -> Visit:
        is_secure = environ["wsgi.url_scheme"] == "https" or (
            self._endpoint or ""
        ).startswith("https:")
        return Visit(session, paths.root_of(self._endpoint), is_secure)

    def _with_cookie(
        self,
        environ: Environ,
        session: Session,
        start_response: Callable[..., Any],
    ) -> Callable[..., Any]:
        """Wrap start_response so that the browser keeps a new session, unless
        the response has another.
        """
        visit = requests.visit_of(environ)
        cookie = self._cookies.write(
            session, visit.root, is_secure=visit.is_secure
        )

        def start(
            status: str, headers: list[tuple[str, str]], *rest: Any
        ) -> Any:
            if "Set-Cookie" not in dict(headers):
                headers = [*headers, ("Set-Cookie", cookie)]
            return start_response(status, headers, *rest)

        return start


def _check_sender(environ: Environ, endpoint: str | None) -> None:
    """Check that no page of another site sent a request that changes
    something.

    :raises Forbidden: one did
    """
    if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
        return
    origin = environ.get("HTTP_ORIGIN")
    is_own = origin is None or origin in _origins(environ, endpoint)
    site = environ.get("HTTP_SEC_FETCH_SITE", "same-origin")
    if not is_own or site != "same-origin":
        raise errors.Forbidden(
            f"The request comes from another web page (Origin {origin!r:.100},"
            f" Sec-Fetch-Site {site!r:.20}); nothing was changed. If a proxy "
            "is in front of this server, set [api] endpoint to the URL that "
            "browsers use."
        )


def _origins(environ: Environ, endpoint: str | None) -> Iterator[str]:
    """Yield the origins of this page; a proxy may have TLS."""
    endpoint_host = urllib.parse.urlsplit(endpoint or "").netloc
    for host in (environ.get("HTTP_HOST"), endpoint_host):
        if host:
            yield from (f"http://{host}", f"https://{host}")


def _send_to_log_in(
    environ: Environ, start_response: Callable[..., Any]
) -> Iterable[bytes]:
    """Redirect to the form to log in, and from there back to the page."""
    root = requests.visit_of(environ).root
    location = root + LOG_IN
    if environ["REQUEST_METHOD"] == "GET":
        page = environ["PATH_INFO"].removeprefix(ROOT)
        if query := environ.get("QUERY_STRING"):
            page = f"{page}?{query}"
        if is_page(page):
            location += "?" + urllib.parse.urlencode({"next": page})
    start_response(
        "303 See Other", [("Location", location), ("Content-Length", "0")]
    )
    return [b""]


def is_page(path: str) -> bool:
    """Return whether a text is the path of a page below the root."""
    return _NEXT.fullmatch(path) is not None
