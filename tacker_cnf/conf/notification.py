"""[notification]: how notifications are sent to subscribers."""

from oslo_config import cfg, types

OPTIONS = (
    cfg.BoolOpt(
        "test_callback",
        default=True,
        help="Test a callbackUri with a GET, which has to be answered by "
        "204, before the subscription is created (SOL003 5.4.18.3.1).",
    ),
    cfg.BoolOpt(
        "loopback_callbacks",
        default=False,
        help="Allow loopback addresses (127.0.0.1, ::1) in callbackUri and "
        "tokenEndpoint: for tests only.",
    ),
    cfg.ListOpt(
        "refused_networks",
        default=[],
        item_type=types.String(),
        help="Networks, such as 192.0.2.0/24, that are not allowed in "
        "callbackUri and tokenEndpoint. Link-local addresses and those of "
        "cloud metadata services are never allowed.",
    ),
    cfg.IntOpt(
        "max_requests",
        default=4,
        min=1,
        help="Maximum number of concurrent requests to a subscriber, each "
        "for a different VNF instance.",
    ),
    cfg.FloatOpt(
        "retry_interval",
        default=1.0,
        min=0.01,
        help="Seconds after which a failed notification is sent again. Each "
        "further failure doubles the interval.",
    ),
    cfg.FloatOpt(
        "max_retry_interval",
        default=300.0,
        min=0.01,
        help="Maximum seconds between two attempts, unless the subscriber "
        "sends a longer Retry-After.",
    ),
    cfg.FloatOpt(
        "park_after",
        default=86400.0,
        min=0.0,
        help="Seconds of failed attempts after which a notification is "
        "parked: it is stored until an operator resends or drops it.",
    ),
    cfg.FloatOpt(
        "event_retention",
        default=3600.0,
        min=60.0,
        help="Seconds for which an event is kept after its notifications were "
        "delivered, for clients of GET /events that connect again.",
    ),
    cfg.FloatOpt(
        "poll_interval",
        default=1.0,
        min=0.05,
        help="Seconds between two searches for changes that other conductors "
        "recorded, and for those of API servers whose message was lost. All "
        "other changes are sent immediately.",
    ),
    cfg.FloatOpt(
        "lease",
        default=30.0,
        min=1.0,
        help="Seconds without a heartbeat of the conductor that sends the "
        "notifications after which another conductor takes over.",
    ),
)
