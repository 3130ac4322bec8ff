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
        help="How many times larger than its compressed form a file of a "
        "package may be.",
    ),
    cfg.ListOpt(
        "upload_hosts",
        default=[],
        help="Hosts from which packages may be fetched (upload_from_uri); "
        "none: it is off. A host that is named may have a private address; "
        "a loopback or link-local one has to be named itself, or localhost. "
        "``*.example.com`` and ``*`` mean all such hosts that have public "
        "addresses.",
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
        help="Seconds that the fetching of one package may take.",
    ),
    cfg.StrOpt(
        "signatures",
        default="checked",
        choices=(
            ("required", "Only packages with a good signature are taken."),
            (
                "checked",
                "A package may be signed; then its signature has to be good.",
            ),
            ("off", "Signatures are not looked at."),
        ),
        help="What is asked of the signatures of VNF packages (SOL004 5).",
    ),
    cfg.StrOpt(
        "trusted_certificates",
        help="File with the certificates (PEM or DER), or directory of such "
        "files (.pem, .crt, .cer, .cert), of those who may sign VNF packages "
        "or of the authorities that vouch for them. They are read anew for "
        "each package. Where signatures are required, there has to be one.",
    ),
)
