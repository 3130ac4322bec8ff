"""tacker-cnf-manage quotas: what a project may have."""

import argparse

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.cmd import database
from tacker_cnf.db import quotas
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import Session


def show(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Show the quotas of a project, and what it uses of them."""
    with database.open_store(conf) as store, store.reader() as reader:
        return _table(reader, arguments.project)


def _table(session: Session, project_id: str) -> str:
    own = quotas.get_own(session, project_id)
    limits = quotas.get(session, project_id).limits
    rows = [_row("QUOTA", "LIMIT", "IN USE", "SET FOR")]
    for resource in Resource:
        limit = limits[resource]
        rows.append(
            _row(
                resource.value,
                "unlimited" if limit == quotas.UNLIMITED else str(limit),
                str(quotas.in_use(session, project_id, resource)),
                "the project" if resource in own else "all projects",
            )
        )
    return "\n".join(rows)


def _row(name: str, limit: str, used: str, source: str) -> str:
    return f"{name:<16} {limit:>16} {used:>16}   {source}"


def set_quota(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Set a quota of a project; -1: no limit."""
    resource, limit = _resource(arguments.quota), _limit(arguments.limit)
    with database.open_store(conf) as store:
        store.write(None, quotas.set_limit, arguments.project, resource, limit)
    return show(conf, arguments)


def unset_quota(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Let a quota of a project, or all, be those of the configuration."""
    chosen = [_resource(arguments.quota)] if arguments.quota else [*Resource]
    with database.open_store(conf) as store:
        for resource in chosen:
            store.write(
                None, quotas.set_limit, arguments.project, resource, None
            )
    return show(conf, arguments)


def _resource(name: str) -> Resource:
    try:
        return Resource(name)
    except ValueError:
        raise errors.BadRequest(
            f"QUOTA: {name} is unknown; it has to be one of "
            f"{', '.join(Resource)}."
        ) from None


def _limit(text: str) -> int:
    try:
        limit = int(text)
    except ValueError:
        limit = quotas.UNLIMITED - 1
    if limit < quotas.UNLIMITED:
        raise errors.BadRequest(
            f"LIMIT: {text}; it has to be a number, or -1 for no limit."
        )
    return limit
