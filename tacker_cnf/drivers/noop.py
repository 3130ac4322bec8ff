"""A driver without any function, for VIMs that must not be changed."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.drivers import vim_connection
from tacker_cnf.drivers.base import (
    InfraTask,
    Plan,
    RegisteredVim,
    SearchTask,
    TaskContext,
    WatchTask,
)
from tacker_cnf.lcm import vim_policy
from tacker_cnf.sol.common import VimConnectionInfo


class NoopDriver:
    """Allows a VIM to be registered, and rejects every VNF on it."""

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        """Create the driver; no configuration is used."""

    vim_type = "noop"
    heals_storage = False
    removes_newest = False
    script_options: Mapping[str, Any] = {}

    def connection_of(self, vim: RegisteredVim) -> VimConnectionInfo:
        return vim_connection.of_any_vim(vim)

    def check_policy(self, policy: Mapping[str, Any]) -> None:
        vim_policy.refuse(policy)

    def check_connection(self, connection: VimConnectionInfo) -> None:
        """Accept any connection."""

    def plan(self, task: InfraTask, observed: object = None) -> NoReturn:
        raise errors.BadRequest("VIMs of type noop accept no VNFs.")

    validate_package = plan

    def execute(self, plan: Plan, context: TaskContext) -> NoReturn:
        raise errors.VimRejected("VIMs of type noop cannot be changed.")

    def observe(self, task: InfraTask, context: TaskContext) -> NoReturn:
        raise errors.VimRejected("VIMs of type noop cannot be read.")

    observe_resources = observe

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        """Return nothing."""
        return {}

    def clean(self, task: SearchTask) -> Sequence[str]:
        """Delete nothing."""
        return ()

    def watch(self, task: WatchTask) -> None:
        """Return at once: there is nothing to watch."""
