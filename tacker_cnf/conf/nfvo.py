"""[nfvo]: the NFVO that grants operations."""

from oslo_config import cfg

OPTIONS = (
    cfg.URIOpt(
        "endpoint",
        schemes=["http", "https"],
        help="Base URL of the NFVO's APIs, without /grant/v1 and "
        "/vnfpkgm/... . If it is not set, this service grants its operations "
        "itself and uses only the VNF packages that were uploaded to it. If "
        "it is set, [api] endpoint must be set, too.",
    ),
    cfg.StrOpt(
        "auth_type",
        default="NONE",
        choices=[
            ("NONE", "no authentication"),
            ("BASIC", "user_name and password"),
            (
                "OAUTH2_CLIENT_CREDENTIALS",
                "a token of token_endpoint",
            ),
            ("TLS_CERT", "[outgoing] client_certificate"),
        ],
        help="How this service authenticates to the NFVO.",
    ),
    cfg.StrOpt("user_name", default="", help="User name for auth_type BASIC."),
    cfg.StrOpt(
        "password",
        default="",
        secret=True,
        help="Password for auth_type BASIC.",
    ),
    cfg.StrOpt(
        "client_id",
        default="",
        help="Client id for auth_type OAUTH2_CLIENT_CREDENTIALS.",
    ),
    cfg.StrOpt(
        "client_password",
        default="",
        secret=True,
        help="Client password for auth_type OAUTH2_CLIENT_CREDENTIALS.",
    ),
    cfg.URIOpt(
        "token_endpoint",
        schemes=["http", "https"],
        help="URL of the token endpoint for auth_type "
        "OAUTH2_CLIENT_CREDENTIALS.",
    ),
    cfg.StrOpt(
        "grant_version",
        default="1.4.0",
        regex=r"^1\.[0-9]+\.[0-9]+$",
        help="Version of the NFVO's grant API (SOL003 clause 9).",
    ),
    cfg.FloatOpt(
        "grant_timeout",
        default=600.0,
        min=0.1,
        help="Maximum seconds to get a grant from the NFVO, including the "
        "time during which it is unreachable.",
    ),
    cfg.FloatOpt(
        "poll_interval",
        default=2.0,
        min=0.01,
        help="Seconds between two polls of a pending grant, and between two "
        "attempts to reach the NFVO, unless it sends Retry-After.",
    ),
    cfg.BoolOpt(
        "fallback_best_effort",
        default=False,
        help="Value of fallbackBestEffort in placement constraints: whether "
        "the NFVO may grant an operation if it cannot meet them.",
    ),
    cfg.ListOpt(
        "zones",
        default=["nova"],
        help="Zones for VNFCs when this service grants its operations "
        "itself: the first zone, except that VNFCs with an anti-affinity "
        "rule of scope zone in the VNFD are distributed over all zones in "
        "turn. Empty: the VIM chooses. A Kubernetes cluster always chooses.",
    ),
    cfg.StrOpt(
        "package_version",
        default="2.1.0",
        regex=r"^[12]\.[0-9]+\.[0-9]+$",
        help="Version of the NFVO's VNF package management API (SOL003 "
        "clause 10). Version 1 uses /vnfpkgm/v1/vnf_packages, version 2 "
        "/vnfpkgm/v2/onboarded_vnf_packages.",
    ),
)
