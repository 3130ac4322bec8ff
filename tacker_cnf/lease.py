"""The time until which a process may change anything for an operation."""

import contextlib
import os
import struct
import time
import weakref
from collections.abc import Iterator
from typing import Final, Self

#: the environment variable by which a child process gets a Lease: the number
#: of a file descriptor
LEASE_FD: Final = "TACKER_CNF_LEASE_FD"
#: when the lease ends, and the seconds of it that one request may take
_LEASE: Final = struct.Struct("dd")


def boottime() -> float:
    """Return the seconds since the machine booted, those in which it was
    suspended too.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """The end of a lease, by ``boottime``.

    It is kept in a file in memory, which child processes inherit: they see
    it renewed, and see it end even while this process is frozen.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def new(cls, margin: float) -> Self:
        """Create a lease that has ended.

        :param margin: seconds of the lease that have to be left for a
            request to be sent, so that it takes effect before the end
        """
        made = cls(os.memfd_create("lease"))
        weakref.finalize(made, os.close, made._fd)
        os.pwrite(made._fd, _LEASE.pack(0.0, margin), 0)
        return made

    @classmethod
    def inherited(cls) -> Self | None:
        """Return the lease that the parent of this process has shared."""
        fd = os.environ.get(LEASE_FD)
        return cls(int(fd)) if fd else None

    @contextlib.contextmanager
    def shared(self) -> Iterator[int]:
        """Open it for a child process, which cannot renew it."""
        fd = os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY)
        try:
            yield fd
        finally:
            os.close(fd)

    def renew(self, until: float) -> None:
        """Set the end."""
        os.pwrite(self._fd, _LEASE.pack(until, self._read()[1]), 0)

    @property
    def remaining(self) -> float:
        """Seconds that are left; never below zero."""
        return max(self._read()[0] - boottime(), 0.0)

    @property
    def allows_request(self) -> bool:
        """Whether a request that is sent now takes effect in time."""
        return self.remaining > self._read()[1]

    def _read(self) -> tuple[float, float]:
        end, margin = _LEASE.unpack(os.pread(self._fd, _LEASE.size, 0))
        return end, margin
