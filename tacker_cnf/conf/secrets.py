"""[secrets]: the protection of secrets."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt(
        "key_file",
        help="File with the Fernet keys, one in each line; the first one "
        "encrypts. `tacker-cnf-manage keys create` creates it. "
        "Default: state_path/secrets.key.",
    ),
    cfg.ListOpt(
        "public_names",
        default=[],
        help="Names in additionalParams, extensions and configurable "
        "properties, of any VNF, whose values the service shows, besides "
        "those that its drivers read and those that a VNFD declares and does "
        "not mark as sensitive. The values of all other names are replaced "
        "by stars, and match no filter.",
    ),
)
