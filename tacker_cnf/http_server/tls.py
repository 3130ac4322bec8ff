"""TLS of the server."""

import ssl
from typing import Any

from tacker_cnf import errors


def context(options: Any) -> ssl.SSLContext | None:
    """Build the TLS context of [api]; None: plain HTTP.

    :raises VnfmError: a file cannot be used
    """
    if not options.tls_certificate:
        if options.tls_key or options.tls_client_ca:
            raise errors.VnfmError(
                "[api] tls_key and tls_client_ca need tls_certificate."
            )
        return None
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.minimum_version = getattr(
        ssl.TLSVersion, options.tls_min_version.replace(".", "_")
    )
    try:
        tls.load_cert_chain(options.tls_certificate, options.tls_key)
    except OSError as error:
        raise errors.VnfmError(
            "[api] tls_certificate and tls_key cannot be used: "
            f"{error.strerror or error}."
        ) from None
    if options.tls_client_ca:
        _require_client_certificate(tls, options.tls_client_ca)
    return tls


def _require_client_certificate(tls: ssl.SSLContext, authority: str) -> None:
    try:
        tls.load_verify_locations(authority)
    except OSError as error:
        raise errors.VnfmError(
            f"[api] tls_client_ca cannot be used: {error.strerror or error}."
        ) from None
    tls.verify_mode = ssl.CERT_REQUIRED
