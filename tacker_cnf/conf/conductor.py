"""[conductor]: who carries operations out, and for how long it is trusted."""

from oslo_config import cfg

#: operations that may have a time of their own
OPERATIONS_WITH_TIMEOUT = (
    "instantiate",
    "scale",
    "heal",
    "terminate",
    "modify_info",
    "change_vnfpkg",
    "change_ext_conn",
)

OPTIONS = (
    cfg.IntOpt(
        "workers",
        default=32,
        min=1,
        help="Operations that one conductor carries out at once.",
    ),
    cfg.FloatOpt(
        "lease",
        default=30.0,
        min=1.0,
        help="Seconds after which a conductor that is not heard of has lost "
        "its operations. It reports three times in this span.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=10.0,
        min=0.1,
        help="Seconds between two searches for operations that nobody "
        "carries out: their message was lost, or their conductor died.",
    ),
    cfg.BoolOpt(
        "resume_infra",
        default=False,
        help="Let another conductor go on with an operation whose conductor "
        "died while it changed the VIM, which is safe to repeat. Otherwise "
        "the operation becomes FAILED_TEMP and waits for a decision.",
    ),
    cfg.FloatOpt(
        "operation_timeout",
        default=3600.0,
        min=1.0,
        help="Seconds one try of an operation may take in all, beside the "
        "gracefulTerminationTimeout of a request.",
    ),
    *(
        cfg.FloatOpt(
            f"{operation}_timeout",
            min=1.0,
            help=f"The same for {operation.upper()} alone; without it, "
            "operation_timeout holds.",
        )
        for operation in OPERATIONS_WITH_TIMEOUT
    ),
    cfg.FloatOpt(
        "stop_timeout",
        default=30.0,
        min=0.0,
        help="Seconds a conductor that was told to stop waits for its "
        "operations; others take over what is left.",
    ),
    cfg.BoolOpt(
        "sync_watch",
        default=True,
        help="Watch the VIMs, so that what they do to a VNF by themselves is "
        "known within seconds. One conductor watches a VIM for all.",
    ),
    cfg.FloatOpt(
        "sync_interval",
        default=300.0,
        min=0.0,
        help="Seconds between two looks at every VNF instance, for what no "
        "watch has told; 0: never. One conductor does it for all.",
    ),
)
