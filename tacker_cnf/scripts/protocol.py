"""What a script is told on stdin, and what it may say on stdout.

Two ways to say it. A script of ours reads and writes JSON. A script that was
written for Tacker reads a pickled dict, which is seen by its importing
``pickle``; it gets one. What it writes is read back as plain containers only:
no class of anybody's is ever made of it.
"""

import enum
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from tacker_cnf import errors
from tacker_cnf.lcm.scripted import InstanceChanges, ProvidedVim
from tacker_cnf.scripts import plain_pickle
from tacker_cnf.sol import base
from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vnfd import script_source

#: what a script imports that reads a pickle
PICKLE_MODULES: Final = frozenset({"pickle", "_pickle"})
#: what one imports that is made of our base
DRIVERS_PACKAGE: Final = "tacker_cnf.mgmt_drivers"
#: bytes of JSON that a memory may have
MAX_MEMORY_BYTES: Final = 256 * 1024


class ScriptProtocol(enum.Enum):
    """What a script speaks."""

    #: JSON; it may say nothing
    JSON = enum.auto()
    #: JSON, by ``mgmt_drivers.base``, which always answers
    DRIVER = enum.auto()
    #: pickled dicts, as Tacker's scripts do
    PICKLE = enum.auto()


class ScriptInput(SolType):
    """What a script is told."""

    #: the hook that it is run for: instantiate_start, heal_end, ...
    operation: str
    vnf_lcm_op_occ_id: str
    #: the request of the operation (SOL003 5.5.2)
    request: dict[str, Any]
    #: before the VIM was changed in a _start hook, after that in an _end
    #: hook; with what it needs to reach its VIMs
    vnf_instance: VnfInstance
    grant_request: GrantRequest | None = None
    grant_response: Grant | None = None
    #: the unpacked VNF package; a copy, to be read
    package_dir: str
    #: a directory of this VNF instance on this conductor, for files that are
    #: to stay; a script that needs it creates it
    state_dir: str
    #: the VNFD that it holds, which is not that of the instance any more in
    #: the _end hook of an operation that changes it
    vnfd_id: str
    #: that of the VNFD which the request names, if it is another
    new_package_dir: str | None = None
    new_vnfd_id: str | None = None
    #: seconds after which the script is killed
    timeout: float
    #: what the script's last, failed run said for the next one
    user_script_err_handling_data: dict[str, Any] | None = None
    #: what a hook of this VNF instance said last that is to be remembered,
    #: in this operation or an earlier one
    memory: dict[str, Any] | None = None


class ScriptOutput(SolType):
    """What a script may say; nothing is as good."""

    #: what it changes of the instance
    vnf_instance: InstanceChanges | None = None
    #: kept when the script fails, and given to its next run
    user_script_err_handling_data: dict[str, Any] | None = None
    #: what is told to every later hook of this VNF instance, kept when the
    #: script fails, too; None: nothing
    memory: dict[str, Any] | UnsetType | None = UNSET
    #: the VIMs that the VNF provides from now on, by name; None: it no longer
    #: does. Those that are not named stay as they are.
    vims: Mapping[Identifier, ProvidedVim | None] = {}


def detect_protocol(script: Path) -> ScriptProtocol:
    """Tell what a script speaks, by what it imports."""
    names = script_source.imports(script_source.parse(script))
    if any(f"{name}.".startswith(f"{DRIVERS_PACKAGE}.") for name in names):
        return ScriptProtocol.DRIVER
    return (
        ScriptProtocol.PICKLE
        if names & PICKLE_MODULES
        else ScriptProtocol.JSON
    )


def json_input(script_input: ScriptInput) -> bytes:
    return base.encode(script_input)


def pickle_input(script_input: ScriptInput) -> bytes:
    """Give the dict that Tacker gives its scripts."""
    plain = msgspec.to_builtins(script_input, enc_hook=str)
    new = script_input.new_package_dir
    return pickle.dumps(
        {
            "operation": script_input.operation,
            "request": plain["request"],
            "vnf_instance": plain["vnfInstance"],
            "grant_request": plain.get("grantRequest"),
            "grant_response": plain.get("grantResponse"),
            "tmp_csar_dir": script_input.package_dir,
            **({"new_csar_dir": new} if new else {}),
            "user_script_err_handling_data": plain.get(
                "userScriptErrHandlingData"
            ),
        }
    )


def json_output(stdout: bytes) -> ScriptOutput:
    """Read what a script said.

    :raises ScriptFailed: it is not the JSON of a ScriptOutput
    """
    if not stdout.strip():
        return ScriptOutput()
    try:
        return base.decode(stdout, ScriptOutput)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.ScriptFailed(
            f"what it wrote on stdout is no valid answer: {error}. Nothing "
            "else belongs there: what it prints has to go to stderr."
        ) from None


def driver_output(stdout: bytes) -> ScriptOutput:
    """Read what a script said that is made of our base.

    :raises ScriptFailed: it is not the JSON of a ScriptOutput, or nothing
    """
    if not stdout.strip():
        raise errors.ScriptFailed(
            "it wrote no answer on stdout; a script that imports "
            f"{DRIVERS_PACKAGE} has to end with a call of main() of its class"
        )
    return json_output(stdout)


def memory_changed(script_input: ScriptInput, output: ScriptOutput) -> bool:
    """Tell whether a script says something else to be remembered than it
    was told.

    :raises ScriptFailed: it is too much
    """
    # nothing and an empty memory are the same
    if output.memory is UNSET or (output.memory or None) == (
        script_input.memory or None
    ):
        return False
    length = len(base.encode(output.memory))
    if length > MAX_MEMORY_BYTES:
        raise errors.ScriptFailed(
            f"its memory has {length} bytes as JSON, and may have {MAX_MEMORY_BYTES}; "
            "what was remembered before stays"
        )
    return True


def pickle_output(stdout: bytes) -> ScriptOutput:
    """Read what a script of Tacker's said.

    :raises ScriptFailed: it is not plain data, or says something wrong
    """
    if not stdout:
        return ScriptOutput()
    loaded = plain_pickle.load(stdout)
    fields = loaded if isinstance(loaded, dict) else {}
    data = fields.get("user_script_err_handling_data")
    try:
        as_json = msgspec.json.encode(
            {
                "vnfInstance": fields.get("vnf_instance") or None,
                "userScriptErrHandlingData": data or None,
            }
        )
    except Exception as error:  # noqa: BLE001  # what has no place in JSON
        raise errors.ScriptFailed(
            f"what it wrote on stdout is no valid answer: {error}"
        ) from None
    return json_output(as_json)


ENCODERS: Final[Mapping[ScriptProtocol, Callable[[ScriptInput], bytes]]] = {
    ScriptProtocol.JSON: json_input,
    ScriptProtocol.DRIVER: json_input,
    ScriptProtocol.PICKLE: pickle_input,
}
DECODERS: Final[Mapping[ScriptProtocol, Callable[[bytes], ScriptOutput]]] = {
    ScriptProtocol.JSON: json_output,
    ScriptProtocol.DRIVER: driver_output,
    ScriptProtocol.PICKLE: pickle_output,
}
