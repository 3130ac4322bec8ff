"""The kinds a cluster serves, and how one is found by its path."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

STANDARD_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


#: Kinds whose objects a server keeps in another version than it serves.
_STORED_VERSIONS = {
    "customresourcedefinitions.apiextensions.k8s.io": "v1beta1",
    "horizontalpodautoscalers.autoscaling": "v2",
}


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object, like pods/eviction."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind in one version, as discovery tells it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS
    subresources: tuple[Subresource, ...] = ()
    list_kind: str = ""
    custom: bool = False
    #: Where objects lie, whatever version they are read in.
    key: str = field(init=False)

    def __post_init__(self) -> None:
        """Work out the key."""
        object.__setattr__(self, "key", f"{self.plural}.{self.group}")

    @property
    def api_version(self) -> str:
        """Write group and version as apiVersion does."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_stored(self) -> bool:
        """Check whether objects of the kind are kept, or only answered."""
        return self.verbs != ("create",)

    @property
    def storage_hash(self) -> str:
        """Tell discovery's storageVersionHash, worked out as upstream."""
        version = _STORED_VERSIONS.get(self.key, self.version)
        told = f"{self.group}/{version}/{self.kind}"
        digest = hashlib.sha256(told.encode()).digest()
        return base64.b64encode(digest[:8]).decode()

    def subresource(self, name: str) -> Subresource | None:
        """Find a subresource by its path segment."""
        for one in self.subresources:
            if one.name == name:
                return one
        return None


class KindRegistry:
    """The kinds that are served now: the built-in ones and the custom."""

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        self._by_key: dict[str, Kind] = {}
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        """Go through the kinds of every version."""
        return iter(self._by_path.values())

    def add(self, kind: Kind) -> None:
        """Begin to serve a kind."""
        self._by_path[kind.group, kind.version, kind.plural] = kind
        self._by_kind[kind.api_version, kind.kind] = kind
        self._by_key.setdefault(kind.key, kind)

    def remove(self, kind: Kind) -> None:
        """Serve a kind no longer."""
        self._by_path.pop((kind.group, kind.version, kind.plural), None)
        self._by_kind.pop((kind.api_version, kind.kind), None)
        self._by_key.pop(kind.key, None)

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        """Find a kind by the segments of its path."""
        return self._by_path.get((group, version, plural))

    def of(self, api_version: str, kind: str) -> Kind | None:
        """Find a kind by what an object says of itself."""
        return self._by_kind.get((api_version, kind))

    def stored(self, key: str) -> Kind:
        """Find a kind by where its objects lie."""
        return self._by_key[key]

    def groups(self) -> dict[str, list[str]]:
        """List the versions of each named group, in order of service."""
        groups: dict[str, list[str]] = {}
        for kind in self._by_path.values():
            versions = groups.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        return groups

    def in_version(self, group: str, version: str) -> list[Kind]:
        """List the kinds of a group and version by plural."""
        found = (
            kind
            for kind in self._by_path.values()
            if (kind.group, kind.version) == (group, version)
        )
        return sorted(found, key=lambda kind: kind.plural)
