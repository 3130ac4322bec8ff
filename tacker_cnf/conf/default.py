"""[DEFAULT]: the directory of this installation's files."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt(
        "state_path",
        default="/var/lib/tacker_cnf",
        help="Directory of all files that this service writes: the content "
        "of VNF packages, copies of them for running scripts, and the SQLite "
        "file and the key file unless they are configured elsewhere. API "
        "servers and conductors share it.",
    ),
)
