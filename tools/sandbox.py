"""Run the API, a conductor and a Kubernetes cluster in one process.

They listen on loopback ports and need neither a database server nor a message
broker; the notification dispatcher is a child process. There is no
authentication: do not make the ports reachable from other machines.
"""

import argparse
import asyncio
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

import yaml
from oslo_config import cfg
from oslo_log import log

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubernetes_sandbox.cluster import SandboxCluster  # noqa: E402

from tacker_cnf import conf as configuration  # noqa: E402
from tacker_cnf import errors, rpc  # noqa: E402
from tacker_cnf.cmd import api, compose  # noqa: E402
from tacker_cnf.cmd.dispatcher_supervisor import DispatcherSupervisor  # noqa: E402
from tacker_cnf.db import keys, schema, session  # noqa: E402
from tacker_cnf.http_server.server import Server  # noqa: E402
from tacker_cnf.scripts import isolation  # noqa: E402
from tacker_cnf.scripts.isolation import Isolation  # noqa: E402
from tacker_cnf.scripts.limits import ANY_PACKAGE, RunPolicy  # noqa: E402
from tools import kubeconfig  # noqa: E402

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
GUIDE = """\
tacker_cnf sandbox
  API         {api}
  web page    {api}/ui/
  cluster     {cluster}
  kubeconfig  {kubeconfig}
  VIM file    {vim}
  state       {state}

  curl -H 'Version: 2.0.0' {api}/vnflcm/v2/vnf_instances
  kubectl --kubeconfig {kubeconfig} get pods --all-namespaces --watch
  export OS_AUTH_TYPE=none OS_ENDPOINT={api}
  openstack vim register sandbox --config-file {vim} --is-default
  openstack --os-tacker-api-version 2 vnflcm list
  {manage} {configuration} notifications list
"""
PERMANENT = "Set options in {state}/conf.d/*.conf and start it again."
TEMPORARY = (
    "Its files are deleted when it stops; --state names a directory for them, "
    "and for options."
)

CONFIGURATION = """\
[DEFAULT]
state_path = {state}
transport_url = fake://
log_file = {state}/sandbox.log
default_log_levels = tacker_cnf=INFO

[api]
auth_strategy = noauth
web_page = true

[notification]
loopback_callbacks = true

[vims]
allow_loopback = true
schemes = https, http
"""
NOT_ISOLATED = (
    "tools/sandbox: scripts of VNF packages run with your rights. {}\n"
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tools/sandbox",
        description=__doc__.splitlines()[0],
        epilog="Options of tacker_cnf are read from conf.d/*.conf in the "
        "directory of --state, then from sandbox.conf beside it, which the "
        "sandbox writes at each start. tacker-cnf-manage can use both, too.",
    )
    parser.add_argument(
        "--state",
        type=Path,
        help="directory of its files (default: temporary)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=9890,
        help="port of the API; 0: any free port",
    )
    parser.add_argument(
        "--cluster-port",
        type=int,
        default=0,
        help="port of the cluster; 0: any free port",
    )
    parser.add_argument("--nodes", type=int, default=2, help="number of nodes")
    parser.add_argument(
        "--pod-start-delay",
        type=float,
        default=0.3,
        metavar="SECONDS",
        help="time that a container takes to start",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        help="use the cluster of this file instead of an in-memory one",
    )
    parser.add_argument(
        "--no-conductor",
        action="store_true",
        help="run no conductor in this process: start tacker-cnf-conductor "
        "with the options that tacker-cnf-manage has in the printed example",
    )
    return parser


def arguments(state: Path) -> list[str]:
    """Return the options that select only the files in ``state``."""
    folder, file = state / "conf.d", state / "sandbox.conf"
    return ["--config-dir", str(folder), "--config-file", str(file)]


def configure(state: Path) -> cfg.ConfigOpts:
    """Create the configuration of an embedded service, and its database."""
    (state / "conf.d").mkdir(parents=True, exist_ok=True)
    own = str(state).replace("$", "$$")
    _write(state / "sandbox.conf", CONFIGURATION.format(state=own))
    conf = configuration.load(arguments(state))
    _allow_scripts(conf)
    log.setup(conf, "tacker_cnf")
    keys.create(keys.key_file_path(conf))
    store = session.open_store(conf)
    schema.upgrade(store)
    store.close()
    return conf


