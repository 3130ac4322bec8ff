"""The additionalParams that drivers read."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec

from tacker_cnf import errors

T = TypeVar("T")


class VduParameters(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of vdu_params."""

    vdu_id: str


class PackageChange(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a change of package that every driver reads."""

    upgrade_type: Literal["RollingUpdate"]
    vdu_params: tuple[VduParameters, ...] = ()

    @property
    def vdus(self) -> tuple[str, ...]:
        """The VDUs that are named; none: it is about all."""
        return tuple(one.vdu_id for one in self.vdu_params)


def read(given: Mapping[str, Any], kind: type[T]) -> T:
    """Read those that a type has; others are not minded.

    :raises InvalidParameters: they are missing or malformed
    """
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(f"additionalParams: {error}.") from None
