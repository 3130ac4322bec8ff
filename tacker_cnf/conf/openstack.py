"""[openstack]: the OpenStack driver."""

from oslo_config import cfg, types

OPTIONS = (
    cfg.ListOpt(
        "allowed_resource_types",
        default=[],
        item_type=types.String(regex=r"^[A-Za-z0-9:*]+$"),
        help="Further types of resources that the Heat templates of VNF "
        "packages may have, such as OS::Nova::Flavor, or a pattern with ``*``, "
        "beside those of the project's servers, networks and volumes. "
        "extra.policy of a registered VIM overrides this option.",
    ),
    cfg.FloatOpt(
        "stack_timeout",
        default=1200.0,
        min=0.1,
        help="Maximum seconds for an action of Heat on a stack.",
    ),
    cfg.FloatOpt(
        "request_timeout",
        default=30.0,
        min=0.1,
        help="Maximum seconds to wait for each part of a response of Keystone "
        "or Heat; [outgoing] exchange_timeout limits all parts together.",
    ),
    cfg.FloatOpt(
        "contact_timeout",
        default=10.0,
        min=0.0,
        help="Seconds for which an operation retries its first request to an "
        "OpenStack while it is unreachable.",
    ),
    cfg.FloatOpt(
        "outage_timeout",
        default=30.0,
        min=0.0,
        help="Seconds for which an operation retries requests while Keystone "
        "or Heat is unreachable, for example during a restart.",
    ),
    cfg.IntOpt(
        "graceful_termination_timeout",
        default=10,
        min=0,
        help="Seconds to wait for a VNF during a graceful termination whose "
        "request has no gracefulTerminationTimeout.",
    ),
    cfg.ListOpt(
        "fallback_zones",
        default=[],
        help="Availability zones to try, in this order, for VNFCs for which "
        "Nova finds no host in the granted zone, unless an anti-affinity "
        "rule of the VNFD forbids it; a heal begins with the current zone. "
        "Empty: the operation fails.",
    ),
    cfg.StrOpt(
        "ssh_host_keys",
        default="required",
        choices=[
            (
                "required",
                (
                    "It has to present the host key that Nova reports: in "
                    "the server's metadata ssh_host_key, or on its console, "
                    "where cloud-init prints it."
                ),
            ),
            (
                "trust_on_first_use",
                (
                    "Any host key is accepted: another machine on the way "
                    "gets the password and all commands."
                ),
            ),
        ],
        help="How the management driver kubernetes_cluster verifies a new VM "
        "when it first connects to it by SSH. Afterwards the VM has to "
        "present the same host key in either case.",
    ),
    cfg.BoolOpt(
        "heal_whole_all",
        default=False,
        help="Default of additionalParams.all in requests to heal the whole "
        "VNF. True: the stack is deleted and created again. False: the stack "
        "remains, and all its servers are recreated.",
    ),
)