def _allow_scripts(conf: cfg.ConfigOpts) -> None:
    """Change the defaults of [scripts] to those of trials: scripts of all
    packages run, with the network, and without isolation if it is not
    available here.
    """
    conf.set_default("run", RunPolicy.ALL.value, "scripts")
    conf.set_default("network_packages", [ANY_PACKAGE], "scripts")
    try:
        isolation.check_available()
    except errors.ScriptFailed as error:
        conf.set_default("isolation", Isolation.NONE.value, "scripts")
        if conf.scripts.isolation == Isolation.NONE:
            sys.stderr.write(NOT_ISOLATED.format(error))


@contextlib.contextmanager
def cluster(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the kubeconfig of the cluster that is used."""
    if options.kubeconfig:
        yield kubeconfig.read(options.kubeconfig)
        return
    sandbox_cluster = SandboxCluster(
        port=options.cluster_port,
        nodes=options.nodes,
        pod_start_delay=options.pod_start_delay,
    )
    sandbox_cluster.start()
    try:
        yield sandbox_cluster.kubeconfig()
    finally:
        sandbox_cluster.stop()


@contextlib.contextmanager
def alone(state: Path) -> Iterator[None]:
    """Lock a state directory for one sandbox.

    :raises VnfmError: another sandbox uses it
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
    """Check that the port of the API is free.

    :raises VnfmError: it is in use
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise errors.VnfmError(
                f"Port {port} cannot be used ({error.strerror}); choose another "
                "with --port, or 0 for any free port."
            ) from None


def serve(options: argparse.Namespace, state: Path) -> None:
    """Serve until SIGTERM or SIGINT."""
    check_port(options.port)
    conf = configure(state)
    shared = compose.parts(conf, rpc.EMBEDDED)
    conductor = None if options.no_conductor else compose.conductor(shared)
    # messages do not leave this process: conductors of others find operations
    # by their sweep
    wakeup_timeout_s = rpc.WAKEUP_TIMEOUT_S if conductor else 0.0
    dispatcher = DispatcherSupervisor(shared.store, arguments(state))
    folder = options.kubeconfig.parent if options.kubeconfig else Path()
    with contextlib.ExitStack() as stack:
        cluster_config = stack.enter_context(cluster(options))
        vim = kubeconfig.vim(cluster_config, folder)
        application = compose.application(
            shared, wakeup_timeout_s=wakeup_timeout_s
        )
        server = api.server(conf, application)
        listener = stack.enter_context(
            socket.create_server(("127.0.0.1", options.port))
        )
        if conductor:
            conductor.start(shared.transport)
        dispatcher.start()
        _write(state / "vim.yaml", yaml.safe_dump(vim))
        port = listener.getsockname()[1]
        scheme = "https" if conf.api.tls_certificate else "http"
        _announce(state, f"{scheme}://127.0.0.1:{port}", cluster_config)
        hint = PERMANENT if options.state else TEMPORARY
        print(hint.format(state=state), "Stop it with Ctrl-C.", sep="\n")
        sys.stdout.flush()
        try:
            asyncio.run(_serve(server, listener))
        finally:
            _leave_at_signals()
            print("Stopping ...", flush=True)
            if conductor:
                conductor.stop()
            dispatcher.stop()
            shared.store.close()


async def _serve(server: Server, listener: socket.socket) -> None:
    stop = asyncio.Event()
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.serve([listener], stop)


def _announce(state: Path, api: str, cluster_config: dict[str, Any]) -> None:
    """Print the addresses, and write them to ``sandbox.json``."""
    facts = {
        "api": api,
        "cluster": kubeconfig.server(cluster_config),
        "kubeconfig": str(state / "kubeconfig"),
        "vim": str(state / "vim.yaml"),
        "state": str(state),
        "configuration": shlex.join(arguments(state)),
    }
    _write(state / "kubeconfig", yaml.safe_dump(cluster_config))
    manage = Path(sys.executable).with_name("tacker-cnf-manage")
    print(GUIDE.format(**facts, manage=shlex.quote(str(manage))), flush=True)
    ready = state / "sandbox.json"
    _write(ready.with_suffix(".new"), json.dumps(facts))
    ready.with_suffix(".new").rename(ready)


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the sandbox."""
    options = _parser().parse_args(argv)
    _leave_at_signals()
    with contextlib.ExitStack() as stack:
        state = options.state or Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(
                    prefix="tacker-cnf-", ignore_cleanup_errors=True
                )
            )
        )
        try:
            with alone(state.resolve()):
                serve(options, state.resolve())
        except (OSError, cfg.Error, errors.VnfmError) as error:
            print(f"tools/sandbox: {error}", file=sys.stderr)
            return 1
    return 0


def _leave_at_signals() -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, _leave)


def _leave(*_: object) -> NoReturn:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
