"""The StatefulSet controller."""

from collections.abc import Sequence

from kubernetes_sandbox import controller_revisions, pods
from kubernetes_sandbox.controller_revisions import HASH
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    clone,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)

_COMPONENT = "statefulset-controller"
_CLAIMS = "persistentvolumeclaims."
_POD_NAME = "statefulset.kubernetes.io/pod-name"
_POD_INDEX = "apps.kubernetes.io/pod-index"


class StatefulSets(Controller):
    """Creates, replaces and deletes pods in ordinal order."""

    key = "statefulsets.apps"
    children = (pods.KEY,)
    adopts = True

    def sync(self, obj: Obj) -> None:
        """Take the next step and set the status."""
        update = controller_revisions.ensure_revision(self.context, obj)
        current = obj["status"].get("currentRevision") or update
        owned = self._by_ordinal(obj)
        if not is_deleting(obj):
            self._step(obj, owned, current, update)
        self._report(obj, current, update)

    def _by_ordinal(self, obj: Obj) -> dict[int, Obj]:
        found = self.store.owned(uid_of(obj), pods.KEY)
        return {_ordinal(pod): pod for pod in found}

    def _step(
        self, obj: Obj, owned: dict[int, Obj], current: str, update: str
    ) -> None:
        ordered = obj["spec"]["podManagementPolicy"] == "OrderedReady"
        first = (obj["spec"].get("ordinals") or {}).get("start", 0)
        wanted = range(first, first + obj["spec"]["replicas"])
        for ordinal in wanted:
            is_available = self._fill(obj, owned, ordinal, (current, update))
            if ordered and not is_available:
                return
        condemned = [at for at in owned if at not in wanted]
        if self._condemn(obj, owned, sorted(condemned, reverse=True), ordered):
            return
        self._roll(obj, owned, wanted, update)

    def _fill(
        self,
        obj: Obj,
        owned: dict[int, Obj],
        ordinal: int,
        templates: tuple[str, str],
    ) -> bool:
        """Create or replace a pod; return whether it is available."""
        pod = owned.get(ordinal)
        if pod is None:
            partition = _partition(obj)
            revision = templates[0 if ordinal < partition else 1]
            self._create(obj, ordinal, revision)
            return False
        if pods.is_finished(pod) and not is_deleting(pod):
            self._delete(obj, pod)
            return False
        seconds = obj["spec"].get("minReadySeconds", 0)
        self._bind_claims(obj, ordinal)
        if pods.is_ready(pod) and pods.available_in(pod, seconds) > 0:
            self.enqueue_later(obj, pods.available_in(pod, seconds))
        return not is_deleting(pod) and pods.is_available(pod, seconds)

    def _condemn(
        self,
        obj: Obj,
        owned: dict[int, Obj],
        condemned: Sequence[int],
        ordered: bool,
    ) -> bool:
        for ordinal in condemned:
            if not is_deleting(owned[ordinal]):
                self._delete(obj, owned[ordinal])
            if ordered:
                return True
        return bool(condemned)

    def _roll(
        self, obj: Obj, owned: dict[int, Obj], wanted: range, update: str
    ) -> None:
        if obj["spec"]["updateStrategy"]["type"] != "RollingUpdate":
            return
        for ordinal in reversed(wanted):
            pod = owned.get(ordinal)
            if pod is None or ordinal < _partition(obj):
                return
            if is_deleting(pod):
                return
            if pods.label(pod, HASH) != update:
                self._delete(obj, pod)
                return
            if not pods.is_ready(pod):
                return

    def _delete(self, obj: Obj, pod: Obj) -> None:
        self.context.deletion.delete(self.context.kind(pods.KEY), pod)
        action = f"delete Pod {name_of(pod)} in StatefulSet {name_of(obj)}"
        message = f"{action} successful"
        self.context.events.record(
            obj, "SuccessfulDelete", message, _COMPONENT
        )

    def _create(self, obj: Obj, ordinal: int, revision: str) -> None:
        name = f"{name_of(obj)}-{ordinal}"
        self._bind_claims(obj, ordinal)
        template = controller_revisions.template_of(
            self.context, obj, revision
        )
        pod = pods.from_template(obj, template)
        pod["metadata"]["name"] = name
        pod["metadata"]["labels"] = {
            **labels_of(pod),
            _POD_INDEX: str(ordinal),
            HASH: revision,
            _POD_NAME: name,
        }
        pod["spec"]["hostname"] = name
        if obj["spec"].get("serviceName"):
            pod["spec"]["subdomain"] = obj["spec"]["serviceName"]
        self._mount_claims(obj, ordinal, pod["spec"])
        kind = self.context.kind(pods.KEY)
        action = f"create Pod {name} in StatefulSet {name_of(obj)}"
        try:
            self.context.api.create(kind, namespace_of(obj), pod)
        except ApiError as error:
            message = f"{action} failed error: {error.message}"
            self.context.events.record(
                obj, "FailedCreate", message, _COMPONENT, warning=True
            )
            raise
        self.context.events.record(
            obj, "SuccessfulCreate", f"{action} successful", _COMPONENT
        )

    def _bind_claims(self, obj: Obj, ordinal: int) -> None:
        for claim in obj["spec"].get("volumeClaimTemplates") or ():
            name = _claim_name(claim, obj, ordinal)
            if self.store.get(_CLAIMS, namespace_of(obj), name) is None:
                self._create_claim(obj, claim, name, ordinal)

    def _create_claim(
        self, obj: Obj, claim: Obj, name: str, ordinal: int
    ) -> None:
        pod = f"{name_of(obj)}-{ordinal}"
        matches_selector = obj["spec"]["selector"].get("matchLabels") or {}
        labels = {**labels_of(claim), **matches_selector}
        metadata: Obj = {"name": name, "labels": labels}
        if claim["metadata"].get("annotations"):
            metadata["annotations"] = dict(claim["metadata"]["annotations"])
        result = {"metadata": metadata, "spec": clone(claim["spec"])}
        kind = self.context.kind(_CLAIMS)
        self.context.api.create(kind, namespace_of(obj), result)
        self.context.events.record(
            obj,
            "SuccessfulCreate",
            f"create Claim {name} Pod {pod} in StatefulSet"
            f" {name_of(obj)} success",
            _COMPONENT,
        )

    @staticmethod
    def _mount_claims(obj: Obj, ordinal: int, spec: Obj) -> None:
        claims = obj["spec"].get("volumeClaimTemplates") or ()
        names = {claim["metadata"]["name"] for claim in claims}
        kept = [v for v in spec.get("volumes") or () if v["name"] not in names]
        added = [
            {
                "name": claim["metadata"]["name"],
                "persistentVolumeClaim": {
                    "claimName": _claim_name(claim, obj, ordinal)
                },
            }
            for claim in claims
        ]
        if added:
            spec["volumes"] = [*added, *kept]

    def _report(self, obj: Obj, current: str, update: str) -> None:
        owned = list(self._by_ordinal(obj).values())
        seconds = obj["spec"].get("minReadySeconds", 0)
        ready = [pod for pod in owned if pods.is_ready(pod)]
        available = sum(1 for p in ready if pods.is_available(p, seconds))
        staying = [pod for pod in owned if not is_deleting(pod)]
        updated = sum(1 for p in staying if pods.label(p, HASH) == update)
        same = sum(1 for p in staying if pods.label(p, HASH) == current)
        wanted = obj["spec"]["replicas"]
        done = updated == len(owned) == len(ready) == wanted
        if done and current != update:
            current, same = update, updated
        counted = {
            "readyReplicas": len(ready),
            "currentReplicas": same,
            "updatedReplicas": updated,
        }
        self.set_status(
            obj,
            {
                "observedGeneration": obj["metadata"]["generation"],
                "replicas": len(owned),
                **{k: count for k, count in counted.items() if count},
                "currentRevision": current,
                "updateRevision": update,
                "collisionCount": 0,
                "availableReplicas": available,
            },
        )


def _ordinal(pod: Obj) -> int:
    last = name_of(pod).rpartition("-")[2]
    return int(last) if last.isdigit() else -1


def _partition(obj: Obj) -> int:
    rolling = obj["spec"]["updateStrategy"].get("rollingUpdate") or {}
    return int(rolling.get("partition", 0))


def _claim_name(claim: Obj, obj: Obj, ordinal: int) -> str:
    return f"{claim['metadata']['name']}-{name_of(obj)}-{ordinal}"
