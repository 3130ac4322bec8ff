"""Admission: mutation, validation and quota checks of new objects."""

from kubernetes_sandbox import errors, limit_range, quota
from kubernetes_sandbox.errors import Cause
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import (
    Obj,
    annotations_of,
    is_deleting,
    name_of,
    random_suffix,
)
from kubernetes_sandbox.store import Store

_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_RUNTIME_CLASSES = "runtimeclasses.node.k8s.io"
CLASSES = "storageclasses.storage.k8s.io"
_UNHEALTHY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def _token_volume(name: str) -> Obj:
    return {
        "name": name,
        "projected": {
            "sources": [
                {
                    "serviceAccountToken": {
                        "expirationSeconds": 3607,
                        "path": "token",
                    }
                },
                {
                    "configMap": {
                        "name": "kube-root-ca.crt",
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }
                },
                {
                    "downwardAPI": {
                        "items": [
                            {
                                "path": "namespace",
                                "fieldRef": {
                                    "apiVersion": "v1",
                                    "fieldPath": "metadata.namespace",
                                },
                            }
                        ]
                    }
                },
            ],
            "defaultMode": 420,
        },
    }


def _mount_token(spec: Obj) -> None:
    name = f"kube-api-access-{random_suffix()}"
    spec["volumes"] = [*(spec.get("volumes") or ()), _token_volume(name)]
    mount = {"name": name, "readOnly": True, "mountPath": _TOKEN_PATH}
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            mounts = list(container.get("volumeMounts") or ())
            if all(m.get("mountPath") != _TOKEN_PATH for m in mounts):
                container["volumeMounts"] = [*mounts, dict(mount)]


def default_tolerations() -> list[Obj]:
    """Build the tolerations that every pod gets."""
    return [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for key in _UNHEALTHY
    ]


def _tolerate(spec: Obj) -> None:
    tolerations = list(spec.get("tolerations") or ())
    for added in default_tolerations():
        if not any(_matches(known, added["key"]) for known in tolerations):
            tolerations.append(added)
    spec["tolerations"] = tolerations


def _matches(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in {None, "", key} and toleration.get(
        "effect"
    ) in {None, "", "NoExecute"}


class Admission:
    """The admission plug-ins that a cluster enables by default."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        """Reject a create in a namespace that is absent or terminating.

        :raises ApiError: 404 or 403
        """
        if not kind.namespaced:
            return
        found = self._store.get("namespaces.", "", namespace)
        if found is None:
            raise errors.not_found("namespaces", "", namespace)
        if is_deleting(found):
            why = f"namespace {namespace} is being terminated"
            raise errors.forbidden(
                kind.plural,
                kind.group,
                name,
                f"unable to create new content in namespace {namespace}"
                " because it is being terminated",
                [Cause("metadata.namespace", "NamespaceTerminating", why)],
            )

    def admit(self, kind: Kind, obj: Obj) -> None:
        """Mutate and validate a new object.

        :raises ApiError: it refers to an object that does not exist
        """
        if kind.key == "pods.":
            limit_range.set_defaults(self._store, obj)
            self._pod(obj)
        elif kind.key == "persistentvolumeclaims.":
            self._volume_claim(obj)

    def check_quota(self, kind: Kind, obj: Obj) -> None:
        """Check the resource quotas; this is the last admission step.

        :raises ApiError: 403
        """
        limit_range.check(self._store, kind, obj)
        quota.check(self._store, kind, obj)

    def _pod(self, obj: Obj) -> None:
        spec, namespace = obj["spec"], obj["metadata"]["namespace"]
        account = spec.setdefault("serviceAccountName", "default")
        spec.setdefault("serviceAccount", account)
        found = self._store.get("serviceaccounts.", namespace, account)
        if found is None:
            raise errors.forbidden(
                "pods",
                "",
                name_of(obj),
                f"error looking up service account {namespace}/{account}:"
                f' serviceaccount "{account}" not found',
            )
        automatic = found.get("automountServiceAccountToken", True)
        if spec.get("automountServiceAccountToken", automatic):
            _mount_token(spec)
        _tolerate(spec)
        self._prioritise(obj)
        self._check_runtime_class(obj)

    def _check_runtime_class(self, pod: Obj) -> None:
        name = pod["spec"].get("runtimeClassName")
        if name and not self._store.get(_RUNTIME_CLASSES, "", name):
            raise errors.forbidden(
                "pods",
                "",
                name_of(pod),
                f'pod rejected: RuntimeClass "{name}" not found',
            )

    def _prioritise(self, obj: Obj) -> None:
        spec = obj["spec"]
        name = spec.get("priorityClassName")
        key = "priorityclasses.scheduling.k8s.io"
        found = self._store.get(key, "", name) if name else None
        if name and found is None:
            raise errors.forbidden(
                "pods",
                "",
                name_of(obj),
                f"no PriorityClass with name {name} was found",
            )
        priority = found["value"] if found else 0
        if spec.get("priority") not in {None, priority}:
            raise errors.forbidden(
                "pods",
                "",
                name_of(obj),
                f"the integer value of priority ({spec['priority']}) must not"
                " be provided in pod spec; priority admission controller"
                f" computed {priority} from the given PriorityClass name",
            )
        spec["priority"] = priority
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def _volume_claim(self, obj: Obj) -> None:
        if "storageClassName" in obj["spec"]:
            return
        for one in self._store.objects(CLASSES):
            if annotations_of(one).get(_DEFAULT_CLASS) == "true":
                obj["spec"]["storageClassName"] = name_of(one)
                return
