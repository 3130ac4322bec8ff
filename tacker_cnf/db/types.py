"""Column types: SOL values as JSON, secrets encrypted, times in UTC."""

import datetime
import enum
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from cryptography.fernet import InvalidToken, MultiFernet
from sqlalchemy.dialects import mysql

from tacker_cnf import errors

LONG_TEXT: Final = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
MICROSECONDS: Final = sa.DateTime().with_variant(
    mysql.DATETIME(fsp=6), "mysql", "mariadb"
)


class UtcDateTime(sa.types.TypeDecorator[datetime.datetime]):
    """A timezone-aware datetime, returned in UTC."""

    impl = MICROSECONDS
    cache_ok = True

    def process_bind_param(
        self, value: datetime.datetime | None, dialect: sa.Dialect
    ) -> datetime.datetime | None:
        if value is None:
            return None
        return value.astimezone(datetime.UTC).replace(tzinfo=None)

    def process_result_value(
        self, value: datetime.datetime | None, dialect: sa.Dialect
    ) -> datetime.datetime | None:
        return value and value.replace(tzinfo=datetime.UTC)


class SolJson(sa.types.TypeDecorator[Any]):
    """A SOL value as JSON text; None is NULL."""

    impl = LONG_TEXT
    cache_ok = True

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        return msgspec.json.decode(value, type=self.kind)


class EnumName(sa.types.TypeDecorator[Any]):
    """A member of a StrEnum, by its value."""

    impl = sa.String(24)
    cache_ok = True

    def __init__(self, kind: type[enum.StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else self.kind(value)


class Vault:
    """The keys that the encrypted columns of this process use.

    The columns are declared before any configuration is read, so they refer
    to this object, and each process loads the keys into it when it starts.
    """

    def __init__(self) -> None:
        self._fernet: MultiFernet | None = None

    def open(self, fernet: MultiFernet) -> None:
        """Set the keys."""
        self._fernet = fernet

    @property
    def fernet(self) -> MultiFernet:
        """The keys.

        :raises VnfmError: no key file was loaded
        """
        if self._fernet is None:
            raise errors.VnfmError("No key file was loaded.")
        return self._fernet


VAULT: Final = Vault()


class SecretJson(SolJson):
    """A SOL value that may contain secrets: JSON, encrypted with Fernet.

    :raises VnfmError: the value was encrypted by a key that is not in the
        key file
    """

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        return VAULT.fernet.encrypt(msgspec.json.encode(value)).decode()

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        try:
            text = VAULT.fernet.decrypt(value)
        except InvalidToken:
            raise errors.VnfmError(
                "A secret in the database was encrypted with a key that is "
                "not in the key file."
            ) from None
        return msgspec.json.decode(text, type=self.kind)
