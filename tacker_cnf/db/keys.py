"""The key file: Fernet keys, one a line, the first of which encrypts."""

import os
from pathlib import Path

from cryptography.fernet import Fernet, MultiFernet
from oslo_config import cfg

from tacker_cnf import errors


def key_file_path(conf: cfg.ConfigOpts) -> Path:
    """Tell where the key file is."""
    return Path(conf.secrets.key_file or Path(conf.state_path) / "secrets.key")


def create(path: Path) -> bool:
    """Make the key file, readable by its owner alone, unless it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(handle, "wb") as file:
        file.write(Fernet.generate_key() + b"\n")
    return True


def rotate(path: Path) -> None:
    """Put a new key on top; what the older ones encrypted stays readable."""
    old = path.read_bytes()
    new = path.with_suffix(".new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(Fernet.generate_key() + b"\n" + old)
    new.replace(path)


def load(path: Path) -> MultiFernet:
    """Read the keys.

    :raises VnfmError: there is no such file, or it holds no key
    """
    try:
        lines = path.read_bytes().split()
        return MultiFernet([Fernet(line) for line in lines])
    except (OSError, ValueError) as error:
        raise errors.VnfmError(
            f"The key file {path} cannot be used ({error}). "
            "`tacker-cnf-manage keys create` makes one."
        ) from error
