"""Find what a command names: by id, or by a name that only one has."""

import contextlib
import http
import uuid
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.failures import NotFound, RequestRejected, UsageError
from tacker_cnf.cli.rest_client import (
    INSTANCES,
    OP_OCCS,
    PACKAGES,
    VIMS,
    RestClient,
)
from tacker_cnf.cli.vnf_types import Vim, VimList, VnfInstance, VnfPackage


class Resource(Protocol):
    """A value with an id."""

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=Resource)


def find_instance(client: RestClient, reference: str) -> VnfInstance:
    """Return the VNF instance with an id or a name.

    :raises UsageError: there is none, or the name is not unique
    """
    return _find(client, INSTANCES, reference, "vnfInstanceName", VnfInstance)


def instance_names(client: RestClient) -> Mapping[str, str]:
    """Return the names of the VNF instances that the user may list."""
    try:
        found = list(client.list_all(INSTANCES))
    except RequestRejected as error:
        if error.status != http.HTTPStatus.FORBIDDEN:
            raise
        return {}
    instances = (convert(value, VnfInstance) for value in found)
    return {one.id: one.vnf_instance_name for one in instances}


def find_package(client: RestClient, reference: str) -> VnfPackage:
    """Return the VNF package with an id, or with the id of its VNFD.

    :raises UsageError: there is none
    """
    return _find(client, PACKAGES, reference, "vnfdId", VnfPackage)


def list_vims(client: RestClient) -> Sequence[Vim]:
    """Return the registered VIMs."""
    return convert(client.get(VIMS), VimList).vims


def find_vim(client: RestClient, reference: str) -> Vim:
    """Return the VIM with an id or a name.

    :raises UsageError: there is none, or the name is not unique
    """
    vims = list_vims(client)
    by_id = [vim for vim in vims if vim.id == reference]
    found = by_id or [vim for vim in vims if vim.name == reference]
    return _only(found, reference, "VIM")


def resource_path(collection: str, resource_id: str) -> str:
    """Return the path of a resource.

    :raises UsageError: its id cannot be one
    """
    try:
        return f"{collection}/{uuid.UUID(resource_id)}"
    except ValueError:
        raise UsageError(
            f"{resource_id!r} is not an id, which is a UUID."
        ) from None


def op_occ_path(op_occ_id: str) -> str:
    return resource_path(OP_OCCS, op_occ_id)


def _find(
    client: RestClient,
    collection: str,
    reference: str,
    attribute: str,
    kind: type[R],
) -> R:
    found = []
    with contextlib.suppress(NotFound, UsageError):  # it may be a name
        found.append(client.get(resource_path(collection, reference)))
    if not found:
        quoted = reference.replace("'", "''")
        query = {"filter": f"(eq,{attribute},'{quoted}')"}
        found = list(client.list_all(collection, query))
    name = "VNF package" if kind is VnfPackage else "VNF instance"
    return _only([convert(value, kind) for value in found], reference, name)


def _only(found: Sequence[R], reference: str, kind: str) -> R:
    if not found:
        raise UsageError(f"There is no {kind} {reference!r}.")
    if len(found) > 1:
        ids = ", ".join(resource.id for resource in found)
        raise UsageError(
            f"{len(found)} have the name {reference!r}, so name the {kind} "
            f"by its id: {ids}."
        )
    return found[0]
