"""Commands for lifecycle operation occurrences."""

import argparse
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from tacker_cnf.cli import commands, op_text, op_wait
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.commands import (
    ClientCommand,
    Lines,
    ListCommand,
    ShowCommand,
)
from tacker_cnf.cli.op_types import STATES, OpOcc, ResourceChanges
from tacker_cnf.cli.references import (
    find_instance,
    instance_names,
    op_occ_path,
)
from tacker_cnf.cli.rest_client import OP_OCCS
from tacker_cnf.cli.task_commands import add_dry_run, add_wait, finish

_LIST_COLUMNS: Final = (
    "id",
    "operation",
    "operationState",
    "vnfInstanceName",
    "vnfInstanceId",
    "startTime",
    "stateEnteredTime",
)
_SHOW_COLUMNS: Final = (
    *_LIST_COLUMNS,
    "isAutomaticInvocation",
    "isCancelPending",
    "requestId",
    "progress",
)


class ListOps(ListCommand):
    """List lifecycle operations."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--vnf", help="only those of this VNF instance")
        parser.add_argument(
            "--state",
            action="append",
            choices=STATES,
            metavar="STATE",
            help=f"only those in this state: {', '.join(STATES)}; may be "
            "repeated",
        )
        commands.add_filter(parser, "(eq,operation,HEAL)")
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        filters = [args.filter] if args.filter else []
        if args.vnf:
            instance = find_instance(self.client, args.vnf)
            filters.append(f"(eq,vnfInstanceId,{instance.id})")
        if args.state:
            filters.append(f"(in,operationState,{','.join(args.state)})")
        query = {"filter": ";".join(filters)} if filters else None
        found = list(self.client.list_all(OP_OCCS, query))
        names = instance_names(self.client) if found else {}
        for op in found:
            op["vnfInstanceName"] = names.get(op["vnfInstanceId"], "")
        return commands.table(_LIST_COLUMNS, found)


class ShowOp(ShowCommand):
    """Show a lifecycle operation, with its steps and what they changed."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_reference(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        return columns(self.client.get(op_occ_path(args.op)))


def columns(value: dict[str, Any]) -> tuple[list[str], list[Any]]:
    """Return what is shown of an operation."""
    op_occ = convert(value, OpOcc)
    shown = commands.select(value, _SHOW_COLUMNS)
    steps = value.get("timeline", [])
    shown["timeline"] = Lines(steps, *op_text.timeline(op_occ))
    shown["resourceChanges"] = Lines(
        value.get("resourceChanges", {}),
        *_describe_changes(op_occ.resource_changes),
    )
    if op_occ.error:
        shown["error"] = Lines(value["error"], op_occ.error.detail)
    decisions = list(op_occ.decisions)
    shown["decisions"] = Lines(decisions, ", ".join(decisions))
    return list(shown), list(shown.values())


def _describe_changes(changes: ResourceChanges) -> Iterator[str]:
    for kind, affected in (
        ("VNFC", changes.affected_vnfcs),
        ("virtual link", changes.affected_virtual_links),
        ("external link port", changes.affected_ext_link_ports),
        ("storage", changes.affected_virtual_storages),
    ):
        for change in affected:
            yield f"{change.change_type} {kind} {change.id}"


def add_reference(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names an operation."""
    parser.add_argument("op", metavar="OP_ID", help="id of an operation")


class WatchOp(ClientCommand):
    """Show the progress of a lifecycle operation until it has stopped."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_reference(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> int:
        return op_wait.wait(
            self.client, args.op, self.app.stdout, self.app.stderr
        )


class _Decision(ClientCommand):
    """A decision about an operation."""

    task: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_reference(parser)
        return parser

    def decide(
        self, op_occ_id: str, body: dict[str, Any] | None = None
    ) -> Any:
        """Send the decision; return the content of the response."""
        path = f"{op_occ_path(op_occ_id)}/{self.task}"
        return self.client.post(path, body, repeatable=False)[1]


class FailOp(_Decision):
    """Accept the failure of an operation."""

    task = "fail"

    def take_action(self, args: argparse.Namespace) -> None:
        op_occ = convert(self.decide(args.op), OpOcc)
        self.app.stdout.write(
            f"{op_occ.operation} {op_occ.id} is {op_occ.operation_state}.\n"
        )


class CancelOp(_Decision):
    """Cancel an operation that is in progress."""

    task = "cancel"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--forceful",
            action="store_true",
            help="do not wait for what is in progress",
        )
        return parser

    def take_action(self, args: argparse.Namespace) -> None:
        mode = "FORCEFUL" if args.forceful else "GRACEFUL"
        self.decide(args.op, {"cancelMode": mode})
        self.app.stdout.write(
            f"The {mode} cancellation of {args.op} is requested.\n"
        )
        self.app.stderr.write(f"Watch it: tacker-cnf op watch {args.op}\n")


class _Continuation(_Decision):
    """A decision by which an operation runs again."""

    #: the state that is a success
    succeeds_in: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_wait(parser)
        add_dry_run(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> int:
        if args.dry_run:
            path = f"{op_occ_path(args.op)}/{self.task}"
            self.app.stdout.write(self.client.preview(path, None))
            return 0
        self.decide(args.op)
        return finish(
            self, args.op, wait=args.wait, succeeds_in=self.succeeds_in
        )


class RetryOp(_Continuation):
    """Continue an operation that is FAILED_TEMP."""

    task = "retry"
    succeeds_in = "COMPLETED"


class RollBackOp(_Continuation):
    """Restore the state before an operation that is FAILED_TEMP."""

    task = "rollback"
    succeeds_in = "ROLLED_BACK"
