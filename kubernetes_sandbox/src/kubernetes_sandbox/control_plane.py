"""One cluster's inside: store, API, controllers, kubelets, put together."""

import asyncio
from dataclasses import dataclass

from kubernetes_sandbox import nodes
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.authorization import Authorizer
from kubernetes_sandbox.builtin_kinds import BUILTIN
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.controllers.daemonset import DaemonSets
from kubernetes_sandbox.controllers.definitions import Definitions
from kubernetes_sandbox.controllers.deployment import Deployments
from kubernetes_sandbox.controllers.disruption import Disruption
from kubernetes_sandbox.controllers.garbage import GarbageCollector
from kubernetes_sandbox.controllers.job import Jobs
from kubernetes_sandbox.controllers.namespaces import DEFAULT, Namespaces
from kubernetes_sandbox.controllers.node_taints import NodeTaints
from kubernetes_sandbox.controllers.orphaned_pods import OrphanedPods
from kubernetes_sandbox.controllers.quotas import Quotas
from kubernetes_sandbox.controllers.replicaset import ReplicaSets
from kubernetes_sandbox.controllers.statefulset import StatefulSets
from kubernetes_sandbox.controllers.taint_eviction import TaintEviction
from kubernetes_sandbox.controllers.tokens import TokenSecrets
from kubernetes_sandbox.controllers.volumes import Volumes
from kubernetes_sandbox.controls import Controls
from kubernetes_sandbox.deletion import Deletion
from kubernetes_sandbox.event_recorder import EventRecorder
from kubernetes_sandbox.handlers import Handlers
from kubernetes_sandbox.identities import Identities
from kubernetes_sandbox.kinds import KindRegistry
from kubernetes_sandbox.kubelet import Kubelet
from kubernetes_sandbox.objects import Obj, clone
from kubernetes_sandbox.plane import Plane
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
#: What every cluster has, for who is bound to it.
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
class Wishes:
    """How a cluster is to be."""

    nodes: int = 2
    pod_start_delay: float = 0.3
    pod_stop_delay: float = 0.3
    #: until the pods of a node that was deleted are, as long as on a real one
    orphan_delay: float = 40.0


class ControlPlane:
    """Everything of a cluster but its thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        identities: Identities,
        ca_pem: str,
        wishes: Wishes,
    ) -> None:
        store, kinds = Store(), KindRegistry(BUILTIN)
        api = Api(store, kinds)
        deletion = Deletion(api)
        self.timers = Timers(loop)
        plane = Plane(api, deletion, EventRecorder(api), self.timers)
        garbage = GarbageCollector(plane)
        self._namespaces = Namespaces(plane, ca_pem)
        definitions = Definitions(plane, garbage)
        disruption = Disruption(plane)
        volumes = Volumes(plane)
        tokens = TokenSecrets(plane, identities, ca_pem)
        orphans = OrphanedPods(plane, wishes.orphan_delay)
        scheduler = Scheduler(plane)
        kubelet = Kubelet(
            plane,
            start_delay=wishes.pod_start_delay,
            stop_delay=wishes.pod_stop_delay,
        )
        workloads = [each(plane) for each in _WORKLOADS]
        self._parts = (
            *workloads,
            definitions,
            volumes,
            tokens,
            orphans,
            scheduler,
        )
        self.controls = Controls(plane, kubelet)
        authorizer = Authorizer(store)
        self.server = Server(
            store,
            kinds,
            Handlers(
                api,
                deletion,
                Reviews(identities, authorizer),
                Subresources(api, deletion, identities, disruption, scheduler),
            ),
            identities,
            authorizer,
            self.controls,
        )
        self.controls.offer("api-away", self.server.be_away)
        self._furnish(plane, wishes)

    @staticmethod
    def _furnish(plane: Plane, wishes: Wishes) -> None:
        for name in DEFAULT:
            namespace = {"metadata": {"name": name}}
            plane.api.create(plane.kind("namespaces."), "", namespace)
        nodes.make(plane, wishes.nodes)
        plane.api.create(
            plane.kind("clusterroles.rbac.authorization.k8s.io"),
            "",
            clone(_CLUSTER_ADMIN),
        )
        plane.api.create(
            plane.kind("storageclasses.storage.k8s.io"),
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
        plane.api.create(plane.kind("services."), "default", service)
