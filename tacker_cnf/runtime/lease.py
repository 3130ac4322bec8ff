"""The time until which a process may change anything for an operation."""

import contextlib
import fcntl
import mmap
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
_END: Final = struct.Struct("d")
#: the seal of linux/fcntl.h that leaves writing to the maps that there are;
#: Python 3.11 does not name it
_F_SEAL_FUTURE_WRITE: Final = 0x0010


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

    def __init__(self, fd: int, memory: mmap.mmap | None = None) -> None:
        self._fd = fd
        self._memory = memory

    @classmethod
    def new(cls, margin: float) -> Self:
        """Create a lease that has ended.

        :param margin: seconds of the lease that have to be left for a
            request to be sent, so that it takes effect before the end
        """
        fd = os.memfd_create("lease", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.pwrite(fd, _LEASE.pack(0.0, margin), 0)
        lease = cls(fd, mmap.mmap(fd, _LEASE.size))
        weakref.finalize(lease, os.close, fd)
        fixed_size = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fixed_size)
        with contextlib.suppress(OSError):  # Linux before 5.1
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _F_SEAL_FUTURE_WRITE)
        return lease

    @classmethod
    def inherited(cls) -> Self | None:
        """Return the lease that the parent of this process has shared."""
        fd = os.environ.get(LEASE_FD)
        return cls(int(fd)) if fd else None

    @contextlib.contextmanager
    def shared(self) -> Iterator[int]:
        """Open it for a child process, which cannot renew it: from Linux 5.1
        on the file is sealed, and only this process can write to it.
        """
        fd = os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY)
        try:
            yield fd
        finally:
            os.close(fd)

    def renew(self, until: float) -> None:
        """Set the end.

        :raises PermissionError: it is the lease of the parent process
        """
        if self._memory is None:
            raise PermissionError("Only the parent process renews its lease")
        _END.pack_into(self._memory, 0, until)

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
