"""What becomes of a container: its image's name or its command decides."""

import enum
from collections.abc import Callable, Iterator

from kubernetes_sandbox.objects import Obj


class Fate(enum.Enum):
    """How a container ends, if it does."""

    RUNS = enum.auto()
    CANNOT_PULL = enum.auto()
    CRASHES = enum.auto()
    COMPLETES = enum.auto()


def _fails(container: Obj) -> bool:
    words = [
        *(container.get("command") or ()),
        *(container.get("args") or ()),
    ]
    return "exit 1" in " ".join(words) or words[:1] == ["false"]


def is_over_at_once(container: Obj) -> bool:
    """Tell whether a container ends before anybody saw it ready."""
    return container.get("command") == ["true"]


def fate_of(container: Obj, *, finite: bool) -> Fate:
    """Tell what becomes of a container; ``finite`` ones are to end."""
    image = container["image"]
    if "invalid" in image:
        return Fate.CANNOT_PULL
    if image.rpartition("/")[2].startswith("crash") or _fails(container):
        return Fate.CRASHES
    return Fate.COMPLETES if finite else Fate.RUNS


_SOURCES = (
    ("configMapRef", "configMapKeyRef", "configmap"),
    ("secretRef", "secretKeyRef", "secret"),
)


def _references(container: Obj) -> Iterator[tuple[str, Obj]]:
    for source in container.get("envFrom") or ():
        for whole, _, kind in _SOURCES:
            if whole in source:
                yield kind, source[whole]
    for variable in container.get("env") or ():
        value = variable.get("valueFrom") or {}
        for _, single, kind in _SOURCES:
            if single in value:
                yield kind, value[single]


def missing_reference(
    container: Obj, find: Callable[[str, str], Obj | None]
) -> str | None:
    """Name the ConfigMap or Secret that a container refers to in vain."""
    for kind, reference in _references(container):
        if reference.get("optional"):
            continue
        name = reference.get("name", "")
        found = find(kind, name)
        if found is None:
            return f'{kind} "{name}" not found'
        key = reference.get("key")
        if key and key not in (found.get("data") or {}):
            return f"couldn't find key {key} in {kind} {name}"
    return None
