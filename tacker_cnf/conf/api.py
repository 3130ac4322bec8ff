"""[api]: the HTTP edge."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt("host", default="127.0.0.1", help="Address to listen on."),
    cfg.PortOpt("port", default=9890, help="Port to listen on; 0 takes any."),
    cfg.IntOpt(
        "workers", default=1, min=1, help="Number of server processes."
    ),
    cfg.IntOpt(
        "threads", default=16, min=1, help="Requests a process serves at once."
    ),
    cfg.IntOpt(
        "keepalive_timeout",
        default=90,
        min=1,
        help="Seconds for which an idle connection of a client is kept open. "
        "A proxy in front has to close its idle connections sooner.",
    ),
    cfg.URIOpt(
        "endpoint",
        schemes=["http", "https"],
        help="How clients reach this API, used in Location and _links. "
        "Without it, the Host header of each request tells.",
    ),
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "each request carries a Keystone token"),
            ("noauth", "every caller is an administrator: for a laboratory"),
        ],
        help="How callers prove who they are.",
    ),
    cfg.IntOpt(
        "max_body_bytes",
        default=1_000_000,
        min=1,
        help="Largest request body other than the content of a VNF package.",
    ),
    cfg.FloatOpt(
        "idempotency_lifetime",
        default=86400.0,
        min=0.0,
        help="Seconds for which it is known what a request with an "
        "Idempotency-Key made; up to ten minutes longer.",
    ),
    cfg.IntOpt(
        "page_size",
        default=100,
        min=1,
        help="Most entries of a list that one answer has; its Link header "
        "leads to the next ones.",
    ),
)
