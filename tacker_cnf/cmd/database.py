"""The database, as commands of an administrator use it."""

import contextlib
from collections.abc import Iterator

from oslo_config import cfg

from tacker_cnf.db import keys, session
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT


@contextlib.contextmanager
def open_store(conf: cfg.ConfigOpts) -> Iterator[Store]:
    """Open the database, and close it at the end of the block."""
    VAULT.open(keys.load(keys.key_file_path(conf)))
    store = session.open_store(conf)
    try:
        yield store
    finally:
        store.close()
