"""Which ConfigMaps and Secrets a pod reads."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

Object = dict[str, Any]
#: (kind, name)
Key = tuple[str, str]

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105  # a kind
#: attribute of an env or envFrom entry -> the kind it names
_SOURCES: Final = {
    "configMapKeyRef": CONFIG_MAP,
    "configMapRef": CONFIG_MAP,
    "secretKeyRef": SECRET,
    "secretRef": SECRET,
}
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def of_pod(spec: Object) -> frozenset[Key]:
    """Tell what a pod reads in whatever way."""
    return frozenset(
        {
            *_of_pulls(spec),
            *(key for v in _list(spec, "volumes") for key in _of_volume(v)),
            *(
                key
                for kind in _CONTAINERS
                for container in _list(spec, kind)
                for key in _of_environment(container)
            ),
        }
    )


def readers(spec: Object, changed: Iterable[Key]) -> frozenset[str]:
    """Tell the containers of a pod that read any of these; those too that
    run before the others, or were added by hand.
    """
    wanted = set(changed)
    volumes = {
        volume["name"]
        for volume in _list(spec, "volumes")
        if wanted & set(_of_volume(volume))
    }
    pulled = bool(wanted & set(_of_pulls(spec)))
    return frozenset(
        container["name"]
        for kind in _CONTAINERS
        for container in _list(spec, kind)
        if pulled
        or wanted & set(_of_environment(container))
        or volumes & {m["name"] for m in _list(container, "volumeMounts")}
    )


def _list(body: Object, name: str) -> list[Object]:
    return body.get(name) or []


def _of_pulls(spec: Object) -> Iterator[Key]:
    for pull in _list(spec, "imagePullSecrets"):
        yield SECRET, pull.get("name", "")


def _of_environment(container: Object) -> Iterator[Key]:
    entries = [
        *_list(container, "envFrom"),
        *(one.get("valueFrom") or {} for one in _list(container, "env")),
    ]
    for entry in entries:
        for attribute, kind in _SOURCES.items():
            if source := entry.get(attribute):
                yield kind, source.get("name", "")


def _of_volume(volume: Object) -> Iterator[Key]:
    if config_map := volume.get("configMap"):
        yield CONFIG_MAP, config_map.get("name", "")
    if secret := volume.get("secret"):
        yield SECRET, secret.get("secretName", "")
    for source in _list(volume.get("projected") or {}, "sources"):
        if config_map := source.get("configMap"):
            yield CONFIG_MAP, config_map.get("name", "")
        if secret := source.get("secret"):
            yield SECRET, secret.get("name", "")
