"""[vims]: the addresses of VIMs."""

from oslo_config import cfg, types

OPTIONS = (
    cfg.ListOpt(
        "schemes",
        default=["https"],
        item_type=types.String(choices=["http", "https"]),
        help="Schemes of the URLs of VIMs, those in the catalogue of a "
        "Keystone included. With http, credentials are sent unencrypted.",
    ),
    cfg.ListOpt(
        "allowed_networks",
        default=[],
        item_type=types.String(),
        help="Networks, such as 192.0.2.0/24, to which this service connects "
        "for VIMs, and for each service of an OpenStack. Empty: all. "
        "Link-local, multicast and reserved addresses, and those of cloud "
        "metadata services, are refused in any case.",
    ),
    cfg.BoolOpt(
        "allow_loopback",
        default=False,
        help="Allow loopback addresses (127.0.0.1, ::1) for VIMs: for a VIM "
        "on this machine, as in tests. The services of this machine that "
        "listen on loopback become reachable for everyone who may name a "
        "VIM.",
    ),
    cfg.FloatOpt(
        "check_timeout",
        default=10.0,
        min=0.1,
        help="Maximum seconds to check a VIM that is registered or changed, "
        "with all its requests.",
    ),
)
