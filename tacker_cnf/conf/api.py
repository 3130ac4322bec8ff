"""[api]: the API server."""

from oslo_config import cfg

OPTIONS = (
    cfg.StrOpt("host", default="127.0.0.1", help="Address to listen on."),
    cfg.PortOpt(
        "port", default=9890, help="Port to listen on; 0: any free port."
    ),
    cfg.IntOpt(
        "workers", default=1, min=1, help="Number of server processes."
    ),
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        help="Number of concurrent requests of a process.",
    ),
    cfg.IntOpt(
        "max_peer_requests",
        default=8,
        min=1,
        help="Maximum number of concurrent requests of a process that wait "
        "for a VIM or a subscriber: registrations and changes of VIMs, dry "
        "runs, and tests of callbacks; at most half of threads. Further ones "
        "are rejected with 503, and all other requests find a thread.",
    ),
    cfg.IntOpt(
        "keepalive_timeout",
        default=90,
        min=1,
        help="Seconds after which an idle connection of a client is closed. "
        "A proxy in front must close its idle connections earlier.",
    ),
    cfg.URIOpt(
        "endpoint",
        schemes=["http", "https"],
        help="URL under which clients reach this API, used in Location and "
        "_links. Default: the Host header of each request.",
    ),
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "each request carries a Keystone token"),
            ("noauth", "each client is an administrator: for tests only"),
        ],
        help="How clients authenticate.",
    ),
    cfg.IntOpt(
        "max_body_bytes",
        default=1_000_000,
        min=1,
        help="Largest request body in bytes, except the content of a VNF "
        "package.",
    ),
    cfg.FloatOpt(
        "idempotency_lifetime",
        default=86400.0,
        min=0.0,
        help="Seconds for which the result of a request with an "
        "Idempotency-Key is stored. It is deleted up to ten minutes later.",
    ),
    cfg.FloatOpt(
        "dry_run_timeout",
        default=30.0,
        min=1.0,
        help="Seconds in which a dry run has to read the VIM.",
    ),
    cfg.IntOpt(
        "page_size",
        default=100,
        min=1,
        help="Maximum number of list entries in a response; its Link header "
        "has the URL of the next page.",
    ),
)
