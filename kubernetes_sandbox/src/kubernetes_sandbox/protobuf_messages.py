"""The protobuf messages of the kinds that ``kubectl`` sends as protobuf.

A message is its name, then a line for each field: number, JSON name, type. A
type is a scalar or a message; ``[]`` marks a list and ``map:`` a map with
string keys. ``*`` marks a pointer: such a field is kept if it is zero or
empty, as it would not have been sent if it were not set. ``inline`` fields are
embedded structs, whose fields JSON has one level higher. ``ignored`` fields,
such as a status, are set by the server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

_METADATA = """
ObjectMeta
1 name string
2 generateName string
3 namespace string
4 selfLink ignored
5 uid string
6 resourceVersion string
7 generation int
8 creationTimestamp Time
9 deletionTimestamp *Time
10 deletionGracePeriodSeconds *int
11 labels map:string
12 annotations map:string
13 ownerReferences []OwnerReference
14 finalizers []string
17 managedFields ignored

OwnerReference
1 kind string
3 name string
4 uid string
5 apiVersion string
6 controller *bool
7 blockOwnerDeletion *bool

LabelSelector
1 matchLabels map:string
2 matchExpressions []Requirement

Requirement
1 key string
2 operator string
3 values []string

LocalObjectReference
1 name string

ObjectReference
1 kind string
2 namespace string
3 name string
4 uid string
5 apiVersion string
6 resourceVersion string
7 fieldPath string

TypedLocalObjectReference
1 apiGroup *string
2 kind string
3 name string

DeleteOptions
1 gracePeriodSeconds *int
2 preconditions *Preconditions
3 orphanDependents *bool
4 propagationPolicy *string
5 dryRun []string
6 ignoreStoreReadErrorWithClusterBreakingPotential *bool

Preconditions
1 uid *string
2 resourceVersion *string
"""

_PODS = """
Pod
1 metadata ObjectMeta
2 spec PodSpec
3 status ignored

PodTemplateSpec
1 metadata ObjectMeta
2 spec PodSpec

PodSpec
1 volumes []Volume
2 containers []Container
3 restartPolicy string
4 terminationGracePeriodSeconds *int
5 activeDeadlineSeconds *int
6 dnsPolicy string
7 nodeSelector map:string
8 serviceAccountName string
9 serviceAccount string
10 nodeName string
11 hostNetwork bool
12 hostPID bool
13 hostIPC bool
14 securityContext *PodSecurityContext
15 imagePullSecrets []LocalObjectReference
16 hostname string
17 subdomain string
18 affinity *Affinity
19 schedulerName string
20 initContainers []Container
21 automountServiceAccountToken *bool
22 tolerations []Toleration
23 hostAliases []HostAlias
24 priorityClassName string
25 priority *int
26 dnsConfig *PodDNSConfig
27 shareProcessNamespace *bool
28 readinessGates []PodReadinessGate
29 runtimeClassName *string
30 enableServiceLinks *bool
31 preemptionPolicy *string
32 overhead map:Quantity
33 topologySpreadConstraints []TopologySpreadConstraint
35 setHostnameAsFQDN *bool
36 os *PodOS
37 hostUsers *bool
38 schedulingGates []PodSchedulingGate
40 resources *ResourceRequirements
41 hostnameOverride *string

Container
1 name string
2 image string
3 command []string
4 args []string
5 workingDir string
6 ports []ContainerPort
7 env []EnvVar
8 resources ResourceRequirements
9 volumeMounts []VolumeMount
10 livenessProbe *Probe
11 readinessProbe *Probe
12 lifecycle *Lifecycle
13 terminationMessagePath string
14 imagePullPolicy string
15 securityContext *SecurityContext
16 stdin bool
17 stdinOnce bool
18 tty bool
19 envFrom []EnvFromSource
20 terminationMessagePolicy string
21 volumeDevices []VolumeDevice
22 startupProbe *Probe
23 resizePolicy []ContainerResizePolicy
24 restartPolicy *string

ContainerPort
1 name string
2 hostPort int
3 containerPort int
4 protocol string
5 hostIP string

