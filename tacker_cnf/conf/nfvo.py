"""[nfvo]: the NFVO that is asked for leave."""

from oslo_config import cfg

OPTIONS = (
    cfg.URIOpt(
        "endpoint",
        schemes=["http", "https"],
        help="Where the NFVO's APIs begin: /grant/v1 and /vnfpkgm/... follow. "
        "Without it this service grants its operations itself and knows only "
        "the VNF packages that were uploaded to it. With it, [api] endpoint "
        "has to be set, too.",
    ),
    cfg.StrOpt(
        "auth_type",
        default="NONE",
        choices=[
            ("NONE", "it does not"),
            ("BASIC", "by user_name and password"),
            (
                "OAUTH2_CLIENT_CREDENTIALS",
                "by a token from token_endpoint",
            ),
            ("TLS_CERT", "by [outgoing] client_certificate"),
        ],
        help="How this service proves to the NFVO who it is.",
    ),
    cfg.StrOpt("user_name", default="", help="Of auth_type BASIC."),
    cfg.StrOpt(
        "password", default="", secret=True, help="Of auth_type BASIC."
    ),
    cfg.StrOpt(
        "client_id",
        default="",
        help="Of auth_type OAUTH2_CLIENT_CREDENTIALS.",
    ),
    cfg.StrOpt(
        "client_password",
        default="",
        secret=True,
        help="Of auth_type OAUTH2_CLIENT_CREDENTIALS.",
    ),
    cfg.URIOpt(
        "token_endpoint",
        schemes=["http", "https"],
        help="Where tokens are got; of auth_type OAUTH2_CLIENT_CREDENTIALS.",
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
        help="Seconds the NFVO may take for one grant in all, be it that it "
        "thinks, be it that it cannot be reached meanwhile.",
    ),
    cfg.FloatOpt(
        "poll_interval",
        default=2.0,
        min=0.01,
        help="Seconds between two looks whether the NFVO has decided, and "
        "between two tries to reach it, unless it says itself when to come "
        "back (Retry-After).",
    ),
    cfg.BoolOpt(
        "fallback_best_effort",
        default=False,
        help="Whether the NFVO is told that a placement constraint which it "
        "cannot meet need not be met (fallbackBestEffort).",
    ),
    cfg.ListOpt(
        "zones",
        default=["nova"],
        help="Zones in which VNFCs are put when this service grants its "
        "operations itself: all in the first, and those that an "
        "anti-affinity rule of the VNFD wants in different zones in one "
        "after the other. Empty: it names none, and the VIM chooses. "
        "Clusters of Kubernetes choose always.",
    ),
    cfg.StrOpt(
        "package_version",
        default="2.1.0",
        regex=r"^[12]\.[0-9]+\.[0-9]+$",
        help="Version of the NFVO's VNF package management API (SOL003 "
        "clause 10). Of version 1 /vnfpkgm/v1/vnf_packages is used, of "
        "version 2 /vnfpkgm/v2/onboarded_vnf_packages.",
    ),
)
