"""What the server adds to a new object, and which it turns away."""

from kubernetes_sandbox import errors, quota
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
    """Build the tolerations every pod gets."""
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
        if not any(_covers(known, added["key"]) for known in tolerations):
            tolerations.append(added)
    spec["tolerations"] = tolerations


def _covers(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in {None, "", key} and toleration.get(
        "effect"
    ) in {None, "", "NoExecute"}


class Admission:
    """The admission plug-ins that a cluster has by default."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        """Refuse a create in a namespace that is not there, or goes.

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
        """Add to a new object what the cluster adds.

        :raises ApiError: it refers to what is not there
        """
        if kind.key == "pods.":
            self._pod(obj)
        elif kind.key == "persistentvolumeclaims.":
            self._volume_claim(obj)

    def charge(self, kind: Kind, obj: Obj) -> None:
        """Check the quotas, last of all.

        :raises ApiError: 403
        """
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
        spec["priority"] = found["value"] if found else 0
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def _volume_claim(self, obj: Obj) -> None:
        if "storageClassName" in obj["spec"]:
            return
        for one in self._store.objects(CLASSES):
            if annotations_of(one).get(_DEFAULT_CLASS) == "true":
                obj["spec"]["storageClassName"] = name_of(one)
                return
