"""[kubernetes]: the Kubernetes driver."""

from oslo_config import cfg, types

OPTIONS = (
    cfg.ListOpt(
        "allowed_namespaces",
        default=["*"],
        item_type=types.String(regex=r"^[a-z0-9*-]+$"),
        help="Namespaces in which VNFs may be, as names or patterns with ``*``. A "
        "pattern does not match kube-system, kube-public and "
        "kube-node-lease: name them. extra.policy of a registered VIM "
        "overrides this option and the next two.",
    ),
    cfg.ListOpt(
        "allowed_kinds",
        default=[],
        item_type=types.String(regex=r"^[A-Za-z0-9.*-]+$"),
        help="Further kinds that VNF packages may create: KIND for one of "
        "Kubernetes, such as PriorityClass, KIND.GROUP for others, or a "
        "pattern with ``*``. Without it, cluster-scoped kinds are refused, and "
        "RBAC rights beyond those of a VNF.",
    ),
    cfg.StrOpt(
        "pod_security",
        default="baseline",
        choices=[
            ("privileged", "No limits: a pod can take over its node."),
            ("baseline", "No access to the node."),
            ("restricted", "Also hardened, and not as root."),
        ],
        help="Pod Security Standard of Kubernetes for the pods of VNFs.",
    ),
    cfg.FloatOpt(
        "ready_timeout",
        default=500.0,
        min=0.1,
        help="Seconds within which changed objects have to be ready, and "
        "deleted objects have to be removed from the cluster.",
    ),
    cfg.FloatOpt(
        "failure_grace",
        default=20.0,
        min=0.0,
        help="Seconds for which a pod may report a fault that seldom "
        "resolves itself (image cannot be pulled, container crashes, no node "
        "has capacity, quota exceeded) before the operation fails.",
    ),
    cfg.FloatOpt(
        "request_timeout",
        default=30.0,
        min=0.1,
        help="Maximum seconds to wait for each part of the response of an API "
        "server; [outgoing] exchange_timeout limits all parts together.",
    ),
    cfg.FloatOpt(
        "contact_timeout",
        default=10.0,
        min=0.0,
        help="Seconds for which an operation retries its first request to a "
        "cluster while the API server is unreachable.",
    ),
    cfg.FloatOpt(
        "outage_timeout",
        default=30.0,
        min=0.0,
        help="Seconds for which an operation retries requests while the API "
        "server of a cluster is unreachable, for example during a restart.",
    ),
    cfg.FloatOpt(
        "finalizer_timeout",
        default=180.0,
        min=0.0,
        help="Seconds for which finalizers may block the deletion of an "
        "object, without any change of them, before the operation fails.",
    ),
    cfg.FloatOpt(
        "disruption_timeout",
        default=60.0,
        min=0.0,
        help="Seconds for which a PodDisruptionBudget may block evictions "
        "before the heal of several VNFCs fails.",
    ),
)
