"""[catalogue]: VNF packages."""

from oslo_config import cfg, types

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
        help="Maximum compression ratio of a file in a package: unpacked "
        "size divided by compressed size.",
    ),
    cfg.IntOpt(
        "max_package_ratio",
        default=200,
        min=2,
        help="Maximum compression ratio of a package: the size of all its "
        "files, if they have more than 16 MiB, divided by the size of the "
        "uploaded file.",
    ),
    cfg.IntOpt(
        "min_free_bytes",
        default=1024**3,
        min=0,
        help="Bytes of the disk with state_path that stay free: packages that "
        "need them are rejected.",
    ),
    cfg.ListOpt(
        "upload_hosts",
        default=[],
        help="Hosts from which packages may be fetched (upload_from_uri); "
        "empty: upload_from_uri is disabled. A listed host may have a "
        "private address; for a loopback or link-local address, list the "
        "address itself, or localhost. ``*.example.com`` and ``*`` match "
        "only hosts with public addresses.",
    ),
    cfg.ListOpt(
        "upload_schemes",
        default=["https"],
        item_type=types.String(choices=["http", "https"]),
        help="Schemes by which packages may be fetched: https, http.",
    ),
    cfg.FloatOpt(
        "upload_timeout",
        default=3600.0,
        min=1.0,
        help="Maximum seconds to fetch a package.",
    ),
    cfg.StrOpt(
        "signatures",
        default="checked",
        choices=(
            ("required", "Packages without a valid signature are rejected."),
            (
                "checked",
                "Packages with an invalid signature are rejected.",
            ),
            ("off", "Signatures are ignored."),
        ),
        help="How signatures of VNF packages are verified (SOL004 5).",
    ),
    cfg.StrOpt(
        "trusted_certificates",
        help="File with certificates (PEM or DER), or directory of such "
        "files (.pem, .crt, .cer, .cert): the trusted signers of VNF "
        "packages, or the authorities that issued their certificates. They "
        "are read again for each package. At least one is needed if "
        "signatures are required.",
    ),
)
