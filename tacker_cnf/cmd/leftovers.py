"""tacker-cnf-manage leftovers: resources that failed instantiations left on
VIMs.
"""

import argparse

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.cmd import database
from tacker_cnf.db import leftovers


def list_all(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the VNF instances that may have left resources on a VIM."""
    with database.open_store(conf) as store, store.reader() as reader:
        found = leftovers.list_marked(reader)
    if not found:
        return "No VNF instance has leftovers."
    lines = [
        f"VNF instance {instance_id}: {', '.join(left) or 'not known yet'}"
        for instance_id, left in found.items()
    ]
    return "\n".join([*lines, f"{len(found)} VNF instances."])


def drop(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Forget the resources that a VNF instance may have left on a VIM."""
    if arguments.instance is None:
        raise errors.BadRequest("Name the VNF instance.")
    with database.open_store(conf) as store, store.writer() as writer:
        had_leftovers = leftovers.unmark(writer, arguments.instance)
    if not had_leftovers:
        return f"VNF instance {arguments.instance} has no leftovers."
    return f"VNF instance {arguments.instance} may be deleted."
