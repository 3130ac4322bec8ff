"""Watches of VIMs: each by one conductor, for all of them."""

import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor.duties import Duties
from tacker_cnf.conductor.placement import Place, Placement
from tacker_cnf.drivers.base import WatchTask
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.halting import Halt

LOG = log.getLogger(__name__)

#: watches that one conductor keeps at once
MOST: Final = 256
#: seconds between tries to watch a VIM that is lost; then others may try
PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
#: seconds for which a watch has to go well before its failures are forgotten
LASTING: Final = 60.0
#: seconds for which a VIM is left to others that was not to be watched
REST: Final = 60.0


@dataclasses.dataclass
class Watch:
    """One watch of a VIM."""

    place: Place
    halt: Halt = dataclasses.field(default_factory=Halt)
    thread: threading.Thread | None = None


class Watches:
    """The watches of this conductor.

    :param changed: told of instances of which something has changed
    """

    def __init__(
        self,
        placement: Placement,
        drivers: Registry,
        duties: Duties,
        changed: Callable[[Iterable[str]], None],
    ) -> None:
        self._placement = placement
        self._drivers = drivers
        self._duties = duties
        self._changed = changed
        self._lock = threading.Lock()
        self._stopped = False
        self._going: dict[str, Watch] = {}
        #: place -> until when it is left to others
        self._resting: dict[str, float] = {}

    def look(self) -> None:
        """Watch the VIMs that are in use, and that nobody else watches."""
        with self._lock:
            if not self._stopped:
                self._look(self._placement.look())

    def _look(self, places: Mapping[str, Place]) -> None:
        for key in tuple(self._going):
            self._check(key, places)
        now = time.monotonic()
        for key, place in places.items():
            if key in self._going or now < self._resting.get(key, 0.0):
                continue
            if len(self._going) >= MOST:
                LOG.warning(
                    "Of %d VIMs, this conductor watches but %d",
                    len(places),
                    MOST,
                )
                return
            if self._duties.take(_duty(key)):
                self._begin(key, place)

    def stop(self) -> None:
        """End every watch, and wait for none. The duties remain."""
        with self._lock:
            self._stopped = True
            for key in tuple(self._going):
                self._halt(key)

    def _check(self, key: str, places: Mapping[str, Place]) -> None:
        """End a watch that is not this conductor's to keep."""
        watch = self._going[key]
        if watch.thread and not watch.thread.is_alive():
            self._end(key)
            self._resting[key] = time.monotonic() + REST
        elif key not in places:
            self._end(key)
        elif not self._duties.has(_duty(key)):
            LOG.warning("%s is watched by another conductor", _told(watch))
            self._end(key)
        else:
            watch.place = places[key]

    def _begin(self, key: str, place: Place) -> None:
        watch = self._going[key] = Watch(place)
        watch.thread = threading.Thread(
            target=self._run, args=(watch,), name="watch", daemon=True
        )
        watch.thread.start()

    def _end(self, key: str) -> None:
        self._halt(key)
        self._duties.drop(_duty(key))

    def _halt(self, key: str) -> None:
        ended = errors.Cancelled("This VIM is watched no longer.")
        self._going.pop(key).halt.call_off(ended, at_once=True)

    def _run(self, watch: Watch) -> None:
        """Keep one watch going until it is halted, or the VIM stays lost."""
        LOG.info("Watching %s", _told(watch))
        task = WatchTask(
            vim_connection=watch.place.connection,
            tenants=lambda: set(filter(None, watch.place.tenants.values())),
            changed=lambda instance_id: self._changed([instance_id]),
            missed=lambda tenant: self._changed(watch.place.of_tenant(tenant)),
            halt=watch.halt,
        )
        try:
            while not self._tried(task):
                pass
        except errors.Cancelled:
            LOG.info("%s is watched no longer", _told(watch))
        except Exception:
            LOG.exception("%s cannot be watched", _told(watch))

    def _tried(self, task: WatchTask) -> bool:
        """Watch as long as it goes; tell whether to leave it there.

        :raises Cancelled: the watch was halted
        """
        for pause in PAUSES:
            begun = time.monotonic()
            try:
                driver = self._drivers.of({"": task.vim_connection})
                driver.watch(task)
                return True
            except (errors.InfraError, errors.InvalidVimConnection) as error:
                LOG.warning("A watch broke: %s", error)
            if time.monotonic() > begun + LASTING:
                return False
            task.halt.wait(pause)
        return True


def _duty(key: str) -> str:
    return f"watch {key}"


def _told(watch: Watch) -> str:
    known = watch.place.connection
    return str(known.interface_info.get("endpoint") or known.vim_id)
