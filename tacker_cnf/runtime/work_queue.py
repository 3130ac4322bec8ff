"""Queue of keys that worker threads process."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.fair_places import FairPlaces, Groups, Request

LOG = log.getLogger(__name__)


class WorkQueue:
    """Runs ``work`` for each key in a thread, each key in one at a time.

    The groups of the keys take turns (``FairPlaces``). A key that is put while
    it is processed is processed once more: the run in progress may have missed
    the reason for which it was put.

    :param work: processes one key; must not raise
    :param workers: maximum number of threads
    :param name: of the threads
    :param max_of_group: for each level of groups, the most threads of one
    :param yields: places for threads that yield their workers; None: for all
    """

    def __init__(
        self,
        work: Callable[[str], None],
        workers: int,
        name: str,
        max_of_group: Sequence[int] = (),
        yields: FairPlaces | None = None,
    ) -> None:
        self._work = work
        self._name = name
        self._workers = FairPlaces(workers, max_of_group)
        self._changed = threading.Condition()
        #: waiting keys, each with its request for a worker
        self._waiting: dict[str, Request] = {}
        self._busy: set[str] = set()
        #: busy keys that are processed again afterwards, and their groups
        self._requeued: dict[str, Groups] = {}
        self._threads = 0
        self._yields = yields
        self._closed = False
        #: .worker: the request of this thread, which has been granted
        self._current = threading.local()

    def __contains__(self, key: object) -> bool:
        with self._changed:
            return key in self._waiting or key in self._busy

    @property
    def free_workers(self) -> int:
        """The number of workers that could process another key."""
        return self._workers.free

    def put(self, key: str, *groups: str) -> None:
        """Add a key, unless it is waiting already or the queue is closed.

        :param groups: its group of each level, the outermost first
        """
        with self._changed:
            if key in self._busy:
                self._requeued[key] = groups
            else:
                self._put(key, groups)

    def _put(self, key: str, groups: Groups) -> None:
        if not self._closed and key not in self._waiting:
            request = Request(
                groups, lambda granted: self._start(key, granted)
            )
            self._waiting[key] = request
            self._workers.request(request)

    def _start(self, key: str, worker: Request) -> None:
        """Start a thread for a key that has got a worker."""
        with self._changed:
            if self._waiting.get(key) is not worker:  # closed meanwhile
                self._workers.release(worker)
                return
            del self._waiting[key]
            thread = threading.Thread(
                target=self._run,
                args=(key, worker),
                name=self._name,
                daemon=True,
            )
            self._busy.add(key)
            self._threads += 1
            try:
                thread.start()
            except RuntimeError as error:  # can't start new thread
                self._busy.discard(key)
                self._threads -= 1
                failed = str(error)
            else:
                return
        LOG.error(
            "Thread not started: queue=%s key=%s error=%s",
            self._name,
            key,
            failed,
        )
        self._workers.release(worker)

    def _run(self, key: str, worker: Request) -> None:
        self._current.worker = worker
        try:
            self._work(key)
        except BaseException:  # SystemExit too: the worker has to be released
            LOG.exception("Work failed: queue=%s key=%s", self._name, key)
        with self._changed:
            self._busy.discard(key)
            if key in self._requeued:
                self._put(key, self._requeued.pop(key))
        self._workers.release(self._current.worker)
        with self._changed:
            self._threads -= 1
            self._changed.notify_all()

    @contextlib.contextmanager
    def yield_worker(self, cancel_token: CancelToken) -> Iterator[None]:
        """Let another key be processed within this block, in which this
        thread only waits; then wait for a worker again. If too many threads
        of its groups wait so, it keeps its worker.

        :param cancel_token: cancelled work does not wait for one
        """
        worker: Request | None = getattr(self._current, "worker", None)
        # without a worker: not a thread of this queue, or it has yielded it
        if not (worker and worker.has_place):
            yield
            return
        with self._place_to_wait(worker.groups) as may_wait:
            if not may_wait:
                yield
                return
            self._workers.release(worker)
            try:
                yield
            finally:
                self._take_worker(worker.groups, cancel_token)

    @contextlib.contextmanager
    def _place_to_wait(self, groups: Groups) -> Iterator[bool]:
        """Keep a place for a thread that yields its worker, if there is one."""
        place = self._yields and self._yields.take(groups)
        try:
            yield place is not None or self._yields is None
        finally:
            if self._yields and place:
                self._yields.release(place)

    def _take_worker(self, groups: Groups, cancel_token: CancelToken) -> None:
        """Wait until this thread has a worker again, unless cancelled."""
        with contextlib.suppress(errors.VnfmError):
            worker = self._workers.acquire(
                groups, None, cancel_token, first=True
            )
            self._current.worker = worker or self._current.worker

    def close(self) -> None:
        """Accept no further keys, and drop those that are waiting."""
        with self._changed:
            self._closed = True
            dropped = tuple(self._waiting.values())
            self._waiting.clear()
        for request in dropped:
            self._workers.release(request)

    def join(self, timeout: float) -> bool:
        """Wait until the threads have ended, after ``close``.

        :param timeout: seconds
        :returns: whether they have ended in time
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._threads, timeout)
