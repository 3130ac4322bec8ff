"""The lifecycle of a CNF, end to end, over REST; run by ``tools/demo``."""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NoReturn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.lifecycle_demo import service as services  # noqa: E402
from tools.lifecycle_demo.pods import Cluster  # noqa: E402
from tools.lifecycle_demo.rest import ApiClient, DemoFailed  # noqa: E402
from tools.lifecycle_demo.screen import Screen  # noqa: E402
from tools.lifecycle_demo.service import Service  # noqa: E402
from tools.lifecycle_demo.story import Story, prepare  # noqa: E402
from tools.lifecycle_demo.vnf import DemoVnf  # noqa: E402

#: seconds that a container of the in-memory cluster takes to start, without
#: and with --ui
POD_START_DELAY_S: Final = 1.0
SLOW_POD_START_DELAY_S: Final = 3.0
#: seconds after which a faulty pod fails an operation, on the in-memory
#: cluster and on one where images are pulled
FAILURE_GRACE_S: Final = 1.0
REAL_FAILURE_GRACE_S: Final = 10.0


class Interrupted(BaseException):
    """A signal that ends the demo was received."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Interrupted by {signal.Signals(number).name}")
        self.exit_code = 128 + number


def run(
    arguments: argparse.Namespace,
    service: Service,
    screen: Screen,
    steps: list[Any],
) -> None:
    """Run the demo; clean up after a failure."""
    kind = "your cluster" if arguments.kubeconfig else "sandbox cluster"
    conductors = " and ".join(map(str, service.pids))
    screen.line(
        f"tacker_cnf at {service.api}, conductors {conductors}, "
        f"{kind} {service.cluster}"
    )
    kubeconfig = arguments.kubeconfig or service.kubeconfig
    vnf = DemoVnf(
        ApiClient(service.api),
        Cluster(kubeconfig, arguments.namespace),
        screen,
        steps,
    )
    try:
        packages = prepare(vnf, service.vim)
        story = Story(vnf, service, screen, packages, arguments.namespace)
        if arguments.ui:
            screen.line(f"Web page: {service.api}/ui/ (Ctrl-C ends the demo)")
            story.repeat()
        story.run()
    except BaseException as error:
        try:
            vnf.clean_up()
        except (DemoFailed, Interrupted) as stopped:
            error.add_note(
                f"The cluster is not cleaned up ({stopped}); what is left has"
                f" the label tacker_vnf_instance_id={vnf.id}"
            )
        raise


def interrupt(number: int, _: object) -> NoReturn:
    raise Interrupted(number)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="tools/demo",
        description="The lifecycle of a VNF on Kubernetes.",
    )
    parser.add_argument("--kubeconfig", type=Path, help="a cluster of yours")
    parser.add_argument(
        "--namespace", default="default", help="where the VNF is put"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--json", action="store_true", help="print the steps as JSON"
    )
    output.add_argument(
        "--ui",
        action="store_true",
        help="print the address of the web page, and run a slow story again "
        "and again until Ctrl-C",
    )
    return parser.parse_args()


def sandbox_options(arguments: argparse.Namespace) -> list[str]:
    """Return the options for ``tools/sandbox``."""
    if arguments.kubeconfig:
        return [f"--kubeconfig={arguments.kubeconfig}"]
    delay = SLOW_POD_START_DELAY_S if arguments.ui else POD_START_DELAY_S
    return [f"--pod-start-delay={delay}"]


def main() -> int:
    """Run the demo; return 0 if every step succeeded."""
    arguments = parse()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupt)
    steps: list[dict[str, Any]] = []
    code, problem = 0, None
    grace = REAL_FAILURE_GRACE_S if arguments.kubeconfig else FAILURE_GRACE_S
    screen = Screen(sys.stdout, quiet=arguments.json)
    screen.live("Starting a cluster, the API server and two conductors ...")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tacker-cnf-demo-") as folder,
            services.run(
                Path(folder).resolve(),
                sandbox_options(arguments),
                failure_grace=grace,
                web_page=arguments.ui,
            ) as service,
        ):
            run(arguments, service, screen, steps)
    except (DemoFailed, Interrupted) as error:
        code = getattr(error, "exit_code", 1)
        notes = getattr(error, "__notes__", ())
        problem = ". ".join((str(error), *notes))
        print(f"tools/demo: {problem}", file=sys.stderr)
        if arguments.ui and isinstance(error, Interrupted) and not notes:
            code = 0  # the only way to end it
    if arguments.json:
        print(json.dumps({"steps": steps, "error": problem}, indent=2))
    return code


if __name__ == "__main__":
    sys.exit(main())
