"""Which ConfigMaps and Secrets a pod reads."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

Object = dict[str, Any]
#: (kind, name), of the API v1
Reference = tuple[str, str]
#: where a name stands -> the kind that it is of
Places = Mapping[tuple[str, ...], str]

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105  # a kind
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
#: in an envFrom entry, or the valueFrom of an env entry
_OF_ENTRIES: Final[Places] = {
    ("configMapKeyRef", "name"): CONFIG_MAP,
    ("configMapRef", "name"): CONFIG_MAP,
    ("secretKeyRef", "name"): SECRET,
    ("secretRef", "name"): SECRET,
}
#: in a volume; most of these Secrets are what it is mounted with
_OF_VOLUMES: Final[Places] = {
    ("configMap", "name"): CONFIG_MAP,
    ("secret", "secretName"): SECRET,
    ("azureFile", "secretName"): SECRET,
    ("cephfs", "secretRef", "name"): SECRET,
    ("cinder", "secretRef", "name"): SECRET,
    ("csi", "nodePublishSecretRef", "name"): SECRET,
    ("flexVolume", "secretRef", "name"): SECRET,
    ("iscsi", "secretRef", "name"): SECRET,
    ("rbd", "secretRef", "name"): SECRET,
    ("scaleIO", "secretRef", "name"): SECRET,
    ("storageos", "secretRef", "name"): SECRET,
}
#: in a source of a projected volume
_OF_SOURCES: Final[Places] = {
    ("configMap", "name"): CONFIG_MAP,
    ("secret", "name"): SECRET,
}
_OF_PULLS: Final[Places] = {("name",): SECRET}


def of_pod(spec: Object) -> frozenset[Reference]:
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


def readers(spec: Object, changed: Iterable[Reference]) -> frozenset[str]:
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


def _of_pulls(spec: Object) -> Iterator[Reference]:
    for pull in _list(spec, "imagePullSecrets"):
        yield from _named(pull, _OF_PULLS)


def _of_environment(container: Object) -> Iterator[Reference]:
    for entry in _list(container, "envFrom"):
        yield from _named(entry, _OF_ENTRIES)
    for entry in _list(container, "env"):
        yield from _named(entry.get("valueFrom") or {}, _OF_ENTRIES)


def _of_volume(volume: Object) -> Iterator[Reference]:
    yield from _named(volume, _OF_VOLUMES)
    for source in _list(volume.get("projected") or {}, "sources"):
        yield from _named(source, _OF_SOURCES)


def _named(body: Object, places: Places) -> Iterator[Reference]:
    for path, kind in places.items():
        found: Any = body
        for attribute in path:
            found = (found or {}).get(attribute)
        if found:
            yield kind, found
