"""The input of a script on stdin, and its output on stdout.

There are two formats. Scripts for this VNFM read and write JSON. Scripts for
Tacker, recognized by their import of ``pickle``, read and write a pickled
dict. Their child process converts the output to JSON: this process loads no
pickle.
"""

import enum
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from tacker_cnf import errors
from tacker_cnf.lcm.script_output import InstanceChanges, ProvidedVim
from tacker_cnf.sol import base
from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vnfd import script_source

#: modules that a script with pickled input imports
PICKLE_MODULES: Final = frozenset({"pickle", "_pickle"})
#: package that a script with a class of MgmtDriver imports
DRIVERS_PACKAGE: Final = "tacker_cnf.mgmt_drivers"
#: maximum length of a memory as JSON
MAX_MEMORY_BYTES: Final = 256 * 1024


class ScriptProtocol(enum.Enum):
    """The format of a script's input and output."""

    #: JSON; the output may be empty
    JSON = enum.auto()
    #: JSON through ``mgmt_drivers.base``; the output is never empty
    DRIVER = enum.auto()
    #: pickled dicts, as in Tacker's scripts
    PICKLE = enum.auto()


class ScriptInput(SolType):
    """The input of a script."""

    #: name of the hook: instantiate_start, heal_end, ...
    operation: str
    vnf_lcm_op_occ_id: str
    #: the request of the operation (SOL003 5.5.2)
    request: dict[str, Any]
    #: in a _start hook before the VIM is changed, in an _end hook after that;
    #: with the credentials of its VIMs
    vnf_instance: VnfInstance
    grant_request: GrantRequest | None = None
    grant_response: Grant | None = None
    #: directory of a read-only copy of the unpacked VNF package
    package_dir: str
    #: directory of this VNF instance on this conductor, for persistent files;
    #: a script that needs it creates it
    state_dir: str
    #: VNFD of package_dir; in the _end hook of an operation that changes the
    #: VNFD it is the old one
    vnfd_id: str
    #: directory of the package of the new VNFD, if the request names one
    new_package_dir: str | None = None
    new_vnfd_id: str | None = None
    #: the files of the package of the script that a request may name to be
    #: run; None: all
    named_files: tuple[str, ...] | None = None
    #: seconds after which the script is killed
    timeout: float
    #: the options of the driver of the VNF's VIMs: of a CNF those of
    #: [kubernetes], by their names
    driver_options: Mapping[str, Any] = {}
    #: output of the script's last, failed run for the next run
    user_script_err_handling_data: dict[str, Any] | None = None
    #: last memory that a hook of this VNF instance has returned, in this
    #: operation or an earlier one
    memory: dict[str, Any] | None = None


class ScriptOutput(SolType):
    """The output of a script; it may be empty."""

    #: changes of the VNF instance
    vnf_instance: InstanceChanges | None = None
    #: stored when the script fails, and part of the input of its next run
    user_script_err_handling_data: dict[str, Any] | None = None
    #: input of every later hook of this VNF instance, stored also when the
    #: script fails; None deletes it, unset keeps it
    memory: dict[str, Any] | UnsetType | None = UNSET
    #: name -> VIM that the VNF provides from now on, or None to remove it;
    #: VIMs of other names do not change
    vims: Mapping[Identifier, ProvidedVim | None] = {}


class FailedConversion(SolType):
    """What ``scripts.pickled_output`` returns instead of a ScriptOutput if a
    pickle cannot be converted.
    """

    error: str | None = None


def detect_protocol(script: Path) -> ScriptProtocol:
    """Return the protocol of a script, determined by its imports."""
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
    """Pickle the dict that Tacker passes to its scripts."""
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
    """Parse the output of a script; it may be empty.

    :raises ScriptFailed: it is not the JSON of a ScriptOutput
    """
    if not stdout.strip():
        return ScriptOutput()
    try:
        return base.decode(stdout, ScriptOutput)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.ScriptFailed(
            f"its output on stdout is not valid: {error}. Only the JSON of "
            "its output belongs there; all other text has to go to stderr."
        ) from None


def driver_output(stdout: bytes) -> ScriptOutput:
    """Parse the output of a script with a class of MgmtDriver.

    :raises ScriptFailed: it is empty, or not the JSON of a ScriptOutput
    """
    if not stdout.strip():
        raise errors.ScriptFailed(
            "it wrote no output on stdout; a script that imports "
            f"{DRIVERS_PACKAGE} has to end with a call of main() of its class"
        )
    return json_output(stdout)


def memory_changed(script_input: ScriptInput, output: ScriptOutput) -> bool:
    """Return whether the memory in the output differs from the input's.

    :raises ScriptFailed: it is longer than MAX_MEMORY_BYTES
    """
    # None and an empty memory are the same
    if output.memory is UNSET or (output.memory or None) == (
        script_input.memory or None
    ):
        return False
    length = len(base.encode(output.memory))
    if length > MAX_MEMORY_BYTES:
        raise errors.ScriptFailed(
            f"its memory has {length} bytes as JSON, but may have "
            f"{MAX_MEMORY_BYTES} at most; the previous memory was kept"
        )
    return True


def pickle_output(stdout: bytes) -> ScriptOutput:
    """Parse the converted output of a script of Tacker's.

    :raises ScriptFailed: it was no plain pickle, or is not valid
    """
    output = json_output(stdout)
    error = (
        base.decode(stdout, FailedConversion).error
        if stdout
        else "its conversion to JSON crashed, or took too long"
    )
    if error:
        raise errors.ScriptFailed(
            f"what it wrote on stdout is no plain pickle: {error}"
        )
    return output


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
