"""Server that loads the openstack command once and runs it for each call.

Run as ``serve.py SOCKET`` by the Python in which the command is installed; it
exits at the end of its input. Each call runs in a fork of this process, with
the caller's arguments, environment, working directory and standard streams.
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

#: groups of entry points that the command loads each time it starts
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
                # some require modules that are not installed
                with contextlib.suppress(Exception):
                    point.load()


def change_directory(directory: str) -> None:
    """Change to a directory, and search clouds.yaml there: the library set its
    search path when it was loaded.
    """
    before = Path.cwd()
    os.chdir(directory)
    for files in (loader.CONFIG_FILES, loader.SECURE_FILES):
        files[:] = [
            str(Path(directory, Path(path).name))
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
        path = Path(f"{sys.argv[1]}.new")
        listening.bind(str(path))
        listening.listen(64)
        path.rename(sys.argv[1])
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