ContainerResizePolicy
1 resourceName string
2 restartPolicy string

EnvVar
1 name string
2 value string
3 valueFrom *EnvVarSource

EnvVarSource
1 fieldRef *ObjectFieldSelector
2 resourceFieldRef *ResourceFieldSelector
3 configMapKeyRef *KeySelector
4 secretKeyRef *KeySelector

ObjectFieldSelector
1 apiVersion string
2 fieldPath string

ResourceFieldSelector
1 containerName string
2 resource string
3 divisor Quantity

KeySelector
1 - inline:LocalObjectReference
2 key string
3 optional *bool

EnvFromSource
1 prefix string
2 configMapRef *EnvSource
3 secretRef *EnvSource

EnvSource
1 - inline:LocalObjectReference
2 optional *bool

ResourceRequirements
1 limits map:Quantity
2 requests map:Quantity
3 claims []ResourceClaim

ResourceClaim
1 name string
2 request string

VolumeMount
1 name string
2 readOnly bool
3 mountPath string
4 subPath string
5 mountPropagation *string
6 subPathExpr string
7 recursiveReadOnly *string

VolumeDevice
1 name string
2 devicePath string

Probe
1 - inline:ProbeHandler
2 initialDelaySeconds int
3 timeoutSeconds int
4 periodSeconds int
5 successThreshold int
6 failureThreshold int
7 terminationGracePeriodSeconds *int

ProbeHandler
1 exec *ExecAction
2 httpGet *HTTPGetAction
3 tcpSocket *TCPSocketAction
4 grpc *GRPCAction

ExecAction
1 command []string

HTTPGetAction
1 path string
2 port IntOrString
3 host string
4 scheme string
5 httpHeaders []NameValue

NameValue
1 name string
2 value *string

TCPSocketAction
1 port IntOrString
2 host string

GRPCAction
1 port int
2 service *string

Lifecycle
1 postStart *LifecycleHandler
2 preStop *LifecycleHandler
3 stopSignal *string

LifecycleHandler
1 exec *ExecAction
2 httpGet *HTTPGetAction
3 tcpSocket *TCPSocketAction
4 sleep *SleepAction

SleepAction
1 seconds int

SecurityContext
1 capabilities *Capabilities
2 privileged *bool
3 seLinuxOptions *SELinuxOptions
4 runAsUser *int
5 runAsNonRoot *bool
6 readOnlyRootFilesystem *bool
7 allowPrivilegeEscalation *bool
8 runAsGroup *int
9 procMount *string
11 seccompProfile *Profile
12 appArmorProfile *Profile

Capabilities
1 add []string
2 drop []string

SELinuxOptions
1 user string
2 role string
3 type string
4 level string

Profile
1 type string
2 localhostProfile *string

PodSecurityContext
1 seLinuxOptions *SELinuxOptions
2 runAsUser *int
3 runAsNonRoot *bool
4 supplementalGroups []int
5 fsGroup *int
6 runAsGroup *int
7 sysctls []NameValue
9 fsGroupChangePolicy *string
10 seccompProfile *Profile
11 appArmorProfile *Profile
12 supplementalGroupsPolicy *string
13 seLinuxChangePolicy *string

Volume
1 name string
2 - inline:VolumeSource

VolumeSource
1 hostPath *HostPathVolumeSource
2 emptyDir *EmptyDirVolumeSource
6 secret *SecretVolumeSource
7 nfs *NFSVolumeSource
10 persistentVolumeClaim *PersistentVolumeClaimVolumeSource
16 downwardAPI *DownwardAPIVolumeSource
19 configMap *ConfigMapVolumeSource
26 projected *ProjectedVolumeSource
28 csi *CSIVolumeSource
29 ephemeral *EphemeralVolumeSource
30 image *ImageVolumeSource

HostPathVolumeSource
1 path string
2 type *string

EmptyDirVolumeSource
1 medium string
2 sizeLimit *Quantity

SecretVolumeSource
1 secretName string
2 items []KeyToPath
3 defaultMode *int
4 optional *bool

