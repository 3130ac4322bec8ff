"""The middleware around the handlers: authentication and error responses."""

import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from oslo_config import cfg
from webob import exc

from tacker_cnf import context, errors
from tacker_cnf.api import authentication, http, policies
from tacker_cnf.services import DATABASE_DOWN
from tacker_cnf.sol.api import Api

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

#: the short root of version 2, beside ETSI's
SHORT_ROOT: Final = "/v2"
#: root of the paths of an API -> the API
ROOTS: Final[Mapping[str, Api]] = {
    **{api.root: api for api in Api},
    SHORT_ROOT: Api.LCM_V2,
}
#: paths that show whether this server works
PROBES: Final = frozenset({"/healthcheck", "/healthz", "/readyz"})
_CONTENT: Final = re.compile(
    "/vnfpkgm/v[12]/vnf_packages/[^/]+/package_content/*"
)
#: list of versions -> the latest of them
VERSION_LISTS: Final[Mapping[str, Api]] = {
    f"{path}/api_versions": api
    for api in Api
    for path in (api.prefix, api.root)
}
#: paths that need no token
PUBLIC: Final = frozenset({*PROBES, "/openapi.json", *VERSION_LISTS})
#: APIs without ranges
WITHOUT_RANGES: Final = frozenset({Api.LCM_V1, Api.LCM_V2})


def api_of(path: str) -> Api | None:
    """Return the API that a path belongs to; None: none with versions, or a
    list of versions.
    """
    if is_public(path):
        return None
    for root, api in ROOTS.items():
        if path.startswith(root + "/"):
            return api
    return None


def version_of(path: str) -> Api | None:
    """Return the API whose version a response has, also a list of versions."""
    return api_of(path) or VERSION_LISTS.get(path.rstrip("/"))


def is_public(path: str) -> bool:
    """Check whether a path needs no token."""
    return path.rstrip("/") in PUBLIC


def is_probe(path: str) -> bool:
    """Check whether a path shows whether this server works."""
    return path.rstrip("/") in PROBES


def is_upload(method: str, path: str) -> bool:
    """Check whether a request has the content of a VNF package."""
    return method == "PUT" and bool(_CONTENT.fullmatch(path))


def authenticate(app: Wsgi, conf: cfg.ConfigOpts) -> Wsgi:
    """Wrap an application so that the WSGI environ has the request context
    and the policy enforcer.
    """
    enforcer = policies.enforcer(conf)

    def authenticated(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        client = context.of_environ(environ)
        client.all_projects = enforcer.allows(
            policies.ALL_PROJECTS, {}, client
        )
        if not client.project_id:
            raise errors.Forbidden(
                "The token has no project; request one of a project."
            )
        environ[http.CONTEXT] = client
        environ[http.ENFORCER] = enforcer
        return app(environ, start_response)

    def anonymous(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        environ[http.CONTEXT] = context.administrator(environ[http.REQUEST_ID])
        environ[http.ENFORCER] = enforcer
        return app(environ, start_response)

    if conf.api.auth_strategy == "noauth":
        return authentication.guard(anonymous, conf)
    token_checked: Wsgi = authentication.check_tokens(authenticated, conf)

    def select(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        public = is_public(environ.get("PATH_INFO", ""))
        return (anonymous if public else token_checked)(
            environ, start_response
        )

    return select


class ErrorFormat(NamedTuple):
    """How responses show errors."""

    content_type: str
    #: error and request ID -> status and body
    render: Callable[[Exception, str], tuple[int, bytes]]


PROBLEM_JSON: Final = ErrorFormat(http.PROBLEM, http.problem)


def handle_errors(
    app: Wsgi, conf: cfg.ConfigOpts, error_format: ErrorFormat = PROBLEM_JSON
) -> Wsgi:
    """Wrap an application so that each error becomes a response in one
    format, and each response has the common headers.
    """

    def application(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        environ[http.SETTINGS] = conf.api
        environ[http.ORIGINAL_ENVIRON] = dict(environ)
        # pecan would answer 404 where the standard requires 406, and read a
        # body of any size to look for parameters in it
        for name in ("HTTP_ACCEPT", "CONTENT_TYPE", "CONTENT_LENGTH"):
            environ.pop(name, None)
        environ["wsgi.input"] = io.BytesIO()
        path = environ.get("PATH_INFO", "")
        api = environ[http.API] = api_of(path)
        common_headers = _api_headers(path, api)

        def start_with_headers(
            status: str, headers: list[tuple[str, str]], *rest: Any
        ) -> Any:
            length = environ.get(http.CONTENT_LENGTH)
            if length is not None:
                headers = [h for h in headers if h[0] != "Content-Length"]
                headers.append(("Content-Length", str(length)))
            return start_response(status, headers + common_headers, *rest)

        def start_success(
            status: str, headers: list[tuple[str, str]], *rest: Any
        ) -> Any:
            if int(status[:3]) >= 400:
                raise ForeignErrorResponse(status, headers)
            return start_with_headers(status, headers, *rest)

        try:
            _reject_nul(environ)
            return app(environ, start_success)
        except Exception as error:  # noqa: BLE001
            return _send_error(
                _translate_error(error),
                error_format,
                environ[http.REQUEST_ID],
                start_with_headers,
            )

    return application


def _api_headers(path: str, api: Api | None) -> list[tuple[str, str]]:
    """Return the headers of all responses of an API."""
    version = api or version_of(path)
    headers = [("Version", version.number)] if version else []
    if api in WITHOUT_RANGES:
        headers.append(("Accept-Ranges", "none"))
    return headers


def _reject_nul(environ: Environ) -> None:
    """Reject NUL characters, which not every database can store.

    :raises NotFound: the path contains one
    :raises BadRequest: the query contains one
    """
    if "\0" in environ.get("PATH_INFO", ""):
        raise errors.NotFound(
            "There is no resource whose path contains a NUL character."
        )
    if "%00" in environ.get("QUERY_STRING", ""):
        raise errors.BadRequest("The query contains a NUL character.")


class ForeignErrorResponse(Exception):
    """An error response that a library has started."""

    def __init__(self, status: str, headers: list[tuple[str, str]]) -> None:
        super().__init__(status)
        self.status = int(status[:3])
        #: the WWW-Authenticate headers, which the client needs to log in
        self.auth_challenges = [
            h for h in headers if h[0] == "WWW-Authenticate"
        ]


_FOREIGN_ERRORS: Final = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    503: errors.Unavailable,
}


def _translate_error(error: Exception) -> Exception:
    """Convert an exception or an error response of a library."""
    if isinstance(error, ForeignErrorResponse):
        other = errors.VnfmError if error.status >= 500 else errors.BadRequest
        return _FOREIGN_ERRORS.get(error.status, other)().with_headers(
            error.auth_challenges
        )
    if isinstance(error, DATABASE_DOWN):
        return errors.Unavailable("The database does not answer.")
    if isinstance(error, exc.HTTPException) and error.status_int < 500:
        return errors.BadRequest(error.detail or error.explanation)
    if isinstance(error, UnicodeDecodeError):
        return errors.BadRequest("The path or the query is not UTF-8.")
    return error


def _send_error(
    error: Exception,
    error_format: ErrorFormat,
    request_id: str,
    start_response: Callable[..., Any],
) -> Iterable[bytes]:
    status, body = error_format.render(error, request_id)
    phrase = exc.status_map[status].title
    headers = [
        ("Content-Type", error_format.content_type),
        ("Content-Length", str(len(body))),
        *getattr(error, "headers", ()),
    ]
    start_response(f"{status} {phrase}", headers)
    return [body]
