"""Carries an update of a CNF out in its cluster, or takes it back.

What an update has touched bears its mark: an operation that is tried again
goes on where it was, and one that is rolled back undoes what was done and
nothing else. The mark is in the template of the pods, so that they roll.
"""

import base64
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    judges,
    pod_references,
    pod_update,
    readiness,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    INSTANCE_LABEL,
    Key,
    Manifest,
)
from tacker_cnf.drivers.kubernetes.pod_references import SECRET, Reference
from tacker_cnf.drivers.kubernetes.pod_update import (
    BEFORE,
    MARK,
    PodUpdate,
    changed_images,
)
from tacker_cnf.drivers.kubernetes.work import Work

Object = dict[str, Any]

#: attributes of a ConfigMap or Secret that an update changes
CONTENT: Final = ("data", "binaryData")
#: an updateStrategy: the pods are replaced when somebody deletes them
ON_DELETE: Final = "OnDelete"
#: suffix of the mark of what was undone
UNDONE: Final = ".undone"


@dataclasses.dataclass(frozen=True)
class Pair:
    """One object, as it was and as it is to be."""

    before: Manifest
    after: Manifest

    @property
    def key(self) -> Key:
        return self.before.key


class UpdateWork:
    """One update in one cluster.

    :param configs: the ConfigMaps and Secrets to be written
    :param workloads: whatever makes pods that may have to restart
    :param operation: that this is part of
    :param back: whether it undoes what that operation did
    """

    def __init__(
        self,
        work: Work,
        configs: Sequence[Pair],
        workloads: Sequence[Pair],
        operation: str,
        *,
        back: bool,
    ) -> None:
        self._work = work
        self._configs = configs
        self._workloads = workloads
        #: of what the operation has done
        self._done = operation
        self._mark = operation + UNDONE if back else operation
        self._back = back

    def carry_out(self) -> None:
        """Change what differs, and wait until all is ready.

        :raises InfraError: the cluster could not, or not in time
        """
        self.restart(self.write())

    def write(self) -> frozenset[Reference]:
        """Write the ConfigMaps and Secrets; tell those whose readers see
        something else than before.

        :raises InfraError: the cluster could not
        """
        return frozenset(
            (pair.after.kind, pair.after.name)
            for pair in self._configs
            if self._write(pair)
        )

    def restart(self, written: Iterable[Reference]) -> None:
        """Give the workloads their images, restart who reads what was
        written, and wait until all that was touched is ready.

        :raises InfraError: the cluster could not, or not in time
        """
        touched = [
            pair for pair in self._workloads if self._touch(pair, written)
        ]
        for pair in touched:
            if pair.after.kind == "Pod":
                self._pod_update(pair).settle()
            else:
                self._replace_pods(pair.after)
        self._work.waiter.all_ready(pair.after for pair in touched)

    def _live(self, manifest: Manifest) -> Object | None:
        """Read an object.

        :raises VimRefused: it belongs to somebody else
        """
        resource = self._work.cluster.kind(manifest.api_version, manifest.kind)
        namespace = self._work.rendered.namespace
        found = self._work.cluster.get(resource, manifest.name, namespace)
        owner = self._work.rendered.instance_id
        labels = found["metadata"].get("labels", {}) if found else {}
        if found and labels.get(INSTANCE_LABEL) != owner:
            raise errors.VimRefused(
                f"{manifest.kind} {manifest.name} does not belong to this "
                "VNF instance."
            )
        return found

    def _patch(self, manifest: Manifest, change: Object) -> None:
        self._work.progress(f"Updating {manifest.kind} {manifest.name}")
        resource = self._work.cluster.kind(manifest.api_version, manifest.kind)
        namespace = self._work.rendered.namespace
        with manifest.named():
            self._work.cluster.patch(
                resource, manifest.name, namespace, change
            )

    def _is_known(self, body: Object) -> bool:
        """Tell whether the operation has changed an object."""
        known = {self._done, self._mark}
        return pod_update.mark_of(body) in known

    def _write(self, pair: Pair) -> bool:
        """Make a ConfigMap or Secret hold what it is to; tell whether this,
        or an earlier try, changes what its readers see.

        :raises VimRefused: it is immutable
        """
        live = self._live(pair.after)
        if live is None:
            self._work.make([pod_update.marked(pair.after, self._mark)])
            return True
        new = content(pair.after.body)
        differs = not hold_the_same(live, pair.after.body)
        if self._back and not self._is_known(live):
            return False
        if differs:
            if live.get("immutable"):
                raise errors.VimRefused(_fixed(pair.after))
            self._patch(pair.after, self._content_patch(live, new))
        return (
            differs
            or not hold_the_same(pair.before.body, pair.after.body)
            or self._is_known(live)
        )

    def _content_patch(self, live: Object, new: Object) -> Object:
        change: Object = {"metadata": {"annotations": {MARK: self._mark}}}
        for name in CONTENT:
            gone = (live.get(name) or {}).keys() - new[name].keys()
            if changed := {**new[name], **dict.fromkeys(gone)}:
                change[name] = changed  # a Secret has no binaryData
        return change

    def _touch(self, pair: Pair, written: Iterable[Reference]) -> bool:
        """Change what is to be changed of a workload; tell whether there was
        anything, in this try or an earlier one, or in one that was given up.

        :raises NotReady: the workload does not exist
        """
        live = self._live(pair.after)
        if pair.after.kind == "Pod":
            return self._pod(pair, live, written)
        if live is None:
            raise readiness.missing(pair.after)
        template = live["spec"]["template"]
        reads = pod_references.of_pod(template["spec"]) & set(written)
        images = changed_images(template["spec"], pair.after.body["spec"])
        known = self._is_known(live)
        if not known and (self._back or not (reads or images)):
            return self._was_changed(pair)
        if images or pod_update.mark_of(live) != self._mark:
            self._roll(pair.after, live, images)
        return True

    def _roll(self, manifest: Manifest, live: Object, images: Object) -> None:
        """Change the template of a workload; on the way back, to what it was
        before the operation: a pod that is of that still stays.
        """
        template = {
            "metadata": {"annotations": {MARK: self._mark_of_template(live)}},
            "spec": images,
        }
        self._patch(
            manifest,
            {
                "metadata": {"annotations": self._own_marks(live)},
                "spec": {"template": template},
            },
        )

    def _mark_of_template(self, live: Object) -> str | None:
        marks = pod_update.marks_of(live)
        return marks.get(BEFORE) if self._back else self._mark

    def _own_marks(self, live: Object) -> dict[str, str | None]:
        """Tell the annotations of a workload itself; None takes one away."""
        if self._back or self._is_known(live):
            return {MARK: self._mark}
        before = pod_update.mark_of(live["spec"]["template"])
        return {MARK: self._mark, BEFORE: before}

    def mark(
        self, body: Object, live: Object, written: Iterable[Reference]
    ) -> None:
        """Mark a workload that is about to take the place of what is there,
        so that its pods restart if they read what was written.
        """
        template = body["spec"]["template"]
        known = self._is_known(live)
        reads = pod_references.of_pod(template["spec"]) & set(written)
        mark = pod_update.mark_of(live["spec"]["template"])
        if known if self._back else reads:
            mark = self._mark_of_template(live)
            pod_update.annotate(body, self._own_marks(live))
        pod_update.annotate(template, {MARK: mark})

    def _pod(
        self, pair: Pair, live: Object | None, written: Iterable[Reference]
    ) -> bool:
        update = self._pod_update(pair)
        if live is None:
            return update.make_again(written)
        if self._back and not self._is_known(live):
            return False
        if pod_update.mark_of(live) == self._mark:
            return True  # by an earlier try
        return update.change(live, written) or self._was_changed(pair)

    def _was_changed(self, pair: Pair) -> bool:
        """Tell whether a workload has what this update brings already: an
        update that was given up may have left it without a pod that runs.
        """
        before, after = (one.body["spec"] for one in (pair.before, pair.after))
        return not self._back and bool(changed_images(before, after))

    def _pod_update(self, pair: Pair) -> PodUpdate:
        return PodUpdate(
            self._work, pair.before, pair.after, self._mark, back=self._back
        )

    def _replace_pods(self, manifest: Manifest) -> None:
        """Replace the pods that are not of the template one after the other,
        where their workload leaves them as they are.
        """
        live = self._live(manifest)
        if live is None:
            raise readiness.missing(manifest)
        strategy = live["spec"].get("updateStrategy") or {}
        leaves_all = strategy.get("type") == ON_DELETE
        for pod in self._outdated(live):
            if manifest.kind == "ReplicaSet" or leaves_all:
                self._replace_pod(pod)
                self._work.waiter.all_ready([manifest])
            elif manifest.kind == "StatefulSet" and not judges.is_ready(pod):
                # which waits for this one before it rolls any
                self._replace_pod(pod)

    def _outdated(self, live: Object) -> list[Object]:
        """Find the pods of a workload that do not bear the mark of its
        template; on the way back, those that the operation made.
        """
        mark = pod_update.mark_of(live["spec"]["template"])
        return [
            pod
            for pod in self._work.pods()
            if any(
                owner["uid"] == live["metadata"]["uid"]
                for owner in pod["metadata"].get("ownerReferences", ())
            )
            and (
                pod_update.mark_of(pod) == self._done
                if self._back
                else pod_update.mark_of(pod) != mark
            )
        ]

    def _replace_pod(self, pod: Object) -> None:
        self._work.delete_pods([pod])
        self._work.waiter.pods_gone({pod["metadata"]["uid"]})


