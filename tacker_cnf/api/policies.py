"""Authorization by oslo.policy: one rule for each task.

The target of a rule is the resource: its project and its user, and whether it
belongs to another project that shares it.
"""

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from oslo_config import cfg
from oslo_policy import opts, policy

from tacker_cnf import errors
from tacker_cnf.context import RequestContext
from tacker_cnf.sol.api import Api

PREFIX: Final = "os_nfv_orchestration_api:"
#: which clients use the resources of all projects
ALL_PROJECTS: Final = f"{PREFIX}all_projects"
#: seconds for which an answer of the enforcer applies
ANSWERS_LAST_S: Final = 1.0
#: rules of earlier releases
REMOVED: Final = tuple(
    f"{area}:{access}"
    for area in ("lcm", "subscriptions", "vnf_packages", "vims")
    for access in ("read", "write")
)

_OWN: Final = "project_id:%(project_id)s"
#: rules that the defaults of other rules refer to: name -> default, text
_PERSONAS: Final = {
    "admin_or_service": (
        "role:admin or role:service",
        "Administrators, and services such as an NFVO.",
    ),
    "project_reader": (
        f"(role:reader or role:member) and {_OWN}",
        "Readers and members of the project of a resource.",
    ),
    "project_member": (
        f"role:member and {_OWN}",
        "Members of the project of a resource.",
    ),
    "project_manager": (
        f"role:manager and {_OWN}",
        "Managers of the project of a resource.",
    ),
    "shared_reader": (
        "(role:reader or role:member) and True:%(is_shared)s",
        "Readers and members of a project with which a resource is shared.",
    ),
}
_READER: Final = "rule:project_reader or rule:admin_or_service"
_SHARED_READER: Final = f"rule:shared_reader or {_READER}"
_WRITER: Final = "rule:project_member or rule:admin_or_service"
_MANAGER: Final = "rule:project_manager or role:admin"

_INSTANCES: Final = "/vnflcm/v2/vnf_instances"
_INSTANCE: Final = f"{_INSTANCES}/{{id}}"
_OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
_OP_OCC: Final = f"{_OP_OCCS}/{{id}}"
_SUBSCRIPTIONS: Final = "/vnflcm/v2/subscriptions"
_PACKAGES: Final = "/vnfpkgm/v1/vnf_packages"
_PACKAGE: Final = f"{_PACKAGES}/{{id}}"
_CONTENT: Final = f"{_PACKAGE}/package_content"
_PACKAGE_SUBSCRIPTIONS: Final = "/vnfpkgm/v1/subscriptions"
_VIMS: Final = "/v1.0/vims"

