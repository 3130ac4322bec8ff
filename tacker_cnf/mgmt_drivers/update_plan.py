"""What an update of a CNF changes: one package's manifests and the next's."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes import manifests, shapes, update_work
from tacker_cnf.drivers.kubernetes.manifests import (
    VDU_KINDS,
    Key,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.pod_references import CONFIG_MAP, SECRET
from tacker_cnf.drivers.kubernetes.update_work import Pair
from tacker_cnf.halting import Deadline
from tacker_cnf.lcm import target
from tacker_cnf.lcm.target import Target
from tacker_cnf.scripts.protocol import ScriptInput
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vnfd.model import Flavour, Vdu, Vnfd

#: in the request's metadata, and in that of the instance's driver
PATHS: Final = "configmap_secret_paths"
DEF_FILES: Final = "lcm-kubernetes-def-files"


@dataclasses.dataclass(frozen=True)
class Plan:
    """From one package to the next."""

    before: Rendered
    after: Rendered
    #: the ConfigMaps and Secrets that the request names
    configs: tuple[Pair, ...]
    #: whatever makes pods
    workloads: tuple[Pair, ...]
    #: VDU -> key of vimConnectionInfo, where there are several clusters
    places: Mapping[str, str]

    def backwards(self) -> "Plan":
        """Give the way back."""
        return dataclasses.replace(
            self,
            before=self.after,
            after=self.before,
            configs=tuple(Pair(p.after, p.before) for p in self.configs),
            workloads=tuple(Pair(p.after, p.before) for p in self.workloads),
        )

    def workloads_in(self, rendered: Rendered) -> tuple[Pair, ...]:
        """Give the workloads of one cluster."""
        there = {manifest.key for manifest in rendered.objects}
        return tuple(p for p in self.workloads if p.key in there)


def make(told: ScriptInput) -> Plan | None:
    """Read both packages; None: there is nothing to do.

    :raises InvalidParameters: the new package breaks a rule of updates
    """
    asked = _asked(told.request)
    if not asked and told.new_package_dir is None:
        return None
    instance = told.vnf_instance
    current = target.of_instance(instance)
    assert current is not None
    old = _tree(told.package_dir, told.vnfd_id, instance, current)
    new = old
    if told.new_package_dir and told.new_vnfd_id:
        new = _tree(told.new_package_dir, told.new_vnfd_id, instance, current)
    files = list(current.parameters[DEF_FILES])
    named: set[Key] = set()
    for path in asked:
        keys = _new_keys(new, path)
        files[files.index(_replaced(old, files, path, keys))] = path
        named |= keys
    return _plan(
        _render(instance, old, current),
        _render_new(instance, new, _with_files(current, files)),
        named,
        current.parameters.get("vim_connections") or {},
    )


def _asked(request: Mapping[str, Any]) -> tuple[str, ...]:
    metadata = request.get("metadata") or {}
    try:
        return msgspec.convert(metadata.get(PATHS) or [], tuple[str, ...])
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(f"metadata.{PATHS}: {error}.") from None


def _tree(
    folder: str, vnfd_id: str, instance: VnfInstance, current: Target
) -> PackageTree:
    """Give a package with as much of a VNFD as manifests need: which VDU
    each workload is.
    """
    known = current.parameters.get("vdu_reses") or {}
    vdus = {
        vdu: Vdu(
            id=vdu,
            name=str(body["metadata"]["name"]),
            min_instances=0,
            max_instances=0,
        )
        for vdu, body in known.items()
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
    return PackageTree(content_id=folder, path=Path(folder), vnfd=vnfd)


def _with_files(current: Target, files: Sequence[str]) -> Target:
    parameters = {**current.parameters, DEF_FILES: list(files)}
    return msgspec.structs.replace(current, parameters=parameters)


def _render(
    instance: VnfInstance, package: PackageTree, wanted: Target
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
    instance: VnfInstance, package: PackageTree, wanted: Target
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
            f"metadata.{PATHS} names others."
        ) from None


def _new_keys(package: PackageTree, path: str) -> set[Key]:
    """Tell what a file of the new package holds.

    :raises InvalidParameters: it is not there, or cannot be read
    """
    try:
        return _keys(package, path)
    except errors.InvalidParameters as error:
        raise errors.InvalidParameters(f"metadata.{PATHS}: {error}") from None


def _keys(package: PackageTree, path: str) -> set[Key]:
    return {manifest.key for manifest in manifests.load(package, [path])}


def _may_be_named(key: Key) -> bool:
    group, kind, _ = key
    return not group and kind in {CONFIG_MAP, SECRET}


def _replaced(
    old: PackageTree, files: Iterable[str], path: str, keys: set[Key]
) -> str:
    """Find the file that a new one takes the place of.

    :raises InvalidParameters: it holds something else than that one
    """
    strange = [key for key in keys if not _may_be_named(key)]
    if strange:
        kind, group = min((kind, group) for group, kind, _ in strange)
        raise errors.InvalidParameters(
            f"metadata.{PATHS}: {path} holds a {kind}"
            + (f" of {group}" if group else "")
            + "; only ConfigMaps and Secrets of the API v1 can be named here."
        )
    for name in files:
        if found := _keys(old, name) if _is_in(old, name) else set():
            if found == keys:
                return name
            if found & keys:
                raise errors.InvalidParameters(
                    f"metadata.{PATHS}: {path} holds {_told(keys)}, and "
                    f"{name}, whose place it takes, {_told(found)}. Kind and "
                    "name of what is updated cannot change."
                )
    known = {
        key
        for name in files
        if _is_in(old, name)
        for key in _keys(old, name)
        if _may_be_named(key)
    }
    raise errors.InvalidParameters(
        f"metadata.{PATHS}: {path} holds {_told(keys)}, which the VNF "
        f"instance does not have; it has {_told(known)}."
    )


def _is_in(package: PackageTree, name: str) -> bool:
    """Tell whether a file is in a package; one that was just replaced by
    one of the new package need not be.
    """
    try:
        package.file(name)
    except errors.InvalidParameters:
        return False
    return True


def _told(keys: Iterable[Key]) -> str:
    told = (f"{kind} {name}" for _, kind, name in sorted(keys))
    return ", ".join(told) or "nothing"


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
    shapes.check(before, after)
    new = {manifest.key: manifest for manifest in after.objects}
    for manifest in before.objects:
        key = manifest.key
        if key not in new and (key in named or manifest.kind in VDU_KINDS):
            raise errors.InvalidParameters(
                manifests.lost(manifest, before, after)
            )
    pairs = [
        Pair(manifest, new[manifest.key])
        for manifest in before.objects
        if manifest.key in new
    ]
    configs = tuple(p for p in pairs if p.key in named)
    update_work.check_mutable(configs)
    return Plan(
        before=before,
        after=after,
        configs=configs,
        workloads=tuple(p for p in pairs if p.before.kind in VDU_KINDS),
        places=places,
    )
