"""Manifests of a package: read, labelled and scaled for an instance."""

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
from tacker_cnf.drivers.kubernetes import object_paths
from tacker_cnf.drivers.kubernetes.api_errors import Invalid
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.vnfd import bounded_yaml

#: group, kind and name
Key = tuple[str, str, str]

INSTANCE_LABEL: Final = "tacker_vnf_instance_id"
VDU_LABEL: Final = "tacker_vdu_id"

#: node selector of a DaemonSet whose VNF is STOPPED; no node has it
STOPPED_SELECTOR: Final = "tacker_vnf_stopped"

#: kinds that a VDU may have; SCALABLE: those with ``spec.replicas``
SCALABLE: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})
VDU_KINDS: Final = SCALABLE | {"DaemonSet", "Pod"}
#: kinds that create pods from a template at spec.template
POD_TEMPLATE_KINDS: Final = SCALABLE | {
    "DaemonSet",
    "Job",
    "ReplicationController",
}
#: kinds that create pods, or are pods
POD_OWNER_KINDS: Final = VDU_KINDS | POD_TEMPLATE_KINDS | {"CronJob"}
#: kinds with data or dependents, which a heal of the whole VNF keeps
RETAINED_KINDS: Final = frozenset(
    {
        "CustomResourceDefinition",
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
    }
)
#: kinds whose objects cannot be changed
IMMUTABLE_KINDS: Final = frozenset({"ControllerRevision"})
#: kinds to be created first, as other objects need them
CREATE_FIRST: Final = ("Namespace", "CustomResourceDefinition")


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that a VDU is mapped to."""

    kind: str
    name: str


class InstantiationParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of an instantiation that this driver reads."""

    #: paths of the manifests in the package
    def_files: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = (
        msgspec.field(name="lcm-kubernetes-def-files")
    )
    #: namespace of the objects whose manifests name none
    namespace: str | None = None
    #: VDU -> key of the vimConnectionInfo of its cluster
    vim_connections: Mapping[str, str] = {}
    #: VDU -> its workload, if that does not have properties.name of the VNFD
    vdu_mapping: Mapping[str, Workload] = {}


class KeptParameters(InstantiationParameters, frozen=True, kw_only=True):
    """What an instance keeps of these, and what the driver adds."""

    #: (apiVersion, kind) of all objects of the instance
    object_kinds: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Manifest:
    """An object to be created."""

    body: Object
    #: VDU whose VNFCs are the pods of this workload
    vdu_id: str | None = None
    #: its file in the package
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
        """Group, kind and name; unique in the namespace."""
        return self.key_of(self.body)

    def key_of(self, body: Object) -> Key:
        """Return the key of an object of the same kind."""
        group, _, _ = self.api_version.rpartition("/")
        return group, self.kind, str(body["metadata"].get("name", ""))

    @property
    def is_vnfc(self) -> bool:
        """Whether it is itself the VNFC of its VDU: a bare Pod."""
        return self.kind == "Pod" and self.vdu_id is not None

    @property
    def is_core(self) -> bool:
        """Whether it belongs to the core API; pods refer to such objects by
        kind and name alone.
        """
        return self.api_version == "v1"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @contextlib.contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Add the manifest to errors of invalid objects.

        :raises VimRejected: the cluster rejects the object as invalid
        """
        try:
            yield
        except Invalid as error:
            raise errors.VimRejected(
                f"The manifest {self.file}: {self}: {error}"
            ) from None


@dataclasses.dataclass(frozen=True)
class Rendered:
    """All objects of an instance at one state."""

    instance_id: str
    namespace: str
    def_files: tuple[str, ...]
    #: in the order of creation
    objects: tuple[Manifest, ...]
    #: VDU -> number of its pods
    counts: Mapping[str, int]
    #: whether the VNF is STOPPED
    is_stopped: bool = False
    #: (apiVersion, kind) of objects of the instance's earlier packages
    previous_kinds: frozenset[tuple[str, str]] = frozenset()
    vdu_mapping: Mapping[str, Workload] = dataclasses.field(
        default_factory=dict
    )

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """(apiVersion, kind) of all objects that the instance may have."""
        current = {(m.api_version, m.kind) for m in self.objects}
        return self.previous_kinds | current

    @property
    def workloads(self) -> Mapping[str, Manifest]:
        """VDU -> its workload."""
        return {m.vdu_id: m for m in self.objects if m.vdu_id}

    def size_of(self, manifest: Manifest) -> int:
        """Return the number of pods of a workload."""
        return self.counts.get(manifest.vdu_id or "", 0)

    def exists(self, manifest: Manifest) -> bool:
        """Return whether the object of a manifest exists in this state; the
        bare Pods of a STOPPED VNF do not.
        """
        return not (self.is_stopped and manifest.is_vnfc)

    @property
    def existing(self) -> tuple[Manifest, ...]:
        """The objects that exist in this state, in the order of creation."""
        return tuple(filter(self.exists, self.objects))

    @property
    def selector(self) -> str:
        """The label selector of the instance's objects."""
        return f"{INSTANCE_LABEL}={self.instance_id}"


