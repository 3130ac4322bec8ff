"""The option groups, for the programs and for the sample file."""

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from oslo_config import cfg
from oslo_db import options as db_options

from tacker_cnf.conf import (
    api,
    catalogue,
    conductor,
    default,
    kubernetes,
    metrics,
    nfvo,
    notification,
    openstack,
    outgoing,
    quotas,
    scripts,
    secrets,
    tracing,
    vims,
)

VERSION: Final = importlib.metadata.version("tacker_cnf")

OPTION_GROUPS: Final[Mapping[str, Sequence[cfg.Opt]]] = {
    "DEFAULT": default.OPTIONS,
    "api": api.OPTIONS,
    "catalogue": catalogue.OPTIONS,
    "conductor": conductor.OPTIONS,
    "kubernetes": kubernetes.OPTIONS,
    "metrics": metrics.OPTIONS,
    "nfvo": nfvo.OPTIONS,
    "notification": notification.OPTIONS,
    "openstack": openstack.OPTIONS,
    "outgoing": outgoing.OPTIONS,
    "quotas": quotas.OPTIONS,
    "scripts": scripts.OPTIONS,
    "secrets": secrets.OPTIONS,
    "tracing": tracing.OPTIONS,
    "vims": vims.OPTIONS,
}


def list_opts() -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield all options to oslo-config-generator (entry point)."""
    yield from OPTION_GROUPS.items()
    yield "database", db_options.database_opts
