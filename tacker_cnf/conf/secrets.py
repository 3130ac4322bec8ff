"""[secrets]: how secrets lie in the database."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt(
        "key_file",
        help="File with the Fernet keys, one a line, the first encrypts; "
        "`tacker-cnf-manage keys create` makes it. "
        "Default: state_path/secrets.key.",
    ),
)
