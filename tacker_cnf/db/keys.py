"""The key file: one Fernet key per line; the first one encrypts."""

import os
from pathlib import Path

from cryptography.fernet import Fernet, MultiFernet
from oslo_config import cfg

from tacker_cnf import errors


def key_file_path(conf: cfg.ConfigOpts) -> Path:
    """Return the path of the key file."""
    return Path(conf.secrets.key_file or Path(conf.state_path) / "secrets.key")


def create(path: Path) -> bool:
    """Create the key file, with mode 0600; return False if it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(handle, "wb") as file:
        file.write(Fernet.generate_key() + b"\n")
    return True


def rotate(path: Path) -> None:
    """Insert a new key at the top; the older keys still decrypt."""
    old = path.read_bytes()
    new = path.with_suffix(".new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(Fernet.generate_key() + b"\n" + old)
    new.replace(path)


def load(path: Path) -> MultiFernet:
    """Load the keys.

    :raises VnfmError: the file cannot be read, or has no valid key
    """
    try:
        lines = path.read_bytes().split()
        return MultiFernet([Fernet(line) for line in lines])
    except (OSError, ValueError) as error:
        raise errors.VnfmError(
            f"The key file {path} cannot be used ({error}). "
            "`tacker-cnf-manage keys create` creates one."
        ) from error
