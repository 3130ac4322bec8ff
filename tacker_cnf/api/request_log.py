"""The ID of each request, its line in the log and, if it changes something,
its event in the audit trail.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from oslo_log import log

from tacker_cnf import audit, context, metrics, tracing
from tacker_cnf.api import http, middleware
from tacker_cnf.api.middleware import Environ, Wsgi
from tacker_cnf.api.routing import PATH_SEGMENT
from tacker_cnf.audit import AuditTrail, Event, Outcome
from tacker_cnf.http_server import access_log

#: method -> action of CADF
ACTIONS: Final = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "update",
    "DELETE": "delete",
}


def record_requests(app: Wsgi, trail: AuditTrail) -> Wsgi:
    """Wrap an application so that each request has an ID, which its response
    and all that is logged for it have too.
    """

    def application(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        started = time.perf_counter()
        request_id = environ[http.REQUEST_ID] = context.request_id_of(
            environ.get("HTTP_X_OPENSTACK_REQUEST_ID"),
            environ.get("HTTP_TRACEPARENT"),
        )
        # for what is logged before the client is authenticated
        context.enter_request(request_id)
        response = _Response(start_response, request_id)
        method = environ["REQUEST_METHOD"]
        with tracing.span(
            method,
            tracing.Kind.SERVER,
            environ.get("HTTP_TRACEPARENT"),
            http__request__method=method,
        ) as span:
            body = app(environ, response.start)
            span.describe(
                f"{method} {environ.get(http.ROUTE, 'unmatched')}",
                http__response__status_code=response.status,
            )
        if http.IS_WAITING not in environ:
            _record(environ, response, trail, started)
        return body

    return application


class _Response:
    """The beginning of a response."""

    def __init__(
        self, start_response: Callable[..., Any], request_id: str
    ) -> None:
        self._start_response = start_response
        self._request_id = context.REQUEST_ID_HEADER, request_id
        self.status = 500
        self.headers: list[tuple[str, str]] = []

    def start(
        self, status: str, headers: list[tuple[str, str]], *rest: Any
    ) -> Any:
        """Start the response (PEP 3333)."""
        self.status = int(status[:3])
        self.headers = [*headers, self._request_id]
        return self._start_response(status, self.headers, *rest)


def _record(
    environ: Environ, response: _Response, trail: AuditTrail, started: float
) -> None:
    method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
    is_routine = middleware.is_probe(path) and response.status == 200
    _count(method, environ.get(http.ROUTE), response.status, started)
    access_log.write(
        method,
        path,
        response.status,
        started,
        environ.get("REMOTE_ADDR"),
        log.DEBUG if is_routine else log.INFO,
    )
    if method in ACTIONS and http.IS_DRY_RUN not in environ:
        trail.record("request", _event(environ, response))


def _count(
    method: str, route: str | None, status: int, started: float
) -> None:
    """Count a request by its route; paths and methods that do not exist would
    be any number of series.
    """
    if route is None:
        method = route = "unmatched"
    metrics.REQUESTS.inc(method, route, str(status))
    metrics.REQUEST_SECONDS.observe(
        time.perf_counter() - started, method, route
    )


def _event(environ: Environ, response: _Response) -> Event:
    """Build the event of a request that changes something."""
    route = environ.get(http.ROUTE, "")
    client = environ.get(http.CONTEXT)
    action = ACTIONS[environ["REQUEST_METHOD"]]
    kind, _, task = route.partition(f"/{PATH_SEGMENT}")
    if action == "create" and task:
        action = f"update{task}"
    target_id = dict(response.headers).get("Location", "").rpartition("/")[2]
    if task or PATH_SEGMENT in route:
        path = environ["PATH_INFO"].split("/")
        target_id = path[route.split("/").index(PATH_SEGMENT)]
    is_success = response.status < 400
    return Event(
        action=action,
        outcome=Outcome.SUCCESS if is_success else Outcome.FAILURE,
        initiator=audit.initiator(
            environ[http.REQUEST_ID],
            client and client.project_id,
            client and client.user_id,
            environ.get("REMOTE_ADDR"),
        ),
        target=audit.target(kind.rpartition("/")[2], target_id),
        request_path=environ["PATH_INFO"],
        reason=audit.http_reason(response.status),
    )
