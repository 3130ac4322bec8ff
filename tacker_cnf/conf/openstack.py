"""[openstack]: the OpenStack driver."""

from oslo_config import cfg

OPTIONS = (
    cfg.FloatOpt(
        "stack_timeout",
        default=1200.0,
        min=0.1,
        help="Seconds within which Heat has to be done with what it was "
        "asked to do to a stack.",
    ),
    cfg.FloatOpt(
        "request_timeout",
        default=30.0,
        min=0.1,
        help="Seconds that Keystone and Heat have to answer one request.",
    ),
    cfg.FloatOpt(
        "contact_timeout",
        default=10.0,
        min=0.0,
        help="Seconds for which an operation tries to reach an OpenStack "
        "that has not answered it yet.",
    ),
    cfg.FloatOpt(
        "outage_timeout",
        default=30.0,
        min=0.0,
        help="Seconds for which an operation bears that Keystone or Heat no "
        "longer answers, as when it is restarted.",
    ),
    cfg.IntOpt(
        "graceful_termination_timeout",
        default=10,
        min=0,
        help="Seconds that a VNF may take to end when it is terminated "
        "gracefully and the request does not say for how long.",
    ),
    cfg.ListOpt(
        "fallback_zones",
        default=[],
        help="Availability zones to try, in this order, for VNFCs that find "
        "no host in the zone they were granted, unless an anti-affinity rule "
        "of the VNFD forbids it; a heal begins with the zone that they were in. "
        "Empty: such an operation fails.",
    ),
    cfg.BoolOpt(
        "heal_whole_all",
        default=False,
        help="What a heal of the whole VNF means whose request does not say "
        "additionalParams.all. True: its stack is deleted and created again. "
        "False: all servers are made anew in the stack, which stays.",
    ),
)
