"""Where the server is, and how the client authenticates."""

import argparse
import os
from typing import Final
from urllib import parse

from keystoneauth1 import exceptions, session
from keystoneauth1.adapter import Adapter
from keystoneauth1.noauth import NoAuth

from tacker_cnf.cli.failures import UsageError

SERVICE_TYPE: Final = "nfv-orchestration"
ENDPOINT_VARIABLE: Final = "TACKER_CNF_ENDPOINT"
USER_AGENT: Final = "tacker-cnf"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to those that all commands have."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--os-cloud",
        metavar="NAME",
        help="cloud of clouds.yaml, in whose catalogue the server is "
        "(default: OS_CLOUD, or the other OS_* variables)",
    )
    group.add_argument(
        "--endpoint",
        metavar="URL",
        help="URL of a server without authentication "
        f"(default: {ENDPOINT_VARIABLE})",
    )


def open_adapter(options: argparse.Namespace) -> Adapter:
    """Return the connection to the server.

    :raises UsageError: the options do not suffice
    """
    endpoint = options.endpoint
    if not endpoint and not options.os_cloud:
        endpoint = os.environ.get(ENDPOINT_VARIABLE)
    return _without_keystone(endpoint) if endpoint else _with_keystone(options)


def _without_keystone(endpoint: str) -> Adapter:
    url = parse.urlsplit(endpoint)
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise UsageError(
            f"{endpoint!r} is not the URL of a server, such as "
            "http://127.0.0.1:9890."
        )
    return Adapter(
        session.Session(
            auth=NoAuth(),
            verify=os.environ.get("OS_CACERT") or True,
            app_name=USER_AGENT,
        ),
        endpoint_override=endpoint,
    )


def _with_keystone(options: argparse.Namespace) -> Adapter:
    # half of the time that the command takes to start
    from openstack.config import OpenStackConfig
    from openstack.exceptions import ConfigException

    try:
        cloud = OpenStackConfig(app_name=USER_AGENT).get_one(
            cloud=options.os_cloud
        )
        return Adapter(
            cloud.get_session(),
            service_type=SERVICE_TYPE,
            interface=cloud.get_interface(SERVICE_TYPE),
            region_name=cloud.get_region_name(SERVICE_TYPE),
            endpoint_override=cloud.get_endpoint(SERVICE_TYPE),
        )
    except (ConfigException, exceptions.ClientException) as error:
        raise UsageError(
            f"{str(error).rstrip('.')}. Choose a cloud with --os-cloud or the OS_* variables, "
            "or a server without authentication with --endpoint or "
            f"{ENDPOINT_VARIABLE}."
        ) from error
