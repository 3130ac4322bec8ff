"""tacker-cnf-manage leftovers: what failed instantiations left on VIMs."""

import argparse

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.cmd import database
from tacker_cnf.db import leftovers


def listed(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the VNF instances that may have something left on a VIM."""
    with database.opened(conf) as store, store.reader() as reader:
        found = leftovers.marked(reader)
    if not found:
        return "Nothing is left."
    lines = [
        f"VNF instance {instance_id}: {', '.join(left) or 'not known yet'}"
        for instance_id, left in found.items()
    ]
    return "\n".join([*lines, f"{len(found)} VNF instances."])


def drop(conf: cfg.ConfigOpts, asked: argparse.Namespace) -> str:
    """Give up what one VNF instance may have left on a VIM."""
    if asked.instance is None:
        raise errors.BadRequest("Name the VNF instance.")
    with database.opened(conf) as store, store.writer() as writer:
        was_marked = leftovers.forget(writer, asked.instance)
    if not was_marked:
        return f"VNF instance {asked.instance} has nothing left."
    return f"VNF instance {asked.instance} may be deleted."