#: name -> default, text, and its operations: method and path
_TASKS: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "vnf_instances:index": (
        _READER,
        "List VNF instances.",
        (f"GET {_INSTANCES}",),
    ),
    "vnf_instances:show": (
        _READER,
        "Read a VNF instance.",
        (f"GET {_INSTANCE}",),
    ),
    "vnf_instances:create": (
        _WRITER,
        "Create a VNF instance.",
        (f"POST {_INSTANCES}",),
    ),
    "vnf_instances:update": (
        _WRITER,
        "Modify a VNF instance.",
        (f"PATCH {_INSTANCE}",),
    ),
    "vnf_instances:delete": (
        _WRITER,
        "Delete a VNF instance.",
        (f"DELETE {_INSTANCE}",),
    ),
    **{
        f"vnf_instances:{task}": (
            _WRITER,
            f"{text} a VNF instance, or plan it.",
            (f"POST {_INSTANCE}/{task}",),
        )
        for task, text in {
            "instantiate": "Instantiate",
            "scale": "Scale",
            "scale_to_level": "Scale to a level",
            "change_flavour": "Change the deployment flavour of",
            "terminate": "Terminate",
            "heal": "Heal",
            "operate": "Start or stop",
            "change_ext_conn": "Change the external connectivity of",
            "change_vnfpkg": "Change the VNF package of",
        }.items()
    },
    "vnf_instances:sync": (
        _WRITER,
        "Synchronize a VNF instance with its VIM.",
        (f"POST {_INSTANCE}/sync",),
    ),
    "vnf_lcm_op_occs:index": (
        _READER,
        "List lifecycle operations.",
        (f"GET {_OP_OCCS}",),
    ),
    "vnf_lcm_op_occs:show": (
        _READER,
        "Read a lifecycle operation.",
        (f"GET {_OP_OCC}",),
    ),
    "vnf_lcm_op_occs:script_log": (
        _MANAGER,
        (
            "Read the scriptLog of a lifecycle operation: the output of the "
            "package's code, which may contain its input, with the "
            "credentials of VIMs. For all other clients the operation has "
            "none. The target has the project of the operation, and no user."
        ),
        (f"GET {_OP_OCC}", f"GET {_OP_OCCS}", f"POST {_OP_OCC}/fail"),
    ),
    "vnf_lcm_op_occs:plan": (
        _READER,
        "Read the plan of a lifecycle operation.",
        (f"GET {_OP_OCC}/plan",),
    ),
    **{
        f"vnf_lcm_op_occs:{task}": (
            _WRITER,
            f"{text} a lifecycle operation.",
            (f"POST {_OP_OCC}/{task}",),
        )
        for task, text in {
            "retry": "Retry",
            "rollback": "Roll back",
            "fail": "Fail",
            "cancel": "Cancel",
        }.items()
    },
    "subscriptions:index": (
        _READER,
        "List subscriptions.",
        (f"GET {_SUBSCRIPTIONS}",),
    ),
    "subscriptions:show": (
        _READER,
        "Read a subscription, without its credentials.",
        (f"GET {_SUBSCRIPTIONS}/{{id}}",),
    ),
    "subscriptions:create": (
        _WRITER,
        (
            "Subscribe to lifecycle changes. The service sends requests to the "
            "callback URI that the client chooses."
        ),
        (f"POST {_SUBSCRIPTIONS}", f"POST {_SUBSCRIPTIONS}/{{id}}"),
    ),
    "subscriptions:delete": (
        _WRITER,
        "Delete a subscription.",
        (f"DELETE {_SUBSCRIPTIONS}/{{id}}",),
    ),
    "vnf_packages:index": (
        _READER,
        "List VNF packages.",
        (f"GET {_PACKAGES}",),
    ),
    "vnf_packages:show": (
        _SHARED_READER,
        "Read a VNF package.",
        (f"GET {_PACKAGE}",),
    ),
    "vnf_packages:create": (
        _WRITER,
        "Create a VNF package.",
        (f"POST {_PACKAGES}",),
    ),
    "vnf_packages:update": (
        _WRITER,
        "Enable or disable a VNF package, or change its user data.",
        (f"PATCH {_PACKAGE}",),
    ),
    "vnf_packages:share": (
        _MANAGER,
        "Share a VNF package with other projects.",
        (f"PATCH {_PACKAGE}",),
    ),
    "vnf_packages:delete": (
        _WRITER,
        "Delete a VNF package.",
        (f"DELETE {_PACKAGE}",),
    ),
    "vnf_packages:upload": (
        _WRITER,
        "Upload the content of a VNF package.",
        (f"PUT {_CONTENT}",),
    ),
    "vnf_packages:upload_code": (
        f"{_MANAGER} or role:service",
        (
            "Upload the content of a VNF package that contains code: "
            "management scripts, coordination scripts or user data, which "
            "this service runs. For a package that the service fetches, the "
            "request to fetch it decides."
        ),
        (f"PUT {_CONTENT}", f"POST {_CONTENT}/upload_from_uri"),
    ),
    "vnf_packages:upload_from_uri": (
        _WRITER,
        "Have the service fetch the content of a VNF package.",
        (f"POST {_CONTENT}/upload_from_uri",),
    ),
    "vnf_packages:download": (
        _SHARED_READER,
        "Read the content of a VNF package.",
        (f"GET {_CONTENT}", f"HEAD {_CONTENT}"),
    ),
    "vnf_packages:vnfd": (
        _SHARED_READER,
        "Read the VNFD of a VNF package.",
        (f"GET {_PACKAGE}/vnfd",),
    ),
    "vnf_packages:artifact": (
        _SHARED_READER,
        "Read an artifact of a VNF package.",
        (
            f"GET {_PACKAGE}/artifacts/{{path}}",
            f"HEAD {_PACKAGE}/artifacts/{{path}}",
        ),
    ),
    "package_subscriptions:index": (
        _READER,
        "List subscriptions to VNF packages.",
        (f"GET {_PACKAGE_SUBSCRIPTIONS}",),
    ),
    "package_subscriptions:show": (
        _READER,
        "Read a subscription to VNF packages, without its credentials.",
        (f"GET {_PACKAGE_SUBSCRIPTIONS}/{{id}}",),
    ),
    "package_subscriptions:create": (
        _WRITER,
        (
            "Subscribe to changes of VNF packages. The service sends requests "
            "to the callback URI that the client chooses."
        ),
        (
            f"POST {_PACKAGE_SUBSCRIPTIONS}",
            f"POST {_PACKAGE_SUBSCRIPTIONS}/{{id}}",
        ),
    ),
    "package_subscriptions:delete": (
        _WRITER,
        "Delete a subscription to VNF packages.",
        (f"DELETE {_PACKAGE_SUBSCRIPTIONS}/{{id}}",),
    ),
    "events:index": (
        _SHARED_READER,
        "Read the stream of events.",
        ("GET /events",),
    ),
    "vims:index": (_READER, "List VIMs.", (f"GET {_VIMS}",)),
    "vims:show": (
        _SHARED_READER,
        "Read a VIM, without its secrets.",
        (f"GET {_VIMS}/{{id}}",),
    ),
    "vims:create": (_WRITER, "Register a VIM.", (f"POST {_VIMS}",)),
    "vims:update": (_WRITER, "Change a VIM.", (f"PUT {_VIMS}/{{id}}",)),
    "vims:share": (
        _MANAGER,
        "Share a VIM with other projects.",
        (f"PUT {_VIMS}/{{id}}",),
    ),
    "vims:policy": (
        _MANAGER,
        "Set what VNF packages may create on a VIM (extra.policy).",
        (f"POST {_VIMS}", f"PUT {_VIMS}/{{id}}"),
    ),
    "vims:inline": (
        _WRITER,
        (
            "Name a VIM in the vimConnectionInfo of a request by its address "
            "or credentials, rather than by the vimId of a registered VIM "
            "alone, or plan this. The target is the VNF instance."
        ),
        (
            f"PATCH {_INSTANCE}",
            *(
                f"POST {_INSTANCE}/{task}"
                for task in (
                    "instantiate",
                    "change_flavour",
                    "change_ext_conn",
                    "change_vnfpkg",
                )
            ),
        ),
    ),
    "vims:delete": (_WRITER, "Delete a VIM.", (f"DELETE {_VIMS}/{{id}}",)),
}


