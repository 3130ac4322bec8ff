"""What stands in line to be worked on, by its id."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Line:
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
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: set[str] = set()
        self._busy: set[str] = set()
        #: those worked on that are wanted once more
        self._again: set[str] = set()
        self._closed = False

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._waiting or key in self._busy

    def put(self, key: str) -> None:
        """Put something in line, unless it waits there or all is closed."""
        with self._lock:
            if key in self._busy:
                self._again.add(key)
            else:
                self._put(key)

    def _put(self, key: str) -> None:
        if not self._closed and key not in self._waiting:
            self._waiting.add(key)
            self._pool.submit(self._take, key)

    def _take(self, key: str) -> None:
        with self._lock:
            self._waiting.discard(key)
            self._busy.add(key)
        try:
            self._work(key)
        finally:
            with self._lock:
                self._busy.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self._put(key)

    def close(self) -> None:
        """Take nothing more, and drop what waits."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def join(self, patience: float) -> bool:
        """Wait for what is worked on when all is closed.

        :param patience: seconds
        :returns: whether it has ended in time
        """
        ending = threading.Thread(target=self._pool.shutdown, daemon=True)
        ending.start()
        ending.join(patience)
        return not ending.is_alive()
