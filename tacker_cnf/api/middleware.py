"""The middleware around the handlers: who asks, and how errors are told."""

import io
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Final

from oslo_config import cfg
from webob import exc

from tacker_cnf import context, errors
from tacker_cnf.api import http, policies
from tacker_cnf.db.session import DATABASE_DOWN

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

#: where the lifecycle API is found: ETSI's path and the short one
LCM_ROOTS: Final = ("/vnflcm/v2", "/v2")
#: what nobody needs a token for
PUBLIC: Final = frozenset(
    {
        "/healthcheck",
        "/openapi.json",
        "/vnflcm/api_versions",
        "/vnflcm/v2/api_versions",
    }
)


def is_lcm(path: str) -> bool:
    """Tell whether a path is of the versioned lifecycle API."""
    under = any(path.startswith(root + "/") for root in LCM_ROOTS)
    return under and not is_public(path)


def is_public(path: str) -> bool:
    """Tell whether a path is open to everybody."""
    return path.rstrip("/") in PUBLIC


def identify(app: Wsgi, conf: cfg.ConfigOpts) -> Wsgi:
    """Say who asks, and who judges."""
    judge = policies.enforcer(conf)

    def known(environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        environ[http.CONTEXT] = context.of_environ(environ)
        environ[http.ENFORCER] = judge
        return app(environ, start)

    def anybody(
        environ: Environ, start: Callable[..., Any]
    ) -> Iterable[bytes]:
        environ[http.CONTEXT] = context.administrator()
        environ[http.ENFORCER] = judge
        return app(environ, start)

    if conf.api.auth_strategy == "noauth":
        return anybody
    from keystonemiddleware import auth_token

    checked: Wsgi = auth_token.AuthProtocol(
        known, {"oslo_config_config": conf}
    )

    def choose(environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        public = is_public(environ.get("PATH_INFO", ""))
        return (anybody if public else checked)(environ, start)

    return choose


def edge(app: Wsgi, conf: cfg.ConfigOpts) -> Wsgi:
    """Make every error a problem+json, and sign every answer."""

    def answer(environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        request_id = f"req-{uuid.uuid4()}"
        environ["openstack.request_id"] = request_id
        environ[http.SETTINGS] = conf.api
        environ[http.GIVEN] = dict(environ)
        # pecan would answer 404 where the standard wants 406, and read any
        # body to its end, however long, to look for parameters in it
        for name in ("HTTP_ACCEPT", "CONTENT_TYPE", "CONTENT_LENGTH"):
            environ.pop(name, None)
        environ["wsgi.input"] = io.BytesIO()
        always = [("X-Openstack-Request-Id", request_id)]
        if is_lcm(environ.get("PATH_INFO", "")):
            always += [("Version", "2.0.0"), ("Accept-Ranges", "none")]

        def signed(
            status: str, headers: list[tuple[str, str]], *rest: Any
        ) -> Any:
            kind = dict(headers).get("Content-Type", "")
            if int(status[:3]) >= 400 and kind != http.PROBLEM:
                raise Foreign(status, headers)
            length = environ.get(http.LENGTH)
            if length is not None:
                headers = [h for h in headers if h[0] != "Content-Length"]
                headers.append(("Content-Length", str(length)))
            return start(status, headers + always, *rest)

        try:
            _refuse_nul(environ)
            return app(environ, signed)
        except Exception as error:  # noqa: BLE001
            return _tell(_known(error), request_id, signed)

    return answer


def _refuse_nul(environ: Environ) -> None:
    """Refuse what no name has and not every database takes."""
    if "\0" in environ.get("PATH_INFO", ""):
        raise errors.NotFound("There is no thing that has a NUL in its name.")
    if "%00" in environ.get("QUERY_STRING", ""):
        raise errors.BadRequest("The query has a NUL in it.")


class Foreign(Exception):
    """An error answer that somebody else's code began to give."""

    def __init__(self, status: str, headers: list[tuple[str, str]]) -> None:
        super().__init__(status)
        self.status = int(status[:3])
        #: how to log in, which the caller needs
        self.kept = [h for h in headers if h[0] == "WWW-Authenticate"]


_FOREIGN: Final = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    503: errors.Unavailable,
}


def _known(error: Exception) -> Exception:
    """Translate what others' code raises or answers by itself."""
    if isinstance(error, Foreign):
        other = errors.VnfmError if error.status >= 500 else errors.BadRequest
        return _FOREIGN.get(error.status, other)().with_headers(error.kept)
    if isinstance(error, DATABASE_DOWN):
        return errors.Unavailable("The database does not answer.")
    if isinstance(error, exc.HTTPException) and error.status_int < 500:
        return errors.BadRequest(error.detail or error.explanation)
    if isinstance(error, UnicodeDecodeError):
        return errors.BadRequest("The path or the query is not UTF-8.")
    return error


def _tell(
    error: Exception, request_id: str, start: Callable[..., Any]
) -> Iterable[bytes]:
    status, body = http.problem(error, request_id)
    phrase = exc.status_map[status].title
    headers = [
        ("Content-Type", http.PROBLEM),
        ("Content-Length", str(len(body))),
        *getattr(error, "headers", ()),
    ]
    start(f"{status} {phrase}", headers)
    return [body]
