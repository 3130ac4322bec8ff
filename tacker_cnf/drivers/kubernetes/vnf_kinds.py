"""The kinds of Kubernetes itself: those that packages may create, and those
that reach beyond the namespace of a VNF.
"""

from collections.abc import Mapping
from typing import Final

RBAC: Final = "rbac.authorization.k8s.io"

#: API group -> kinds that packages may create on any VIM
VNF_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(
        {
            "Binding",
            "ConfigMap",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        }
    ),
    "apps": frozenset(
        {
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        }
    ),
    "authorization.k8s.io": frozenset({"LocalSubjectAccessReview"}),
    "autoscaling": frozenset({"HorizontalPodAutoscaler"}),
    "batch": frozenset({"CronJob", "Job"}),
    "coordination.k8s.io": frozenset({"Lease"}),
    "events.k8s.io": frozenset({"Event"}),
    "networking.k8s.io": frozenset({"Ingress", "NetworkPolicy"}),
    "policy": frozenset({"PodDisruptionBudget"}),
    RBAC: frozenset({"Role", "RoleBinding"}),
    "resource.k8s.io": frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
}
#: API group -> kinds that a policy has to allow. Most have no namespace;
#: Endpoints and EndpointSlices can send the traffic of a Service to addresses
#: outside of its namespace
OTHER_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(
        {
            "ComponentStatus",
            "Endpoints",
            "Namespace",
            "Node",
            "PersistentVolume",
        }
    ),
    "admissionregistration.k8s.io": frozenset(
        {
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        }
    ),
    "apiextensions.k8s.io": frozenset({"CustomResourceDefinition"}),
    "apiregistration.k8s.io": frozenset({"APIService"}),
    "authentication.k8s.io": frozenset({"SelfSubjectReview", "TokenReview"}),
    "authorization.k8s.io": frozenset(
        {
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        }
    ),
    "certificates.k8s.io": frozenset(
        {
            "CertificateSigningRequest",
            "ClusterTrustBundle",
            "PodCertificateRequest",
        }
    ),
    "discovery.k8s.io": frozenset({"EndpointSlice"}),
    "extensions": frozenset(),
    "flowcontrol.apiserver.k8s.io": frozenset(
        {"FlowSchema", "PriorityLevelConfiguration"}
    ),
    "internal.apiserver.k8s.io": frozenset({"StorageVersion"}),
    "networking.k8s.io": frozenset(
        {"IPAddress", "IngressClass", "ServiceCIDR"}
    ),
    "node.k8s.io": frozenset({"RuntimeClass"}),
    RBAC: frozenset({"ClusterRole", "ClusterRoleBinding"}),
    "resource.k8s.io": frozenset(
        {"DeviceClass", "DeviceTaintRule", "ResourceSlice"}
    ),
    "scheduling.k8s.io": frozenset({"PriorityClass"}),
    "storage.k8s.io": frozenset(
        {
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        }
    ),
    "storagemigration.k8s.io": frozenset({"StorageVersionMigration"}),
}
#: names of all these kinds
KIND_NAMES: Final = frozenset[str]().union(
    *VNF_KINDS.values(), *OTHER_KINDS.values()
)


def is_builtin(group: str) -> bool:
    """Return whether an API group is one of Kubernetes itself."""
    return group in VNF_KINDS or group in OTHER_KINDS


def is_vnf_kind(group: str, kind: str) -> bool:
    """Return whether packages may create a kind on any VIM."""
    return kind in VNF_KINDS.get(group, ())
