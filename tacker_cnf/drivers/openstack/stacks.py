"""Stacks and their resources, as Heat returns them."""

import itertools
import re
import urllib.parse
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from tacker_cnf.drivers.path_segment import quote

PORT: Final = "OS::Neutron::Port"

#: a group with numbered members, of which it removes the highest first
RESOURCE_GROUP: Final = "OS::Heat::ResourceGroup"
#: types of groups; all but RESOURCE_GROUP remove unhealthy members first
GROUP_TYPES: Final = frozenset(
    {
        "OS::Heat::AutoScalingGroup",
        "OS::Heat::InstanceGroup",
        RESOURCE_GROUP,
        "AWS::AutoScaling::AutoScalingGroup",
    }
)

#: the number in the name of a resource outside of groups: VDU1-0
NUMBER_SUFFIX: Final = re.compile(r"-\d+$")


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a stack when it was read."""

    id: str
    name: str = msgspec.field(name="stack_name")
    #: CREATE_IN_PROGRESS, UPDATE_COMPLETE, DELETE_FAILED ...
    status: str = msgspec.field(name="stack_status")
    reason: str | None = msgspec.field(
        name="stack_status_reason", default=None
    )
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    links: tuple[dict[str, str], ...] = ()
    tags: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"Stack {self.name} ({self.status})"

    @property
    def identity(self) -> str:
        """NAME/ID, which Heat resolves without a redirect."""
        return f"{quote(self.name)}/{quote(self.id)}"

    @property
    def action(self) -> str:
        return self.status.split("_", 1)[0]

    @property
    def is_busy(self) -> bool:
        return self.status.endswith("_IN_PROGRESS")

    @property
    def has_failed(self) -> bool:
        return self.status.endswith("_FAILED")

    @property
    def nfv(self) -> dict[str, Any]:
        """The parameter "nfv": {"VDU": {name: {...}}, "CP": {name: {...}}}."""
        raw = self.parameters.get("nfv") or "{}"
        decoded: Any = raw if isinstance(raw, dict) else _decode_json(raw)
        return decoded if isinstance(decoded, dict) else {}


def _decode_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of a stack or of a nested stack."""

    name: str = msgspec.field(name="resource_name")
    type: str = msgspec.field(name="resource_type")
    status: str = msgspec.field(name="resource_status", default="")
    reason: str | None = msgspec.field(
        name="resource_status_reason", default=None
    )
    #: its id in Nova, Neutron or Cinder; the id of a nested stack
    physical_id: str = msgspec.field(name="physical_resource_id", default="")
    #: ISO 8601, in seconds
    created: str = msgspec.field(name="creation_time", default="")
    required_by: tuple[str, ...] = ()
    links: tuple[dict[str, str], ...] = ()

    @property
    def is_busy(self) -> bool:
        return self.status.endswith("_IN_PROGRESS")

    @property
    def stack(self) -> str:
        """The stack that contains it, as NAME/ID."""
        return _identity(self._link("stack"))

    @property
    def nested(self) -> str:
        """The nested stack of the resource, as NAME/ID; empty: none."""
        return _identity(self._link("nested"))

    def _link(self, rel: str) -> str:
        return next((x["href"] for x in self.links if x["rel"] == rel), "")


def _identity(href: str) -> str:
    path = urllib.parse.urlsplit(href).path
    _, _, identity = path.partition("/stacks/")
    segments = urllib.parse.unquote(identity).split("/")[:2]
    return "/".join(quote(segment) for segment in segments if segment)


class Tree:
    """The resources of a stack and of all nested stacks."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self.resources = tuple(resources)
        self._owners: Mapping[str, Resource] = {
            r.nested: r for r in self.resources if r.nested
        }

    @property
    def is_busy(self) -> bool:
        """Whether any resource is in progress."""
        return any(resource.is_busy for resource in self.resources)

    def without(self, physical_ids: Collection[str]) -> "Tree":
        """Return a tree without the resources of these ids."""
        return Tree(
            resource
            for resource in self.resources
            if resource.physical_id not in physical_ids
        )

    def of_type(self, kind: str) -> list[Resource]:
        """List the existing resources of one type."""
        return [
            r
            for r in self.resources
            if r.type == kind
            and r.physical_id
            and not r.status.startswith("DELETE")
        ]

    def siblings(self, resource: Resource, kind: str) -> list[Resource]:
        """List the resources of one type in the same stack."""
        return [r for r in self.of_type(kind) if r.stack == resource.stack]

    def find_for_server(self, name: str, server: Resource) -> Resource | None:
        """Find a resource in the stack of a server, by name; if the server is
        numbered, by name and number. None: not found.
        """
        number = NUMBER_SUFFIX.search(server.name)
        full = f"{name}{number[0]}" if number else name
        for resource in self.resources:
            if (resource.stack, resource.name) == (server.stack, full):
                return resource
        return None

    def ancestors(self, resource: Resource) -> list[Resource]:
        """Return a resource and the resources that contain it, inner first."""
        found: list[Resource] = []
        current: Resource | None = resource
        while current is not None:
            found.append(current)
            current = self._owners.get(current.stack)
        return found

    def member(self, resource: Resource) -> Resource | None:
        """Return the group member that a resource is or is part of; None: it
        is in no group.
        """
        ancestors = self.ancestors(resource)
        for inner, owner in itertools.pairwise(ancestors):
            if owner.type in GROUP_TYPES:
                return inner
        return None

    def group_index(self, member: Resource) -> int | None:
        """Return the index of a member in its ResourceGroup; None: it is in
        another type of group.
        """
        owner = self._owners.get(member.stack)
        if owner is None or owner.type != RESOURCE_GROUP:
            return None
        return int(member.name)
