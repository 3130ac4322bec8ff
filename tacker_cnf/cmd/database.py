"""Database access of the commands of tacker-cnf-manage."""

import contextlib
from collections.abc import Iterator

from oslo_config import cfg

from tacker_cnf.db import keys, session
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT


@contextlib.contextmanager
def open_store(conf: cfg.ConfigOpts) -> Iterator[Store]:
    """Open the database for the length of a block."""
    VAULT.open(keys.load(keys.key_file_path(conf)))
    store = session.open_store(conf)
    store.quotas = dict(conf.quotas)
    try:
        yield store
    finally:
        store.close()
