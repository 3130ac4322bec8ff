"""What an update of a CNF changes: one package's manifests and the next's."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes import (
    manifest_validation,
    manifests,
    update_task,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Key,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.pod_references import CONFIG_MAP, SECRET
from tacker_cnf.drivers.kubernetes.update_task import ManifestChange
from tacker_cnf.lcm import target
from tacker_cnf.lcm.target import Target
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vnfd.model import Flavour, Vdu, Vnfd

#: in the request's metadata, and in that of the instance's driver
PATHS_KEY: Final = "configmap_secret_paths"
DEF_FILES_KEY: Final = "lcm-kubernetes-def-files"


@dataclasses.dataclass(frozen=True)
class Plan:
    """From one package to the next."""

    before: Rendered
    after: Rendered
    #: the ConfigMaps and Secrets that the request names
    configs: tuple[ManifestChange, ...]
    #: whatever makes pods
    workloads: tuple[ManifestChange, ...]
    #: VDU -> key of vimConnectionInfo, where there are several clusters
    places: Mapping[str, str]

    def inverse(self) -> "Plan":
        """Give the way back."""
        return dataclasses.replace(
            self,
            before=self.after,
            after=self.before,
            configs=tuple(
                ManifestChange(p.after, p.before) for p in self.configs
            ),
            workloads=tuple(
                ManifestChange(p.after, p.before) for p in self.workloads
            ),
        )

    def workloads_in(self, rendered: Rendered) -> tuple[ManifestChange, ...]:
        """Give the workloads of one cluster."""
        keys = {manifest.key for manifest in rendered.objects}
        return tuple(p for p in self.workloads if p.key in keys)


def build(script_input: ScriptInput) -> Plan | None:
    """Read both packages; None: there is nothing to do.

    :raises InvalidParameters: the new package breaks a rule of updates
    """
    paths = _requested_paths(script_input.request)
    if not paths and script_input.new_package_dir is None:
        return None
    instance = script_input.vnf_instance
    current = target.of_instance(instance)
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
    named: set[Key] = set()
    for path in paths:
        keys = _new_keys(new, path)
        files[files.index(_find_replaced(old, files, path, keys))] = path
        named |= keys
    return _plan(
        _render(instance, old, current),
        _render_new(instance, new, _with_files(current, files)),
        named,
        current.parameters.get("vim_connections") or {},
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
    folder: str, vnfd_id: str, instance: VnfInstance, current: Target
) -> UnpackedPackage:
    """Give a package with as much of a VNFD as manifests need: which VDU
    each workload is.
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


def _with_files(current: Target, files: Sequence[str]) -> Target:
    parameters = {**current.parameters, DEF_FILES_KEY: list(files)}
    return msgspec.structs.replace(current, parameters=parameters)


def _render(
    instance: VnfInstance, package: UnpackedPackage, wanted: Target
) -> Rendered:
    task = InfraTask(
        instance=instance,
        package=package,
        vim_connections=instance.vim_connection_info,
        current=wanted,
        target=wanted,
        parameters={},
        deadline=Deadline.within(0),
    )
    return manifests.render(task, wanted)


def _render_new(
    instance: VnfInstance, package: UnpackedPackage, wanted: Target
) -> Rendered:
    """Render the new package.

    :raises InvalidParameters: it lacks a manifest, or one cannot be read
    """
    try:
        return _render(instance, package, wanted)
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(
            f"{error} All manifests of the VNF instance have to be in the new "
            "package under the paths they had, but those in whose place "
            f"metadata.{PATHS_KEY} names others."
        ) from None


def _new_keys(package: UnpackedPackage, path: str) -> set[Key]:
    """Tell what a file of the new package holds.

    :raises InvalidParameters: it is not there, or cannot be read
    """
    try:
        return _keys(package, path)
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(
            f"metadata.{PATHS_KEY}: {error}"
        ) from None


def _keys(package: UnpackedPackage, path: str) -> set[Key]:
    return {manifest.key for manifest in manifests.load(package, [path])}


def _may_be_named(key: Key) -> bool:
    group, kind, _ = key
    return not group and kind in {CONFIG_MAP, SECRET}


def _find_replaced(
    old: UnpackedPackage, files: Iterable[str], path: str, keys: set[Key]
) -> str:
    """Find the file that a new one takes the place of.

    :raises InvalidParameters: it holds something else than that one
    """
    not_allowed = [key for key in keys if not _may_be_named(key)]
    if not_allowed:
        kind, group = min((kind, group) for group, kind, _ in not_allowed)
        raise errors.InvalidParameters(
            f"metadata.{PATHS_KEY}: {path} holds a {kind}"
            + (f" of {group}" if group else "")
            + "; only ConfigMaps and Secrets of the API v1 can be named here."
        )
    for name in files:
        if found := _keys(old, name) if _is_in(old, name) else set():
            if found == keys:
                return name
            if found & keys:
                raise errors.InvalidParameters(
                    f"metadata.{PATHS_KEY}: {path} holds {_describe(keys)}, and "
                    f"{name}, whose place it takes, {_describe(found)}. Kind and "
                    "name of what is updated cannot change."
                )
    existing = {
        key
        for name in files
        if _is_in(old, name)
        for key in _keys(old, name)
        if _may_be_named(key)
    }
    raise errors.InvalidParameters(
        f"metadata.{PATHS_KEY}: {path} holds {_describe(keys)}, which the VNF "
        f"instance does not have; it has {_describe(existing)}."
    )


def _is_in(package: UnpackedPackage, name: str) -> bool:
    """Tell whether a file is in a package; one that was just replaced by
    one of the new package need not be.
    """
    try:
        package.file(name)
    except errors.InvalidParameters:
        return False
    return True


def _describe(keys: Iterable[Key]) -> str:
    names = (f"{kind} {name}" for _, kind, name in sorted(keys))
    return ", ".join(names) or "nothing"


def _plan(
    before: Rendered,
    after: Rendered,
    named: set[Key],
    places: Mapping[str, str],
) -> Plan:
    """Put both together.

    :raises InvalidParameters: something to be updated is malformed, or is
        not in the new one
    """
    manifest_validation.check(before, after)
    new = {manifest.key: manifest for manifest in after.objects}
    for manifest in before.objects:
        key = manifest.key
        if key not in new and (key in named or manifest.kind in VDU_KINDS):
            raise errors.InvalidParameters(
                manifests.describe_missing(manifest, before, after)
            )
    pairs = [
        ManifestChange(manifest, new[manifest.key])
        for manifest in before.objects
        if manifest.key in new
    ]
    configs = tuple(p for p in pairs if p.key in named)
    update_task.check_mutable(configs)
    return Plan(
        before=before,
        after=after,
        configs=configs,
        workloads=tuple(p for p in pairs if p.before.kind in VDU_KINDS),
        places=places,
    )