KeyToPath
1 key string
2 path string
3 mode *int

NFSVolumeSource
1 server string
2 path string
3 readOnly bool

PersistentVolumeClaimVolumeSource
1 claimName string
2 readOnly bool

DownwardAPIVolumeSource
1 items []DownwardAPIVolumeFile
2 defaultMode *int

DownwardAPIVolumeFile
1 path string
2 fieldRef *ObjectFieldSelector
3 resourceFieldRef *ResourceFieldSelector
4 mode *int

ConfigMapVolumeSource
1 - inline:LocalObjectReference
2 items []KeyToPath
3 defaultMode *int
4 optional *bool

ProjectedVolumeSource
1 sources []VolumeProjection
2 defaultMode *int

VolumeProjection
1 secret *KeyProjection
2 downwardAPI *DownwardAPIProjection
3 configMap *KeyProjection
4 serviceAccountToken *ServiceAccountTokenProjection

KeyProjection
1 - inline:LocalObjectReference
2 items []KeyToPath
4 optional *bool

DownwardAPIProjection
1 items []DownwardAPIVolumeFile

ServiceAccountTokenProjection
1 audience string
2 expirationSeconds *int
3 path string

CSIVolumeSource
1 driver string
2 readOnly *bool
3 fsType *string
4 volumeAttributes map:string
5 nodePublishSecretRef *LocalObjectReference

EphemeralVolumeSource
1 volumeClaimTemplate *PersistentVolumeClaimTemplate

PersistentVolumeClaimTemplate
1 metadata ObjectMeta
2 spec PersistentVolumeClaimSpec

PersistentVolumeClaimSpec
1 accessModes []string
2 resources ResourceRequirements
3 volumeName string
4 selector *LabelSelector
5 storageClassName *string
6 volumeMode *string
7 dataSource *TypedLocalObjectReference

ImageVolumeSource
1 reference string
2 pullPolicy string

Affinity
1 nodeAffinity *NodeAffinity
2 podAffinity *PodAffinity
3 podAntiAffinity *PodAffinity

NodeAffinity
1 requiredDuringSchedulingIgnoredDuringExecution *NodeSelector
2 preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm

NodeSelector
1 nodeSelectorTerms []NodeSelectorTerm

NodeSelectorTerm
1 matchExpressions []Requirement
2 matchFields []Requirement

PreferredSchedulingTerm
1 weight int
2 preference NodeSelectorTerm

PodAffinity
1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm

WeightedPodAffinityTerm
1 weight int
2 podAffinityTerm PodAffinityTerm

PodAffinityTerm
1 labelSelector *LabelSelector
2 namespaces []string
3 topologyKey string
4 namespaceSelector *LabelSelector
5 matchLabelKeys []string
6 mismatchLabelKeys []string

Toleration
1 key string
2 operator string
3 value string
4 effect string
5 tolerationSeconds *int

HostAlias
1 ip string
2 hostnames []string

PodDNSConfig
1 nameservers []string
2 searches []string
3 options []NameValue

PodReadinessGate
1 conditionType string

PodOS
1 name string

PodSchedulingGate
1 name string

TopologySpreadConstraint
1 maxSkew int
2 topologyKey string
3 whenUnsatisfiable string
4 labelSelector *LabelSelector
5 minDomains *int
6 nodeAffinityPolicy *string
7 nodeTaintsPolicy *string
8 matchLabelKeys []string
"""

_KINDS = """
Namespace
1 metadata ObjectMeta
2 spec NamespaceSpec
3 status ignored

NamespaceSpec
1 finalizers []string

ServiceAccount
1 metadata ObjectMeta
2 secrets []ObjectReference
3 imagePullSecrets []LocalObjectReference
4 automountServiceAccountToken *bool

ConfigMap
1 metadata ObjectMeta
2 data map:string
3 binaryData map:bytes
4 immutable *bool

Secret
1 metadata ObjectMeta
2 data map:bytes
3 type string
4 stringData map:string
5 immutable *bool

Service
1 metadata ObjectMeta
2 spec ServiceSpec
3 status ignored

