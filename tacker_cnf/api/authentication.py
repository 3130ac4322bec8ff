"""Checks of how clients authenticate, and of requests without authentication.

With noauth, a web page that an administrator visits could send requests by
the browser of the administrator: to a loopback address, or to a host name
whose address is changed to one (DNS rebinding).
"""

import ipaddress
import socket
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib import parse

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.api import http

LOG = log.getLogger(__name__)

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

AUTHTOKEN: Final = "keystone_authtoken"


def check_options(conf: cfg.ConfigOpts) -> None:
    """Check at the start that clients can authenticate; warn if they need
    not.

    :raises VnfmError: the options of Keystone are missing
    """
    if conf.api.auth_strategy == "noauth":
        LOG.warning(
            "Authentication disabled ([api] auth_strategy is noauth): every "
            "client that reaches %s:%d is an administrator",
            conf.api.host,
            conf.api.port,
        )
        return
    from keystonemiddleware import opts

    for group, options in opts.list_auth_token_opts():
        conf.register_opts(options, group)
    if not (conf[AUTHTOKEN].auth_type or conf[AUTHTOKEN].auth_section):
        raise errors.VnfmError(
            "[keystone_authtoken] auth_type is not set: tokens cannot be "
            "checked. Set auth_type, auth_url and the credentials of this "
            "service there, or, for tests only, [api] auth_strategy = noauth."
        )


def check_tokens(app: Wsgi, conf: cfg.ConfigOpts) -> Any:
    """Wrap an application so that each request needs a Keystone token."""
    from keystonemiddleware import auth_token

    return auth_token.AuthProtocol(app, {"oslo_config_config": conf})


def guard(app: Wsgi, conf: cfg.ConfigOpts) -> Wsgi:
    """Wrap an application without authentication so that it refuses what web
    pages send by a browser.
    """
    own_names = _own_names(conf)

    def guarded(
        environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        _check_request(environ[http.ORIGINAL_ENVIRON], own_names)
        return app(environ, start_response)

    return guarded


def _own_names(conf: cfg.ConfigOpts) -> frozenset[str]:
    names = {"localhost", socket.gethostname().lower(), conf.api.host.lower()}
    if conf.api.endpoint:
        names.add(parse.urlsplit(conf.api.endpoint).hostname or "")
    return frozenset(names)


def _check_request(environ: Environ, own_names: frozenset[str]) -> None:
    """Check a request without authentication.

    :raises Forbidden: its Host or Origin is that of a web page
    """
    host = environ.get("HTTP_HOST", "")
    name = _host_name(f"//{host}")
    # a name whose address was changed is not an address
    if name not in own_names and not _is_address(name):
        raise errors.Forbidden(
            f"Host: {host!r:.100} is not a name of this service. Without "
            "authentication it accepts its address, localhost, and the host "
            "in [api] endpoint."
        )
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and parse.urlsplit(origin).netloc != host:
        raise errors.Forbidden(
            f"Origin: {origin!r:.100} is a web page of another server. "
            "Without authentication such requests are refused."
        )


def _host_name(url: str) -> str:
    try:
        return parse.urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
