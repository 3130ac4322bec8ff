"""The command that describes a VNF instance as a tree."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tacker_cnf.cli.api_types import OpOcc, convert
from tacker_cnf.cli.commands import ClientCommand
from tacker_cnf.cli.op_display import open_console
from tacker_cnf.cli.references import find_instance, resource_path
from tacker_cnf.cli.rest_client import INSTANCES, OP_OCCS, VIMS, RestClient
from tacker_cnf.cli.vnf_commands import add_reference

#: operations that hold the instance
_HOLDING = "(in,operationState,STARTING,PROCESSING,ROLLING_BACK,FAILED_TEMP)"


class Node(msgspec.Struct, frozen=True):
    """A line of the tree, and those below it."""

    name: str
    state: str = ""
    message: str = ""
    children: Sequence["Node"] = ()


class DescribeVnf(ClientCommand):
    """Describe a VNF instance: its conditions, VDUs, VNFCs and links."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_reference(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> None:
        found = find_instance(self.client, args.vnf)
        instance = self.client.get(resource_path(INSTANCES, found["id"]))
        root = build(
            instance,
            _holding_operation(self.client, instance["id"]),
            self.client.get(VIMS).get("vims", []),
        )
        open_console(self.app.stdout).print(render(root))


def _holding_operation(client: RestClient, instance_id: str) -> OpOcc | None:
    expression = f"(eq,vnfInstanceId,{instance_id});{_HOLDING}"
    found = client.list_all(OP_OCCS, {"filter": expression})
    return next((convert(value, OpOcc) for value in found), None)


def build(
    instance: Mapping[str, Any],
    op_occ: OpOcc | None,
    vims: Sequence[Mapping[str, Any]],
) -> Node:
    """Return the tree of a VNF instance.

    :param op_occ: the operation that holds it
    :param vims: the registered VIMs
    """
    info = instance.get("instantiatedVnfInfo") or {}
    name = instance.get("vnfInstanceName") or instance["id"]
    product = f"{instance['vnfProductName']} {instance['vnfSoftwareVersion']}"
    groups = (
        Node("Conditions", children=_conditions(instance, op_occ, vims)),
        *_group("Scale levels", _levels(info)),
        *_vdus(info),
        *_group("Storage", _storages(info)),
        *_group("Links", _links(info)),
    )
    state = instance["instantiationState"]
    return Node(f"VNF/{name}", state, product, groups)


def _group(name: str, children: Iterator[Node]) -> Iterator[Node]:
    if nodes := tuple(children):
        yield Node(name, children=nodes)


def _conditions(
    instance: Mapping[str, Any],
    op_occ: OpOcc | None,
    vims: Sequence[Mapping[str, Any]],
) -> tuple[Node, ...]:
    info = instance.get("instantiatedVnfInfo") or {}
    is_instantiated = instance["instantiationState"] == "INSTANTIATED"
    is_started = info.get("vnfState") == "STARTED"
    return (
        Node("Instantiated", str(is_instantiated)),
        Node("Started", str(is_started)),
        _operation(op_occ),
        *_vim_conditions(instance.get("vimConnectionInfo") or {}, vims),
    )


def _operation(op_occ: OpOcc | None) -> Node:
    if op_occ is None:
        return Node("OperationInProgress", "False")
    words = [op_occ.operation, op_occ.operation_state, op_occ.id]
    return Node("OperationInProgress", "True", " ".join(words))


def _vim_conditions(
    connections: Mapping[str, Any], vims: Sequence[Mapping[str, Any]]
) -> Iterator[Node]:
    registered = {vim["id"]: vim for vim in vims}
    for name, connection in connections.items():
        vim = registered.get(connection.get("vimId"), {})
        status = vim.get("status", "")
        state = str(status == "REACHABLE") if status else "Unknown"
        message = vim.get("name") or connection.get("vimType", "")
        yield Node(f"VimReachable/{name}", state, message)


def _levels(info: Mapping[str, Any]) -> Iterator[Node]:
    limits = {
        one["aspectId"]: one["scaleLevel"]
        for one in info.get("maxScaleLevels", [])
    }
    for one in info.get("scaleStatus", []):
        aspect = one["aspectId"]
        limit = f" of {limits[aspect]}" if aspect in limits else ""
        yield Node(f"Aspect/{aspect}", f"{one['scaleLevel']}{limit}")


def _vdus(info: Mapping[str, Any]) -> Iterator[Node]:
    vnfcs = info.get("vnfcResourceInfo", [])
    states = {
        vnfc.get("vnfcResourceInfoId"): vnfc
        for vnfc in info.get("vnfcInfo", [])
    }
    for vdu in dict.fromkeys(vnfc["vduId"] for vnfc in vnfcs):
        children = tuple(
            _vnfc(resource, states.get(resource["id"], {}))
            for resource in vnfcs
            if resource["vduId"] == vdu
        )
        started = sum(child.state == "STARTED" for child in children)
        state = f"{started}/{len(children)} started"
        yield Node(f"VDU/{vdu}", state, children=children)


def _vnfc(resource: Mapping[str, Any], vnfc: Mapping[str, Any]) -> Node:
    handle = resource["computeResource"]
    facts = [handle["resourceId"]]
    if kind := handle.get("vimLevelResourceType"):
        facts.append(f"({kind})")
    if zone := resource.get("zoneId"):
        facts.append(f"in zone {zone}")
    name = vnfc.get("id") or resource["id"]
    return Node(f"VNFC/{name}", vnfc.get("vnfcState", ""), " ".join(facts))


def _storages(info: Mapping[str, Any]) -> Iterator[Node]:
    for one in info.get("virtualStorageResourceInfo", []):
        handle = one["storageResource"]
        kind = handle.get("vimLevelResourceType") or "Storage"
        message = f"storage {one['virtualStorageDescId']}"
        yield Node(f"{kind}/{handle['resourceId']}", "", message)


def _links(info: Mapping[str, Any]) -> Iterator[Node]:
    for one in info.get("vnfVirtualLinkResourceInfo", []):
        handle = one["networkResource"]
        message = f"virtual link {one['vnfVirtualLinkDescId']}"
        yield Node(f"Network/{handle['resourceId']}", "", message)
    for one in info.get("extVirtualLinkInfo", []):
        handle = one["resourceHandle"]
        message = f"external virtual link {one['id']}"
        yield Node(f"Network/{handle['resourceId']}", "", message)


def render(root: Node) -> RenderableType:
    """Return the tree as a table: the name, the state and a message."""
    table = Table.grid(padding=(0, 2))
    table.add_row("NAME", "STATE", "MESSAGE", style="bold")
    for prefix, node in _rows(root):
        table.add_row(
            Text(prefix + node.name, no_wrap=True),
            Text(node.state, style=_style(node.state), no_wrap=True),
            Text(node.message),
        )
    return table


def _style(state: str) -> str:
    return {"False": "yellow", "STOPPED": "yellow"}.get(state, "")


def _rows(
    node: Node, prefix: str = "", below: str = ""
) -> Iterator[tuple[str, Node]]:
    yield prefix, node
    for number, child in enumerate(node.children, 1):
        is_last = number == len(node.children)
        branch, trunk = ("└─", "  ") if is_last else ("├─", "│ ")
        yield from _rows(child, below + branch, below + trunk)
