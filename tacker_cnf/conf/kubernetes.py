"""[kubernetes]: the Kubernetes driver."""

from oslo_config import cfg

OPTIONS = (
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
