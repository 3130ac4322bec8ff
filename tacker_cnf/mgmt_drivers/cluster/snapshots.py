"""Copies of etcd snapshots outside of the cluster: on the conductor that has
healed a master.
"""

import hashlib
import os
import shlex
import socket
from pathlib import Path, PurePosixPath
from typing import Final

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.remote import Host

#: subdirectory of a VNF instance's state directory on a conductor
DIRECTORY: Final = "etcd"
#: number of copies to keep for a cluster
MAX_COPIES: Final = 3
PART_SUFFIX: Final = ".part"


def copy(host: Host, path: str, directory: Path) -> Path:
    """Copy a snapshot from a master, and delete the oldest copies.

    :raises InfraError: the snapshot cannot be read on the master, or not be
        written on the conductor
    """
    target = directory / PurePosixPath(path).name
    part = target.with_suffix(PART_SUFFIX)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _download(host, path, part)
        part.replace(target)
        _prune(directory)
    except OSError as error:
        raise errors.InfraError(
            f"{target} cannot be written on conductor {socket.gethostname()}: "
            f"{error.strerror}. The largest file that a script may write is "
            "[scripts] max_file_bytes."
        ) from error
    return target


def _download(host: Host, path: str, part: Path) -> None:
    name = shlex.quote(path)
    expected = host.check(f"sha256sum -- {name}", as_root=True).text.split()[0]
    digest = hashlib.sha256()
    part.unlink(missing_ok=True)
    with open(part, "xb", opener=_open_private) as file:

        def store(chunk: bytes) -> None:
            file.write(chunk)
            digest.update(chunk)

        host.check(f"cat -- {name}", as_root=True, sink=store)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != expected:
        raise errors.InfraError(
            f"{host}: the copy of {path} has another SHA-256 than the file."
        )


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _prune(directory: Path) -> None:
    for part in directory.glob(f"*{PART_SUFFIX}"):
        part.unlink(missing_ok=True)
    copies = sorted(directory.iterdir(), key=lambda file: file.stat().st_mtime)
    for old in copies[:-MAX_COPIES]:
        old.unlink(missing_ok=True)
