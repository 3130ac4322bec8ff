"""Checks of the key file, the content of packages and the certificates."""

import datetime
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cryptography import x509
from oslo_config import cfg

from tacker_cnf import disk_space
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.cmd.doctor.findings import Finding, error, ok, warning
from tacker_cnf.db import keys, packages, reencryption
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT
from tacker_cnf.http_server import tls

#: time before its end at which a certificate should be replaced
EXPIRES_SOON: Final = datetime.timedelta(days=30)
KEYS: Final = "key file"
CONTENT: Final = "content of packages"
CERTIFICATES: Final = "certificates"
#: options that name a file with certificates of this service, or its clients
_OPTIONS: Final = (
    ("api", "tls_certificate"),
    ("api", "tls_client_ca"),
    ("outgoing", "client_certificate"),
)
_RENEW: Final = (
    "Renew it; API servers read theirs again at SIGHUP, conductors at a start."
)


def check_keys(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the key file, and load the keys.

    :raises VnfmError: there is none, or it has no valid key
    """
    path = keys.key_file_path(conf)
    VAULT.open(keys.load(path))
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning(
            KEYS,
            f"{path} has mode {mode:04o}, so other users can decrypt the "
            f"secrets in the database. Run `chmod 600 {path}`.",
        )
    else:
        yield ok(KEYS, f"{path}")


def check_secrets(conf: cfg.ConfigOpts, store: Store) -> Iterator[Finding]:
    """Check that the keys decrypt all secrets in the database."""
    path = keys.key_file_path(conf)
    found = reencryption.count_undecryptable(store, keys.load(path))
    if found:
        yield error(
            KEYS,
            f"{sum(found.values())} secrets in the database ({', '.join(found)}) "
            f"were encrypted with a key that is not in {path}. Add it as a "
            "further line, from a backup of the key file; without it they are "
            "lost.",
        )
    else:
        yield ok(KEYS, "decrypts all secrets in the database")


def check_content(conf: cfg.ConfigOpts, store: Store) -> Iterator[Finding]:
    """Check that packages can be stored, and that none is missing.

    :raises InsufficientStorage: the disk is full
    :raises OSError: files cannot be written
    """
    content = Packages(store, conf).content
    state = Path(conf.state_path)
    folder = state / "packages"
    yield from _check_user(state)
    with tempfile.TemporaryFile(dir=folder if folder.exists() else state):
        disk_space.check_free(state, 0, conf.catalogue.min_free_bytes)
    present = set(content.ids())
    with store.reader() as session:
        missing = [
            package_id
            for package_id, content_id in packages.list_content(session)
            if content_id not in present
        ]
    for package_id in missing:
        yield error(
            CONTENT,
            f"That of VNF package {package_id} is not in {folder}: operations "
            "of its VNF instances fail. Restore the directory from the backup.",
        )
    if not missing:
        free = shutil.disk_usage(state).free // 1024**3
        yield ok(CONTENT, f"{folder} can be written, {free} GiB are free")


def _check_user(state: Path) -> Iterator[Finding]:
    owner = state.stat().st_uid
    if owner != os.geteuid():
        yield warning(
            CONTENT,
            f"{state} belongs to the user with ID {owner}, and this command "
            f"runs as {os.geteuid()}. Run it as the user of the services, to "
            "check the access to files.",
        )


def check_certificates(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check that the configured certificates are valid, and for how long.

    :raises VnfmError: the API server cannot use its certificate and key
    """
    tls.context(conf.api)
    for group, name in _OPTIONS:
        if path := conf[group][name]:
            yield _check_validity(f"[{group}] {name}: {path}", path)


def _check_validity(place: str, path: str) -> Finding:
    """Check the certificate of a file that expires first."""
    found = x509.load_pem_x509_certificates(Path(path).read_bytes())
    first = min(found, key=lambda one: one.not_valid_after_utc)
    now, end = datetime.datetime.now(datetime.UTC), first.not_valid_after_utc
    begin = max(one.not_valid_before_utc for one in found)
    subject = first.subject.rfc4514_string()
    if now > end:
        text = f"{place}: {subject} expired at {end:%F %T} UTC. {_RENEW}"
        return error(CERTIFICATES, text)
    if now < begin:
        text = f"{place}: valid only from {begin:%F %T} UTC. {_RENEW}"
        return error(CERTIFICATES, text)
    if end - now < EXPIRES_SOON:
        text = f"{place}: {subject} expires at {end:%F %T} UTC. {_RENEW}"
        return warning(CERTIFICATES, text)
    return ok(CERTIFICATES, f"{place}: valid until {end:%F}")
