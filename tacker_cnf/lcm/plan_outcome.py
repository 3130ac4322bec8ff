"""The outcomes of a plan: what its execution did to each resource.

The plan of an operation is made without reading the VIM. After a failure, the
exact plan of a retry shows what remains to be done.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from tacker_cnf.lcm.vnf_plan import (
    Action,
    ActionOutcome,
    ActionType,
    VnfPlan,
)

#: such as ``Deployment web``
KIND_AND_NAME: Final = re.compile(
    r"(?<![\w:.-])(?=([\w:]+) ([\w.-]*\w))", re.ASCII
)


def is_known(plan: VnfPlan) -> bool:
    """Return whether a plan has its outcomes."""
    return all(action.outcome for action in plan.actions)


def completed(plan: VnfPlan) -> VnfPlan:
    """Return a plan that was executed to its end, with the outcomes."""
    return _with_outcomes(plan, unfinished=(), failed=())


def interrupted(
    plan: VnfPlan, remaining: Iterable[Action], error: str
) -> VnfPlan:
    """Return a plan whose execution failed or was cancelled, with the
    outcomes.

    FAILED are the resources that the error names, or whose pods it names; if
    it names none, the first one that is not done.

    :param remaining: the actions of the exact plan of a retry
    :param error: detail of the error of the operation
    """
    left = tuple(remaining)
    unfinished = _unfinished(plan.actions, left) | _kept(plan.actions, left)
    named = _named(plan.actions, error)
    first = sorted(unfinished, key=lambda n: (plan.actions[n].wave, n))[:1]
    return _with_outcomes(plan, unfinished, named or first)


def failed_by_error(plan: VnfPlan, error: str) -> VnfPlan:
    """Return a plan of which nothing else is known than the error of its
    operation: the resources that it names are FAILED.
    """
    named = _named(plan.actions, error)
    return msgspec.structs.replace(
        plan,
        actions=tuple(
            msgspec.structs.replace(action, outcome=ActionOutcome.FAILED)
            if number in named
            else action
            for number, action in enumerate(plan.actions)
        ),
    )


def _kept(
    actions: tuple[Action, ...], remaining: Iterable[Action]
) -> frozenset[int]:
    """Return the numbers of the deletions whose resources exist, and which a
    retry would not delete at once, as others still need them.
    """
    existing = {
        (action.kind, action.name)
        for action in remaining
        if action.type is ActionType.UNCHANGED
    }
    staying = {
        (action.kind, action.name)
        for action in actions
        if action.type is not ActionType.DELETE
    }
    return frozenset(
        number
        for number, action in enumerate(actions)
        if (action.kind, action.name) in existing - staying
    )


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


def _named(actions: tuple[Action, ...], error: str) -> frozenset[int]:
    """Return the numbers of the actions whose resources an error names, such as
    ``Deployment web``, or by a pod of theirs, such as ``Pod web-5d9c-x7k2p``.
    """
    numbers = {
        (action.kind, action.name): number
        for number, action in enumerate(actions)
    }
    owners = {
        name: number
        for (_, name), number in numbers.items()
        if actions[number].vdu_id
    }
    found = set()
    for kind, name in KIND_AND_NAME.findall(error):
        if (kind, name) in numbers:
            found.add(numbers[kind, name])
        elif kind == "Pod":
            owner = max(
                (prefix for prefix in owners if name.startswith(f"{prefix}-")),
                key=len,
                default=None,
            )
            found |= {owners[owner]} if owner else set()
    return frozenset(
        number
        for number in found
        if actions[number].type is not ActionType.UNCHANGED
    )


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
