"""Convert the pickle that a script for Tacker writes on stdout to JSON.

A pickle is a program: damaged or hostile bytes may crash the process that
loads them, or exhaust its memory and time. Only ``scripts.child`` imports this
module, and converts in a process of its own.
"""

import contextlib
import fcntl
import io
import json
import os
import pickle
import signal
import sys
from typing import Any, Final, NoReturn

#: seconds to convert a pickle
CONVERSION_TIMEOUT_S = 10
#: bytes to read at once, the maximum size of a pipe
PIPE_BYTES: Final = 1024**2
#: key of the script's dict -> attribute of the output
KEYS: Final = {
    "vnf_instance": "vnfInstance",
    "user_script_err_handling_data": "userScriptErrHandlingData",
}
#: maximum depth of calls during the conversion, of which each level of
#: nesting needs one
MAX_CALL_DEPTH: Final = 200
#: maximum length of a class name in an error
MAX_NAME_CHARS: Final = 200
_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
)


class PickledStdout:
    """Pipe from a script's stdout to its supervisor, to which the kernel sends
    SIGIO for new data.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pickled = bytearray()
        self._reader, self._writer = os.pipe()
        fcntl.fcntl(self._reader, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self._reader, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)

    def replace_stdout(self) -> None:
        os.dup2(self._writer, sys.stdout.fileno())

    def read(self) -> None:
        """Read all that the pipe has; keep only what shows that it is too
        long.
        """
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self._reader, PIPE_BYTES)
            self._pickled += chunk[: self._max_bytes + 1 - len(self._pickled)]

    def convert(self) -> NoReturn:
        """Write the JSON of the pickle on stdout, and exit. If it takes too
        long, this process is killed, and writes nothing.
        """
        try:
            signal.alarm(CONVERSION_TIMEOUT_S)
            sys.setrecursionlimit(MAX_CALL_DEPTH)
            output = to_json(bytes(self._pickled), self._max_bytes)
            signal.alarm(0)
            while output:
                output = output[os.write(sys.stdout.fileno(), output) :]
        finally:
            os._exit(0)


class NotPlainData(Exception):
    """The output is no pickle of plain data; the message quotes none of it."""


class PlainUnpickler(pickle._Unpickler):  # noqa: SLF001
    """Rejects all classes and functions, so that a pickle can call nothing.

    The base class is Python code: the one in C may crash on damaged bytes.
    """

    def find_class(self, module: str, name: str) -> NoReturn:
        full_name = f"{module}.{name}"[:MAX_NAME_CHARS]
        raise NotPlainData(f"{full_name} is not plain data")

    def persistent_load(self, _: object) -> NoReturn:
        raise NotPlainData("a persistent id is not plain data")


def to_json(pickled: bytes, max_bytes: int) -> bytes:
    """Return the JSON of a ``protocol.ScriptOutput``, or of a
    ``protocol.FailedConversion``.

    :param max_bytes: maximum length of the pickle, and of the JSON
    """
    try:
        return _encode(_output(pickled, max_bytes), max_bytes)
    except NotPlainData as error:
        reason = str(error)
    except RecursionError:
        reason = "it is nested too deep"
    except MemoryError:
        reason = "it needs too much memory"
    except Exception:  # noqa: BLE001  # of damaged bytes, anything
        # the message of the error may quote a secret
        reason = "it is malformed"
    return json.dumps({"error": reason}).encode()


def _output(pickled: bytes, max_bytes: int) -> dict[str, Any]:
    if len(pickled) > max_bytes:
        raise NotPlainData(f"it has more than {max_bytes} bytes")
    loaded = PlainUnpickler(io.BytesIO(pickled)).load() if pickled else {}
    fields = loaded if isinstance(loaded, dict) else {}
    return {new: fields[key] for key, new in KEYS.items() if fields.get(key)}


def _encode(output: dict[str, Any], max_bytes: int) -> bytes:
    """Encode in parts: a value that refers to its parts many times may be far
    larger as JSON than as a pickle.
    """
    encoded = bytearray()
    try:
        for part in _ENCODER.iterencode(output):
            encoded += part.encode()
            if len(encoded) > max_bytes:
                raise NotPlainData(
                    f"it has more than {max_bytes} bytes as JSON"
                )
    except (TypeError, ValueError) as error:  # they quote only names of types
        raise NotPlainData(str(error)) from None
    return bytes(encoded)
