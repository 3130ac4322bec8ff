"""The kinds that a cluster serves."""

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


#: Kinds whose storage version differs from the served version.
_STORED_VERSIONS = {
    "customresourcedefinitions.apiextensions.k8s.io": "v1beta1",
    "horizontalpodautoscalers.autoscaling": "v2",
}


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource, such as pods/eviction."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind in one version, as in discovery."""

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
    #: Storage key, the same for all versions of a kind.
    key: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the key."""
        object.__setattr__(self, "key", f"{self.plural}.{self.group}")

    @property
    def api_version(self) -> str:
        """Return the group and version as in apiVersion."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_stored(self) -> bool:
        """Return whether objects of the kind are stored."""
        return self.verbs != ("create",)

    @property
    def storage_hash(self) -> str:
        """Return storageVersionHash, computed as upstream."""
        version = _STORED_VERSIONS.get(self.key, self.version)
        identity = f"{self.group}/{version}/{self.kind}"
        digest = hashlib.sha256(identity.encode()).digest()
        return base64.b64encode(digest[:8]).decode()

    def subresource(self, name: str) -> Subresource | None:
        """Return a subresource by its path segment."""
        for one in self.subresources:
            if one.name == name:
                return one
        return None


class KindRegistry:
    """The built-in and custom kinds that are served now."""

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        self._by_key: dict[str, Kind] = {}
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        """Iterate over the kinds in all versions."""
        return iter(self._by_path.values())

    def add(self, kind: Kind) -> None:
        """Start serving a kind."""
        self._by_path[kind.group, kind.version, kind.plural] = kind
        self._by_kind[kind.api_version, kind.kind] = kind
        self._by_key.setdefault(kind.key, kind)

    def remove(self, kind: Kind) -> None:
        """Stop serving a kind."""
        self._by_path.pop((kind.group, kind.version, kind.plural), None)
        self._by_kind.pop((kind.api_version, kind.kind), None)
        self._by_key.pop(kind.key, None)

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        """Return a kind by group, version and plural."""
        return self._by_path.get((group, version, plural))

    def of(self, api_version: str, kind: str) -> Kind | None:
        """Return a kind by apiVersion and kind."""
        return self._by_kind.get((api_version, kind))

    def stored(self, key: str) -> Kind:
        """Return a kind by its storage key."""
        return self._by_key[key]

    def groups(self) -> dict[str, list[str]]:
        """List the versions of each group in the order of discovery."""
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
