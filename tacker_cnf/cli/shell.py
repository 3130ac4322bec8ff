"""The program tacker-cnf."""

import functools
import importlib.metadata
import logging
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from cliff.app import App
from cliff.commandmanager import CommandManager

from tacker_cnf.cli import authentication_options
from tacker_cnf.cli.rest_client import RestClient

#: group of the entry points of the commands
COMMANDS: Final = "tacker_cnf.cli"


class Shell(App):
    """The program: its common options, and the connection to the server."""

    NAME = "tacker-cnf"

    def __init__(self) -> None:
        super().__init__(
            description="Manage VNFs and follow their lifecycle operations.",
            version=importlib.metadata.version("tacker_cnf"),
            command_manager=CommandManager(COMMANDS),
            deferred_help=True,
        )
        authentication_options.add_options(self.parser)

    def configure_logging(self) -> None:
        """Configure logging; libraries log retries only if --debug is set."""
        super().configure_logging()
        if not self.options.debug:
            logging.getLogger("keystoneauth").setLevel(logging.ERROR)

    def interact(self) -> NoReturn:
        """Reject a command line without a command."""
        self.parser.error("a command is required; see tacker-cnf --help")

    @functools.cached_property
    def client(self) -> RestClient:
        """The client of the server; it connects with the first request.

        :raises UsageError: the options do not name a server
        """
        return RestClient(authentication_options.open_adapter(self.options))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    return Shell().run(list(sys.argv[1:] if argv is None else argv))
