"""Commands for the registered VIMs."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tacker_cnf.cli import commands, request_body
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.commands import (
    ClientCommand,
    Lines,
    ListCommand,
    ShowCommand,
)
from tacker_cnf.cli.references import find_vim, resource_path
from tacker_cnf.cli.rest_client import VIMS
from tacker_cnf.cli.vnf_types import VimBody, VimList

_LIST_COLUMNS: Final = (
    "id",
    "name",
    "type",
    "status",
    "is_default",
    "auth_url",
)
_SHOW_COLUMNS: Final = (
    *_LIST_COLUMNS,
    "description",
    "vim_project",
    "auth_cred",
    "extra",
    "is_public",
    "shared_with",
)
#: attributes of the file that are not credentials -> their keys in vim_project
_PROJECT_KEYS: Final = {
    "project_name": "name",
    "project_domain_name": "project_domain_name",
}


class ListVims(ListCommand):
    """List the registered VIMs."""

    def take_action(self, _: argparse.Namespace) -> Any:
        value = self.client.get(VIMS)
        convert(value, VimList)
        return commands.table(_LIST_COLUMNS, value["vims"])


class ShowVim(ShowCommand):
    """Show a registered VIM, without its secrets."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_reference(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        found = find_vim(self.client, args.vim)
        return _columns(self.client.get(resource_path(VIMS, found.id)))


class RegisterVim(ShowCommand):
    """Register a VIM, which has to be reachable."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "file",
            metavar="FILE",
            help="JSON or YAML with the address and the credentials, as "
            "openstack vim register --config-file reads it",
        )
        parser.add_argument(
            "--name", help="its name (default: that of the file)"
        )
        parser.add_argument("--description", help="its description")
        parser.add_argument(
            "--default",
            action="store_true",
            help="instantiate on it when a request names no VIM",
        )
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        vim = new_vim(request_body.read(args.file))
        vim |= {
            "name": args.name or Path(args.file).stem,
            "is_default": args.default,
        }
        if args.description:
            vim["description"] = args.description
        _, created = self.client.post(VIMS, {"vim": vim}, repeatable=False)
        return _columns(created)


def new_vim(config: dict[str, Any]) -> dict[str, Any]:
    """Return the VIM that a file describes, as the API has it."""
    rest = {"type": "openstack", **config}
    vim: dict[str, Any] = {
        name: rest.pop(name)
        for name in ("type", "auth_url", "extra")
        if name in rest
    }
    vim["vim_project"] = {
        key: rest.pop(name)
        for name, key in _PROJECT_KEYS.items()
        if name in rest
    }
    return vim | {"auth_cred": rest}


class DeleteVims(ClientCommand):
    """Delete registered VIMs, which no VNF instance uses."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_reference(parser, nargs="+")
        return parser

    def take_action(self, args: argparse.Namespace) -> None:
        # all names are checked before the first one is deleted
        found = [find_vim(self.client, name) for name in args.vim]
        for vim in found:
            self.client.delete(resource_path(VIMS, vim.id))


def _add_reference(
    parser: argparse.ArgumentParser, nargs: str | None = None
) -> None:
    parser.add_argument(
        "vim", metavar="VIM", nargs=nargs, help="id or name of a VIM"
    )


def _columns(value: Any) -> tuple[list[str], list[Any]]:
    convert(value, VimBody)
    shown = commands.select(value["vim"], _SHOW_COLUMNS)
    for name, attribute in shown.items():
        if isinstance(attribute, dict):
            shown[name] = Lines(attribute, *_lines(attribute))
        elif isinstance(attribute, list):
            shown[name] = Lines(attribute, *map(str, attribute))
    return list(shown), list(shown.values())


def _lines(attribute: dict[str, Any]) -> Iterator[str]:
    """Describe each entry; of a certificate, its first line."""
    for key, entry in attribute.items():
        first_line = str(entry).partition("\n")[0]
        yield f"{key}: {first_line}"
