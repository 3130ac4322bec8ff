"""[secrets]: the encryption of secrets in the database."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt(
        "key_file",
        help="File with the Fernet keys, one in each line; the first one "
        "encrypts. `tacker-cnf-manage keys create` creates it. "
        "Default: state_path/secrets.key.",
    ),
)
