"""Defaulting of omitted fields."""

from collections.abc import Callable, Mapping
from typing import Any

from kubernetes_sandbox import quantities
from kubernetes_sandbox.objects import Obj

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _fill(target: Obj, **values: Any) -> None:
    for name, value in values.items():
        if target.get(name) is None:
            target[name] = value


def _drop_empty(metadata: Obj) -> None:
    """Remove empty maps, which the server never stores."""
    for name in ("labels", "annotations"):
        if metadata.get(name) == {}:
            del metadata[name]


def pull_policy(image: str) -> str:
    """Return the default imagePullPolicy of an image."""
    last = image.rpartition("/")[2]
    tagged = "@" in last or (":" in last and not last.endswith(":latest"))
    return "IfNotPresent" if tagged else "Always"


def _probe(probe: Obj) -> None:
    _fill(
        probe,
        timeoutSeconds=1,
        periodSeconds=10,
        successThreshold=1,
        failureThreshold=3,
    )
    if "httpGet" in probe:
        _fill(probe["httpGet"], path="/", scheme="HTTP")


def _environment(container: Obj) -> None:
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if "fieldRef" in source:
            _fill(source["fieldRef"], apiVersion="v1")
        if "resourceFieldRef" in source:
            _fill(source["resourceFieldRef"], divisor="0")


def _container(container: Obj) -> None:
    _fill(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=pull_policy(container.get("image") or ""),
    )
    for port in container.get("ports") or ():
        _fill(port, protocol="TCP")
    for name in _PROBES:
        if container.get(name):
            _probe(container[name])
    resources = container["resources"]
    for part in ("limits", "requests"):
        if resources.get(part):
            resources[part] = quantities.canonical_resources(resources[part])
    limits = container["resources"].get("limits")
    if limits:
        requests = container["resources"].get("requests") or {}
        container["resources"]["requests"] = {**limits, **requests}
    _environment(container)


def _volume(volume: Obj) -> None:
    for source in ("configMap", "secret", "projected", "downwardAPI"):
        if volume.get(source) is not None:
            _fill(volume[source], defaultMode=420)
    if volume.get("hostPath") is not None:
        _fill(volume["hostPath"], type="")
    if len(volume) == 1:
        volume["emptyDir"] = {}


