"""Compare the manifests of two packages to plan the update of a CNF."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.drivers.kubernetes import manifest_validation, manifests
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Key,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.marks import Mark
from tacker_cnf.drivers.kubernetes.plan import (
    ManifestChange,
    ObjectPlan,
    check_mutable,
)
from tacker_cnf.drivers.kubernetes.pod_references import CONFIG_MAP, SECRET
from tacker_cnf.lcm.change import State, current_state
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vnfd.model import Flavour, Vdu, Vnfd

#: key of the request's metadata: paths of new ConfigMaps and Secrets
PATHS_KEY: Final = "configmap_secret_paths"
#: key of the instance's parameters: paths of its manifests
DEF_FILES_KEY: Final = "lcm-kubernetes-def-files"


def build(
    script_input: ScriptInput, *, undoes: bool = False
) -> ObjectPlan | None:
    """Read both packages and plan the update; None if nothing changes.

    :param undoes: whether to plan the rollback of the update
    :raises InvalidParameters: the new package breaks a rule of updates
    """
    paths = _requested_paths(script_input.request)
    if not paths and script_input.new_package_dir is None:
        return None
    instance = script_input.vnf_instance
    current = current_state(instance)
    assert current is not None
    old = _package(
        script_input.package_dir, script_input.vnfd_id, instance, current
    )
    new = old
    if script_input.new_package_dir and script_input.new_vnfd_id:
        new = _package(
            script_input.new_package_dir,
            script_input.new_vnfd_id,
            instance,
            current,
        )
    files = list(current.parameters[DEF_FILES_KEY])
    requested: set[Key] = set()
    for path in paths:
        keys = _new_keys(new, path)
        files[files.index(_find_replaced(old, files, path, keys))] = path
        requested |= keys
    before = manifests.render(instance.id, old, current)
    after = _render_new(instance, new, _with_files(current, files))
    changes = _changes(before, after, requested)
    if undoes:
        after = before
        changes = [ManifestChange(c.after, c.before) for c in changes]
    return ObjectPlan(
        after=after,
        mark=Mark(script_input.vnf_lcm_op_occ_id, undoes),
        written=tuple(c for c in changes if c.key in requested),
        restarted=tuple(
            c
            for c in changes
            if c.before.kind in VDU_KINDS and after.exists(c.after)
        ),
    )


def _requested_paths(request: Mapping[str, Any]) -> tuple[str, ...]:
    metadata = request.get("metadata") or {}
    try:
        return msgspec.convert(metadata.get(PATHS_KEY) or [], tuple[str, ...])
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(
            f"metadata.{PATHS_KEY}: {error}."
        ) from None


def _package(
    folder: str, vnfd_id: str, instance: VnfInstance, current: State
) -> UnpackedPackage:
    """Build a package whose VNFD has only what rendering manifests needs: the
    VDU of each workload.
    """
    vdu_reses = current.parameters.get("vdu_reses") or {}
    vdus = {
        vdu: Vdu(
            id=vdu,
            name=str(body["metadata"]["name"]),
            min_instances=0,
            max_instances=0,
        )
        for vdu, body in vdu_reses.items()
    }
    flavour = Flavour(id=current.flavour_id, vdus=vdus)
    vnfd = Vnfd(
        id=vnfd_id,
        provider=instance.vnf_provider,
        product_name=instance.vnf_product_name,
        software_version=instance.vnf_software_version,
        descriptor_version=instance.vnfd_version,
        flavours={flavour.id: flavour},
    )
    return UnpackedPackage(content_id=folder, path=Path(folder), vnfd=vnfd)


def _with_files(current: State, files: Sequence[str]) -> State:
    parameters = {**current.parameters, DEF_FILES_KEY: list(files)}
    return msgspec.structs.replace(current, parameters=parameters)


def _render_new(
    instance: VnfInstance, package: UnpackedPackage, wanted: State
) -> Rendered:
    """Render the new package.

    :raises InvalidParameters: a manifest is missing or cannot be read
    """
    try:
        return manifests.render(instance.id, package, wanted)
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(
            f"{error} The new package has to contain all manifests of the VNF "
            "instance under their present paths, except those that "
            f"metadata.{PATHS_KEY} replaces."
        ) from None


def _new_keys(package: UnpackedPackage, path: str) -> set[Key]:
    """Return the keys of the manifests in a file of the new package.

    :raises InvalidParameters: the file does not exist or cannot be read
    """
    try:
        return _keys(package, path)
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(
            f"metadata.{PATHS_KEY}: {error}"
        ) from None


def _keys(package: UnpackedPackage, path: str) -> set[Key]:
    return {manifest.key for manifest in manifests.load(package, [path])}


def _is_replaceable(key: Key) -> bool:
    group, kind, _ = key
    return not group and kind in {CONFIG_MAP, SECRET}


def _find_replaced(
    old: UnpackedPackage, files: Iterable[str], path: str, keys: set[Key]
) -> str:
    """Return the path of the file that a new one replaces.

    :raises InvalidParameters: no file has the same ConfigMaps and Secrets, or
        the new one contains other kinds
    """
    not_allowed = [key for key in keys if not _is_replaceable(key)]
    if not_allowed:
        kind, group = min((kind, group) for group, kind, _ in not_allowed)
        raise errors.InvalidParameters(
            f"metadata.{PATHS_KEY}: {path} contains a {kind}"
            + (f" of {group}" if group else "")
            + "; only ConfigMaps and Secrets of apiVersion v1 are allowed here."
        )
    for name in files:
        if found := _keys(old, name) if _is_in(old, name) else set():
            if found == keys:
                return name
            if found & keys:
                raise errors.InvalidParameters(
                    f"metadata.{PATHS_KEY}: {path} contains {_describe(keys)}, "
                    f"but {name}, which it replaces, {_describe(found)}. Kinds "
                    "and names cannot change in an update."
                )
    existing = {
        key
        for name in files
        if _is_in(old, name)
        for key in _keys(old, name)
        if _is_replaceable(key)
    }
    raise errors.InvalidParameters(
        f"metadata.{PATHS_KEY}: {path} contains {_describe(keys)}, which the "
        f"VNF instance does not have; it has {_describe(existing)}."
    )


def _is_in(package: UnpackedPackage, name: str) -> bool:
    """Return whether a package has a file; the old one lacks a file that was
    just replaced with one of the new package.
    """
    try:
        package.file(name)
    except errors.InvalidParameters:
        return False
    return True


def _describe(keys: Iterable[Key]) -> str:
    names = (f"{kind} {name}" for _, kind, name in sorted(keys))
    return ", ".join(names) or "nothing"


def _changes(
    before: Rendered, after: Rendered, requested: set[Key]
) -> list[ManifestChange]:
    """Pair the manifests of both packages.

    :raises InvalidParameters: a manifest to update is malformed, or missing
        in the new package
    """
    manifest_validation.check(before, after)
    new = {manifest.key: manifest for manifest in after.objects}
    for manifest in before.objects:
        key = manifest.key
        if key not in new and (key in requested or manifest.kind in VDU_KINDS):
            raise errors.InvalidParameters(
                manifests.describe_missing(manifest, before, after)
            )
    changes = [
        ManifestChange(manifest, new[manifest.key])
        for manifest in before.objects
        if manifest.key in new
    ]
    check_mutable(c for c in changes if c.key in requested)
    return changes
