"""[catalogue]: VNF packages."""

from oslo_config import cfg

OPTIONS = (
    cfg.IntOpt(
        "max_package_bytes",
        default=8 * 1024**3,
        min=1,
        help="Largest VNF package (CSAR) that may be uploaded, in bytes.",
    ),
    cfg.IntOpt(
        "max_unpacked_bytes",
        default=16 * 1024**3,
        min=1,
        help="Largest VNF package when unpacked, in bytes.",
    ),
    cfg.IntOpt(
        "max_files",
        default=20_000,
        min=1,
        help="Largest number of files in a VNF package.",
    ),
    cfg.IntOpt(
        "max_ratio",
        default=200,
        min=2,
        help="How many times larger than its compressed form a file of a "
        "package may be.",
    ),
)
