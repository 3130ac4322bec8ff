"""A driver that refuses: for a VIM that is to be left alone."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask, SearchTask, WatchTask
from tacker_cnf.sol.common import VimConnectionInfo


class NoopDriver:
    """Lets a VIM be registered and nothing be done on it."""

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        """Take nothing from the configuration."""

    def check_connection(self, connection: VimConnectionInfo) -> None:
        """Accept any connection."""

    def validate(self, task: InfraTask) -> NoReturn:
        raise errors.BadRequest("VIMs of type noop take no VNFs.")

    def apply(self, task: InfraTask) -> NoReturn:
        raise errors.VimRejected("VIMs of type noop are left alone.")

    replace = destroy = observe = apply

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        """Find nothing."""
        return {}

    def clean(self, task: SearchTask) -> Sequence[str]:
        """Leave the VIM alone."""
        return ()

    def watch(self, task: WatchTask) -> None:
        """Say that there is nothing to watch."""
