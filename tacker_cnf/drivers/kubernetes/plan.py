"""The plan of a change: what happens to the objects of a VNF."""

import dataclasses
from collections.abc import Iterable

from tacker_cnf import errors
from tacker_cnf.drivers.base import Plan
from tacker_cnf.drivers.kubernetes import content
from tacker_cnf.drivers.kubernetes.cluster_assignment import ClusterAssignment
from tacker_cnf.drivers.kubernetes.manifests import (
    RETAINED_KINDS,
    Key,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.marks import Mark
from tacker_cnf.drivers.kubernetes.objects import Object


@dataclasses.dataclass(frozen=True)
class ManifestChange:
    """An object before and after a change."""

    before: Manifest
    after: Manifest

    @property
    def key(self) -> Key:
        return self.before.key

    def changes_content(self, live: Object | None, mark: Mark) -> bool:
        """Return whether an operation changes the content of a ConfigMap or
        Secret that pods read, in this attempt or in an earlier one.

        :param live: the object in the cluster; None: it does not exist
        :param mark: that of the operation
        """
        if live is None:
            return True
        if mark.undoes and not mark.is_on(live):
            return False
        return mark.is_on(live) or not all(
            content.is_same_content(body, self.after.body)
            for body in (live, self.before.body)
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObjectPlan:
    """What a change does to the objects of a VNF, in this order.

    The execution may be repeated after any failure.
    """

    #: all objects of the VNF after the change
    after: Rendered
    mark: Mark
    #: objects to be created, and to be ready in the end
    created: tuple[Manifest, ...] = ()
    #: existing objects whose manifests are applied
    applied: tuple[Manifest, ...] = ()
    #: ConfigMaps and Secrets, written where their content differs
    written: tuple[ManifestChange, ...] = ()
    #: workloads that are replaced by their manifests, at their size, and
    #: whose controllers then replace their pods
    rolled: tuple[Manifest, ...] = ()
    #: workloads whose images are set where they differ, and whose pods restart
    #: if they read what is created or written
    restarted: tuple[ManifestChange, ...] = ()
    #: workloads whose size changes
    scaled: tuple[Manifest, ...] = ()
    #: whether all pods of these are deleted, as the VNF is stopped
    stops: bool = False
    #: seconds that pods get to stop; None: their own grace period
    grace: int | None = None
    #: all objects before the change; None: nothing is deleted
    before: Rendered | None = None

    def obsolete(self, keys: Iterable[Key]) -> tuple[Key, ...]:
        """Return the objects that are deleted: those that ``after`` does not
        have. Kinds with data are kept.

        :param keys: of the existing objects
        """
        if self.before is None:
            return ()
        remaining = {manifest.key for manifest in self.after.objects}
        return tuple(
            key
            for key in keys
            if key not in remaining and key[1] not in RETAINED_KINDS
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubernetesPlan(Plan):
    """The plan of a task."""

    #: a termination, and a heal of single VNFCs, have only its ``after``
    objects: ObjectPlan
    assignment: ClusterAssignment


def describe_immutable(manifest: Manifest) -> str:
    """Describe the change of an object that is immutable."""
    return (
        f"{manifest} is immutable, so its content cannot change, but the new "
        "package has other content. Give it another name there, refer to it by "
        "that name, and change the VNF by change_vnfpkg."
    )


def check_mutable(changes: Iterable[ManifestChange]) -> None:
    """Check that the content of immutable objects does not change.

    :raises InvalidParameters: the content of an immutable object differs
    """
    for change in changes:
        before, after = change.before.body, change.after.body
        if before.get("immutable") and not content.is_same_content(
            before, after
        ):
            raise errors.InvalidParameters(describe_immutable(change.before))
