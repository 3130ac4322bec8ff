"""Queue of keys that worker threads process."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from oslo_log import log

LOG = log.getLogger(__name__)


class WorkQueue:
    """Runs ``work`` for each key in worker threads, each key in one at a time.

    A key that is put while it is processed is processed once more: the run in
    progress may have missed the reason for which it was put.

    :param work: processes one key; must not raise
    :param workers: maximum number of threads
    :param name: of the threads
    """

    def __init__(
        self, work: Callable[[str], None], workers: int, name: str
    ) -> None:
        self._work = work
        self._workers = workers
        self._name = name
        self._changed = threading.Condition()
        #: keys in the order in which they were put; the values are not used
        self._waiting: dict[str, None] = {}
        self._busy: set[str] = set()
        #: busy keys that are processed again afterwards
        self._requeued: set[str] = set()
        #: threads that count against ``workers``, and all running threads
        self._working = 0
        self._threads = 0
        self._closed = False

    def __contains__(self, key: object) -> bool:
        with self._changed:
            return key in self._waiting or key in self._busy

    def put(self, key: str) -> None:
        """Add a key, unless it is waiting already or the queue is closed."""
        with self._changed:
            if key in self._busy:
                self._requeued.add(key)
            else:
                self._put(key)

    def _put(self, key: str) -> None:
        if not self._closed:
            self._waiting[key] = None
            self._start_worker()

    def _start_worker(self) -> None:
        """Start a thread if keys are waiting and the limit allows it."""
        if self._waiting and self._working < self._workers:
            self._working += 1
            self._threads += 1
            threading.Thread(
                target=self._run, name=self._name, daemon=True
            ).start()

    @contextlib.contextmanager
    def yield_worker(self) -> Iterator[None]:
        """Let another thread run within this block, in which this thread only
        waits.
        """
        with self._changed:
            self._working -= 1
            self._start_worker()
        try:
            yield
        finally:
            with self._changed:
                self._working += 1

    def _run(self) -> None:
        while (key := self._next()) is not None:
            try:
                self._work(key)
            except BaseException:  # SystemExit too: the thread has to go on
                LOG.exception("Work failed: queue=%s key=%s", self._name, key)
            with self._changed:
                self._busy.discard(key)
                if key in self._requeued:
                    self._requeued.discard(key)
                    self._put(key)

    def _next(self) -> str | None:
        """Return the next key; None: this thread is no longer needed."""
        with self._changed:
            if self._waiting and self._working <= self._workers:
                key = next(iter(self._waiting))
                del self._waiting[key]
                self._busy.add(key)
                return key
            self._working -= 1
            self._threads -= 1
            self._changed.notify_all()
            return None

    def close(self) -> None:
        """Accept no further keys, and drop those that are waiting."""
        with self._changed:
            self._closed = True
            self._waiting.clear()

    def join(self, timeout: float) -> bool:
        """Wait until the threads have ended, after ``close``.

        :param timeout: seconds
        :returns: whether they have ended in time
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._threads, timeout)
