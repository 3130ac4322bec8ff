"""What stands in line to be worked on, by its id."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from oslo_log import log

LOG = log.getLogger(__name__)


class WorkQueue:
    """Has things worked on in some threads, each by one of them at a time.

    What is put in line while it is worked on is worked on once more: what it
    was put there for may have come too late for this time.

    :param work: works on one thing; raises nothing
    :param workers: threads
    :param name: of the threads
    """

    def __init__(
        self, work: Callable[[str], None], workers: int, name: str
    ) -> None:
        self._work = work
        self._workers = workers
        self._name = name
        self._changed = threading.Condition()
        #: in the order in which they came
        self._waiting: dict[str, None] = {}
        self._busy: set[str] = set()
        #: those worked on that are wanted once more
        self._requeued: set[str] = set()
        #: threads that work, and all that there are
        self._working = 0
        self._threads = 0
        self._closed = False

    def __contains__(self, key: object) -> bool:
        with self._changed:
            return key in self._waiting or key in self._busy

    def put(self, key: str) -> None:
        """Put something in line, unless it waits there or all is closed."""
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
        """Let another thread work if there is a place and work for it."""
        if self._waiting and self._working < self._workers:
            self._working += 1
            self._threads += 1
            threading.Thread(
                target=self._run, name=self._name, daemon=True
            ).start()

    @contextlib.contextmanager
    def yield_worker(self) -> Iterator[None]:
        """Let another thread take the place of this one, which only waits
        within this block.
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
            except BaseException:  # even an exit ends this one alone
                LOG.exception("%s %s", self._name, key)
            with self._changed:
                self._busy.discard(key)
                if key in self._requeued:
                    self._requeued.discard(key)
                    self._put(key)

    def _next(self) -> str | None:
        """Take what is first in line; None: this thread is not needed."""
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
        """Take nothing more, and drop what waits."""
        with self._changed:
            self._closed = True
            self._waiting.clear()

    def join(self, timeout: float) -> bool:
        """Wait for what is worked on when all is closed.

        :param timeout: seconds
        :returns: whether it has ended in time
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._threads, timeout)
