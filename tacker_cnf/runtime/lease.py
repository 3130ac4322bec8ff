"""Lease: time until which a process may make changes for an operation."""

import contextlib
import fcntl
import mmap
import os
import struct
import weakref
from collections.abc import Iterator
from typing import Final, Self

from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

#: environment variable with which a child process gets its Lease: the number
#: of the file descriptor
LEASE_FD: Final = "TACKER_CNF_LEASE_FD"
#: end of the lease, and its margin (see ``Lease.new``), in seconds
_LEASE: Final = struct.Struct("dd")
_END: Final = struct.Struct("d")
#: seal that forbids new writable mappings but keeps the existing one
#: (linux/fcntl.h); Python 3.11 does not define it
_F_SEAL_FUTURE_WRITE: Final = 0x0010


class Lease:
    """Time, by ``Clock.boottime``, until which a process may change anything.

    The time is in a memory file which child processes inherit: they read each
    renewal, and the end even while this process is stopped.
    """

    def __init__(
        self, fd: int, clock: Clock, memory: mmap.mmap | None = None
    ) -> None:
        self._fd = fd
        self._clock = clock
        self._memory = memory

    @classmethod
    def new(cls, margin: float, clock: Clock = SYSTEM_CLOCK) -> Self:
        """Create a lease that has expired.

        :param margin: seconds that have to be left of the lease when a
            request is sent, so that it takes effect before the end
        """
        fd = os.memfd_create("lease", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.pwrite(fd, _LEASE.pack(0.0, margin), 0)
        lease = cls(fd, clock, mmap.mmap(fd, _LEASE.size))
        weakref.finalize(lease, os.close, fd)
        fixed_size = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fixed_size)
        with contextlib.suppress(OSError):  # Linux before 5.1
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _F_SEAL_FUTURE_WRITE)
        return lease

    @classmethod
    def inherited(cls) -> Self | None:
        """Return the lease of the parent process; None: it shares none."""
        fd = os.environ.get(LEASE_FD)
        return cls(int(fd), SYSTEM_CLOCK) if fd else None

    @contextlib.contextmanager
    def shared(self) -> Iterator[int]:
        """Open the lease for a child process, which cannot renew it: from
        Linux 5.1 on the file is sealed, and only this process can write to it.
        """
        fd = os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY)
        try:
            yield fd
        finally:
            os.close(fd)

    def renew(self, until: float) -> None:
        """Set the end.

        :raises PermissionError: the lease is that of the parent process
        """
        if self._memory is None:
            raise PermissionError(
                "Only the parent process can renew the lease"
            )
        _END.pack_into(self._memory, 0, until)

    @property
    def remaining(self) -> float:
        """Seconds that are left; never below zero."""
        return max(self._read()[0] - self._clock.boottime(), 0.0)

    @property
    def allows_request(self) -> bool:
        """Whether a request sent now takes effect before the end."""
        return self.remaining > self._read()[1]

    def _read(self) -> tuple[float, float]:
        end, margin = _LEASE.unpack(os.pread(self._fd, _LEASE.size, 0))
        return end, margin