#: tasks that version 1 of the lifecycle API does not have
_ONLY_V2: Final = frozenset(
    {
        "vnf_instances:scale_to_level",
        "vnf_instances:change_flavour",
        "vnf_instances:operate",
        "vnf_instances:change_vnfpkg",
        "vnf_instances:sync",
        "vnf_lcm_op_occs:script_log",
        "vnf_lcm_op_occs:plan",
    }
)


def _operations(name: str, calls: Iterable[str]) -> list[policy.Operation]:
    """Return the documentation of the operations of a task, from their
    methods and paths: in each version of their API.
    """
    found: list[policy.Operation] = []
    for method, path in map(str.split, calls):
        found.append({"method": method, "path": path})
        other = path.replace(Api.LCM_V2.root, Api.LCM_V1.root).replace(
            Api.PACKAGES_V1.root, Api.PACKAGES_V2.root
        )
        task = f"vnf_instances:{path.rpartition('/')[2]}"
        if other != path and not {name, task} & _ONLY_V2:
            found.append({"method": method, "path": other})
    return found


RULES: Final[tuple[policy.RuleDefault, ...]] = (
    *(
        policy.RuleDefault(name, check, description=text)
        for name, (check, text) in _PERSONAS.items()
    ),
    policy.RuleDefault(
        ALL_PROJECTS,
        "rule:admin_or_service",
        description="Use the resources of all projects. For all other "
        "clients, those of other projects do not exist.",
    ),
    *(
        policy.DocumentedRuleDefault(
            PREFIX + name,
            check,
            text,
            _operations(name, operations),
        )
        for name, (check, text, operations) in _TASKS.items()
    ),
)


def list_rules() -> Iterable[policy.RuleDefault]:
    """Return all rules to oslopolicy-sample-generator (entry point)."""
    return RULES


def rule_of(task: str) -> str:
    """Return the name of the rule of a task, such as ``vims:create``.

    :raises ValueError: there is no such task
    """
    if task not in _TASKS:
        raise ValueError(f"no policy rule for {task}")
    return PREFIX + task


class Enforcer(policy.Enforcer):
    """The enforcer of oslo.policy; caches its decisions for a second, so a
    changed policy file applies at the latest after that time.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._answers: dict[Any, bool] = {}
        self._forget_at = -math.inf

    def allows(
        self, rule: str, target: Mapping[str, Any], client: RequestContext
    ) -> bool:
        """Return whether a rule allows a client its task on a target."""
        now = time.monotonic()
        if now >= self._forget_at:
            self._answers = {}
            self._forget_at = now + ANSWERS_LAST_S
        answers = self._answers
        values = dict(client.to_policy_values())
        question = (rule, repr(target), repr(values))
        allowed = answers.get(question)
        if allowed is None:
            allowed = answers[question] = self.enforce(rule, target, values)
        return allowed


def enforcer(conf: cfg.ConfigOpts) -> Enforcer:
    """Create the policy enforcer of a process.

    :raises VnfmError: the policy file has rules of an earlier release
    """
    opts.set_defaults(conf, policy_file="policy.yaml")
    rule_enforcer = Enforcer(conf)
    rule_enforcer.register_defaults(RULES)
    rule_enforcer.load_rules()
    found = sorted(set(REMOVED).intersection(rule_enforcer.file_rules))
    if found:
        raise errors.VnfmError(
            f"{conf.oslo_policy.policy_file}: the rules {', '.join(found)} "
            "of an earlier release have no effect any more. Replace them by "
            f"the rules of tasks, such as {PREFIX}vnf_instances:scale; "
            "oslopolicy-sample-generator --namespace tacker_cnf lists them."
        )
    return rule_enforcer
