"""Commands for VNF instances."""

import argparse
from typing import Any, Final

from tacker_cnf.cli import commands, request_body
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.commands import (
    ClientCommand,
    Lines,
    ListCommand,
    ShowCommand,
)
from tacker_cnf.cli.references import find_instance, resource_path
from tacker_cnf.cli.rest_client import INSTANCES
from tacker_cnf.cli.vnf_types import InstantiatedVnfInfo, VnfInstance

_LIST_COLUMNS: Final = (
    "id",
    "vnfInstanceName",
    "instantiationState",
    "vnfProductName",
    "vnfSoftwareVersion",
    "vnfdId",
)
_SHOW_COLUMNS: Final = (
    "id",
    "vnfInstanceName",
    "vnfInstanceDescription",
    "vnfProvider",
    "vnfProductName",
    "vnfSoftwareVersion",
    "vnfdVersion",
    "vnfdId",
    "instantiationState",
)


class ListVnfs(ListCommand):
    """List VNF instances."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        commands.add_filter(parser, "(eq,instantiationState,INSTANTIATED)")
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        query = {"filter": args.filter} if args.filter else None
        found = self.client.list_all(INSTANCES, query)
        return commands.table(_LIST_COLUMNS, found)


class ShowVnf(ShowCommand):
    """Show a VNF instance."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_reference(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        found = find_instance(self.client, args.vnf)
        path = resource_path(INSTANCES, found.id)
        return _columns(self.client.get(path))


class CreateVnf(ShowCommand):
    """Create a VNF instance, which is not instantiated yet."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("vnfd", metavar="VNFD_ID", help="its VNFD")
        parser.add_argument("--name", help="its name")
        parser.add_argument("--description", help="its description")
        request_body.add_key_values(
            parser, "--metadata", "an entry of its metadata; may be repeated"
        )
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        body = {
            "vnfdId": args.vnfd,
            "vnfInstanceName": args.name,
            "vnfInstanceDescription": args.description,
            "metadata": dict(args.metadata),
        }
        wanted = {name: value for name, value in body.items() if value}
        return _columns(self.client.post(INSTANCES, wanted)[1])


class DeleteVnfs(ClientCommand):
    """Delete VNF instances that are not instantiated."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_reference(parser, nargs="+")
        return parser

    def take_action(self, args: argparse.Namespace) -> None:
        # all names are checked before the first one is deleted
        found = [find_instance(self.client, name) for name in args.vnf]
        for instance in found:
            self.client.delete(resource_path(INSTANCES, instance.id))


def add_reference(
    parser: argparse.ArgumentParser, nargs: str | None = None
) -> None:
    """Add the argument that names VNF instances."""
    parser.add_argument(
        "vnf", metavar="VNF", nargs=nargs, help="id or name of a VNF instance"
    )


def _columns(value: dict[str, Any]) -> tuple[list[str], list[Any]]:
    instance = convert(value, VnfInstance)
    shown = commands.select(value, _SHOW_COLUMNS)
    if info := instance.instantiated_vnf_info:
        shown |= _instantiated(value["instantiatedVnfInfo"], info)
    shown["vimConnectionInfo"] = Lines(
        value.get("vimConnectionInfo", {}),
        *(
            f"{name}: {vim.vim_type} {vim.vim_id}".rstrip()
            for name, vim in instance.vim_connection_info.items()
        ),
    )
    tasks = sorted(instance.links.keys() - {"self"})
    shown["tasks"] = Lines(tasks, ", ".join(tasks))
    return list(shown), list(shown.values())


def _instantiated(
    value: dict[str, Any], info: InstantiatedVnfInfo
) -> dict[str, Any]:
    """Return what is shown of an instance while it is instantiated."""
    return {
        "vnfState": info.vnf_state,
        "flavourId": info.flavour_id,
        "scaleStatus": Lines(
            value.get("scaleStatus", []),
            *(
                f"{one.aspect_id}: {one.scale_level}"
                for one in info.scale_status
            ),
        ),
        "vnfcInfo": Lines(
            value.get("vnfcInfo", []),
            *(f"{one.id}  {one.vnfc_state}" for one in info.vnfc_info),
        ),
    }