def parameters_of(state: State) -> KeptParameters:
    """Read the parameters of a state.

    :raises InvalidParameters: a parameter is missing or malformed
    """
    return parameters.read(state.parameters, KeptParameters)


def render(
    instance_id: str, package: UnpackedPackage, state: State
) -> Rendered:
    """Render the manifests of a package for a state of an instance.

    :raises InvalidParameters: a file is missing or not a manifest, or the
        objects do not share one namespace
    """
    params = parameters_of(state)
    loaded = load(package, params.def_files)
    namespace = params.namespace or _common_namespace(loaded)
    _check_namespace(namespace)
    vdus = _vdus(package, state, params.vdu_mapping)
    objects = [
        _label_and_scale(manifest, instance_id, namespace, vdus, state)
        for manifest in loaded
    ]
    return Rendered(
        instance_id=instance_id,
        namespace=namespace,
        def_files=params.def_files,
        objects=tuple(sort_for_creation(objects)),
        counts=state.running_counts,
        is_stopped=state.is_stopped,
        previous_kinds=frozenset(params.object_kinds),
        vdu_mapping=params.vdu_mapping,
    )


def _check_namespace(namespace: str) -> None:
    try:
        object_paths.check_namespace(namespace)
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(f"additionalParams.{error}") from None


def namespace_of(
    params: Mapping[str, Any], package: UnpackedPackage | None
) -> str:
    """Return the namespace of an instance by the parameters of its
    instantiation, or by its package, if that was not deleted.

    :raises InvalidParameters: a parameter is missing or malformed
    """
    parsed = parameters.read(params, InstantiationParameters)
    if parsed.namespace or package is None:
        return parsed.namespace or "default"
    return _common_namespace(load(package, parsed.def_files))


def describe_missing(
    manifest: Manifest, before: Rendered, after: Rendered
) -> str:
    """Describe, with a remedy, that the next package lacks a workload of the
    instance.
    """
    if manifest.key in {new.key for new in after.objects}:
        return (
            f"{manifest}, which the VNF instance has, is in the new package, "
            "but the VNFD gives the VDU another name (properties.name). Correct "
            "the VNFD, or set additionalParams.vdu_mapping."
        )
    others = [
        new.kind
        for new in after.objects
        if new.name == manifest.name and new.kind in VDU_KINDS
    ]
    return (
        f"{manifest} in namespace {before.namespace}, which the VNF instance "
        f"has, is in none of {', '.join(after.def_files)} of the new package"
        + (f"; these have a {others[0]} of that name" if others else "")
        + ". Its kind and name cannot change: name the file that has it, or "
        "correct the package."
    )


def sort_for_creation(objects: Iterable[Manifest]) -> list[Manifest]:
    """Sort objects so that those that others need come first."""
    return sorted(
        objects,
        key=lambda m: (
            CREATE_FIRST.index(m.kind) if m.kind in CREATE_FIRST else 9
        ),
    )


def _vdus(
    package: UnpackedPackage, state: State, mapping: Mapping[str, Workload]
) -> Mapping[tuple[str, str], str]:
    """Return the VDU of each workload, by its kind and name."""
    vdus = flavour_of(package.vnfd, state.flavour_id).vdus
    by_name = {
        (kind, vdu.name): vdu.id
        for vdu in vdus.values()
        for kind in VDU_KINDS
        if vdu.id not in mapping
    }
    mapped = {
        (workload.kind, workload.name): vdu
        for vdu, workload in mapping.items()
        if vdu in vdus and workload.kind in VDU_KINDS
    }
    return by_name | mapped


