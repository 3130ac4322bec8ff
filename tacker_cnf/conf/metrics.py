"""[metrics]: metrics for Prometheus."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt(
        "host",
        default="127.0.0.1",
        help="Address at which /metrics is served, by HTTP without TLS and "
        "without authentication: use a network that only the monitoring "
        "reaches.",
    ),
    cfg.PortOpt(
        "api_port",
        help="Port of /metrics of an API server, for all its workers "
        "together; 0: any. Default: there is none, and nothing is counted.",
    ),
    cfg.PortOpt(
        "conductor_port",
        help="Port of /metrics of a conductor, and of its /healthz and "
        "/readyz; 0: any. Default: there is none, and nothing is counted.",
    ),
    cfg.FloatOpt(
        "vim_check_interval",
        default=60.0,
        min=0.0,
        help="Seconds between two checks whether the registered VIMs answer "
        "and accept their credentials, by each conductor with metrics; 0: "
        "never.",
    ),
)
