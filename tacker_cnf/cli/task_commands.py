"""Commands that start a lifecycle operation of a VNF instance."""

import abc
import argparse
from typing import Any, ClassVar

from tacker_cnf.cli import op_wait, request_body
from tacker_cnf.cli.commands import ClientCommand
from tacker_cnf.cli.failures import InvalidResponse
from tacker_cnf.cli.references import (
    find_instance,
    find_vim,
    resource_path,
)
from tacker_cnf.cli.rest_client import INSTANCES
from tacker_cnf.cli.vnf_commands import add_reference


class TaskCommand(ClientCommand):
    """A command that starts a lifecycle operation."""

    #: the resource of the task
    task: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_reference(parser)
        self.add_options(parser)
        request_body.add_options(parser)
        add_wait(parser)
        add_dry_run(parser)
        return parser

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options that only this operation has."""

    @abc.abstractmethod
    def body(self, args: argparse.Namespace) -> dict[str, Any]:
        """Return the body of the request."""

    def take_action(self, args: argparse.Namespace) -> int:
        body = self.body(args)
        instance = find_instance(self.client, args.vnf)
        path = f"{resource_path(INSTANCES, instance.id)}/{self.task}"
        if args.dry_run:
            self.app.stdout.write(self.client.preview(path, body))
            return 0
        response, _ = self.client.post(path, body)
        op_occ_id = response.headers.get("Location", "").rpartition("/")[2]
        if not op_occ_id:
            raise InvalidResponse("The server did not name the operation.")
        return finish(self, op_occ_id, wait=args.wait)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add the option to print the plan of the operation only."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be changed, and change nothing",
    )


def add_wait(parser: argparse.ArgumentParser) -> None:
    """Add the option to wait for the operation."""
    parser.add_argument(
        "--wait",
        action="store_true",
        help="show the progress until the operation has stopped; the exit "
        "status is 0 if it succeeded",
    )


def finish(
    command: ClientCommand,
    op_occ_id: str,
    *,
    wait: bool,
    succeeds_in: str | None = None,
) -> int:
    """Wait for an operation that has begun, or print its id; return the exit
    status.
    """
    app = command.app
    if wait:
        return op_wait.wait(
            command.client,
            op_occ_id,
            app.stdout,
            app.stderr,
            succeeds_in=succeeds_in,
        )
    app.stdout.write(f"{op_occ_id}\n")
    app.stderr.write(f"Watch it: tacker-cnf op watch {op_occ_id}\n")
    return 0


class InstantiateVnf(TaskCommand):
    """Instantiate a VNF."""

    task = "instantiate"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--flavour", metavar="ID", help="its flavour")
        parser.add_argument(
            "--level", metavar="ID", help="instantiation level"
        )
        parser.add_argument(
            "--vim",
            help="id or name of a registered VIM (default: the default one)",
        )

    def body(self, args: argparse.Namespace) -> dict[str, Any]:
        vims = None
        if args.vim:
            vim = find_vim(self.client, args.vim)
            vims = {"default": {"vimId": vim.id}}
        body = request_body.build(
            args,
            flavourId=args.flavour,
            instantiationLevelId=args.level,
            vimConnectionInfo=vims,
        )
        request_body.require(body, flavourId="--flavour")
        return body


class ScaleVnf(TaskCommand):
    """Scale an aspect of a VNF out or in."""

    task = "scale"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--aspect", metavar="ID", help="scaling aspect")
        steps = parser.add_mutually_exclusive_group()
        for option, direction in (("--out", "up"), ("--in", "down")):
            steps.add_argument(
                option,
                dest=option.strip("-"),
                metavar="STEPS",
                type=positive,
                help=f"number of levels {direction}",
            )

    def body(self, args: argparse.Namespace) -> dict[str, Any]:
        scale_in: int | None = getattr(args, "in")
        kind = steps = None
        if args.out is not None:
            kind, steps = "SCALE_OUT", args.out
        elif scale_in is not None:
            kind, steps = "SCALE_IN", scale_in
        body = request_body.build(
            args, type=kind, aspectId=args.aspect, numberOfSteps=steps
        )
        request_body.require(body, aspectId="--aspect", type="--out or --in")
        return body


def positive(text: str) -> int:
    """Parse a number that is at least 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


class ScaleVnfToLevel(TaskCommand):
    """Scale a VNF to an instantiation level, or aspects to scale levels."""

    task = "scale_to_level"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--level", metavar="ID", help="instantiation level"
        )
        parser.add_argument(
            "--aspect",
            metavar="ID=LEVEL",
            action="append",
            default=[],
            type=aspect_level,
            help="scale level of an aspect; may be repeated",
        )

    def body(self, args: argparse.Namespace) -> dict[str, Any]:
        body = request_body.build(
            args,
            instantiationLevelId=args.level,
            scaleInfo=args.aspect or None,
        )
        if "instantiationLevelId" not in body:
            request_body.require(body, scaleInfo="--level or --aspect")
        return body


def aspect_level(text: str) -> dict[str, Any]:
    """Parse ``ID=LEVEL``."""
    aspect, _, level = text.rpartition("=")
    if not aspect or not level.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not ID=LEVEL, such as web_aspect=2"
        )
    return {"aspectId": aspect, "scaleLevel": int(level)}


class HealVnf(TaskCommand):
    """Heal VNFCs of a VNF, or all of it."""

    task = "heal"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--vnfc",
            metavar="ID",
            action="append",
            help="VNFC to heal; may be repeated (default: the whole VNF)",
        )
        parser.add_argument("--cause", help="why it is healed")

    def body(self, args: argparse.Namespace) -> dict[str, Any]:
        return request_body.build(
            args, vnfcInstanceId=args.vnfc, cause=args.cause
        )


class OperateVnf(TaskCommand):
    """Start or stop a VNF."""

    task = "operate"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("state", choices=["start", "stop"])
        parser.add_argument(
            "--graceful",
            metavar="SECONDS",
            type=int,
            help="time that the VNF has to stop (default: stop it at once)",
        )

    def body(self, args: argparse.Namespace) -> dict[str, Any]:
        is_start = args.state == "start"
        return request_body.build(
            args,
            changeStateTo="STARTED" if is_start else "STOPPED",
            stopType=None if args.graceful is None else "GRACEFUL",
            gracefulStopTimeout=args.graceful,
        )


class TerminateVnf(TaskCommand):
    """Terminate a VNF: delete its resources."""

    task = "terminate"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        way = parser.add_mutually_exclusive_group()
        way.add_argument(
            "--forceful",
            action="store_true",
            help="at once (default: graceful)",
        )
        way.add_argument(
            "--graceful",
            metavar="SECONDS",
            type=int,
            help="time that the VNF has to stop",
        )

    def body(self, args: argparse.Namespace) -> dict[str, Any]:
        return request_body.build(
            args,
            terminationType="FORCEFUL" if args.forceful else "GRACEFUL",
            gracefulTerminationTimeout=args.graceful,
        )
