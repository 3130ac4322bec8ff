"""tacker-cnf-sandbox: all of it in one program, to try it and to test it.

The API, a conductor and an in-memory Kubernetes cluster on loopback ports,
with SQLite and the queue inside; the dispatcher is its child. Nobody is asked for a password: never let
others reach it.
"""

import argparse
import contextlib
import fcntl
import json
import shlex
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import waitress
import yaml
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import conf as configuration
from tacker_cnf import errors, rpc
from tacker_cnf.cmd import compose, kubeconfig
from tacker_cnf.cmd.telling import Telling
from tacker_cnf.db import keys, schema, session
from tacker_cnf.sandbox.cluster import SandboxCluster

GUIDE = """\
tacker_cnf sandbox
  API         {api}
  cluster     {cluster}
  kubeconfig  {kubeconfig}
  VIM file    {vim}
  state       {state}

  curl -H 'Version: 2.0.0' {api}/vnflcm/v2/vnf_instances
  kubectl --kubeconfig {kubeconfig} get pods --all-namespaces --watch
  export OS_AUTH_TYPE=none OS_ENDPOINT={api}
  openstack vim register sandbox --config-file {vim} --is-default
  openstack --os-tacker-api-version 2 vnflcm list
  tacker-cnf-manage {configuration} notifications list

Options of your own go into {state}/conf.d/*.conf; it
is started anew for them. It ends with Ctrl-C.
"""

CONFIGURATION = """\
[DEFAULT]
state_path = {state}
log_file = {state}/sandbox.log
default_log_levels = tacker_cnf=INFO

[api]
auth_strategy = noauth

[notification]
loopback_callbacks = true
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tacker-cnf-sandbox",
        description=__doc__.splitlines()[0],
        epilog="Options of tacker_cnf are read from conf.d/*.conf in the "
        "directory of --state, then from sandbox.conf beside it, which the "
        "sandbox writes at each start. Both are for tacker-cnf-manage, too.",
    )
    parser.add_argument(
        "--state", type=Path, help="directory to keep (default: a new one)"
    )
    parser.add_argument(
        "--port", type=int, default=9890, help="of the API; 0: any"
    )
    parser.add_argument(
        "--cluster-port", type=int, default=0, help="of the cluster; 0: any"
    )
    parser.add_argument("--nodes", type=int, default=2, help="of the cluster")
    parser.add_argument(
        "--pod-start-delay",
        type=float,
        default=0.3,
        metavar="SECONDS",
        help="what a container needs to start",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        help="a cluster of yours, used instead of the one in memory",
    )
    return parser


def arguments(state: Path) -> list[str]:
    """Tell by what the configuration is read: nothing of this machine's."""
    folder, file = state / "conf.d", state / "sandbox.conf"
    return ["--config-dir", str(folder), "--config-file", str(file)]


def configure(state: Path) -> cfg.ConfigOpts:
    """Make the configuration of an embedded service, and its database."""
    (state / "conf.d").mkdir(parents=True, exist_ok=True)
    own = str(state).replace("$", "$$")
    _write(state / "sandbox.conf", CONFIGURATION.format(state=own))
    conf = configuration.load(arguments(state))
    log.setup(conf, "tacker_cnf")
    keys.create(keys.path_of(conf))
    store = session.of_conf(conf)
    schema.upgrade(store)
    store.close()
    return conf


@contextlib.contextmanager
def cluster(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give the kubeconfig of the cluster that is used."""
    if asked.kubeconfig:
        yield kubeconfig.read(asked.kubeconfig)
        return
    made = SandboxCluster(
        port=asked.cluster_port,
        nodes=asked.nodes,
        pod_start_delay=asked.pod_start_delay,
    )
    made.start()
    try:
        yield made.kubeconfig()
    finally:
        made.stop()


@contextlib.contextmanager
def alone(state: Path) -> Iterator[None]:
    """Keep a state directory to one sandbox.

    :raises VnfmError: another one uses it
    """
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.VnfmError(
                f"{state} is in use by another sandbox; --state names "
                "another directory."
            ) from None
        yield


def check_port(port: int) -> None:
    """Make sure that nobody has the port of the API.

    :raises VnfmError: somebody has
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise errors.VnfmError(
                f"Port {port} cannot be had ({error.strerror}); --port names "
                "another, and 0 takes any."
            ) from None


def serve(asked: argparse.Namespace, state: Path) -> None:
    """Serve until SIGTERM or SIGINT."""
    check_port(asked.port)
    conf = configure(state)
    shared = compose.parts(conf, rpc.EMBEDDED)
    conductor = compose.conductor(shared)
    telling = Telling(shared.store, arguments(state))
    folder = asked.kubeconfig.parent if asked.kubeconfig else Path()
    with cluster(asked) as reached:
        vim = kubeconfig.vim(reached, folder)
        server = waitress.create_server(
            compose.application(shared),
            host="127.0.0.1",
            port=asked.port,
            threads=16,
            ident=None,
            max_request_body_size=conf.catalogue.max_package_bytes,
        )
        conductor.start(shared.transport)
        telling.start()
        _write(state / "vim.yaml", yaml.safe_dump(vim))
        _tell(state, f"http://127.0.0.1:{server.effective_port}", reached)
        try:
            server.run()  # SystemExit ends it
        finally:
            print("Stopping ...", flush=True)  # noqa: T201
            conductor.stop()
            telling.stop()
            shared.store.close()


def _tell(state: Path, api: str, reached: dict[str, Any]) -> None:
    """Write down how to reach it, for people and for programs."""
    facts = {
        "api": api,
        "cluster": kubeconfig.server(reached),
        "kubeconfig": str(state / "kubeconfig"),
        "vim": str(state / "vim.yaml"),
        "state": str(state),
        "configuration": shlex.join(arguments(state)),
    }
    _write(state / "kubeconfig", yaml.safe_dump(reached))
    print(GUIDE.format(**facts), flush=True)  # noqa: T201
    ready = state / "sandbox.json"
    _write(ready.with_suffix(".new"), json.dumps(facts))
    ready.with_suffix(".new").rename(ready)


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the sandbox."""
    asked = _parser().parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    with contextlib.ExitStack() as stack:
        state = asked.state or Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(
                    prefix="tacker-cnf-", ignore_cleanup_errors=True
                )
            )
        )
        try:
            with alone(state.resolve()):
                serve(asked, state.resolve())
        except (OSError, cfg.Error, errors.VnfmError) as error:
            print(f"tacker-cnf-sandbox: {error}", file=sys.stderr)  # noqa: T201
            return 1
    return 0


def _leave(*_: object) -> NoReturn:
    raise SystemExit(0)
