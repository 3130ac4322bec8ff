"""Input and output of the process that runs a package's user data."""

from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.sol import base
from tacker_cnf.sol.base import SolType
from tacker_cnf.user_data.base import Json
from tacker_cnf.vnfd.model import Vnfd


class UserDataInput(SolType):
    """The input of user data."""

    #: name of the method: instantiate, scale, scale_rollback, ...
    operation: str
    request: Json
    vnf_instance: Json
    grant_request: Json
    grant_response: Json
    #: directory of the unpacked package
    package_dir: str
    vnfd: Vnfd
    #: Python file in the package
    path: str
    class_name: str


class UserDataOutput(SolType):
    """The output of user data; see :class:`tacker_cnf.user_data.base.UserData`."""

    template: str | None = None
    files: dict[str, str] = msgspec.field(default_factory=dict)
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    existing: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.parameters.get("nfv", {}), dict):
            raise ValueError("parameters.nfv: has to be a dict")  # noqa: TRY004  # msgspec's


def read(answer: bytes) -> UserDataOutput:
    """Decode the output of user data.

    :raises ScriptFailed: the output is not valid
    """
    try:
        return base.decode(answer, UserDataOutput)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.ScriptFailed(
            f"the result of its method is not valid: {error}"
        ) from None
