"""Who asks, and under which request id."""

from typing import Any

from oslo_context import context


class RequestContext(context.RequestContext):
    """oslo.context's, as this service passes it on."""


def of_environ(environ: dict[str, Any]) -> RequestContext:
    """Read what the authentication middleware left in the WSGI environ."""
    return RequestContext.from_environ(environ)


def administrator() -> RequestContext:
    """Make the caller of a service that asks nobody for a token."""
    return RequestContext(is_admin=True, roles=["admin", "member", "reader"])
