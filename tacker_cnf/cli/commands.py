"""The bases of all commands."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn
from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from tacker_cnf.cli.failures import CommandFailed
from tacker_cnf.cli.rest_client import RestClient


class ClientCommand(Command):
    """A command that sends requests to the server."""

    @property
    def client(self) -> RestClient:
        client: RestClient = self.app.client  # type: ignore[attr-defined]
        return client

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; return the exit status."""
        try:
            return super().run(parsed_args)
        except CommandFailed as error:
            debug = self.app.options.debug
            self.app.LOG.error(error, exc_info=debug)  # noqa: TRY400
            return error.exit_status


class ListCommand(ClientCommand, Lister):
    """A command that prints a list."""

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
    ) -> int:
        """Print the list; a table without rows would be an empty line."""
        rows = list(data)
        if not rows and parsed_args.formatter == "table":
            self.app.stderr.write("The list is empty.\n")
            return 0
        status: int = super().produce_output(parsed_args, column_names, rows)
        return status


class ShowCommand(ClientCommand, ShowOne):
    """A command that prints one resource."""


class Lines(FormattableColumn[Any]):
    """A value that a table shows as lines of text, and JSON as it is.

    :param lines: the text
    """

    def __init__(self, value: Any, *lines: str) -> None:
        super().__init__(value)
        self._lines = lines

    def human_readable(self) -> str:
        return "\n".join(self._lines)


def add_filter(parser: argparse.ArgumentParser, example: str) -> None:
    """Add the option that selects the entries of a list."""
    parser.add_argument(
        "--filter",
        metavar="EXPRESSION",
        help=f"list only those that match (SOL013 5.2), such as {example!r}",
    )


def select(
    resource: Mapping[str, Any], columns: Iterable[str]
) -> dict[str, Any]:
    """Return those of the attributes that a resource has."""
    return {name: resource[name] for name in columns if name in resource}


def table(
    columns: Sequence[str], resources: Iterable[Mapping[str, Any]]
) -> tuple[Sequence[str], Iterable[list[Any]]]:
    """Return attributes of resources as columns and rows."""
    rows = ([r.get(name, "") for name in columns] for r in resources)
    return columns, rows
