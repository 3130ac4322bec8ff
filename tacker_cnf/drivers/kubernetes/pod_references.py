"""References of pods to ConfigMaps and Secrets."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.objects import Object

#: (kind, name) of an object of the core API
Reference = tuple[str, str]
#: path to a name -> kind of the object that it refers to
ReferencePaths = Mapping[tuple[str, ...], str]

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105  # a kind
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
#: in an entry of envFrom, or in valueFrom of an entry of env
_ENV_PATHS: Final[ReferencePaths] = {
    ("configMapKeyRef", "name"): CONFIG_MAP,
    ("configMapRef", "name"): CONFIG_MAP,
    ("secretKeyRef", "name"): SECRET,
    ("secretRef", "name"): SECRET,
}
#: in a volume; most of these Secrets are credentials for mounting it
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
    """Return everything that a pod refers to."""
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
    """Return the names of the containers, of any type, that refer to one of
    some objects.
    """
    references = set(changed)
    volumes = {
        volume["name"]
        for volume in _list(spec, "volumes")
        if references & set(_volume_references(volume))
    }
    pulled = bool(references & set(_pull_secrets(spec)))
    return frozenset(
        container["name"]
        for kind in _CONTAINERS
        for container in _list(spec, kind)
        if pulled
        or references & set(_env_references(container))
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
