"""[scripts]: what the code in a VNF package may use."""

from oslo_config import cfg

OPTIONS = (
    cfg.FloatOpt(
        "timeout",
        default=900.0,
        min=0.1,
        help="Seconds a management script may take.",
    ),
    cfg.IntOpt(
        "max_memory_bytes",
        default=2 * 1024**3,
        min=0,
        help="Address space of a script, in bytes; 0: no limit.",
    ),
    cfg.IntOpt(
        "max_file_bytes",
        default=1024**3,
        min=0,
        help="Largest file a script may write, in bytes; 0: no limit.",
    ),
    cfg.IntOpt(
        "max_output_bytes",
        default=1024**2,
        min=1,
        help="What a script may write on stdout, in bytes.",
    ),
    cfg.IntOpt(
        "max_log_bytes",
        default=64 * 1024,
        min=1,
        help="How much of what a script writes on stderr is kept, in bytes; "
        "the end of it.",
    ),
    cfg.BoolOpt(
        "vim_credentials",
        default=True,
        help="Whether scripts are told the credentials of the VIMs on which "
        "their VNF is. Scripts that work on the VIM need them.",
    ),
    cfg.BoolOpt(
        "replace_reference_drivers",
        default=True,
        help="Whether a management script is replaced that is a driver of "
        "OpenStack Tacker, which it needs and which is not here: one that "
        "imports tacker and defines ContainerUpdateMgmtDriver with "
        "modify_information_end. False: it runs as it is.",
    ),
)
