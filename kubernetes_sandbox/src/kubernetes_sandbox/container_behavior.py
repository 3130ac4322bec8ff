"""Simulated container behaviour, selected by image name and command."""

import enum
from collections.abc import Callable, Iterator

from kubernetes_sandbox.objects import Obj


class Behavior(enum.Enum):
    """What a container does after it was created."""

    RUNS = enum.auto()
    PULL_FAILS = enum.auto()
    CRASHES = enum.auto()
    COMPLETES = enum.auto()


def _fails(container: Obj) -> bool:
    words = [
        *(container.get("command") or ()),
        *(container.get("args") or ()),
    ]
    return "exit 1" in " ".join(words) or words[:1] == ["false"]


def completes_immediately(container: Obj) -> bool:
    """Return whether a container exits before it becomes ready."""
    return container.get("command") == ["true"]


def behavior_of(container: Obj, *, finite: bool) -> Behavior:
    """Return the behaviour of a container.

    :param finite: whether containers run to completion
    """
    image = container["image"]
    if "invalid" in image:
        return Behavior.PULL_FAILS
    if image.rpartition("/")[2].startswith("crash") or _fails(container):
        return Behavior.CRASHES
    return Behavior.COMPLETES if finite else Behavior.RUNS


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
    """Return an error message if a referenced object does not exist."""
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
