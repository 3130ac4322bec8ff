"""The fields of Kubernetes objects whose values a plan shows.

They name, size and connect objects. Others may have secrets: the values of
environment variables, commands and their arguments, data, annotations, and
all fields of kinds that Kubernetes does not define.
"""

from typing import Final

from tacker_cnf.drivers.field_changes import HIDES_ALL, Structure

_SIZES: Final = (
    "activeDeadlineSeconds averageUtilization averageValue backoffLimit "
    "completions containerPort defaultMode exponent failureThreshold fsGroup "
    "hostPort initialDelaySeconds maxReplicas maxSurge maxUnavailable "
    "minAvailable minReadySeconds minReplicas mode nodePort number ordinals "
    "parallelism partition periodSeconds port priority "
    "progressDeadlineSeconds replicas revisionHistoryLimit runAsGroup "
    "runAsUser sizeLimit startingDeadlineSeconds storage successThreshold "
    "successfulJobsHistoryLimit failedJobsHistoryLimit supplementalGroups "
    "targetPort terminationGracePeriodSeconds timeoutSeconds "
    "tolerationSeconds ttlSecondsAfterFinished weight"
)
_NAMES: Final = (
    "apiGroup apiVersion claimName className configMapName container "
    "controller fieldPath host hostname ingressClassName key kind name "
    "namespace nodeName path pathType priorityClassName resource "
    "runtimeClassName schedulerName secretName serviceAccount "
    "serviceAccountName serviceName storageClassName subPath subdomain "
    "topologyKey volumeMode volumeName"
)
_CHOICES: Final = (
    "accessModes accessMode add concurrencyPolicy dnsPolicy drop effect "
    "externalTrafficPolicy hostPath image imagePullPolicy "
    "internalTrafficPolicy ipFamilies ipFamilyPolicy medium mountPath "
    "mountPropagation operator persistentVolumeReclaimPolicy "
    "podManagementPolicy policyTypes preemptionPolicy protocol reclaimPolicy "
    "restartPolicy schedule scheme sessionAffinity type updatePolicy values "
    "verbs resources resourceNames apiGroups whenDeleted whenScaled "
    "whenUnsatisfiable"
)
#: fields whose keys are labels or names of resources
_MAPS: Final = "labels limits matchLabels nodeSelector requests selector"

#: fields that have further ones
_PARENTS: Final = (
    "affinity backend behavior capabilities claimRef clusterIP configMap "
    "configMapKeyRef configMapRef containers csi downwardAPI emptyDir env "
    "envFrom exec fieldRef grpc http httpGet ingress egress initContainers "
    "items jobTemplate lifecycle livenessProbe matchExpressions "
    "matchLabelKeys metadata metric metrics namespaceSelector nodeAffinity "
    "nodeSelectorTerms ownerReferences paths persistentVolumeClaim "
    "podAffinity podAffinityTerm podAntiAffinity podSelector policies ports "
    "preferredDuringSchedulingIgnoredDuringExecution preference projected "
    "readinessProbe requiredDuringSchedulingIgnoredDuringExecution "
    "resourceFieldRef roleRef rollingUpdate rules scaleDown scaleTargetRef "
    "scaleUp secret secretKeyRef secretRef securityContext service sources "
    "spec startupProbe strategy subjects target tcpSocket template tls "
    "tolerations topologySpreadConstraints updateStrategy valueFrom "
    "volumeClaimTemplates volumeDevices volumeMounts volumes"
)

STRUCTURE: Final = Structure(
    fields=frozenset(f"{_SIZES} {_NAMES} {_CHOICES}".split()),
    parents=frozenset(_PARENTS.split()),
    maps=frozenset(_MAPS.split()),
)
#: of kinds that Kubernetes does not define
CUSTOM: Final = Structure(
    fields=frozenset({"replicas"}), parents=frozenset({"spec"})
)


def structure_of(api_version: str, kind: str) -> Structure:
    """Return the fields of a kind that are shown."""
    group = api_version.rpartition("/")[0]
    if kind == "Secret":
        return HIDES_ALL
    if "." in group and not group.endswith(".k8s.io"):
        return CUSTOM
    return STRUCTURE
