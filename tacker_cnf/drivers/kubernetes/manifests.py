"""What a package says is to be made in a cluster."""

import contextlib
import copy
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes.api_errors import Invalid
from tacker_cnf.lcm.target import Target, flavour_of
from tacker_cnf.vnfd import bounded_yaml

Object = dict[str, Any]
#: group, kind and name
Key = tuple[str, str, str]

INSTANCE_LABEL: Final = "tacker_vnf_instance_id"
VDU_LABEL: Final = "tacker_vdu_id"

#: kinds a VDU may be, and whether their number can be set
SCALABLE: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})
VDU_KINDS: Final = SCALABLE | {"DaemonSet", "Pod"}
#: kinds that make pods by a template at spec.template
POD_TEMPLATE_KINDS: Final = SCALABLE | {
    "DaemonSet",
    "Job",
    "ReplicationController",
}
#: what heal of the whole VNF leaves: it holds data, or others depend on it
RETAINED_KINDS: Final = frozenset(
    {
        "CustomResourceDefinition",
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
    }
)
#: what cannot change once it is created
IMMUTABLE_KINDS: Final = frozenset({"ControllerRevision"})
#: what has to be there before others can be made
CREATE_FIRST: Final = ("Namespace", "CustomResourceDefinition")


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that a VDU is mapped to."""

    kind: str
    name: str


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of instantiation that this driver reads."""

    def_files: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = (
        msgspec.field(name="lcm-kubernetes-def-files")
    )
    namespace: str | None = None
    #: VDU -> key of the vimConnectionInfo that it is to be on
    vim_connections: Mapping[str, str] = {}
    #: VDU -> its workload, where properties.name of the VNFD does not say it
    vdu_mapping: Mapping[str, Workload] = {}
    #: (apiVersion, kind) of all that the instance may have, once it runs
    object_kinds: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Manifest:
    """One object to be made."""

    body: Object
    #: the VDU whose VNFCs are this workload's pods
    vdu_id: str | None = None
    #: of the package, that it is from
    file: str = ""

    @property
    def api_version(self) -> str:
        return str(self.body["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"].get("name", ""))

    @property
    def key(self) -> Key:
        """What tells it from others."""
        return self.key_of(self.body)

    def key_of(self, body: Object) -> Key:
        """Give the key of an object of the same kind."""
        group, _, _ = self.api_version.rpartition("/")
        return group, self.kind, str(body["metadata"].get("name", ""))

    @property
    def is_core(self) -> bool:
        """Whether it is of the API of which pods name others by kind and
        name alone.
        """
        return self.api_version == "v1"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @contextlib.contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Name the manifest where the cluster says what is invalid.

        :raises VimRejected: the cluster says so
        """
        try:
            yield
        except Invalid as error:
            raise errors.VimRejected(
                f"The manifest {self.file}: {self}: {error}"
            ) from None


@dataclasses.dataclass(frozen=True)
class Rendered:
    """All that an instance is made of at one target."""

    instance_id: str
    namespace: str
    def_files: tuple[str, ...]
    #: in the order in which they are made
    objects: tuple[Manifest, ...]
    counts: Mapping[str, int]
    #: (apiVersion, kind) of what it may have of packages that it had
    previous_kinds: frozenset[tuple[str, str]] = frozenset()
    vdu_mapping: Mapping[str, Workload] = dataclasses.field(
        default_factory=dict
    )

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """(apiVersion, kind) of whatever the instance may have."""
        current = {(m.api_version, m.kind) for m in self.objects}
        return self.previous_kinds | current

    @property
    def workloads(self) -> Mapping[str, Manifest]:
        """VDU -> the workload that it is."""
        return {m.vdu_id: m for m in self.objects if m.vdu_id}

    @property
    def selector(self) -> str:
        """The label selector of all that belongs to the instance."""
        return f"{INSTANCE_LABEL}={self.instance_id}"


def parameters_of(target: Target) -> Parameters:
    """Read the parameters of a target.

    :raises InvalidParameters: they are missing or malformed
    """
    return parameters.read(target.parameters, Parameters)


def render(task: InfraTask, target: Target) -> Rendered:
    """Make the manifests of an instance from its package.

    :raises InvalidParameters: a file is missing or is no manifest, or the
        objects do not share one namespace
    """
    params = parameters_of(target)
    loaded = load(task.package, params.def_files)
    namespace = params.namespace or _common_namespace(loaded)
    vdus = _vdus(task.package, target, params.vdu_mapping)
    objects = [
        _label_and_scale(one, task.instance.id, namespace, vdus, target)
        for one in loaded
    ]
    return Rendered(
        instance_id=task.instance.id,
        namespace=namespace,
        def_files=params.def_files,
        objects=tuple(sort_for_creation(objects)),
        counts=target.counts,
        previous_kinds=frozenset(params.object_kinds),
        vdu_mapping=params.vdu_mapping,
    )


def namespace_of(
    params: Mapping[str, Any], package: UnpackedPackage | None
) -> str:
    """Read the namespace of an instance from the parameters of its
    instantiation, or from its package, if that is still there.

    :raises InvalidParameters: they are missing or malformed
    """
    parsed = parameters.read(params, Parameters)
    if parsed.namespace or package is None:
        return parsed.namespace or "default"
    return _common_namespace(load(package, parsed.def_files))


def describe_missing(
    manifest: Manifest, before: Rendered, after: Rendered
) -> str:
    """Tell, and what may be done, that the next package lacks what an
    instance has.
    """
    if manifest.key in {one.key for one in after.objects}:
        return (
            f"{manifest}, which the VNF instance has, is in the new package, "
            "and the VNFD names the VDU otherwise (properties.name). Correct "
            "the VNFD, or give additionalParams.vdu_mapping."
        )
    others = [
        one.kind
        for one in after.objects
        if one.name == manifest.name and one.kind in VDU_KINDS
    ]
    return (
        f"{manifest} in namespace {before.namespace}, which the VNF instance "
        f"has, is in none of {', '.join(after.def_files)} of the new package"
        + (f"; these have a {others[0]} of that name" if others else "")
        + ". Its kind and name cannot change: name the file that has it, or "
        "correct the package."
    )


def sort_for_creation(objects: Iterable[Manifest]) -> list[Manifest]:
    """Put what others need before them."""
    return sorted(
        objects,
        key=lambda m: (
            CREATE_FIRST.index(m.kind) if m.kind in CREATE_FIRST else 9
        ),
    )


def _vdus(
    package: UnpackedPackage, target: Target, mapping: Mapping[str, Workload]
) -> Mapping[tuple[str, str], str]:
    """Return the VDU of each workload, by its kind and name."""
    vdus = flavour_of(package.vnfd, target.flavour_id).vdus
    by_name = {
        (kind, vdu.name): vdu.id
        for vdu in vdus.values()
        for kind in VDU_KINDS
        if vdu.id not in mapping
    }
    mapped = {
        (one.kind, one.name): vdu
        for vdu, one in mapping.items()
        if vdu in vdus and one.kind in VDU_KINDS
    }
    return by_name | mapped


def load(
    package: UnpackedPackage, names: Iterable[str]
) -> tuple[Manifest, ...]:
    """Read the objects of some files, as they are there; nobody may change
    what this gives.

    :raises InvalidParameters: a file is missing or is no manifest, or an
        object stands in two
    """
    found: list[Manifest] = []
    for name in names:
        path = package.file(name)
        bodies = _parse(package.content_id, name, path)
        found += (Manifest(body, file=name) for body in bodies)
    seen: set[tuple[Key, Any]] = set()
    for manifest in found:
        key = (manifest.key, manifest.body["metadata"].get("namespace"))
        if key in seen and manifest.name:
            raise errors.InvalidParameters(
                f"{manifest} stands in two manifests."
            )
        seen.add(key)
    return tuple(found)


@functools.lru_cache(1024)
def _parse(_content_id: str, name: str, path: Path) -> tuple[Object, ...]:
    """Read the objects of one file; nobody may change what this gives."""
    try:
        text = bounded_yaml.text_of(path, name)
        documents = bounded_yaml.load_all(text, name)
    except errors.InvalidPackage as error:
        raise errors.InvalidParameters(
            f"The manifest {name} cannot be read: {error}"
        ) from None
    return tuple(
        _validated(body, name)
        for document in documents
        if document is not None
        for body in _items(document)
    )


def _items(document: Any) -> Iterator[Any]:
    if isinstance(document, dict) and document.get("kind") == "List":
        items = document.get("items") or ()
        # what is no list is refused like any other thing that is no object
        yield from items if isinstance(items, list | tuple) else (items,)
    else:
        yield document


def _validated(body: Any, name: str) -> Object:
    if not isinstance(body, dict):
        raise errors.InvalidParameters(
            f"The manifest {name} holds something that is no object."
        )
    for key in ("apiVersion", "kind"):
        if not isinstance(body.get(key), str):
            raise errors.InvalidParameters(
                f"The manifest {name} holds an object without {key}."
            )
    meta = body.setdefault("metadata", {})
    if not isinstance(meta, dict):
        raise errors.InvalidParameters(
            f"The manifest {name}: metadata of a {body['kind']} is no object."
        )
    if meta.get("generateName"):
        raise errors.InvalidParameters(
            f"The manifest {name}: a {body['kind']} has a generateName; it "
            "needs a name by which it is found again."
        )
    for key in ("name", "namespace"):
        if not isinstance(meta.get(key) or "", str):
            raise errors.InvalidParameters(
                f"The manifest {name}: metadata.{key} of a {body['kind']} is "
                "no text."
            )
    return body


def _common_namespace(loaded: Iterable[Manifest]) -> str:
    namespaces = {one.body["metadata"].get("namespace") for one in loaded}
    namespaces.discard(None)
    if len(namespaces) > 1:
        raise errors.InvalidParameters(
            "additionalParams.namespace is needed: the manifests name "
            f"several namespaces ({', '.join(sorted(map(str, namespaces)))})."
        )
    return str(namespaces.pop()) if namespaces else "default"


def _label_and_scale(
    manifest: Manifest,
    instance_id: str,
    namespace: str,
    vdus: Mapping[tuple[str, str], str],
    target: Target,
) -> Manifest:
    """Mark an object as the instance's, and set the size of a workload."""
    body = copy.deepcopy(manifest.body)
    if "namespace" in body["metadata"]:
        body["metadata"]["namespace"] = namespace
    labels = {INSTANCE_LABEL: instance_id}
    _label(body, labels)
    vdu_id = vdus.get((manifest.kind, manifest.name))
    if vdu_id:
        labels = {**labels, VDU_LABEL: vdu_id}
    if body["kind"] == "Pod":
        _label(body, labels)
    for template in _templates(body):
        _label(template, labels)
    if vdu_id and body["kind"] in SCALABLE:
        for spec in _dicts(body.get("spec")):
            spec["replicas"] = target.counts.get(vdu_id, 0)
    return Manifest(body, vdu_id, manifest.file)


