"""The outcomes of a plan: what its execution did to each resource.

The plan of an operation is made without reading the VIM. After a failure, the
exact plan of a retry shows what remains to be done.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable

import msgspec

from tacker_cnf.lcm.vnf_plan import (
    Action,
    ActionOutcome,
    ActionType,
    VnfPlan,
)


def is_known(plan: VnfPlan) -> bool:
    """Return whether a plan has its outcomes."""
    return any(action.outcome for action in plan.actions)


def completed(plan: VnfPlan) -> VnfPlan:
    """Return a plan that was executed to its end, with the outcomes."""
    return _with_outcomes(plan, unfinished=(), failed=())


def interrupted(
    plan: VnfPlan, remaining: Iterable[Action], error: str
) -> VnfPlan:
    """Return a plan whose execution failed or was cancelled, with the
    outcomes.

    FAILED are the resources that the error names; if it names none, the first
    one that is not done.

    :param remaining: the actions of the exact plan of a retry
    :param error: detail of the error of the operation
    """
    unfinished = _unfinished(plan.actions, remaining)
    named = [
        number
        for number, action in enumerate(plan.actions)
        if _is_named(action, error)
    ]
    first = sorted(unfinished, key=lambda n: (plan.actions[n].wave, n))[:1]
    return _with_outcomes(plan, unfinished, named or first)


def _unfinished(
    actions: tuple[Action, ...], remaining: Iterable[Action]
) -> frozenset[int]:
    """Return the numbers of the actions whose resources a retry would still
    change. Of several actions of one name, which stand for resources with
    unknown names, the last ones are not done.
    """
    counts = Counter(
        (action.kind, action.name)
        for action in remaining
        if action.type is not ActionType.UNCHANGED
    )
    unfinished = []
    for number in reversed(range(len(actions))):
        action = actions[number]
        key = action.kind, action.name
        if action.type is not ActionType.UNCHANGED and counts[key]:
            counts[key] -= 1
            unfinished.append(number)
    return frozenset(unfinished)


def _is_named(action: Action, error: str) -> bool:
    """Return whether an error names the resource of an action, such as
    ``Deployment web``.
    """
    if action.type is ActionType.UNCHANGED:
        return False
    name = re.escape(f"{action.kind} {action.name}")
    return bool(re.search(rf"(?<![\w-]){name}(?!\.?[\w-])", error))


def _with_outcomes(
    plan: VnfPlan, unfinished: Collection[int], failed: Collection[int]
) -> VnfPlan:
    def outcome(number: int, action: Action) -> ActionOutcome:
        if action.type is ActionType.UNCHANGED:
            return ActionOutcome.SKIPPED
        if number in failed:
            return ActionOutcome.FAILED
        if number in unfinished:
            return ActionOutcome.NOT_REACHED
        return ActionOutcome.DONE

    return msgspec.structs.replace(
        plan,
        actions=tuple(
            msgspec.structs.replace(action, outcome=outcome(number, action))
            for number, action in enumerate(plan.actions)
        ),
    )
