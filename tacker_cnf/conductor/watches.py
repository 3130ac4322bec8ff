"""Watches of VIMs: each VIM is watched by one conductor."""

import dataclasses
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor.vim_usage import UsedVim, VimUsage
from tacker_cnf.db.lease_set import LeaseSet
from tacker_cnf.drivers.base import WatchTask
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

LOG = log.getLogger(__name__)

#: watches that one conductor runs at once
MAX_WATCHES: Final = 256
#: seconds between attempts to watch a VIM; then another conductor may try
RETRY_DELAYS_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
#: seconds after which a watch that runs starts again with the first delay
STABLE_AFTER_S: Final = 60.0
#: seconds for which a VIM that could not be watched is left to others
HANDOVER_DELAY_S: Final = 60.0


@dataclasses.dataclass
class Watch:
    """One watch of a VIM."""

    used_vim: UsedVim
    cancel_token: CancelToken
    thread: threading.Thread | None = None


class Watches:
    """The watches of this conductor.

    :param changed: called with the IDs of instances that may have changed
    """

    def __init__(
        self,
        vim_usage: VimUsage,
        drivers: DriverRegistry,
        lease_set: LeaseSet,
        changed: Callable[[Iterable[str]], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._vim_usage = vim_usage
        self._drivers = drivers
        self._lease_set = lease_set
        self._changed = changed
        self._clock = clock
        self._lock = threading.Lock()
        self._stopped = False
        self._active: dict[str, Watch] = {}
        #: key of a VIM -> Clock.monotonic() until it is left to others
        self._backoff_until: dict[str, float] = {}

    def refresh(self, changed: Collection[str] | None = None) -> None:
        """Watch the VIMs in use that no other conductor watches.

        :param changed: the instances that may have changed; None: all
        """
        with self._lock:
            if not self._stopped:
                self._refresh(self._vim_usage.refresh(changed))

    def _refresh(self, used_vims: Mapping[str, UsedVim]) -> None:
        for key in tuple(self._active):
            self._check(key, used_vims)
        now = self._clock.monotonic()
        for key, used_vim in used_vims.items():
            if key in self._active or now < self._backoff_until.get(key, 0.0):
                continue
            if len(self._active) >= MAX_WATCHES:
                LOG.warning(
                    "Maximum of watches reached: vims=%d watched=%d",
                    len(used_vims),
                    MAX_WATCHES,
                )
                return
            if self._lease_set.acquire(_lease_name(key)):
                self._begin(key, used_vim)

    def stop(self) -> None:
        """End every watch without waiting, and keep the leases."""
        with self._lock:
            self._stopped = True
            for key in tuple(self._active):
                self._cancel_watch(key)

    def _check(self, key: str, used_vims: Mapping[str, UsedVim]) -> None:
        """End a watch that has failed, is unused, or whose lease was lost."""
        watch = self._active[key]
        if watch.thread and not watch.thread.is_alive():
            self._end(key)
            self._backoff_until[key] = (
                self._clock.monotonic() + HANDOVER_DELAY_S
            )
        elif key not in used_vims:
            self._end(key)
        elif not self._lease_set.owns(_lease_name(key)):
            LOG.warning("Watch lease lost: vim=%s", _describe(watch))
            self._end(key)
        else:
            watch.used_vim = used_vims[key]

    def _begin(self, key: str, used_vim: UsedVim) -> None:
        watch = self._active[key] = Watch(
            used_vim, CancelToken(clock=self._clock)
        )
        watch.thread = threading.Thread(
            target=self._run, args=(watch,), name="watch", daemon=True
        )
        watch.thread.start()

    def _end(self, key: str) -> None:
        self._cancel_watch(key)
        self._lease_set.release(_lease_name(key))

    def _cancel_watch(self, key: str) -> None:
        reason = errors.Cancelled("The watch of this VIM was stopped.")
        self._active.pop(key).cancel_token.cancel(reason, forceful=True)

    def _run(self, watch: Watch) -> None:
        """Run a watch until it is cancelled, or the VIM stays unreachable."""
        LOG.info("Watch started: vim=%s", _describe(watch))
        task = WatchTask(
            vim_connection=watch.used_vim.connection,
            tenants=lambda: set(filter(None, watch.used_vim.tenants.values())),
            on_change=lambda instance_id: self._changed([instance_id]),
            on_missed=lambda tenant: self._changed(
                watch.used_vim.list_instances(tenant)
            ),
            cancel_token=watch.cancel_token,
        )
        try:
            while not self._watch_with_retries(task):
                pass
        except errors.Cancelled:
            LOG.info("Watch stopped: vim=%s", _describe(watch))
        except Exception:
            LOG.exception("Watch failed: vim=%s", _describe(watch))

    def _watch_with_retries(self, task: WatchTask) -> bool:
        """Watch, and retry after failures; return whether to give up.

        :raises Cancelled: the watch was cancelled
        """
        for pause in RETRY_DELAYS_S:
            started = self._clock.monotonic()
            try:
                driver = self._drivers.for_connections(
                    {"": task.vim_connection}
                )
                driver.watch(task)
                return True
            except (errors.InfraError, errors.InvalidVimConnection) as error:
                LOG.warning("Watch failed, retrying: error=%s", error)
            if self._clock.monotonic() > started + STABLE_AFTER_S:
                return False
            task.cancel_token.wait(pause)
        return True


def _lease_name(key: str) -> str:
    return f"watch {key}"


def _describe(watch: Watch) -> str:
    vim_connection = watch.used_vim.connection
    return str(
        vim_connection.interface_info.get("endpoint") or vim_connection.vim_id
    )
