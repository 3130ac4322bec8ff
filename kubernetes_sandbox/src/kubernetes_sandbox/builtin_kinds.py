"""The built-in kinds of a v1.36 cluster, in the order of discovery.

Columns: plural, kind, scope (N namespaced, C cluster-scoped), short names,
category, and subresources: ``s`` is status, ``S`` is scale.
"""

from kubernetes_sandbox.kinds import STANDARD_VERBS, Kind, Subresource

_CORE = """
bindings Binding N - -
componentstatuses ComponentStatus C cs -
configmaps ConfigMap N cm -
endpoints Endpoints N ep -
events Event N ev -
limitranges LimitRange N limits -
namespaces Namespace C ns - s
nodes Node C no - s
persistentvolumeclaims PersistentVolumeClaim N pvc - s
persistentvolumes PersistentVolume C pv - s
pods Pod N po all s
podtemplates PodTemplate N - -
replicationcontrollers ReplicationController N rc all Ss
resourcequotas ResourceQuota N quota - s
secrets Secret N - -
serviceaccounts ServiceAccount N sa -
services Service N svc all s
"""

#: Group, version and its rows, in the order of /apis.
_GROUPS = (
    ("", "v1", _CORE),
    (
        "apiregistration.k8s.io",
        "v1",
        "apiservices APIService C - api-extensions s",
    ),
    (
        "apps",
        "v1",
        """
        controllerrevisions ControllerRevision N - -
        daemonsets DaemonSet N ds all s
        deployments Deployment N deploy all Ss
        replicasets ReplicaSet N rs all Ss
        statefulsets StatefulSet N sts all Ss
        """,
    ),
    ("events.k8s.io", "v1", "events Event N ev -"),
    (
        "authentication.k8s.io",
        "v1",
        """
        selfsubjectreviews SelfSubjectReview C - -
        tokenreviews TokenReview C - -
        """,
    ),
    (
        "authorization.k8s.io",
        "v1",
        """
        localsubjectaccessreviews LocalSubjectAccessReview N - -
        selfsubjectaccessreviews SelfSubjectAccessReview C - -
        selfsubjectrulesreviews SelfSubjectRulesReview C - -
        subjectaccessreviews SubjectAccessReview C - -
        """,
    ),
    (
        "autoscaling",
        "v2",
        "horizontalpodautoscalers HorizontalPodAutoscaler N hpa all s",
    ),
    (
        "autoscaling",
        "v1",
        "horizontalpodautoscalers HorizontalPodAutoscaler N hpa all s",
    ),
    (
        "batch",
        "v1",
        "cronjobs CronJob N cj all s\njobs Job N - all s",
    ),
    (
        "certificates.k8s.io",
        "v1",
        "certificatesigningrequests CertificateSigningRequest C csr - s",
    ),
    (
        "networking.k8s.io",
        "v1",
        """
        ingressclasses IngressClass C - -
        ingresses Ingress N ing - s
        ipaddresses IPAddress C ip -
        networkpolicies NetworkPolicy N netpol -
        servicecidrs ServiceCIDR C - - s
        """,
    ),
    ("policy", "v1", "poddisruptionbudgets PodDisruptionBudget N pdb - s"),
    (
        "rbac.authorization.k8s.io",
        "v1",
        """
        clusterrolebindings ClusterRoleBinding C - -
        clusterroles ClusterRole C - -
        rolebindings RoleBinding N - -
        roles Role N - -
        """,
    ),
    (
        "storage.k8s.io",
        "v1",
        """
        csidrivers CSIDriver C - -
        csinodes CSINode C - -
        csistoragecapacities CSIStorageCapacity N - -
        storageclasses StorageClass C sc -
        volumeattachments VolumeAttachment C - - s
        volumeattributesclasses VolumeAttributesClass C vac -
        """,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        """
        mutatingadmissionpolicies MutatingAdmissionPolicy C - api-extensions
        mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding C - api-extensions
        mutatingwebhookconfigurations MutatingWebhookConfiguration C - api-extensions
        validatingadmissionpolicies ValidatingAdmissionPolicy C - api-extensions s
        validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding C - api-extensions
        validatingwebhookconfigurations ValidatingWebhookConfiguration C - api-extensions
        """,
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        """
        customresourcedefinitions CustomResourceDefinition C crd,crds api-extensions s
        """,
    ),
    (
        "scheduling.k8s.io",
        "v1",
        "priorityclasses PriorityClass C pc -",
    ),
    ("coordination.k8s.io", "v1", "leases Lease N - -"),
    ("node.k8s.io", "v1", "runtimeclasses RuntimeClass C - -"),
    ("discovery.k8s.io", "v1", "endpointslices EndpointSlice N - -"),
    (
        "resource.k8s.io",
        "v1",
        """
        deviceclasses DeviceClass C - -
        resourceclaims ResourceClaim N - - s
        resourceclaimtemplates ResourceClaimTemplate N - -
        resourceslices ResourceSlice C - -
        """,
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        """
        flowschemas FlowSchema C - - s
        prioritylevelconfigurations PriorityLevelConfiguration C - - s
        """,
    ),
)

