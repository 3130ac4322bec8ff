"""The command that follows the events of the server."""

import argparse
import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tacker_cnf.cli import event_stream, op_text
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.commands import ClientCommand
from tacker_cnf.cli.event_stream import CONNECTED, Event
from tacker_cnf.cli.failures import CommandFailed, NotFound
from tacker_cnf.cli.op_types import Step
from tacker_cnf.cli.references import find_instance

#: attributes of an event, in the order in which a line shows their values
_SHOWN: Final = (
    "timeStamp",
    "operation",
    "operationState",
    "vnfInstanceId",
    "vnfLcmOpOccId",
    "changeType",
    "operationalState",
    "vnfPkgId",
    "vnfdId",
)


class FollowEvents(ClientCommand):
    """Print a line for each event of the server, until Ctrl-C.

    The types are those of the notifications of SOL003, and OperationProgress.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for option, what in (
            ("--vnf", "VNF instance"),
            ("--op", "operation"),
            ("--type", "type"),
        ):
            parser.add_argument(
                option,
                action="append",
                default=[],
                help=f"only events of this {what}; may be repeated",
            )
        parser.add_argument(
            "--since",
            metavar="EVENT_ID",
            help="begin with the first event after this one",
        )
        parser.add_argument(
            "--json", action="store_true", help="print each event as JSON"
        )
        return parser

    def take_action(self, args: argparse.Namespace) -> int:
        query = {
            "vnf_instance_id": [
                find_instance(self.client, name).id for name in args.vnf
            ],
            "vnf_lcm_op_occ_id": args.op,
            "type": args.type,
        }
        describe = to_json if args.json else self._to_line
        self._names: dict[str, str] = {}
        try:
            for event in event_stream.follow(self.client, query, args.since):
                if event is not CONNECTED:
                    self.app.stdout.write(f"{describe(event)}\n")
                    self.app.stdout.flush()
        except NotFound as error:
            raise CommandFailed(
                f"This server has no events: {error}"
            ) from None
        except KeyboardInterrupt:
            return 0
        return 1

    def _to_line(self, event: Event) -> str:
        """Describe an event with the name of its VNF instance."""
        data = event.data if isinstance(event.data, dict) else {}
        instance_id = data.get("vnfInstanceId")
        if isinstance(instance_id, str) and instance_id not in self._names:
            # it may be deleted, or the server be lost just now
            with contextlib.suppress(CommandFailed):
                found = find_instance(self.client, instance_id)
                self._names[instance_id] = found.display_name
        return to_line(event, self._names)


def to_json(event: Event) -> str:
    """Return an event as a JSON object on one line."""
    return json.dumps({"type": event.type, "id": event.id, "data": event.data})


def to_line(event: Event, names: Mapping[str, str]) -> str:
    """Return what identifies an event, and what has changed.

    :param names: id -> the name of a VNF instance, which is shown instead
    """
    data: dict[str, Any] = event.data if isinstance(event.data, dict) else {}
    values = [str(data[name]) for name in _SHOWN if name in data]
    values = [names.get(value, value) for value in values]
    if steps := data.get("timeline"):
        values += _last_step(steps)
    return "  ".join([event.type, *values]).replace("\n", " ")


def _last_step(steps: Any) -> Iterator[str]:
    step = convert(steps, tuple[Step, ...])[-1]
    facts = (
        op_text.step_name(step),
        op_text.count(step),
        op_text.step_message(step),
    )
    yield from filter(None, facts)
