"""Database access of the commands of tacker-cnf-manage."""

import contextlib
from collections.abc import Iterator

from oslo_config import cfg

from tacker_cnf.cmd import start
from tacker_cnf.db import keys, schema, session
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT


@contextlib.contextmanager
def open_store(conf: cfg.ConfigOpts) -> Iterator[Store]:
    """Open the database and the keys for the length of a block.

    :raises NoTables: the database is empty
    """
    with open_existing(conf) as store:
        VAULT.open(keys.load(keys.key_file_path(conf)))
        store.quotas = dict(conf.quotas)
        yield store


@contextlib.contextmanager
def open_existing(
    conf: cfg.ConfigOpts, *, connect: bool = True
) -> Iterator[Store]:
    """Open the database for the length of a block; do not create its file.

    :param connect: as of session.open_store()
    :raises NoTables: the database is empty
    """
    if session.would_be_created(conf):
        raise start.NoTables
    opened = session.open_store(conf, connect=connect)
    with contextlib.closing(opened) as store:
        if schema.version(store) is None:
            raise start.NoTables
        yield store