def set_pod_spec_defaults(spec: Obj) -> None:
    """Set the defaults of a pod spec or the spec of a pod template."""
    _fill(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if "serviceAccountName" in spec:
        _fill(spec, serviceAccount=spec["serviceAccountName"])
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            _container(container)
    for volume in spec.get("volumes") or ():
        _volume(volume)


def _template(spec: Obj) -> None:
    if not spec.get("minReadySeconds"):
        spec.pop("minReadySeconds", None)  # The server omits zero.
    template = spec.get("template")
    if template is not None:
        _drop_empty(template.setdefault("metadata", {}))
        template["spec"] = template.get("spec") or {}
        set_pod_spec_defaults(template["spec"])


def _pod(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    set_pod_spec_defaults(spec)
    _fill(spec, enableServiceLinks=True)
    if not spec.get("schedulingGates"):
        spec.pop("schedulingGates", None)


def _deployment(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(
        spec,
        replicas=1,
        strategy={},
        revisionHistoryLimit=10,
        progressDeadlineSeconds=600,
    )
    strategy = spec["strategy"]
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, rollingUpdate={})
        _fill(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")
    _template(spec)


def _replica_set(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, replicas=1)
    _template(spec)


def _replication_controller(obj: Obj) -> None:
    _replica_set(obj)
    spec = obj["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        _fill(spec, selector=dict(labels))


def _claim_spec(spec: Obj) -> None:
    _fill(spec, volumeMode="Filesystem")


def _stateful_set(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(
        spec,
        replicas=1,
        serviceName="",
        podManagementPolicy="OrderedReady",
        updateStrategy={},
        revisionHistoryLimit=10,
        persistentVolumeClaimRetentionPolicy={},
    )
    strategy = spec["updateStrategy"]
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, rollingUpdate={})
        _fill(strategy["rollingUpdate"], partition=0)
    retention = spec["persistentVolumeClaimRetentionPolicy"]
    _fill(retention, whenDeleted="Retain", whenScaled="Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        _fill(claim, kind="PersistentVolumeClaim", apiVersion="v1")
        _fill(claim, status={"phase": "Pending"})
        _claim_spec(claim.setdefault("spec", {}))
    _template(spec)


def _daemon_set(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, updateStrategy={}, revisionHistoryLimit=10)
    strategy = spec["updateStrategy"]
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, rollingUpdate={})
        _fill(strategy["rollingUpdate"], maxUnavailable=1, maxSurge=0)
    _template(spec)


def _job(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _fill(
        spec,
        parallelism=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed",
        manualSelector=False,
    )
    _template(spec)


def _cron_job(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(
        spec,
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    job = spec.setdefault("jobTemplate", {})
    _template(job.setdefault("spec", {}))


def _service(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, type="ClusterIP", sessionAffinity="None")
    if spec["type"] != "ExternalName":
        _fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] in {"NodePort", "LoadBalancer"}:
        _fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        _fill(spec, allocateLoadBalancerNodePorts=True)
    for port in spec.get("ports") or ():
        _fill(port, protocol="TCP", targetPort=port.get("port"))


def _volume_claim(obj: Obj) -> None:
    _claim_spec(obj.setdefault("spec", {}))


def _persistent_volume(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(
        spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem"
    )
    _volume(spec | {"name": ""})


def _config_map(obj: Obj) -> None:
    if obj.get("data") == {}:
        del obj["data"]  # The server omits empty maps.


def _secret(obj: Obj) -> None:
    _fill(obj, type="Opaque")


def _storage_class(obj: Obj) -> None:
    _fill(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _autoscaler(obj: Obj) -> None:
    _fill(obj.setdefault("spec", {}), minReplicas=1)


def _network_policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, policyTypes=["Ingress"] + ["Egress"] * ("egress" in spec))


def _custom_definition(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind") or ""
    _fill(names, singular=kind.lower(), listKind=f"{kind}List")
    _fill(spec, conversion={"strategy": "None"})


def _role_binding(obj: Obj) -> None:
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in {"User", "Group"}:
            _fill(subject, apiGroup="rbac.authorization.k8s.io")
    if "roleRef" in obj:
        _fill(obj["roleRef"], apiGroup="rbac.authorization.k8s.io")


_DEFAULTS: Mapping[str, Callable[[Obj], None]] = {
    "pods.": _pod,
    "controllerrevisions.apps": lambda obj: _fill(obj, revision=0),
    "replicationcontrollers.": _replication_controller,
    "services.": _service,
    "configmaps.": _config_map,
    "secrets.": _secret,
    "persistentvolumes.": _persistent_volume,
    "persistentvolumeclaims.": _volume_claim,
    "deployments.apps": _deployment,
    "replicasets.apps": _replica_set,
    "statefulsets.apps": _stateful_set,
    "daemonsets.apps": _daemon_set,
    "jobs.batch": _job,
    "cronjobs.batch": _cron_job,
    "storageclasses.storage.k8s.io": _storage_class,
    "horizontalpodautoscalers.autoscaling": _autoscaler,
    "networkpolicies.networking.k8s.io": _network_policy,
    "customresourcedefinitions.apiextensions.k8s.io": _custom_definition,
    "rolebindings.rbac.authorization.k8s.io": _role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _role_binding,
}


def set_defaults(key: str, obj: Obj) -> None:
    """Set the defaults of an object."""
    _drop_empty(obj["metadata"])
    default = _DEFAULTS.get(key)
    if default is not None:
        default(obj)
