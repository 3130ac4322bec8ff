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
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.conductor import vim_usage
from tacker_cnf.conductor.vim_usage import UsedVim, VimUsage
from tacker_cnf.db import instances, leftovers
from tacker_cnf.db.leftovers import InstantiationRecord
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.drivers.base import Origin, SearchTask
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.lease import Lease
from tacker_cnf.services.vim_connections import VimConnections
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

#: how long a VIM is searched after its last VNF instance was terminated
SEARCHED_AFTER_USE: Final = datetime.timedelta(days=1)
#: times that one instance is cleaned in a row, before it is left to the
#: periodic synchronization
MAX_TRIES: Final = 60
#: operations that are read at once
BATCH_SIZE: Final = 100
#: share of the seconds of a claim in which changes may be sent: the rest is
#: for a request in flight
SENDING_SHARE: Final = 0.5


class OrphanCleaner:
    """Finds and deletes objects that no VNF instance should have."""

    def __init__(
        self,
        store: Store,
        catalogue: Packages,
        drivers: DriverRegistry,
        cancel_token: CancelToken,
        lease: float,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._cancel_token = cancel_token
        self._lease = lease
        self._vim_connections = VimConnections(drivers)
        self._vim_usage = VimUsage(store, self._vim_connections)
        self._lock = threading.Lock()
        #: instances of which a late request may have created objects
        self._suspects: set[str] = set()
        #: how often in a row an instance was found to have objects
        self._tries: Counter[str] = Counter()
        #: (key of the VIM, instance) of objects that were logged
        self._reported: set[tuple[str, str]] = set()

    def suspect(self, instance_id: str) -> None:
        """Record that a request of a lost operation may have created objects
        of an instance.
        """
        with self._lock:
            self._suspects.add(instance_id)

    def remove(self, instance_id: str) -> bool:
        """Delete the objects of an instance that is not instantiated; return
        whether some of them are still being deleted.

        :raises OperationInProgress: an operation has the instance
        :raises InfraError: its VIM is unreachable, or rejects a request
        """
        with self._lock:
            is_suspect = instance_id in self._suspects
        tasks, is_marked = self._read(instance_id)
        if (
            not is_marked
            and not is_suspect
            and not self._has_running_objects(tasks)
        ):
            return False
        left = self._clean(instance_id)
        with self._lock:
            if not left:
                self._suspects.discard(instance_id)
            self._tries[instance_id] += 1
            if not left or self._tries[instance_id] > MAX_TRIES:
                del self._tries[instance_id]
                return False
        return True

    def search(self, key: str, task: SearchTask) -> Sequence[str]:
        """Find the instances that have objects on one VIM, and should not;
        log objects of instances that this VNFM did not instantiate there.

        :param key: of the VIM (`vim_usage.vim_key`)
        :raises InfraError: the VIM cannot be searched
        """
        found = self._drivers.for_connections(
            {"": task.vim_connection}
        ).search(task)
        in_use = self._read_in_use(tuple(found))
        orphans = []
        for instance_id in found.keys() - in_use:
            instantiation, resolved_connections, _ = self._read_instantiation(
                instance_id
            )
            if key in map(vim_usage.vim_key, resolved_connections.values()):
                self.suspect(instance_id)
                orphans.append(instance_id)
            elif (key, instance_id) not in self._reported:
                self._reported.add((key, instance_id))
                LOG.warning(
                    "%s, left alone: vnf_instance_id=%s vim=%s "
                    "instantiated_on=%s objects=%s",
                    "Objects of an unknown VNF instance found"
                    if instantiation is None
                    else "Objects of a VNF instance found on another VIM",
                    instance_id,
                    _name(task.vim_connection),
                    ", ".join(map(_name, resolved_connections.values()))
                    or None,
                    ", ".join(found[instance_id]),
                )
        return orphans

    def build_search_tasks(
        self, is_active: Callable[[], bool]
    ) -> Mapping[str, SearchTask]:
        """Build the searches of the VIMs in use, and of those in use until
        SEARCHED_AFTER_USE ago: key of the VIM -> its search.

        :param is_active: whether to go on building
        """
        used = self._vim_usage.refresh()
        resolved = {key: used_vim.connection for key, used_vim in used.items()}
        origins: dict[str, dict[str, Origin]] = defaultdict(dict)
        for instantiation, connections in self._recent(is_active):
            digest = _digest(instantiation)
            for vim_connection in connections:
                if vim_connection.interface_info.get(
                    "endpoint"
                ):  # still registered
                    key = vim_usage.vim_key(vim_connection)
                    resolved.setdefault(key, vim_connection)
                    if digest not in origins[key]:
                        origins[key][digest] = self._origin(instantiation)
        return {
            key: SearchTask(
                vim_connection=vim_connection,
                tenants=_tenants(used.get(key)),
                origins=tuple(origins[key].values()),
                cancel_token=self._cancel_token,
            )
            for key, vim_connection in resolved.items()
        }

    def _recent(
        self, is_active: Callable[[], bool]
    ) -> Iterator[tuple[InstantiationRecord, Sequence[VimConnectionInfo]]]:
        since = self._cancel_token.clock.utcnow() - SEARCHED_AFTER_USE
        after = ""
        while is_active() and (found := self._recent_after(since, after)):
            yield from found
            after = found[-1][0].op_occ_id

    @transaction
    def _recent_after(
        self, since: datetime.datetime, after: str
    ) -> Sequence[tuple[InstantiationRecord, Sequence[VimConnectionInfo]]]:
        with self._store.reader() as session:
            records = leftovers.recent(session, since, after, BATCH_SIZE)
            keys = [_keys(record) for record in records]
            connections_by_key = {
                key: vim_connection
                for by_key in keys
                for key, vim_connection in by_key.items()
            }
            resolved = self._vim_connections.complete(
                session, connections_by_key
            )
        return [
            (instantiation, [resolved[key] for key in by_key])
            for instantiation, by_key in zip(records, keys, strict=True)
        ]

    @transaction
    def _read_in_use(self, instance_ids: Sequence[str]) -> frozenset[str]:
        with self._store.reader() as session:
            return leftovers.list_in_use(session, instance_ids)

    def _read(self, instance_id: str) -> tuple[Sequence[SearchTask], bool]:
        """Read where an instance may have objects, and whether it is marked
        to have some.
        """
        instantiation, resolved_connections, is_marked = (
            self._read_instantiation(instance_id)
        )
        if instantiation is None:
            return (), is_marked
        origin = self._origin(instantiation)
        tasks = [
            SearchTask(
                vim_connection=vim_connection,
                instance_id=instance_id,
                origins=(origin,),
                cancel_token=self._cancel_token,
            )
            for vim_connection in resolved_connections.values()
        ]
        return tasks, is_marked

    @transaction
    def _read_instantiation(
        self, instance_id: str
    ) -> tuple[
        InstantiationRecord | None, Mapping[str, VimConnectionInfo], bool
    ]:
        with self._store.reader() as session:
            instantiation = leftovers.get_last_instantiation(
                session, instance_id
            )
            resolved_connections = self._vim_connections.complete(
                session, instantiation.vim_connections if instantiation else {}
            )
            is_marked = leftovers.get(session, instance_id) is not None
            return instantiation, resolved_connections, is_marked

    def _origin(self, instantiation: InstantiationRecord) -> Origin:
        return Origin(instantiation.parameters, self._package(instantiation))

    def _package(
        self, instantiation: InstantiationRecord
    ) -> UnpackedPackage | None:
        if instantiation.vnfd_id is None:
            return None
        with contextlib.suppress(errors.VnfmError):
            return self._catalogue.unpacked(
                instantiation.vnfd_id, instantiation.project_id
            )
        return None

    def _has_running_objects(self, tasks: Sequence[SearchTask]) -> bool:
        return any(
            self._drivers.for_connections({"": task.vim_connection}).search(
                dataclasses.replace(task, running_only=True)
            )
            for task in tasks
        )

    def _clean(self, instance_id: str) -> Sequence[str]:
        """Delete the objects of an instance while no operation can start.

        :returns: names of objects that were found
        """
        left: list[str] = []
        with self._claimed(instance_id, left) as cancel_token:
            # after the claim: another operation may have used another VIM
            tasks, _ = self._read(instance_id)
            for task in tasks:
                driver = self._drivers.for_connections(
                    {"": task.vim_connection}
                )
                found = driver.clean(
                    dataclasses.replace(task, cancel_token=cancel_token)
                )
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
    ) -> Iterator[CancelToken]:
        """Reserve an instance, deleted or not, within this block.

        :param left: names of its remaining objects when the block ends
        :raises OperationInProgress: an operation or another conductor has the
            instance
        """
        clock = self._cancel_token.clock
        lease = Lease.new(margin=0.0, clock=clock)
        lease.renew(clock.boottime() + self._lease * SENDING_SHARE)
        cancel_token = CancelToken(lease, clock)
        token = str(uuid.uuid4())
        self._claim(instance_id, token)

        def stop() -> None:
            reason = errors.Cancelled("The conductor is stopping.")
            cancel_token.cancel(reason, forceful=True)

        try:
            with self._cancel_token.on_cancel(stop):
                yield cancel_token
        except BaseException:
            self._release(instance_id, token, None)
            raise
        self._release(instance_id, token, left)

    @transaction
    def _claim(self, instance_id: str, token: str) -> None:
        with self._store.writer() as session:
            if leftovers.claim(session, instance_id, token, self._lease):
                return
            instances.check_not_busy(session, instance_id)
            with contextlib.suppress(errors.NotFound):
                instances.get(session, instance_id)
                raise errors.OperationInProgress(
                    f"VNF instance {instance_id} has been instantiated."
                )

    @transaction
    def _release(
        self, instance_id: str, token: str, left: Sequence[str] | None
    ) -> None:
        with self._store.writer() as session:
            leftovers.release(session, instance_id, token, left)


def _tenants(used_vim: UsedVim | None) -> frozenset[str]:
    return frozenset(
        filter(None, used_vim.tenants.values() if used_vim else ())
    )


def _keys(
    instantiation: InstantiationRecord,
) -> Mapping[str, VimConnectionInfo]:
    return {
        vim_usage.vim_key(vim_connection): vim_connection
        for vim_connection in instantiation.vim_connections.values()
    }


def _digest(instantiation: InstantiationRecord) -> str:
    """Return a digest of what selects the tenant of an instantiation."""
    chosen = instantiation.vnfd_id, instantiation.parameters
    return hashlib.sha256(
        msgspec.json.encode(chosen, order="deterministic")
    ).hexdigest()


def _name(vim_connection: VimConnectionInfo) -> str:
    return str(
        vim_connection.interface_info.get("endpoint") or vim_connection.vim_id
    )