def without_labels(body: Object) -> Object:
    """Copy a body without what marks it as an instance's: a kind that is
    never stored may refuse labels.
    """
    meta = dict(body["metadata"])
    labels = {k: v for k, v in meta["labels"].items() if k != INSTANCE_LABEL}
    meta["labels"] = labels
    if not labels:
        del meta["labels"]
    return {**body, "metadata": meta}


def _templates(body: Object) -> Iterator[Object]:
    """Find the templates in an object of what it will make."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return
    if body["kind"] == "CronJob":
        yield from _dicts(spec.get("jobTemplate"))
    if body["kind"] in POD_TEMPLATE_KINDS | {"CronJob"}:
        yield from pod_templates(body)
    claims = spec.get("volumeClaimTemplates")
    for claim in claims if isinstance(claims, list) else ():
        yield from _dicts(claim)


def pod_templates(body: Object) -> Iterator[Object]:
    """Find the templates of the pods that an object makes, if it makes any:
    at spec.template or, where it makes Jobs, in their template.
    """
    for spec in _dicts(body.get("spec")):
        yield from _dicts(spec.get("template"))
        for job in _dicts(spec.get("jobTemplate")):
            yield from pod_templates(job)


def _dicts(value: Any) -> Iterator[Object]:
    if isinstance(value, dict):
        yield value


def _label(body: Object, labels: Mapping[str, str]) -> None:
    meta = body["metadata"] = body.get("metadata") or {}
    existing = (isinstance(meta, dict) and meta.get("labels")) or {}
    if not isinstance(meta, dict) or not isinstance(existing, dict):
        raise errors.InvalidParameters(
            f"A manifest has metadata or labels that are no object: {meta!r:.80}"
        )
    meta["labels"] = {**existing, **labels}
