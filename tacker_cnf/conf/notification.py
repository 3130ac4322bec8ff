"""[notification]: how subscribers are told of lifecycle changes."""

from oslo_config import cfg, types

OPTIONS = (
    cfg.BoolOpt(
        "test_callback",
        default=True,
        help="Make sure with a GET that answers 204 that a callbackUri can "
        "be reached, before a subscription is made (SOL003 5.4.18.3.1).",
    ),
    cfg.BoolOpt(
        "loopback_callbacks",
        default=False,
        help="Let subscribers name this machine itself (127.0.0.1, ::1) as "
        "callbackUri and tokenEndpoint: to try it out.",
    ),
    cfg.ListOpt(
        "refused_networks",
        default=[],
        item_type=types.String(),
        help="Networks, as 192.0.2.0/24, that subscribers must not name. "
        "Link-local addresses and those of the metadata of clouds are refused "
        "in any case.",
    ),
    cfg.IntOpt(
        "max_requests",
        default=4,
        min=1,
        help="Notifications that are sent to one subscriber at once, each "
        "about another VNF instance.",
    ),
    cfg.FloatOpt(
        "retry_interval",
        default=1.0,
        min=0.01,
        help="Seconds after which a notification that failed is sent again. "
        "Each further failure doubles them.",
    ),
    cfg.FloatOpt(
        "max_retry_interval",
        default=300.0,
        min=0.01,
        help="Most seconds between two tries, unless the subscriber asks for "
        "more by Retry-After.",
    ),
    cfg.FloatOpt(
        "park_after",
        default=86400.0,
        min=0.0,
        help="Seconds for which a notification is tried in vain before it is "
        "parked: it is kept, and sent again when an operator asks for it.",
    ),
    cfg.FloatOpt(
        "poll_interval",
        default=1.0,
        min=0.05,
        help="Seconds between two looks for changes that other conductors "
        "wrote down, and for those of API servers of which no message came. "
        "All else is seen at once.",
    ),
    cfg.FloatOpt(
        "lease",
        default=30.0,
        min=1.0,
        help="Seconds after which another conductor sends the notifications "
        "when the one that did is not heard of.",
    ),
)