ServiceSpec
1 ports []ServicePort
2 selector map:string
3 clusterIP string
4 type string
5 externalIPs []string
7 sessionAffinity string
8 loadBalancerIP string
9 loadBalancerSourceRanges []string
10 externalName string
11 externalTrafficPolicy string
12 healthCheckNodePort int
13 publishNotReadyAddresses bool
17 ipFamilyPolicy *string
18 clusterIPs []string
19 ipFamilies []string
20 allocateLoadBalancerNodePorts *bool
21 loadBalancerClass *string
22 internalTrafficPolicy *string
23 trafficDistribution *string

ServicePort
1 name string
2 protocol string
3 port int
4 targetPort IntOrString
5 nodePort int
6 appProtocol *string

ResourceQuota
1 metadata ObjectMeta
2 spec ResourceQuotaSpec
3 status ignored

ResourceQuotaSpec
1 hard map:Quantity
2 scopes []string
3 scopeSelector *ScopeSelector

ScopeSelector
1 matchExpressions []ScopedResourceRequirement

ScopedResourceRequirement
1 scopeName string
2 operator string
3 values []string

Binding
1 metadata ObjectMeta
2 target ObjectReference

Deployment
1 metadata ObjectMeta
2 spec DeploymentSpec
3 status ignored

DeploymentSpec
1 replicas *int
2 selector *LabelSelector
3 template PodTemplateSpec
4 strategy DeploymentStrategy
5 minReadySeconds int
6 revisionHistoryLimit *int
7 paused bool
9 progressDeadlineSeconds *int

DeploymentStrategy
1 type string
2 rollingUpdate *RollingUpdateDeployment

RollingUpdateDeployment
1 maxUnavailable *IntOrString
2 maxSurge *IntOrString

Job
1 metadata ObjectMeta
2 spec JobSpec
3 status ignored

JobSpec
1 parallelism *int
2 completions *int
3 activeDeadlineSeconds *int
4 selector *LabelSelector
5 manualSelector *bool
6 template PodTemplateSpec
7 backoffLimit *int
8 ttlSecondsAfterFinished *int
9 completionMode *string
10 suspend *bool
12 backoffLimitPerIndex *int
13 maxFailedIndexes *int
14 podReplacementPolicy *string
15 managedBy *string

CronJob
1 metadata ObjectMeta
2 spec CronJobSpec
3 status ignored

CronJobSpec
1 schedule string
2 startingDeadlineSeconds *int
3 concurrencyPolicy string
4 suspend *bool
5 jobTemplate JobTemplateSpec
6 successfulJobsHistoryLimit *int
7 failedJobsHistoryLimit *int
8 timeZone *string

JobTemplateSpec
1 metadata ObjectMeta
2 spec JobSpec

PodDisruptionBudget
1 metadata ObjectMeta
2 spec PodDisruptionBudgetSpec
3 status ignored

PodDisruptionBudgetSpec
1 minAvailable *IntOrString
2 selector *LabelSelector
3 maxUnavailable *IntOrString
4 unhealthyPodEvictionPolicy *string

Eviction
1 metadata ObjectMeta
2 deleteOptions *DeleteOptions

PriorityClass
1 metadata ObjectMeta
2 value int
3 globalDefault bool
4 description string
5 preemptionPolicy *string

Ingress
1 metadata ObjectMeta
2 spec IngressSpec
3 status ignored

IngressSpec
1 defaultBackend *IngressBackend
2 tls []IngressTLS
3 rules []IngressRule
4 ingressClassName *string

IngressTLS
1 hosts []string
2 secretName string

IngressRule
1 host string
2 - inline:IngressRuleValue

IngressRuleValue
1 http *HTTPIngressRuleValue

HTTPIngressRuleValue
1 paths []HTTPIngressPath

HTTPIngressPath
1 path string
2 backend IngressBackend
3 pathType *string

IngressBackend
3 resource *TypedLocalObjectReference
4 service *IngressServiceBackend

IngressServiceBackend
1 name string
2 port ServiceBackendPort

