"""Logins and host keys of SSH connections."""

import binascii
import io
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tacker_cnf import errors

_LOADERS: Final[tuple[Callable[..., Any], ...]] = (
    serialization.load_pem_private_key,
    serialization.load_ssh_private_key,
)
_KEY_CLASSES: Final = {
    rsa.RSAPrivateKey: paramiko.RSAKey,
    ec.EllipticCurvePrivateKey: paramiko.ECDSAKey,
    ed25519.Ed25519PrivateKey: paramiko.Ed25519Key,
}


class Login(msgspec.Struct, frozen=True):
    """A user of a machine, with a password, a private key, or both.

    The private key (RSA, ECDSA or Ed25519, as PEM without a passphrase) is
    tried first.

    :raises InvalidParameters: both are missing, or the key cannot be read
    """

    username: str
    password: str | None = None
    private_key: str | None = None

    def __post_init__(self) -> None:
        if not self.password and not self.private_key:
            raise errors.InvalidParameters(
                f"User {self.username} has neither a password nor a private "
                "key to log in with."
            )
        if self.private_key:
            self._load_key(self.private_key)

    def __repr__(self) -> str:
        return f"Login({self.username!r})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no log or error may show."""
        return tuple(filter(None, (self.password, self.private_key)))

    def auth_methods(self, transport: Any) -> Iterator[Callable[[], object]]:
        """Return the calls that log in, in the order in which to try them."""
        if text := self.private_key:
            key = self._load_key(text)
            yield lambda: transport.auth_publickey(self.username, key)
        if self.password:
            yield lambda: transport.auth_password(self.username, self.password)

    def _load_key(self, text: str) -> Any:
        """Parse a private key.

        :raises InvalidParameters: it cannot be parsed
        """
        for load in _LOADERS:
            try:
                key = load(text.strip().encode() + b"\n", password=None)
            except (ValueError, TypeError, UnsupportedAlgorithm):
                continue  # their messages may quote the key
            for kind, key_class in _KEY_CLASSES.items():
                if isinstance(key, kind):
                    return key_class.from_private_key(
                        io.StringIO(_openssh(key))
                    )
        raise errors.InvalidParameters(
            f"The private key of user {self.username} cannot be read: it has "
            "to be RSA, ECDSA or Ed25519, as PEM and without a passphrase."
        )


def _openssh(key: Any) -> str:
    pem: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    return pem.decode()


class HostKey(msgspec.Struct, frozen=True):
    """The public host key of a machine."""

    type: str
    base64: str

    @classmethod
    def parse(cls, text: str) -> "HostKey":
        """Parse a key in the format of OpenSSH, with or without a comment.

        :raises InvalidParameters: it is no host key of a supported type
        """
        try:
            type_, base64 = text.split()[:2]
            data = binascii.a2b_base64(base64, strict_mode=True)
            key = paramiko.PKey.from_type_string(type_, data)
        except (ValueError, paramiko.SSHException, paramiko.UnknownKeyType):
            raise errors.InvalidParameters(
                f"{text[:80]!r} is no SSH host key of a supported type; it "
                "has to be 'TYPE BASE64' as ssh-keyscan prints it."
            ) from None
        return cls.from_key(key)

    @classmethod
    def from_key(cls, key: Any) -> "HostKey":
        return cls(key.get_name(), key.get_base64())

    def __str__(self) -> str:
        return f"{self.type} {self.base64}"

    @property
    def fingerprint(self) -> str:
        """The fingerprint as ``ssh-keygen -l`` prints it."""
        data = binascii.a2b_base64(self.base64)
        key = paramiko.PKey.from_type_string(self.type, data)
        return f"{self.type} {key.fingerprint}"

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The host key algorithms of SSH that use this type of key."""
        if self.type == "ssh-rsa":
            return "rsa-sha2-512", "rsa-sha2-256"
        return (self.type,)
