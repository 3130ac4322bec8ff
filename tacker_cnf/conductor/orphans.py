"""Deletes objects on VIMs of VNF instances that are not instantiated.

An instance that is NOT_INSTANTIATED, or was deleted, should have no objects
on a VIM. It has some if a failed instantiation was ended with ``fail``, or if
a request was in flight when its conductor lost the operation.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.conductor import placement
from tacker_cnf.conductor.placement import Place, Placement
from tacker_cnf.db import instances, leftovers
from tacker_cnf.db.leftovers import Trace
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.drivers.base import Origin, SearchTask
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.halting import Halt
from tacker_cnf.lease import Lease, boottime
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.vims import connection

LOG = log.getLogger(__name__)

#: how long a VIM is searched on which no instance lives any more
SEARCHED_AFTER_USE: Final = datetime.timedelta(days=1)
#: times that one instance is cleaned at a stretch, before it is left to the
#: turns
MAX_TRIES: Final = 60
#: operations that are read at once
BATCH: Final = 100
#: share of the seconds of a claim in which changes may be sent: the rest is
#: for a request that is under way
SENDING_SHARE: Final = 0.5


class Orphans:
    """Finds and deletes objects that no VNF instance should have."""

    def __init__(
        self,
        store: Store,
        catalogue: Packages,
        drivers: Registry,
        halt: Halt,
        lease: float,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._halt = halt
        self._lease = lease
        self._placement = Placement(store)
        self._lock = threading.Lock()
        #: instances of which anything may have been created too late
        self._suspects: set[str] = set()
        #: how often an instance was found to have something, at a stretch
        self._tries: Counter[str] = Counter()
        #: (VIM, instance) that were logged, and left alone
        self._reported: set[tuple[str, str]] = set()

    def suspect(self, instance_id: str) -> None:
        """Record that a request of a lost operation may have created objects
        of an instance.
        """
        with self._lock:
            self._suspects.add(instance_id)

    def remove(self, instance_id: str) -> bool:
        """Remove what an instance has that is not instantiated; return
        whether some of it is still being deleted.

        :raises OperationInProgress: an operation holds it
        :raises InfraError: its VIM could not
        """
        with self._lock:
            is_suspect = instance_id in self._suspects
        tasks, is_marked = self._read(instance_id)
        if not is_marked and not is_suspect and not self._runs(tasks):
            return False
        left = self._clean(instance_id)
        with self._lock:
            if not left:
                self._suspects.discard(instance_id)
            self._tries[instance_id] += 1
            if not left or self._tries[instance_id] > MAX_TRIES:
                del self._tries[instance_id]  # the turns go on
                return False
        return True

    def search(self, key: str, task: SearchTask) -> Sequence[str]:
        """Find the instances that have something on one VIM, and should have
        nothing; log what is of instances that this VNFM did not instantiate
        there.

        :param key: of the place that the task searches
        :raises InfraError: it cannot be searched
        """
        found = self._drivers.of({"": task.vim_connection}).search(task)
        living = self._living(tuple(found))
        orphans = []
        for instance_id in found.keys() - living:
            trace, reached_by, _ = self._trace(instance_id)
            if key in map(placement.key_of, reached_by.values()):
                self.suspect(instance_id)
                orphans.append(instance_id)
            elif (key, instance_id) not in self._reported:
                self._reported.add((key, instance_id))
                LOG.warning(
                    "%s, left alone: vnf_instance_id=%s vim=%s "
                    "instantiated_on=%s objects=%s",
                    "Objects of an unknown VNF instance found"
                    if trace is None
                    else "Objects of a VNF instance found on another VIM",
                    instance_id,
                    _name(task.vim_connection),
                    ", ".join(map(_name, reached_by.values())) or None,
                    ", ".join(found[instance_id]),
                )
        return orphans

    def searches(
        self, goes_on: Callable[[], bool]
    ) -> Mapping[str, SearchTask]:
        """Prepare to search the VIMs in use, and those that were until some
        time ago.

        :param goes_on: whether all of them are still wanted
        """
        used = self._placement.look()
        reached = {key: place.connection for key, place in used.items()}
        origins: dict[str, dict[str, Origin]] = defaultdict(dict)
        for trace, connections in self._recent(goes_on):
            digest = _digest(trace)
            for known in connections:
                if known.interface_info.get("endpoint"):  # still registered
                    key = placement.key_of(known)
                    reached.setdefault(key, known)
                    if digest not in origins[key]:
                        origins[key][digest] = self._origin(trace)
        return {
            key: SearchTask(
                vim_connection=known,
                tenants=_tenants(used.get(key)),
                origins=tuple(origins[key].values()),
                halt=self._halt,
            )
            for key, known in reached.items()
        }

    def _recent(
        self, goes_on: Callable[[], bool]
    ) -> Iterator[tuple[Trace, Sequence[VimConnectionInfo]]]:
        since = datetime.datetime.now(datetime.UTC) - SEARCHED_AFTER_USE
        after = ""
        while goes_on() and (found := self._recent_after(since, after)):
            yield from found
            after = found[-1][0].op_occ_id

    @transaction
    def _recent_after(
        self, since: datetime.datetime, after: str
    ) -> Sequence[tuple[Trace, Sequence[VimConnectionInfo]]]:
        with self._store.reader() as session:
            traces = leftovers.recent(session, since, after, BATCH)
            keys = [_keys(one) for one in traces]
            named = {key: one for known in keys for key, one in known.items()}
            reached = connection.complete(session, named)
        return [
            (trace, [reached[key] for key in known])
            for trace, known in zip(traces, keys, strict=True)
        ]

    @transaction
    def _living(self, instance_ids: Sequence[str]) -> frozenset[str]:
        with self._store.reader() as session:
            return leftovers.living(session, instance_ids)

    def _read(self, instance_id: str) -> tuple[Sequence[SearchTask], bool]:
        """Read where an instance may have objects, and whether it is marked
        to have some.
        """
        trace, reached_by, is_marked = self._trace(instance_id)
        if trace is None:
            return (), is_marked
        origin = self._origin(trace)
        tasks = [
            SearchTask(
                vim_connection=known,
                instance_id=instance_id,
                origins=(origin,),
                halt=self._halt,
            )
            for known in reached_by.values()
        ]
        return tasks, is_marked

    @transaction
    def _trace(
        self, instance_id: str
    ) -> tuple[Trace | None, Mapping[str, VimConnectionInfo], bool]:
        with self._store.reader() as session:
            trace = leftovers.trace(session, instance_id)
            reached_by = connection.complete(
                session, trace.vim_connections if trace else {}
            )
            is_marked = leftovers.known(session, instance_id) is not None
            return trace, reached_by, is_marked

    def _origin(self, trace: Trace) -> Origin:
        return Origin(trace.parameters, self._package(trace))

    def _package(self, trace: Trace) -> PackageTree | None:
        if trace.vnfd_id is None:
            return None
        with contextlib.suppress(errors.VnfmError):
            return self._catalogue.tree(trace.vnfd_id)
        return None

    def _runs(self, tasks: Sequence[SearchTask]) -> bool:
        return any(
            self._drivers.of({"": task.vim_connection}).search(
                dataclasses.replace(task, running=True)
            )
            for task in tasks
        )

    def _clean(self, instance_id: str) -> Sequence[str]:
        """Delete what there is while no operation can begin."""
        left: list[str] = []
        with self._claimed(instance_id, left) as halt:
            # not before: an operation may have ended since, on another VIM
            tasks, _ = self._read(instance_id)
            for task in tasks:
                driver = self._drivers.of({"": task.vim_connection})
                found = driver.clean(dataclasses.replace(task, halt=halt))
                left += found
                if found:
                    LOG.warning(
                        "Leftovers of a VNF instance deleted: "
                        "vnf_instance_id=%s vim=%s objects=%s",
                        instance_id,
                        _name(task.vim_connection),
                        ", ".join(found),
                    )
        return left

    @contextlib.contextmanager
    def _claimed(
        self, instance_id: str, left: Sequence[str]
    ) -> Iterator[Halt]:
        """Reserve an instance, if there is one still, within this block.

        :param left: what it has left, when the block ends well
        :raises OperationInProgress: it is another's
        """
        lease = Lease.new(margin=0.0)
        lease.renew(boottime() + self._lease * SENDING_SHARE)
        halt = Halt(lease)
        token = str(uuid.uuid4())
        self._claim(instance_id, token)

        def stop() -> None:
            ended = errors.Cancelled("The conductor is to end.")
            halt.call_off(ended, at_once=True)

        try:
            with self._halt.wakes(stop):
                yield halt
        except BaseException:
            self._release(instance_id, token, None)
            raise
        self._release(instance_id, token, left)

    @transaction
    def _claim(self, instance_id: str, token: str) -> None:
        with self._store.writer() as session:
            if leftovers.claim(session, instance_id, token, self._lease):
                return
            instances.check_free(session, instance_id)
            with contextlib.suppress(errors.NotFound):
                instances.generation(session, instance_id)
                raise errors.OperationInProgress(
                    f"VNF instance {instance_id} is instantiated by now."
                )

    @transaction
    def _release(
        self, instance_id: str, token: str, left: Sequence[str] | None
    ) -> None:
        with self._store.writer() as session:
            leftovers.release(session, instance_id, token, left)


def _tenants(place: Place | None) -> frozenset[str]:
    return frozenset(filter(None, place.tenants.values() if place else ()))


def _keys(trace: Trace) -> Mapping[str, VimConnectionInfo]:
    return {
        placement.key_of(known): known
        for known in trace.vim_connections.values()
    }


def _digest(trace: Trace) -> str:
    """Return the same for instantiations that chose a tenant alike."""
    chosen = trace.vnfd_id, trace.parameters
    return hashlib.sha256(
        msgspec.json.encode(chosen, order="deterministic")
    ).hexdigest()


def _name(known: VimConnectionInfo) -> str:
    return str(known.interface_info.get("endpoint") or known.vim_id)
