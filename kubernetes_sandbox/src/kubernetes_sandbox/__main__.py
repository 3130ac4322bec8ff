"""Run a cluster in a process: ``python -m kubernetes_sandbox``."""

import argparse
import json
import logging
import signal
import sys
from pathlib import Path

from kubernetes_sandbox.cluster import SandboxCluster


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kubernetes_sandbox",
        description="Run an in-memory Kubernetes cluster.",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: %(default)s)",
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        help="additional host name or IP address of the certificate; repeatable",
    )
    parser.add_argument(
        "--port", type=int, default=0, help="0: a free port (default)"
    )
    parser.add_argument(
        "--nodes", type=int, default=2, help="number (default: %(default)s)"
    )
    parser.add_argument(
        "--pod-start-delay",
        type=float,
        default=0.3,
        help="seconds that a container takes to start (default: %(default)s)",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        default=Path("sandbox.kubeconfig"),
        help="file to write (default: %(default)s)",
    )
    return parser


def _write_kubeconfig(cluster: SandboxCluster, path: Path) -> None:
    path.touch(mode=0o600)
    # JSON is valid YAML, and every client reads it.
    path.write_text(json.dumps(cluster.kubeconfig(), indent=2) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING)
    ending = {signal.SIGTERM, signal.SIGINT}
    # Blocked before the cluster's thread starts, which inherits the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    cluster = SandboxCluster(
        host=options.host,
        port=options.port,
        nodes=options.nodes,
        pod_start_delay=options.pod_start_delay,
        names=tuple(options.name),
    )
    with cluster:
        _write_kubeconfig(cluster, options.kubeconfig)
        sys.stdout.write(
            f"The cluster listens on {cluster.endpoint}\n"
            f"  kubectl --kubeconfig {options.kubeconfig} get nodes\n"
        )
        sys.stdout.flush()
        signal.sigwait(ending)
    return 0


if __name__ == "__main__":
    sys.exit(main())
