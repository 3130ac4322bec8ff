"""[kubernetes]: the Kubernetes driver."""

from oslo_config import cfg

OPTIONS = (
    cfg.FloatOpt(
        "ready_timeout",
        default=500.0,
        min=0.1,
        help="Seconds within which what was changed in a cluster has to be "
        "ready, and what was deleted has to be gone.",
    ),
    cfg.FloatOpt(
        "failure_grace",
        default=20.0,
        min=0.0,
        help="Seconds that a pod may show a fault which seldom heals by "
        "itself (image cannot be pulled, container crashes, no node has "
        "room, quota exceeded) before the operation fails.",
    ),
    cfg.FloatOpt(
        "request_timeout",
        default=30.0,
        min=0.1,
        help="Seconds a cluster has to answer one request.",
    ),
    cfg.FloatOpt(
        "contact_timeout",
        default=10.0,
        min=0.0,
        help="Seconds for which an operation tries to reach a cluster that "
        "has not answered it yet.",
    ),
    cfg.FloatOpt(
        "outage_timeout",
        default=30.0,
        min=0.0,
        help="Seconds for which an operation bears that a cluster no longer "
        "answers, as when its API server starts anew.",
    ),
    cfg.FloatOpt(
        "finalizer_timeout",
        default=180.0,
        min=0.0,
        help="Seconds for which the same finalizers may hold an object that "
        "was deleted before the operation fails and names them.",
    ),
    cfg.FloatOpt(
        "disruption_timeout",
        default=60.0,
        min=0.0,
        help="Seconds for which a PodDisruptionBudget may allow no "
        "disruption before the heal of several VNFCs fails.",
    ),
)
