"""[conductor]: how conductors run operations."""

from oslo_config import cfg

#: operations with a timeout of their own
OPERATIONS_WITH_TIMEOUT = (
    "instantiate",
    "scale",
    "scale_to_level",
    "heal",
    "operate",
    "terminate",
    "modify_info",
    "change_vnfpkg",
    "change_flavour",
    "change_ext_conn",
)

OPTIONS = (
    cfg.IntOpt(
        "workers",
        default=48,
        min=1,
        help="Number of operations that a conductor runs concurrently.",
    ),
    cfg.IntOpt(
        "project_share",
        default=80,
        min=1,
        max=100,
        help="Percentage of the workers, and of [scripts] max_running, that "
        "operations of one project may occupy, so that those of others find "
        "a free one; at least one worker. 100: no limit, as for an "
        "installation with one project.",
    ),
    cfg.IntOpt(
        "vim_share",
        default=67,
        min=1,
        max=100,
        help="Percentage of the workers that operations on one VIM may "
        "occupy, so that a VIM that does not answer leaves some for the "
        "others; at least one worker. 100: no limit.",
    ),
    cfg.FloatOpt(
        "lease",
        default=30.0,
        min=1.0,
        help="Seconds without a heartbeat after which a conductor loses its "
        "operations. It sends three heartbeats in this time.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=10.0,
        min=0.1,
        help="Seconds between two searches for operations that no conductor "
        "runs: their message was lost, or their conductor died.",
    ),
    cfg.BoolOpt(
        "resume_infra",
        default=False,
        help="Let another conductor continue an operation whose conductor "
        "died while it changed the VIM; changes to a VIM are safe to repeat. "
        "False: the operation becomes FAILED_TEMP and waits for a client to "
        "retry, roll back or fail it.",
    ),
    cfg.FloatOpt(
        "operation_timeout",
        default=3600.0,
        min=1.0,
        help="Maximum seconds for one attempt of an operation, in addition "
        "to the gracefulTerminationTimeout of a request.",
    ),
    *(
        cfg.FloatOpt(
            f"{operation}_timeout",
            min=1.0,
            help=f"The same for {operation.upper()}. Default: "
            "operation_timeout.",
        )
        for operation in OPERATIONS_WITH_TIMEOUT
    ),
    cfg.FloatOpt(
        "stop_timeout",
        default=30.0,
        min=0.0,
        help="Seconds that a stopping conductor waits for its operations; "
        "other conductors take over those that remain.",
    ),
    cfg.BoolOpt(
        "sync_watch",
        default=True,
        help="Watch the VIMs, so that changes that a VIM makes to a VNF by "
        "itself are recorded within seconds. Each VIM is watched by one "
        "conductor.",
    ),
    cfg.FloatOpt(
        "sync_interval",
        default=300.0,
        min=0.0,
        help="Seconds between two synchronizations of all VNF instances with "
        "their VIMs, for changes that no watch reported; 0: never. One "
        "conductor does it for all.",
    ),
)
