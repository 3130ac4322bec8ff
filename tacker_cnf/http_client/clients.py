"""HTTP clients with the same options, for threads and for asyncio.

TLS certificates are verified, redirects are not followed, and proxies of the
environment are ignored: a request is only sent to the URL of the caller.
"""

import contextlib
import functools
import logging
import ssl
from collections.abc import Iterator
from typing import Any
from urllib import parse

import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy, SsrfPolicyTransport

# they log headers, and URLs, which may contain a token
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class HttpClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of [outgoing]."""

    verify: bool = True
    #: default: the authorities that the operating system trusts
    ca_file: str | None = None
    client_certificate: str | None = None
    #: default: the file of the certificate
    client_key: str | None = None
    #: seconds
    connect_timeout: float = 5.0
    #: seconds
    timeout: float = 20.0


def options_from_conf(conf: cfg.ConfigOpts) -> HttpClientOptions:
    """Read [outgoing]."""
    names = HttpClientOptions.__struct_fields__
    return HttpClientOptions(**{name: conf.outgoing[name] for name in names})


def client(
    client_options: HttpClientOptions,
    *,
    use_client_certificate: bool = False,
    **options: Any,
) -> httpx.Client:
    """Build a client for threads.

    :param use_client_certificate: send our certificate if a server requests
        one
    :param options: options of httpx, such as base_url and auth

    :raises VnfmError: a certificate or a key cannot be read
    """
    return httpx.Client(
        **_client_arguments(
            client_options, use_client_certificate=use_client_certificate
        ),
        **options,
    )


def async_client(
    client_options: HttpClientOptions,
    ssrf_policy: SsrfPolicy,
    *,
    use_client_certificate: bool = False,
    **options: Any,
) -> httpx.AsyncClient:
    """Build a client for asyncio, which connects where a policy allows it.

    :raises VnfmError: a certificate or a key cannot be read
    """
    arguments = _client_arguments(
        client_options, use_client_certificate=use_client_certificate
    )
    inner = httpx.AsyncHTTPTransport(
        verify=arguments["verify"], trust_env=False
    )
    return httpx.AsyncClient(
        **arguments,
        transport=SsrfPolicyTransport(ssrf_policy, inner),
        **options,
    )


def _client_arguments(
    client_options: HttpClientOptions, *, use_client_certificate: bool
) -> dict[str, Any]:
    connect = client_options.connect_timeout
    return {
        "verify": ssl_context(
            client_options, use_client_certificate=use_client_certificate
        ),
        "timeout": httpx.Timeout(client_options.timeout, connect=connect),
        "follow_redirects": False,
        "trust_env": False,
    }


@functools.lru_cache(maxsize=16)
def ssl_context(
    client_options: HttpClientOptions, *, use_client_certificate: bool = False
) -> ssl.SSLContext:
    """Return the TLS context with the trusted authorities and the client
    certificate; it is cached, as the system's authorities take tens of
    milliseconds to load.

    :raises VnfmError: a certificate or a key cannot be read
    """
    try:
        context = ssl.create_default_context(cafile=client_options.ca_file)
        if use_client_certificate and client_options.client_certificate:
            context.load_cert_chain(
                client_options.client_certificate,
                client_options.client_key,
                password=_refuse_password,
            )
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise errors.VnfmError(
            "[outgoing]: ca_file, client_certificate or client_key cannot be "
            f"read: {error}."
        ) from None
    if not client_options.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _refuse_password() -> str:
    """Prevent OpenSSL from prompting on the terminal.

    :raises ValueError: always
    """
    raise ValueError("client_key is encrypted")


@contextlib.contextmanager
def translated_errors(url: str) -> Iterator[None]:
    """Convert the errors of httpx in a block.

    :raises PeerUnreachable: the peer is unreachable, or a timeout expired
    :raises PeerFailed: the response is not valid HTTP
    """
    host = parse.urlsplit(url).netloc.rpartition("@")[2]
    try:
        yield
    except (httpx.TimeoutException, TimeoutError):
        raise errors.PeerUnreachable(
            f"{host} did not answer in time."
        ) from None
    except httpx.NetworkError as error:
        raise errors.PeerUnreachable(
            f"{host} cannot be reached: {error or type(error).__name__}."
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise errors.PeerFailed(
            f"{host} sent an invalid HTTP response: {error}."
        ) from None
