"""The policy of a VIM: what VNF packages may create on it.

The owner of a registered VIM sets it in ``extra.policy``; it reaches the driver
in ``extra`` of the VimConnectionInfo. Clients, grants and scripts that use a VIM
cannot set it. Each driver has its own type of policy, whose attributes have the
names of its options, which are the defaults.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.sol import suggestion
from tacker_cnf.sol.common import VimConnectionInfo

#: key of ``extra``
POLICY_KEY: Final = "policy"
#: problems in one error
MAX_PROBLEMS: Final = 5

T = TypeVar("T", bound=msgspec.Struct)


def read(
    extra: Mapping[str, Any], kind: type[T], defaults: Mapping[str, Any]
) -> T:
    """Parse the policy of a VIM.

    :param extra: of the VIM
    :param defaults: the attributes that its policy does not set
    :raises InvalidVimConnection: it is not valid
    """
    policy = extra.get(POLICY_KEY)
    values = {} if policy is None else policy
    if not isinstance(values, Mapping):
        raise errors.InvalidVimConnection(
            f"extra.{POLICY_KEY}: expected an object."
        )
    for name in values:
        if name not in kind.__struct_fields__:
            raise _unknown_attribute(name, kind.__struct_fields__)
    try:
        return msgspec.convert({**defaults, **values}, kind)
    except msgspec.ValidationError as error:
        raise errors.InvalidVimConnection(
            f"extra.{POLICY_KEY}: {error}."
        ) from None


def check_name(extra: Mapping[str, Any]) -> None:
    """Check that no attribute has nearly the name of the policy.

    :raises BadRequest: a name is probably misspelt
    """
    for name in extra:
        if name != POLICY_KEY and suggestion.closest_name(name, [POLICY_KEY]):
            raise errors.BadRequest(
                f'extra: Unknown attribute "{name}"; did you mean '
                f'"{POLICY_KEY}"?'
            )


def refuse(policy: Mapping[str, Any]) -> None:
    """Check the policy of a VIM whose type has none.

    :raises InvalidVimConnection: the policy is not empty
    """
    if policy:
        raise errors.InvalidVimConnection(
            f"extra.{POLICY_KEY}: a VIM of this type has no policy."
        )


def changed(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the new ``extra`` of a VIM. Without a policy it keeps that of the
    old one; null removes it.
    """
    result = {**select(before), **after}
    if result.get(POLICY_KEY, ...) is None:
        del result[POLICY_KEY]
    return result


def select(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the policy of an ``extra``."""
    return {POLICY_KEY: extra[POLICY_KEY]} if POLICY_KEY in extra else {}


def without(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ``extra`` without its policy."""
    return {key: extra[key] for key in extra if key != POLICY_KEY}


def without_policies(
    connections: Mapping[str, VimConnectionInfo],
) -> dict[str, VimConnectionInfo]:
    """Return VIM connections without the policies of their VIMs."""
    return {
        key: msgspec.structs.replace(info, extra=without(info.extra))
        for key, info in connections.items()
    }


def refuse_package(problems: Sequence[str], vim: str, remedy: str) -> None:
    """Check that a policy has no problem with what a VNF package contains.

    :param vim: the VIM, for the error
    :param remedy: how the package or the policy can be changed, likewise
    :raises VimPolicyViolation: there is a problem
    """
    if not problems:
        return
    more = len(problems) - MAX_PROBLEMS
    raise errors.VimPolicyViolation(
        f"The policy of {vim} does not allow what the VNF package contains: "
        + "; ".join(problems[:MAX_PROBLEMS])
        + (f"; and {more} more" if more > 0 else "")
        + f". {remedy}"
    )


def _unknown_attribute(
    name: str, known: tuple[str, ...]
) -> errors.InvalidVimConnection:
    closest_name = suggestion.closest_name(name, known)
    hint = (
        f'did you mean "{closest_name}"?'
        if closest_name
        else f"it has {', '.join(known)}."
    )
    return errors.InvalidVimConnection(
        f'extra.{POLICY_KEY}: Unknown attribute "{name}"; {hint}'
    )
