"""The headers of all responses of the page."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from tacker_cnf.api.middleware import Environ, Wsgi

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    # browsers send the Origin of forms, as the check of it needs
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
NOT_STORED: Final = ("Cache-Control", "no-store")


def add(app: Wsgi) -> Wsgi:
    """Wrap an application so that its responses have these headers."""

    def secured(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        def start(
            status: str, headers: list[tuple[str, str]], *rest: Any
        ) -> Any:
            headers = [*headers, *HEADERS]
            if "Cache-Control" not in dict(headers):
                headers.append(NOT_STORED)
            return start_response(status, headers, *rest)

        return app(environ, start)

    return secured
