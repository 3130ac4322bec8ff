"""Authorization by oslo.policy; the defaults follow Keystone's roles."""

from collections.abc import Iterable
from typing import Final

from oslo_config import cfg
from oslo_policy import opts, policy

WRITER: Final = "role:admin or role:member"
READER: Final = "role:admin or role:member or role:reader"

#: who uses the resources of all projects
ALL_PROJECTS: Final = "os_nfv_orchestration_api:all_projects"
LCM_READ: Final = "lcm:read"
LCM_WRITE: Final = "lcm:write"
SUBSCRIPTION_READ: Final = "subscriptions:read"
SUBSCRIPTION_WRITE: Final = "subscriptions:write"
PACKAGE_READ: Final = "vnf_packages:read"
PACKAGE_WRITE: Final = "vnf_packages:write"
VIM_READ: Final = "vims:read"
VIM_WRITE: Final = "vims:write"

RULES: Final = (
    policy.RuleDefault(
        ALL_PROJECTS,
        "role:admin or role:service",
        description="Use the resources of all projects; without it, those of "
        "other projects do not exist for a client.",
    ),
    policy.RuleDefault(
        LCM_READ,
        READER,
        description="Read VNF instances and their lifecycle operations.",
    ),
    policy.RuleDefault(
        LCM_WRITE,
        WRITER,
        description="Create and delete VNF instances, start lifecycle "
        "operations, and retry, roll back, fail or cancel them.",
    ),
    policy.RuleDefault(
        SUBSCRIPTION_READ,
        READER,
        description="Read subscriptions, without their credentials.",
    ),
    policy.RuleDefault(
        SUBSCRIPTION_WRITE,
        WRITER,
        description="Create and delete subscriptions to lifecycle changes. "
        "The service sends requests to the callback URI that the client "
        "chooses.",
    ),
    policy.RuleDefault(PACKAGE_READ, READER, description="Read VNF packages."),
    policy.RuleDefault(
        PACKAGE_WRITE,
        WRITER,
        description="Onboard, change and delete VNF packages.",
    ),
    policy.RuleDefault(
        VIM_READ, READER, description="Read VIMs, without their secrets."
    ),
    policy.RuleDefault(
        VIM_WRITE, WRITER, description="Register, change and delete VIMs."
    ),
)


def list_rules() -> Iterable[policy.RuleDefault]:
    """Return all rules to oslopolicy-sample-generator (entry point)."""
    return RULES


def enforcer(conf: cfg.ConfigOpts) -> policy.Enforcer:
    """Create the policy enforcer of a process."""
    opts.set_defaults(conf, policy_file="policy.yaml")
    rule_enforcer = policy.Enforcer(conf)
    rule_enforcer.register_defaults(RULES)
    return rule_enforcer
