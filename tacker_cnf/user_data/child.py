"""The process in which a package's user data runs.

It reads a UserDataInput as JSON from stdin, calls the method of the class, and
writes its result as JSON to stdout.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import PurePosixPath
from typing import Any

from tacker_cnf.scripts import compat_modules
from tacker_cnf.sol import base
from tacker_cnf.user_data import compat, parameters
from tacker_cnf.user_data.protocol import UserDataInput


def call_method(user_data_input: UserDataInput) -> Any:
    """Import the class, call the method and return its result."""
    path = PurePosixPath(user_data_input.path).with_suffix("")
    sys.path.insert(0, user_data_input.package_dir)
    module = importlib.import_module(".".join(path.parts))
    method = getattr(
        getattr(module, user_data_input.class_name), user_data_input.operation
    )
    return method(
        user_data_input.request,
        user_data_input.vnf_instance,
        user_data_input.grant_request,
        user_data_input.grant_response,
        user_data_input.package_dir,
    )


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
