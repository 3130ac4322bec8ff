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
    cfg.BoolOpt(
        "cpu_affinity",
        default=False,
        help="Bind each server process to one CPU, so that the threads of a "
        "request do not wait for each other across CPUs: Python runs one at "
        "a time. For CPUs that this API has for itself; beside other busy "
        "processes, or with fewer CPUs than processes, it can be slower.",
    ),
    cfg.IntOpt(
        "threads",
        default=16,
        min=1,
        help="Number of requests that a process handles at the same time. A "
        "request gets a thread when its body has arrived.",
    ),
    cfg.IntOpt(
        "max_connections",
        default=500,
        min=1,
        help="Number of connections that a process keeps. A further one "
        "closes the connection that has waited longest for its client. It "
        "has to be below the limit of open files (LimitNOFILE of systemd).",
    ),
    cfg.IntOpt(
        "max_uploads",
        default=8,
        min=1,
        help="Number of VNF packages whose content a process receives at the "
        "same time. Others wait for body_timeout, then the response is 503.",
    ),
    cfg.FloatOpt(
        "header_timeout",
        default=10.0,
        min=0.1,
        help="Seconds in which a client has to send the headers of a "
        "request, and to complete the TLS handshake.",
    ),
    cfg.FloatOpt(
        "body_timeout",
        default=30.0,
        min=0.1,
        help="Seconds in which a client has to send the body of a request. "
        "For the content of VNF packages, and for a client that reads a "
        "response: the longest pause.",
    ),
    cfg.IntOpt(
        "min_transfer_rate",
        default=20_000,
        min=1,
        help="Bytes per second at which a client has to send the content of "
        "a VNF package, and to read responses, except for pauses of "
        "body_timeout.",
    ),
    cfg.IntOpt(
        "max_peer_requests",
        default=8,
        min=1,
        help="Maximum number of concurrent requests of a process that wait "
        "for a VIM, a subscriber or the NFVO: registrations and changes of "
        "VIMs, dry runs, tests of callbacks, and packages that are fetched "
        "from the NFVO; at most half of threads. Further ones "
        "are rejected with 503, and all other requests find a thread.",
    ),
    cfg.IntOpt(
        "max_waits",
        default=250,
        min=1,
        help="Maximum number of requests of a process that wait for the state "
        "of a lifecycle operation (query parameter wait); at most half of "
        "max_connections, as they keep their connections. They need no "
        "threads. Further ones are rejected with 503.",
    ),
    cfg.IntOpt(
        "max_event_streams",
        default=100,
        min=1,
        help="Maximum number of requests of a process that read the stream of "
        "events (GET /events); at most a quarter of max_connections, as they "
        "keep their connections. They need no threads. Further ones are "
        "rejected with 503.",
    ),
    cfg.FloatOpt(
        "event_stream_time",
        default=300.0,
        min=0.1,
        help="Seconds after which the server ends a stream of events: the "
        "client connects again, and its token is checked again.",
    ),
    cfg.IntOpt(
        "project_share",
        default=75,
        min=1,
        max=100,
        help="Percentage of max_uploads, of max_peer_requests, of max_waits, "
        "of max_event_streams and of [scripts] max_dry_runs that requests of one project may have at "
        "the same time, so that those of others are accepted; at least one "
        "request, which is all of a number of 1. Further ones are rejected "
        "with 503. 100: no limit, as for an installation with one project.",
    ),
    cfg.IntOpt(
        "keepalive_timeout",
        default=90,
        min=1,
        help="Seconds after which an idle connection of a client is closed. "
        "A proxy in front must close its idle connections earlier.",
    ),
    cfg.StrOpt(
        "tls_certificate",
        help="File with the certificate of this server and those of its "
        "authorities (PEM). With it the API uses HTTPS. It is read again at "
        "SIGHUP.",
    ),
    cfg.StrOpt(
        "tls_key",
        help="File with the key of tls_certificate (PEM). Default: the key "
        "is in the file of the certificate.",
    ),
    cfg.StrOpt(
        "tls_min_version",
        default="TLSv1.2",
        choices=["TLSv1.2", "TLSv1.3"],
        help="Lowest version of TLS.",
    ),
    cfg.StrOpt(
        "tls_client_ca",
        help="File with the certificates of the authorities (PEM) whose "
        "clients may connect. Default: clients need no certificate.",
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
    cfg.BoolOpt(
        "web_page",
        default=False,
        help="Whether to serve the web page for operators at /ui/. Users log "
        "in with their user of Keystone.",
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
