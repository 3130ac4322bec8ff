"""The context of a request: the client and the request id."""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from oslo_context import context

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


def of_environ(environ: dict[str, Any]) -> RequestContext:
    """Build the context that the authentication middleware put in the WSGI
    environ.
    """
    return RequestContext.from_environ(environ)


def administrator() -> RequestContext:
    """Build the context of a client that needs no token."""
    found = RequestContext(
        is_admin=True,
        roles=["admin", "member", "reader"],
        project_id=NOAUTH,
        user_id=NOAUTH,
    )
    found.all_projects = True
    return found


def of_project(project_id: str) -> RequestContext:
    """Build the context of work that uses the rows of one project."""
    return RequestContext(project_id=project_id)