def load(
    package: UnpackedPackage, names: Iterable[str]
) -> tuple[Manifest, ...]:
    """Read the objects of some files, unchanged. The result is cached and must
    not be modified.

    :raises InvalidParameters: a file is missing or not a manifest, or an
        object is defined twice
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
                f"{manifest} is defined in two manifests."
            )
        seen.add(key)
    return tuple(found)


@functools.lru_cache(1024)
def _parse(_content_id: str, name: str, path: Path) -> tuple[Object, ...]:
    """Read the objects of a file. The result is cached: do not modify it."""
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
        # a value that is not a list is rejected like any other non-object
        yield from items if isinstance(items, list | tuple) else (items,)
    else:
        yield document


def _validated(body: Any, name: str) -> Object:
    if not isinstance(body, dict):
        raise errors.InvalidParameters(
            f"The manifest {name} contains a value that is not an object."
        )
    for key in ("apiVersion", "kind"):
        if not isinstance(body.get(key), str):
            raise errors.InvalidParameters(
                f"The manifest {name} contains an object without {key}."
            )
    meta = body.setdefault("metadata", {})
    if not isinstance(meta, dict):
        raise errors.InvalidParameters(
            f"The manifest {name}: metadata of a {body['kind']} is not an object."
        )
    if meta.get("generateName"):
        raise errors.InvalidParameters(
            f"The manifest {name}: a {body['kind']} has a generateName; give "
            "it a name."
        )
    for key in ("name", "namespace"):
        if not isinstance(meta.get(key) or "", str):
            raise errors.InvalidParameters(
                f"The manifest {name}: metadata.{key} of a {body['kind']} is "
                "not a string."
            )
    _check_names(body, name)
    return body


def _check_names(body: Object, file: str) -> None:
    """Check what becomes the path of an object in the API.

    :raises InvalidParameters: kind, name or namespace is not possible
    """
    meta, kind = body["metadata"], body["kind"]
    group = body["apiVersion"].rpartition("/")[0]
    try:
        object_paths.check_kind(body["apiVersion"], kind)
        if meta.get("name"):
            object_paths.check_name(group, kind, meta["name"])
        if meta.get("namespace"):
            object_paths.check_namespace(meta["namespace"])
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(
            f"The manifest {file}: {kind}: {error}"
        ) from None


def _common_namespace(loaded: Iterable[Manifest]) -> str:
    found = {m.body["metadata"].get("namespace") for m in loaded}
    namespaces = set(filter(None, found))
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
    state: State,
) -> Manifest:
    """Label an object as the instance's, and set the size of a workload."""
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
    sized = body["kind"] in SCALABLE or state.is_stopped
    if vdu_id and sized and isinstance(body.get("spec"), dict):
        count = state.running_counts.get(vdu_id, 0)
        body = with_size(body, count, is_stopped=state.is_stopped)
    return Manifest(body, vdu_id, manifest.file)


def with_size(body: Object, count: int, *, is_stopped: bool) -> Object:
    """Return a workload with a number of pods; one of a DaemonSet is that of
    the nodes, or none if the VNF is STOPPED.
    """
    spec = body["spec"]
    if body["kind"] in SCALABLE:
        return {**body, "spec": {**spec, "replicas": count}}
    if body["kind"] != "DaemonSet":
        return body
    template = spec["template"]
    selector = {
        key: value
        for key, value in (template["spec"].get("nodeSelector") or {}).items()
        if key != STOPPED_SELECTOR
    }
    if is_stopped:
        selector[STOPPED_SELECTOR] = "true"
    pod_spec = {
        k: v for k, v in template["spec"].items() if k != "nodeSelector"
    }
    if selector:
        pod_spec["nodeSelector"] = selector
    return {
        **body,
        "spec": {**spec, "template": {**template, "spec": pod_spec}},
    }


def without_labels(body: Object) -> Object:
    """Copy a body without the label of the instance: kinds that are never
    stored may reject labels.
    """
    meta = dict(body["metadata"])
    labels = {k: v for k, v in meta["labels"].items() if k != INSTANCE_LABEL}
    meta["labels"] = labels
    if not labels:
        del meta["labels"]
    return {**body, "metadata": meta}


def _templates(body: Object) -> Iterator[Object]:
    """Find the templates of dependents in an object: pods, jobs, claims."""
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
    """Find the pod templates of an object: at spec.template, and for CronJobs
    in the template of their Jobs.
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
            f"A manifest has metadata or labels that are not an object: {meta!r:.80}"
        )
    meta["labels"] = {**existing, **labels}
