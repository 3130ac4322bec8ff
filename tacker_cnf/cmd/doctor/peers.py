"""Checks of what the service needs beside its database."""

from collections.abc import Iterator
from typing import Final

from oslo_config import cfg

from tacker_cnf import rpc
from tacker_cnf.api import keystone_check, policies
from tacker_cnf.cmd.doctor.findings import (
    TIMEOUT_S,
    Finding,
    error,
    ok,
    run,
    warning,
    within,
)
from tacker_cnf.db import vims
from tacker_cnf.db.session import Store
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.scripts import isolation
from tacker_cnf.scripts.isolation import Isolation
from tacker_cnf.services.vim_connections import VimConnections

BROKER: Final = "broker"
KEYSTONE: Final = "keystone"
POLICIES: Final = "policies"
SCRIPTS: Final = "script isolation"
VIMS: Final = "VIMs"


def check_broker(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check that messages to conductors can be sent.

    :raises Exception: they cannot; of any library
    """
    client = rpc.ConductorClient(rpc.open_transport(conf))
    within(TIMEOUT_S, client.check)
    yield ok(BROKER, "accepts messages")


def check_keystone(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check that tokens of clients can be checked.

    :raises VnfmError: options are missing, or Keystone does not accept those
        of this service
    """
    if conf.api.auth_strategy == "noauth":
        yield warning(
            KEYSTONE,
            "Clients need no token ([api] auth_strategy is noauth): each is "
            "an administrator. For tests only.",
        )
        return
    within(TIMEOUT_S, lambda: keystone_check.check(conf))
    yield ok(KEYSTONE, "checks tokens for the user of this service")


def check_policies(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the policy file.

    :raises Exception: it cannot be used
    """
    enforcer = policies.enforcer(conf)
    rules = enforcer.file_rules
    used = " ".join(str(rule.check) for rule in rules.values())
    unknown = [
        name
        for name in sorted(set(rules) - set(enforcer.registered_rules))
        if f"rule:{name}" not in used
    ]
    if unknown:
        yield error(
            POLICIES,
            f"{conf.oslo_policy.policy_file}: {', '.join(unknown)}: this "
            "service has no such policy. "
            "`oslopolicy-sample-generator --namespace tacker_cnf` lists all.",
        )
    else:
        yield ok(POLICIES, f"{len(rules)} of them are set by the policy file")


def check_isolation(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check whether the code of VNF packages is isolated.

    :raises ScriptFailed: it cannot be isolated on this machine
    """
    options = conf.scripts
    if options.run == "none":
        yield ok(SCRIPTS, "no code of VNF packages runs ([scripts] run)")
    elif options.isolation == Isolation.NONE:
        yield warning(
            SCRIPTS,
            "The code of VNF packages has all rights of the conductor "
            "([scripts] isolation is none).",
        )
    else:
        isolation.check_available()
        yield ok(SCRIPTS, "bubblewrap works on this machine")


def check_vims(conf: cfg.ConfigOpts, store: Store) -> Iterator[Finding]:
    """Check that each registered VIM answers and accepts its credentials."""
    connections = VimConnections(DriverRegistry(conf))
    with store.reader() as session:
        registered = vims.find(session)
    for vim in registered:
        place = f"{vim.name} ({vim.id}) at {vim.auth_url}"

        def check(
            vim: vims.Row = vim, place: str = place
        ) -> Iterator[Finding]:
            within(TIMEOUT_S, lambda: connections.check(vim))
            yield ok(VIMS, f"{place} answers")

        yield from run(f"{VIMS}: {place}", check)
    if not registered:
        yield ok(VIMS, "none is registered")
