"""[scripts]: limits of the scripts in VNF packages."""

from oslo_config import cfg

OPTIONS = (
    cfg.FloatOpt(
        "timeout",
        default=900.0,
        min=0.1,
        help="Maximum seconds for a management script.",
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
        help="Maximum output of a script on stdout, in bytes.",
    ),
    cfg.IntOpt(
        "max_log_bytes",
        default=64 * 1024,
        min=1,
        help="Number of bytes of a script's stderr that are stored: the last "
        "ones.",
    ),
    cfg.BoolOpt(
        "vim_credentials",
        default=True,
        help="Whether the input of scripts contains the credentials of the "
        "VIMs of their VNF. Scripts that call the VIM need them.",
    ),
    cfg.BoolOpt(
        "replace_reference_drivers",
        default=True,
        help="Whether to replace a management driver of OpenStack Tacker, "
        "which cannot run without it: a script that imports tacker and "
        "defines ContainerUpdateMgmtDriver with modify_information_end. "
        "False: the script runs as it is.",
    ),
)
