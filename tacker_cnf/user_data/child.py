"""The process in which a package's user data runs.

It reads a UserDataInput as JSON from stdin, calls the method of the class, and
writes its result as JSON to stdout.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path, PurePosixPath
from typing import Any

from tacker_cnf.scripts import compat_modules
from tacker_cnf.sol import base
from tacker_cnf.user_data import compat, parameters
from tacker_cnf.user_data.protocol import UserDataInput
from tacker_cnf.user_data.v1.adapter import Version1UserData


def call_method(user_data_input: UserDataInput) -> Any:
    """Import the class, call the method and return its result."""
    path = PurePosixPath(user_data_input.path).with_suffix("")
    sys.path.insert(0, user_data_input.package_dir)
    module = importlib.import_module(".".join(path.parts))
    user_data = getattr(module, user_data_input.class_name)
    if _is_version_1(user_data, user_data_input.path):
        user_data = Version1UserData(user_data)
    return getattr(user_data, user_data_input.operation)(
        user_data_input.request,
        user_data_input.vnf_instance,
        user_data_input.grant_request,
        user_data_input.grant_response,
        user_data_input.package_dir,
    )


def _is_version_1(user_data: type, path: str) -> bool:
    """Check whether a class is user data of version 1.

    :raises TypeError: it is, but later operations would not recognize it
    """
    module, name = compat.VERSION_1_BASE
    base = getattr(importlib.import_module(module), name)
    if not issubclass(user_data, base):
        return False
    if not compat.is_version_1(Path(sys.path[0], path)):
        raise TypeError(
            f"{path}: {user_data.__name__} is user data of version 1, but the "
            f'file imports nothing of it; add "from {module} import {name}"'
        )
    return True


def main() -> None:
    """Read the input, call the method and write its output.

    :raises SystemExit: the method failed; stderr has the traceback
    """
    output_stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the package prints goes to stderr
    user_data_input = base.decode(sys.stdin.buffer.read(), UserDataInput)
    compat_modules.install(compat.MODULES)
    try:
        with parameters.use_package(
            user_data_input.package_dir, user_data_input.vnfd
        ):
            output = json.dumps(call_method(user_data_input)).encode()
    except Exception as error:  # noqa: BLE001
        # start the traceback at the package's code
        frames = error.__traceback__
        while frames and not frames.tb_frame.f_code.co_filename.startswith(
            f"{user_data_input.package_dir}/"
        ):
            frames = frames.tb_next
        traceback.print_exception(error.with_traceback(frames))
        raise SystemExit(1) from None
    with output_stream:
        output_stream.write(output)


if __name__ == "__main__":
    main()