_CREATE_ONLY = frozenset(
    {
        "bindings",
        "selfsubjectreviews",
        "tokenreviews",
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
    }
)
_OTHER_VERBS = {
    "componentstatuses": ("get", "list"),
    "namespaces": tuple(v for v in STANDARD_VERBS if v != "deletecollection"),
}
_READ_WRITE = ("get", "patch", "update")
_ALL_WAYS = ("create", "delete", "get", "patch", "update")
_OTHER_SUBRESOURCES: dict[str, tuple[Subresource, ...]] = {
    "namespaces": (Subresource("finalize", "Namespace", ("update",)),),
    "nodes": (Subresource("proxy", "NodeProxyOptions", _ALL_WAYS),),
    "services": (Subresource("proxy", "ServiceProxyOptions", _ALL_WAYS),),
    "serviceaccounts": (
        Subresource(
            "token",
            "TokenRequest",
            ("create",),
            "authentication.k8s.io",
            "v1",
        ),
    ),
    "certificatesigningrequests": (
        Subresource("approval", "CertificateSigningRequest", _READ_WRITE),
    ),
    "pods": (
        Subresource("attach", "PodAttachOptions", ("create", "get")),
        Subresource("binding", "Binding", ("create",)),
        Subresource("ephemeralcontainers", "Pod", _READ_WRITE),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("exec", "PodExecOptions", ("create", "get")),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
        Subresource("proxy", "PodProxyOptions", _ALL_WAYS),
        Subresource("resize", "Pod", _READ_WRITE),
    ),
}
_SINGULAR = {"endpoints": "endpoints"}


def _split(word: str) -> tuple[str, ...]:
    return () if word == "-" else tuple(word.split(","))


def _subresources(
    plural: str, kind: str, marks: str
) -> tuple[Subresource, ...]:
    found = list(_OTHER_SUBRESOURCES.get(plural, ()))
    if "S" in marks:
        found.append(
            Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1")
        )
    if "s" in marks:
        found.append(Subresource("status", kind, _READ_WRITE))
    return tuple(sorted(found, key=lambda one: one.name))


def _verbs(plural: str) -> tuple[str, ...]:
    if plural in _CREATE_ONLY:
        return ("create",)
    return _OTHER_VERBS.get(plural, STANDARD_VERBS)


def _kind(group: str, version: str, row: str) -> Kind:
    plural, kind, scope, short, category, *marks = row.split()
    return Kind(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        namespaced=scope == "N",
        singular=_SINGULAR.get(plural, kind.lower()),
        short_names=_split(short),
        categories=_split(category),
        verbs=_verbs(plural),
        subresources=_subresources(plural, kind, "".join(marks)),
        list_kind=f"{kind}List",
    )


BUILTIN: tuple[Kind, ...] = tuple(
    _kind(group, version, row)
    for group, version, rows in _GROUPS
    for row in rows.strip().splitlines()
)