def check_mutable(pairs: Iterable[Pair]) -> None:
    """Make sure that what is immutable holds the same.

    :raises InvalidParameters: it does not
    """
    for pair in pairs:
        before, after = pair.before.body, pair.after.body
        if before.get("immutable") and not hold_the_same(before, after):
            raise errors.InvalidParameters(_fixed(pair.before))


def _fixed(manifest: Manifest) -> str:
    return (
        f"{manifest} is immutable, so that what it holds cannot change, and "
        "the new package says something else. Give it another name there, by "
        "which its readers find it, and change the VNF by change_vnfpkg."
    )


def hold_the_same(one: Object, other: Object) -> bool:
    """Tell whether two ConfigMaps or Secrets hold the same, however their
    Base64 is written.
    """
    return _decoded(one) == _decoded(other)


def _decoded(body: Object) -> dict[str, Object]:
    found = content(body)
    name = "data" if body["kind"] == SECRET else "binaryData"
    found[name] = {key: _bytes(text) for key, text in found[name].items()}
    return found


def _bytes(text: Any) -> Any:
    """Decode Base64; what is none stays, for the cluster to refuse."""
    try:
        return base64.b64decode("".join(str(text).split()), validate=True)
    except ValueError:
        return text


def content(body: Object) -> dict[str, Object]:
    """Give what a ConfigMap or Secret holds, as the cluster keeps it."""
    found = {
        name: {key: text or "" for key, text in _map(body, name).items()}
        for name in CONTENT
    }
    if body["kind"] == SECRET:
        found["data"] |= {
            name: base64.b64encode(str(text or "").encode()).decode()
            for name, text in _map(body, "stringData").items()
        }
    return found


def _map(body: Object, name: str) -> Object:
    """Give a map; the cluster refuses what is none."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
