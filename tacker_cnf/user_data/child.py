"""The process in which a package's user data runs.

It is told by JSON on stdin which method of which class is asked, and writes
what that gives as JSON to stdout.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import PurePosixPath
from typing import Any

from tacker_cnf.sol import base
from tacker_cnf.user_data import parameters, stand_ins
from tacker_cnf.user_data.protocol import Told


def ask(told: Told) -> Any:
    """Find the method that is asked, and ask it."""
    path = PurePosixPath(told.path).with_suffix("")
    sys.path.insert(0, told.package_dir)
    module = importlib.import_module(".".join(path.parts))
    method = getattr(getattr(module, told.class_name), told.operation)
    return method(
        told.request,
        told.vnf_instance,
        told.grant_request,
        told.grant_response,
        told.package_dir,
    )


def main() -> None:
    """Answer the one question."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the package prints is no answer
    told = base.decode(sys.stdin.buffer.read(), Told)
    stand_ins.install()
    try:
        with parameters.knowing(told.package_dir, told.vnfd):
            said = json.dumps(ask(told)).encode()
    except Exception as error:  # noqa: BLE001
        # from the package on: how it was asked concerns nobody
        frames = error.__traceback__
        while frames and not frames.tb_frame.f_code.co_filename.startswith(
            f"{told.package_dir}/"
        ):
            frames = frames.tb_next
        traceback.print_exception(error.with_traceback(frames))
        raise SystemExit(1) from None
    with answer:
        answer.write(said)


if __name__ == "__main__":
    main()