ServiceBackendPort
1 name string
2 number int

autoscaling/v1.HorizontalPodAutoscaler
1 metadata ObjectMeta
2 spec autoscaling/v1.HorizontalPodAutoscalerSpec
3 status ignored

autoscaling/v1.HorizontalPodAutoscalerSpec
1 scaleTargetRef CrossVersionObjectReference
2 minReplicas *int
3 maxReplicas int
4 targetCPUUtilizationPercentage *int

HorizontalPodAutoscaler
1 metadata ObjectMeta
2 spec HorizontalPodAutoscalerSpec
3 status ignored

HorizontalPodAutoscalerSpec
1 scaleTargetRef CrossVersionObjectReference
2 minReplicas *int
3 maxReplicas int
4 metrics []MetricSpec

CrossVersionObjectReference
1 kind string
2 name string
3 apiVersion string

MetricSpec
1 type string
4 resource *ResourceMetricSource

ResourceMetricSource
1 name string
2 target MetricTarget

MetricTarget
1 type string
2 value *Quantity
3 averageValue *Quantity
4 averageUtilization *int

Role
1 metadata ObjectMeta
2 rules []PolicyRule

ClusterRole
1 metadata ObjectMeta
2 rules []PolicyRule
3 aggregationRule *AggregationRule

AggregationRule
1 clusterRoleSelectors []LabelSelector

PolicyRule
1 verbs []string
2 apiGroups []string
3 resources []string
4 resourceNames []string
5 nonResourceURLs []string

RoleBinding
1 metadata ObjectMeta
2 subjects []Subject
3 roleRef RoleRef

ClusterRoleBinding
1 metadata ObjectMeta
2 subjects []Subject
3 roleRef RoleRef

Subject
1 kind string
2 apiGroup string
3 name string
4 namespace string

RoleRef
1 apiGroup string
2 kind string
3 name string

TokenRequest
1 metadata ObjectMeta
2 spec TokenRequestSpec
3 status ignored

TokenRequestSpec
1 audiences []string
3 boundObjectRef *BoundObjectReference
4 expirationSeconds *int

BoundObjectReference
1 kind string
2 apiVersion string
3 name string
4 uid string

SelfSubjectReview
1 metadata ObjectMeta
2 status ignored

SelfSubjectAccessReview
1 metadata ObjectMeta
2 spec SelfSubjectAccessReviewSpec
3 status ignored

SelfSubjectAccessReviewSpec
1 resourceAttributes *ResourceAttributes
2 nonResourceAttributes *NonResourceAttributes

ResourceAttributes
1 namespace string
2 verb string
3 group string
4 version string
5 resource string
6 subresource string
7 name string

NonResourceAttributes
1 path string
2 verb string

SelfSubjectRulesReview
1 metadata ObjectMeta
2 spec SelfSubjectRulesReviewSpec
3 status ignored

SelfSubjectRulesReviewSpec
1 namespace string
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message."""

    name: str
    type: str
    is_pointer: bool = False
    is_list: bool = False
    is_map: bool = False
    is_inline: bool = False

    @classmethod
    def parse(cls, name: str, declared: str) -> Self:
        """Parse the type of a field."""
        return cls(
            name=name,
            type=declared.removeprefix("*")
            .removeprefix("[]")
            .removeprefix("map:")
            .removeprefix("inline:"),
            is_pointer=declared.startswith("*"),
            is_list=declared.startswith("[]"),
            is_map=declared.startswith("map:"),
            is_inline=declared.startswith("inline:"),
        )


#: Field number -> field.
Message = Mapping[int, Field]


def _parse(*tables: str) -> dict[str, Message]:
    messages: dict[str, Message] = {}
    for text in "\n".join(tables).strip().split("\n\n"):
        name, *lines = text.strip().splitlines()
        fields = (line.split() for line in lines)
        messages[name] = {
            int(number): Field.parse(field, declared)
            for number, field, declared in fields
        }
    return messages


MESSAGES: Mapping[str, Message] = _parse(_METADATA, _PODS, _KINDS)
