"""The command that describes a VNF instance as a tree."""

import argparse
import http
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.commands import ClientCommand
from tacker_cnf.cli.failures import RequestRejected
from tacker_cnf.cli.op_display import open_console
from tacker_cnf.cli.op_types import OpOcc
from tacker_cnf.cli.references import (
    find_instance,
    list_vims,
    resource_path,
)
from tacker_cnf.cli.rest_client import INSTANCES, OP_OCCS, RestClient
from tacker_cnf.cli.vnf_commands import add_reference
from tacker_cnf.cli.vnf_types import (
    InstantiatedVnfInfo,
    ResourceHandle,
    Vim,
    VnfcInfo,
    VnfcResourceInfo,
    VnfInstance,
)

#: operations that hold the instance
_HOLDING: Final = (
    "(in,operationState,STARTING,PROCESSING,ROLLING_BACK,FAILED_TEMP)"
)


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
        # a list has no instantiatedVnfInfo
        value = self.client.get(resource_path(INSTANCES, found.id))
        root = build(
            convert(value, VnfInstance),
            _holding_operation(self.client, found.id),
            _visible_vims(self.client),
        )
        open_console(self.app.stdout).print(render(root))


def _visible_vims(client: RestClient) -> Sequence[Vim] | None:
    """Return the registered VIMs; None: the user may not list them."""
    try:
        return list_vims(client)
    except RequestRejected as error:
        if error.status != http.HTTPStatus.FORBIDDEN:
            raise
        return None


def _holding_operation(client: RestClient, instance_id: str) -> OpOcc | None:
    expression = f"(eq,vnfInstanceId,{instance_id});{_HOLDING}"
    found = client.list_all(OP_OCCS, {"filter": expression})
    return next((convert(value, OpOcc) for value in found), None)


def build(
    instance: VnfInstance, op_occ: OpOcc | None, vims: Sequence[Vim] | None
) -> Node:
    """Return the tree of a VNF instance.

    :param op_occ: the operation that holds it
    :param vims: the registered VIMs; None: they are unknown
    """
    info = instance.instantiated_vnf_info or InstantiatedVnfInfo()
    conditions = (
        Node("Instantiated", str(instance.instantiated_vnf_info is not None)),
        Node("Started", str(info.vnf_state == "STARTED")),
        _operation(op_occ),
        *_reachable_vims(instance, vims),
    )
    return Node(
        f"VNF/{instance.display_name}",
        instance.instantiation_state,
        f"{instance.vnf_product_name} {instance.vnf_software_version}",
        (
            Node("Conditions", children=conditions),
            *_group("Scale levels", _levels(info)),
            *_vdus(info),
            *_group("Storage", _storages(info)),
            *_group("Links", _links(info)),
        ),
    )


def _group(name: str, children: Iterator[Node]) -> Iterator[Node]:
    if nodes := tuple(children):
        yield Node(name, children=nodes)


def _operation(op_occ: OpOcc | None) -> Node:
    if op_occ is None:
        return Node("OperationInProgress", "False")
    words = [op_occ.operation, op_occ.operation_state, op_occ.id]
    return Node("OperationInProgress", "True", " ".join(words))


def _reachable_vims(
    instance: VnfInstance, vims: Sequence[Vim] | None
) -> Iterator[Node]:
    if vims is None:
        return
    registered = {vim.id: vim for vim in vims}
    for name, connection in instance.vim_connection_info.items():
        vim = registered.get(connection.vim_id)
        if vim is None:
            yield Node(f"VimReachable/{name}", "Unknown", connection.vim_type)
        else:
            state = str(vim.status == "REACHABLE")
            yield Node(f"VimReachable/{name}", state, vim.name)


def _levels(info: InstantiatedVnfInfo) -> Iterator[Node]:
    limits = {one.aspect_id: one.scale_level for one in info.max_scale_levels}
    for one in info.scale_status:
        limit = limits.get(one.aspect_id)
        state = f"{one.scale_level}" + (f" of {limit}" if limit else "")
        yield Node(f"Aspect/{one.aspect_id}", state)


def _vdus(info: InstantiatedVnfInfo) -> Iterator[Node]:
    vnfcs = {vnfc.vnfc_resource_info_id: vnfc for vnfc in info.vnfc_info}
    vdus = dict.fromkeys(vnfc.vdu_id for vnfc in info.vnfc_resource_info)
    for vdu in vdus:
        children = tuple(
            _vnfc(resource, vnfcs.get(resource.id))
            for resource in info.vnfc_resource_info
            if resource.vdu_id == vdu
        )
        started = sum(child.state == "STARTED" for child in children)
        state = f"{started}/{len(children)} started"
        yield Node(f"VDU/{vdu}", state, children=children)


def _vnfc(resource: VnfcResourceInfo, vnfc: VnfcInfo | None) -> Node:
    name, state = resource.id, ""
    if vnfc:
        name, state = vnfc.id, vnfc.vnfc_state
    message = _describe(resource.compute_resource)
    if resource.zone_id:
        message += f" in zone {resource.zone_id}"
    return Node(f"VNFC/{name}", state, message)


def _describe(handle: ResourceHandle) -> str:
    kind = handle.vim_level_resource_type
    return f"{handle.resource_id} ({kind})" if kind else handle.resource_id


def _storages(info: InstantiatedVnfInfo) -> Iterator[Node]:
    for one in info.virtual_storage_resource_info:
        message = _describe(one.storage_resource)
        yield Node(f"Storage/{one.virtual_storage_desc_id}", "", message)


def _links(info: InstantiatedVnfInfo) -> Iterator[Node]:
    for internal in info.vnf_virtual_link_resource_info:
        name = f"VirtualLink/{internal.vnf_virtual_link_desc_id}"
        yield Node(name, "", _describe(internal.network_resource))
    for external in info.ext_virtual_link_info:
        name = f"ExternalVirtualLink/{external.id}"
        yield Node(name, "", _describe(external.resource_handle))


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
