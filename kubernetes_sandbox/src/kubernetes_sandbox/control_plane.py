"""The parts of a cluster: store, API, controllers, kubelets."""

import asyncio
from dataclasses import dataclass

from kubernetes_sandbox import nodes
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.authentication import Authenticator
from kubernetes_sandbox.authorization import Authorizer
from kubernetes_sandbox.builtin_kinds import BUILTIN
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.controllers.custom_resources import (
    CustomResourceDefinitions,
)
from kubernetes_sandbox.controllers.daemonset import DaemonSets
from kubernetes_sandbox.controllers.deployment import Deployments
from kubernetes_sandbox.controllers.disruption import Disruption
from kubernetes_sandbox.controllers.garbage_collector import GarbageCollector
from kubernetes_sandbox.controllers.job import Jobs
from kubernetes_sandbox.controllers.namespaces import DEFAULT, Namespaces
from kubernetes_sandbox.controllers.node_taints import NodeTaints
from kubernetes_sandbox.controllers.persistent_volumes import PersistentVolumes
from kubernetes_sandbox.controllers.pod_garbage_collector import (
    PodGarbageCollector,
)
from kubernetes_sandbox.controllers.replicaset import ReplicaSets
from kubernetes_sandbox.controllers.resource_quotas import Quotas
from kubernetes_sandbox.controllers.statefulset import StatefulSets
from kubernetes_sandbox.controllers.taint_eviction import TaintEviction
from kubernetes_sandbox.controllers.tokens import TokenSecrets
from kubernetes_sandbox.deletion import Deletion
from kubernetes_sandbox.event_recorder import EventRecorder
from kubernetes_sandbox.fault_injection import FaultInjector
from kubernetes_sandbox.handlers import Handlers
from kubernetes_sandbox.kinds import KindRegistry
from kubernetes_sandbox.kubelet import Kubelet
from kubernetes_sandbox.objects import Obj, clone
from kubernetes_sandbox.reviews import Reviews
from kubernetes_sandbox.scheduler import Scheduler
from kubernetes_sandbox.server import Server
from kubernetes_sandbox.store import Store
from kubernetes_sandbox.subresources import Subresources
from kubernetes_sandbox.timers import Timers

_WORKLOADS: tuple[type[Controller], ...] = (
    Deployments,
    ReplicaSets,
    StatefulSets,
    DaemonSets,
    Jobs,
    Quotas,
    NodeTaints,
    TaintEviction,
)
_PRIORITY_CLASSES = {
    "system-node-critical": 2000001000,
    "system-cluster-critical": 2000000000,
}
#: Bound by name in many manifests.
_CLUSTER_ADMIN: Obj = {
    "metadata": {
        "name": "cluster-admin",
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
    },
    "rules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ],
}


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options of a cluster."""

    nodes: int = 2
    pod_start_delay: float = 0.3
    pod_stop_delay: float = 0.3
    #: seconds until the pods of a deleted node are deleted; 40 on a real one
    orphan_delay: float = 40.0


class ControlPlane:
    """A cluster without its thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        authenticator: Authenticator,
        ca_pem: str,
        options: ClusterOptions,
    ) -> None:
        self.store = store = Store()
        kinds = KindRegistry(BUILTIN)
        api = Api(store, kinds)
        deletion = Deletion(api)
        self.timers = Timers(loop)
        context = ControllerContext(
            api, deletion, EventRecorder(api), self.timers
        )
        garbage = GarbageCollector(context)
        self._namespaces = Namespaces(context, ca_pem)
        definitions = CustomResourceDefinitions(context, garbage)
        disruption = Disruption(context)
        volumes = PersistentVolumes(context)
        tokens = TokenSecrets(context, authenticator, ca_pem)
        pod_garbage_collector = PodGarbageCollector(
            context, options.orphan_delay
        )
        scheduler = Scheduler(context)
        kubelet = Kubelet(
            context,
            start_delay=options.pod_start_delay,
            stop_delay=options.pod_stop_delay,
        )
        workloads = [each(context) for each in _WORKLOADS]
        self._controllers = (
            *workloads,
            definitions,
            volumes,
            tokens,
            pod_garbage_collector,
            scheduler,
        )
        self.fault_injector = FaultInjector(context, kubelet)
        authorizer = Authorizer(store)
        self.server = Server(
            store,
            kinds,
            Handlers(
                api,
                deletion,
                Reviews(authenticator, authorizer),
                Subresources(
                    api, deletion, authenticator, disruption, scheduler
                ),
            ),
            authenticator,
            authorizer,
            self.fault_injector,
        )
        self.fault_injector.register("stop-api-server", self.server.stop_for)
        self._create_default_objects(context, options)

    @staticmethod
    def _create_default_objects(
        context: ControllerContext, options: ClusterOptions
    ) -> None:
        for name in DEFAULT:
            namespace = {"metadata": {"name": name}}
            context.api.create(context.kind("namespaces."), "", namespace)
        nodes.make(context, options.nodes)
        context.api.create(
            context.kind("clusterroles.rbac.authorization.k8s.io"),
            "",
            clone(_CLUSTER_ADMIN),
        )
        context.api.create(
            context.kind("storageclasses.storage.k8s.io"),
            "",
            {
                "metadata": {
                    "name": "standard",
                    "annotations": {
                        "storageclass.kubernetes.io/is-default-class": "true"
                    },
                },
                "provisioner": "sandbox.local/volumes",
            },
        )
        for name, value in _PRIORITY_CLASSES.items():
            context.api.create(
                context.kind("priorityclasses.scheduling.k8s.io"),
                "",
                {"metadata": {"name": name}, "value": value},
            )
        service = {
            "metadata": {
                "name": "kubernetes",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "clusterIP": "10.96.0.1",
                "ports": [{"name": "https", "port": 443, "targetPort": 6443}],
            },
        }
        context.api.create(context.kind("services."), "default", service)
