"""Which ConfigMaps and Secrets a pod reads."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

Object = dict[str, Any]
#: (kind, name), of the API v1
Reference = tuple[str, str]
#: where a name stands -> the kind that it is of
ReferencePaths = Mapping[tuple[str, ...], str]

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105  # a kind
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
#: in an envFrom entry, or the valueFrom of an env entry
_ENV_PATHS: Final[ReferencePaths] = {
    ("configMapKeyRef", "name"): CONFIG_MAP,
    ("configMapRef", "name"): CONFIG_MAP,
    ("secretKeyRef", "name"): SECRET,
    ("secretRef", "name"): SECRET,
}
#: in a volume; most of these Secrets are what it is mounted with
_VOLUME_PATHS: Final[ReferencePaths] = {
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
_PROJECTED_PATHS: Final[ReferencePaths] = {
    ("configMap", "name"): CONFIG_MAP,
    ("secret", "name"): SECRET,
}
_PULL_SECRET_PATHS: Final[ReferencePaths] = {("name",): SECRET}


def pod_reads(spec: Object) -> frozenset[Reference]:
    """Tell what a pod reads in whatever way."""
    return frozenset(
        {
            *_pull_secrets(spec),
            *(
                key
                for v in _list(spec, "volumes")
                for key in _volume_references(v)
            ),
            *(
                key
                for kind in _CONTAINERS
                for container in _list(spec, kind)
                for key in _env_references(container)
            ),
        }
    )


def reading_containers(
    spec: Object, changed: Iterable[Reference]
) -> frozenset[str]:
    """Tell the containers of a pod that read any of these; those too that
    run before the others, or were added by hand.
    """
    wanted = set(changed)
    volumes = {
        volume["name"]
        for volume in _list(spec, "volumes")
        if wanted & set(_volume_references(volume))
    }
    pulled = bool(wanted & set(_pull_secrets(spec)))
    return frozenset(
        container["name"]
        for kind in _CONTAINERS
        for container in _list(spec, kind)
        if pulled
        or wanted & set(_env_references(container))
        or volumes & {m["name"] for m in _list(container, "volumeMounts")}
    )


def _list(body: Object, name: str) -> list[Object]:
    return body.get(name) or []


def _pull_secrets(spec: Object) -> Iterator[Reference]:
    for pull in _list(spec, "imagePullSecrets"):
        yield from _references_at(pull, _PULL_SECRET_PATHS)


def _env_references(container: Object) -> Iterator[Reference]:
    for entry in _list(container, "envFrom"):
        yield from _references_at(entry, _ENV_PATHS)
    for entry in _list(container, "env"):
        yield from _references_at(entry.get("valueFrom") or {}, _ENV_PATHS)


def _volume_references(volume: Object) -> Iterator[Reference]:
    yield from _references_at(volume, _VOLUME_PATHS)
    for source in _list(volume.get("projected") or {}, "sources"):
        yield from _references_at(source, _PROJECTED_PATHS)


def _references_at(body: Object, paths: ReferencePaths) -> Iterator[Reference]:
    for path, kind in paths.items():
        found: Any = body
        for attribute in path:
            found = (found or {}).get(attribute)
        if found:
            yield kind, found
