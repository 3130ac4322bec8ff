"""Stacks and their resources, as Heat tells them."""

import itertools
import re
import urllib.parse
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

PORT: Final = "OS::Neutron::Port"

#: whose members have numbers for names, of which the highest goes first
RESOURCE_GROUP: Final = "OS::Heat::ResourceGroup"
#: whose members come and go in number; of all but NUMBERED, the unhealthy go
#: first
GROUP_TYPES: Final = frozenset(
    {
        "OS::Heat::AutoScalingGroup",
        "OS::Heat::InstanceGroup",
        RESOURCE_GROUP,
        "AWS::AutoScaling::AutoScalingGroup",
    }
)

#: the number of a resource that the template names by itself: VDU1-0
NUMBER_SUFFIX: Final = re.compile(r"-\d+$")


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """A stack at one moment."""

    id: str
    name: str = msgspec.field(name="stack_name")
    #: CREATE_IN_PROGRESS, UPDATE_COMPLETE, DELETE_FAILED ...
    status: str = msgspec.field(name="stack_status")
    reason: str | None = msgspec.field(
        name="stack_status_reason", default=None
    )
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    links: tuple[dict[str, str], ...] = ()

    def __str__(self) -> str:
        return f"Stack {self.name} ({self.status})"

    @property
    def identity(self) -> str:
        """How Heat finds it without a detour."""
        return f"{self.name}/{self.id}"

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
        """The parameter "nfv", by which packages are told."""
        raw = self.parameters.get("nfv") or "{}"
        decoded: Any = raw if isinstance(raw, dict) else _decode_json(raw)
        return decoded if isinstance(decoded, dict) else {}


def _decode_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of a stack, or of one that is nested in it."""

    name: str = msgspec.field(name="resource_name")
    type: str = msgspec.field(name="resource_type")
    status: str = msgspec.field(name="resource_status", default="")
    reason: str | None = msgspec.field(
        name="resource_status_reason", default=None
    )
    #: as Nova, Neutron or Cinder know it; of a nested stack its id
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
        """The stack that it stands in, as NAME/ID."""
        return _identity(self._link("stack"))

    @property
    def nested(self) -> str:
        """The stack that it is, as NAME/ID; empty: it is none."""
        return _identity(self._link("nested"))

    def _link(self, rel: str) -> str:
        return next((x["href"] for x in self.links if x["rel"] == rel), "")


def _identity(href: str) -> str:
    path = urllib.parse.urlsplit(href).path
    _, _, identity = path.partition("/stacks/")
    return "/".join(urllib.parse.unquote(identity).split("/")[:2])


class Tree:
    """The resources of a stack and of all that are nested in it."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self.resources = tuple(resources)
        self._owners: Mapping[str, Resource] = {
            r.nested: r for r in self.resources if r.nested
        }

    @property
    def is_busy(self) -> bool:
        """Whether Heat works on any of them."""
        return any(one.is_busy for one in self.resources)

    def without(self, physical_ids: Collection[str]) -> "Tree":
        """Leave some resources out."""
        return Tree(
            one
            for one in self.resources
            if one.physical_id not in physical_ids
        )

    def of_type(self, kind: str) -> list[Resource]:
        """Give those that exist of one type."""
        return [
            r
            for r in self.resources
            if r.type == kind
            and r.physical_id
            and not r.status.startswith("DELETE")
        ]

    def siblings(self, resource: Resource, kind: str) -> list[Resource]:
        """Give those of one type in the same stack."""
        return [r for r in self.of_type(kind) if r.stack == resource.stack]

    def find_for_server(self, name: str, server: Resource) -> Resource | None:
        """Return the resource of a name that belongs to a server: of several
        numbered ones in one stack, that of the server's number.
        """
        number = NUMBER_SUFFIX.search(server.name)
        full = f"{name}{number[0]}" if number else name
        for resource in self.resources:
            if (resource.stack, resource.name) == (server.stack, full):
                return resource
        return None

    def ancestors(self, resource: Resource) -> list[Resource]:
        """Give a resource, what it is nested in, and so on."""
        found: list[Resource] = []
        one: Resource | None = resource
        while one is not None:
            found.append(one)
            one = self._owners.get(one.stack)
        return found

    def member(self, resource: Resource) -> Resource | None:
        """Give the member of a group in which a resource is, or which it is;
        None: it is in none.
        """
        ancestors = self.ancestors(resource)
        for one, owner in itertools.pairwise(ancestors):
            if owner.type in GROUP_TYPES:
                return one
        return None

    def group_index(self, member: Resource) -> int | None:
        """Give the number of a member of a group that numbers them; None: it
        is in another.
        """
        owner = self._owners.get(member.stack)
        if owner is None or owner.type != RESOURCE_GROUP:
            return None
        return int(member.name)
