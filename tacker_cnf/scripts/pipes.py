"""The three pipes of a process, served by one thread."""

import contextlib
import os
import selectors
import subprocess
from collections.abc import Callable
from typing import IO, Any, Final, Self

from tacker_cnf.runtime.cancellation import Deadline

#: bytes that are read or written at once
CHUNK_BYTES: Final = 64 * 1024


class Pipes:
    """Writes stdin and reads stdout and stderr of a process.

    Neither a process that does not read nor one that inherited a pipe and
    keeps it open can block the thread.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin_data: bytes,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
    ) -> None:
        self._unsent = memoryview(stdin_data)
        self._selector = selectors.DefaultSelector()
        self._add(process.stdin, selectors.EVENT_WRITE, self._write_stdin)
        self._add_reader(process.stdout, on_stdout)
        self._add_reader(process.stderr, on_stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for key in tuple(self._selector.get_map().values()):
            self._close(key.fileobj)
        self._selector.close()

    def serve(self, seconds: float) -> bool:
        """Wait until a pipe is ready, and read or write it.

        :returns: False, at once, when all pipes are closed
        """
        if not self._selector.get_map():
            return False
        for key, _ in self._selector.select(seconds):
            key.data(key.fileobj)
        return True

    def drain(self, seconds: float) -> None:
        """Read the pipes until they are closed, or the time is up."""
        deadline = Deadline.within(seconds)
        while not deadline.passed and self.serve(deadline.remaining):
            pass

    def _add(
        self,
        pipe: IO[bytes] | None,
        event: int,
        callback: Callable[[Any], None],
    ) -> None:
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, event, callback)

    def _add_reader(
        self, pipe: IO[bytes] | None, on_chunk: Callable[[bytes], None]
    ) -> None:
        def read(ready: Any) -> None:
            chunk = os.read(ready.fileno(), CHUNK_BYTES)
            if chunk:
                on_chunk(chunk)
            else:
                self._close(ready)

        self._add(pipe, selectors.EVENT_READ, read)

    def _write_stdin(self, pipe: Any) -> None:
        try:
            size = os.write(pipe.fileno(), self._unsent[:CHUNK_BYTES])
        except BrokenPipeError:  # the process has closed its stdin
            size = len(self._unsent)
        self._unsent = self._unsent[size:]
        if not self._unsent:
            self._close(pipe)

    def _close(self, pipe: Any) -> None:
        self._selector.unregister(pipe)
        with contextlib.suppress(OSError):
            pipe.close()
