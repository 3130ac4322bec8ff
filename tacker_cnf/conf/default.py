"""[DEFAULT]: where this installation keeps its files."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt(
        "state_path",
        default="/var/lib/tacker_cnf",
        help="Directory of everything this service writes: the content of "
        "VNF packages, copies of them for scripts that run, and the SQLite "
        "file and the key file unless they are configured elsewhere. API "
        "servers and conductors share it.",
    ),
)
