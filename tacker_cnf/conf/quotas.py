"""[quotas]: what a project may have, unless it has quotas of its own."""

from oslo_config import cfg

#: quota -> its default, and what it counts
QUOTAS = {
    "vnf_instances": (1000, "VNF instances of a project."),
    "vnf_packages": (200, "VNF packages of a project."),
    "package_bytes": (
        100 * 1024**3,
        "Bytes of the VNF packages of a project, uploaded and unpacked.",
    ),
    "vims": (100, "Registered VIMs of a project."),
    "subscriptions": (100, "Subscriptions of a project."),
    "operations": (
        100,
        "Lifecycle operations of a project that have not ended or failed.",
    ),
}

OPTIONS = tuple(
    cfg.IntOpt(
        name,
        default=default,
        min=-1,
        help=f"{description} -1: no limit. `tacker-cnf-manage quotas set` "
        "sets the quota of one project.",
    )
    for name, (default, description) in QUOTAS.items()
)
