"""What the process of a package's user data is told, and what it says."""

from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.sol import base
from tacker_cnf.sol.base import SolType
from tacker_cnf.user_data.base import Json
from tacker_cnf.vnfd.model import Vnfd


class UserDataInput(SolType):
    """What user data is asked."""

    #: the method: instantiate, scale, scale_rollback, ...
    operation: str
    request: Json
    vnf_instance: Json
    grant_request: Json
    grant_response: Json
    #: the unpacked package, and the VNFD in it
    package_dir: str
    vnfd: Vnfd
    #: where in the package the class is, and its name
    path: str
    class_name: str


class UserDataOutput(SolType):
    """What user data says."""

    template: str | None = None
    files: dict[str, str] = msgspec.field(default_factory=dict)
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    existing: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.parameters.get("nfv", {}), dict):
            raise ValueError("parameters.nfv: this is no dict")  # noqa: TRY004  # msgspec's


def read(answer: bytes) -> UserDataOutput:
    """Read what user data wrote.

    :raises ScriptFailed: it is no such thing
    """
    try:
        return base.decode(answer, UserDataOutput)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.ScriptFailed(
            f"what its method gave is no valid answer: {error}"
        ) from None
