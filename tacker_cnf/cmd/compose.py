"""How the parts of a process are put together, once for every program."""

import dataclasses
from pathlib import Path
from typing import Any

from oslo_config import cfg

from tacker_cnf import rpc
from tacker_cnf.api import app
from tacker_cnf.api.middleware import Wsgi
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.conductor.service import Conductor
from tacker_cnf.db import keys, session
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.intake import Intake
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.nfvo.local import LocalNfvo
from tacker_cnf.vims.registry import Vims


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parts:
    """What API servers and conductors share."""

    conf: cfg.ConfigOpts
    store: Store
    catalogue: Packages
    drivers: Registry
    transport: Any


def key_file(conf: cfg.ConfigOpts) -> Path:
    """Tell where the key file is."""
    return Path(conf.secrets.key_file or Path(conf.state_path) / "secrets.key")


def parts(conf: cfg.ConfigOpts, queue: str | None = None) -> Parts:
    """Open the store, the keys, the packages and the queue.

    :param queue: the queue's URL; default: the one that is configured

    :raises VnfmError: there is no key file
    """
    VAULT.open(keys.load(key_file(conf)))
    store = session.of_conf(conf)
    return Parts(
        conf=conf,
        store=store,
        catalogue=Packages(store, conf),
        drivers=Registry(conf),
        transport=rpc.open_transport(conf, queue),
    )


def application(shared: Parts) -> Wsgi:
    """Make the API."""
    intake = Intake(
        shared.store,
        shared.catalogue,
        shared.drivers,
        rpc.Client(shared.transport),
    )
    return app.build(
        shared.conf,
        app.Services(
            store=shared.store,
            catalogue=shared.catalogue,
            intake=intake,
            vims=Vims(shared.store),
            drivers=shared.drivers,
        ),
    )


def conductor(shared: Parts, nfvo: Nfvo | None = None) -> Conductor:
    """Make a conductor."""
    return Conductor(
        shared.conf,
        shared.store,
        shared.catalogue,
        shared.drivers,
        nfvo or LocalNfvo(),
    )
