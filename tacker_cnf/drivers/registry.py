"""Registry of drivers: the only place that interprets a vimType."""

import importlib.metadata
import threading
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg
from stevedore import DriverManager
from stevedore.exception import NoMatches

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraDriver
from tacker_cnf.sol import base
from tacker_cnf.sol.common import VimConnectionInfo

NAMESPACE = "tacker_cnf.drivers"


class DriverRegistry:
    """The drivers of this process, each created on first use."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._drivers: dict[str, InfraDriver[Any, Any]] = {}

    def install(self, vim_type: str, driver: InfraDriver[Any, Any]) -> None:
        """Register a driver that exists already."""
        with self._lock:
            self._drivers[vim_type] = driver

    @staticmethod
    def list_types() -> list[str]:
        """Return the vimTypes of the installed drivers."""
        found = importlib.metadata.entry_points(group=NAMESPACE)
        return sorted(found.names)

    def for_type(
        self, vim_type: str, attribute: str = "vimType"
    ) -> InfraDriver[Any, Any]:
        """Return the driver of a vimType.

        :param attribute: the one of the request that has the type
        :raises InvalidVimConnection: no driver supports the type
        """
        with self._lock:
            if vim_type not in self._drivers:
                self._drivers[vim_type] = self._load(vim_type, attribute)
            return self._drivers[vim_type]

    def for_connections(
        self, connections: Mapping[str, VimConnectionInfo]
    ) -> InfraDriver[Any, Any]:
        """Return the driver of a VNF by its VIM connections.

        :raises InvalidVimConnection: there is no connection, or they have
            several types of VIM
        """
        types = {c.vim_type for c in connections.values() if c.vim_type}
        if not types:
            raise errors.InvalidVimConnection(
                "vimConnectionInfo: no VIM is named, and no registered VIM "
                "is the default one."
            )
        drivers = {id(d): d for d in map(self.for_type, sorted(types))}
        if len(drivers) > 1:
            raise errors.InvalidVimConnection(
                "vimConnectionInfo: a VNF cannot use VIMs of several types "
                f"({', '.join(sorted(types))})."
            )
        return next(iter(drivers.values()))

    def _load(self, vim_type: str, attribute: str) -> InfraDriver[Any, Any]:
        try:
            plugin: Any = DriverManager(
                NAMESPACE,
                vim_type,
                warn_on_missing_entrypoint=False,
            ).driver
        except NoMatches:
            raise errors.InvalidVimConnection(
                f"{attribute}: there is no driver for {vim_type!r}, only for "
                f"{', '.join(self.list_types())}."
            ) from None
        for driver in self._drivers.values():
            if type(driver) is plugin:
                return driver
        base.precompile_types()  # the driver defines types of its own
        new_driver: InfraDriver[Any, Any] = plugin(self._conf)
        return new_driver
