"""The context of a request: the client and the request id."""

import contextvars
import dataclasses
import os
import re
import uuid
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from oslo_context import context

P = ParamSpec("P")
R = TypeVar("R")

#: header of requests and responses with the ID of a request
REQUEST_ID_HEADER: Final = "X-Openstack-Request-Id"
#: environment variable with the ID of the request that a script runs for
REQUEST_ID_VARIABLE: Final = "TACKER_CNF_REQUEST_ID"
_REQUEST_ID: Final = re.compile(
    "req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
_TRACEPARENT: Final = re.compile(
    "00-((?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
#: project and user of all requests with [api] auth_strategy = noauth
NOAUTH: Final = "noauth"


@dataclasses.dataclass(frozen=True)
class Owner:
    """The project that a row belongs to, and the user that created it."""

    project_id: str
    #: None: it was created before users were recorded
    user_id: str | None


class RequestContext(context.RequestContext):
    """The context of oslo.context.

    :ivar all_projects: whether the client uses the rows of all projects
    :ivar authorize: checks whether the policy of the request allows it for a
        row of an owner; raises Forbidden
    """

    all_projects: bool = False
    authorize: Callable[[Owner], None] | None = None

    @property
    def owner(self) -> Owner:
        """The owner of the rows that the request creates."""
        return Owner(self.project_id or "", self.user_id)


def request_id_of(given: str | None, traceparent: str | None = None) -> str:
    """Return the ID of a request: the one that its client has sent, or that of
    its trace, or a new one if there is no ``req-`` and a UUID.

    :param traceparent: the header of W3C Trace Context
    """
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    if traceparent and (found := _TRACEPARENT.fullmatch(traceparent)):
        return f"req-{uuid.UUID(found[1])}"
    return f"req-{uuid.uuid4()}"


def trace_of(request_id: str | None) -> int | None:
    """Return the ID of the trace of a request (W3C Trace Context): the UUID
    in the ID of the request; None: the request is not known.
    """
    if request_id is None or not _REQUEST_ID.fullmatch(request_id):
        return None
    return uuid.UUID(request_id.removeprefix("req-")).int


def current_request_id() -> str | None:
    """Return the ID of the request that this thread works for, or that this
    process, a script's, was started for; None: there is none.
    """
    found = context.get_current()
    if found is None:
        return os.environ.get(REQUEST_ID_VARIABLE)
    return found.request_id


def of_environ(environ: dict[str, Any]) -> RequestContext:
    """Build the context that the authentication middleware put in the WSGI
    environ.
    """
    return RequestContext.from_environ(environ)


def administrator(request_id: str | None = None) -> RequestContext:
    """Build the context of a client that needs no token."""
    found = RequestContext(
        request_id=request_id,
        is_admin=True,
        roles=["admin", "member", "reader"],
        project_id=NOAUTH,
        user_id=NOAUTH,
    )
    found.all_projects = True
    return found


def of_project(project_id: str) -> RequestContext:
    """Build the context of work that uses the rows of one project; log lines
    keep that of the thread.
    """
    return RequestContext(project_id=project_id, overwrite=False)


def bind_request(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that works for the request of this thread, and in its
    span, in any thread that calls it.
    """
    request = context.get_current()
    variables = contextvars.copy_context()

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if request is not None:
            request.update_store()
        # a copy for each call: two threads cannot be in the same one
        return variables.copy().run(function, *args, **kwargs)

    return call


def enter_request(
    request_id: str | None,
    project_id: str | None = None,
    user_id: str | None = None,
) -> None:
    """Begin the work of this thread for a request: from now on, its log lines
    and its requests to VIMs have this ID.

    :param request_id: None: a new one, as the request is not known
    """
    RequestContext(
        request_id=request_id, project_id=project_id, user_id=user_id
    )
