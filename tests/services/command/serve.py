"""The openstack command, loaded once and run many times.

Run by the Python that has it, as ``serve.py SOCKET``, until its input ends. Each call of it is a
process of its own: a fork of this one, which gets the caller's arguments,
environment, directory and standard streams, and ends as the command does.
"""

import contextlib
import importlib.metadata
import json
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from openstack.config import loader
from openstackclient import shell

#: what the command would look for, group by group, each time it starts
GROUPS = (
    "cliff.formatter.",
    "keystoneauth1.plugin",
    "openstack.cli",
    "openstack.common",
    "openstack.orchestration.",
    "openstack.tackerclient.",
)


def load() -> None:
    entry_points = importlib.metadata.entry_points()
    for group in entry_points.groups:
        for point in entry_points.select(group=group):
            if group.startswith(GROUPS):
                # some want what is not installed, and fail in many ways
                with contextlib.suppress(Exception):
                    point.load()


def change_directory(place: str) -> None:
    """Go to a directory, and look for clouds.yaml there: where to look was
    found out when the library was loaded.
    """
    before = Path.cwd()
    os.chdir(place)
    for files in (loader.CONFIG_FILES, loader.SECURE_FILES):
        files[:] = [
            str(Path(place, Path(path).name))
            if Path(path).parent == before
            else path
            for path in files
        ]


def run(request: Any) -> object:
    change_directory(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = request["argv"]
    try:
        return shell.main(request["argv"][1:])
    except SystemExit as end:
        return end.code or 0


def handle(caller: socket.socket) -> None:
    message, streams, _, _ = socket.recv_fds(caller, 1 << 20, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    code = run(json.loads(message))
    sys.stdout.flush()
    sys.stderr.flush()
    caller.sendall(str(code).encode())


def main() -> None:
    load()
    signal.signal(
        signal.SIGCHLD, signal.SIG_IGN
    )  # their exit is not waited for
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        place = Path(f"{sys.argv[1]}.new")
        listening.bind(str(place))
        listening.listen(64)
        place.rename(sys.argv[1])
        sources = [listening, sys.stdin]
        while sys.stdin not in select.select(sources, [], [])[0]:
            caller, _ = listening.accept()
            with caller:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    listening.close()
                    try:
                        handle(caller)
                    except BaseException:  # noqa: BLE001
                        traceback.print_exc()
                    finally:
                        os._exit(0)


if __name__ == "__main__":
    main()
