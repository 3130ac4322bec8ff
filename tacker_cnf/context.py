"""The context of a request: the client and the request id."""

from typing import Any

from oslo_context import context


class RequestContext(context.RequestContext):
    """The context of oslo.context."""


def of_environ(environ: dict[str, Any]) -> RequestContext:
    """Build the context that the authentication middleware put in the WSGI
    environ.
    """
    return RequestContext.from_environ(environ)


def administrator() -> RequestContext:
    """Build the context of a client that needs no token."""
    return RequestContext(is_admin=True, roles=["admin", "member", "reader"])
