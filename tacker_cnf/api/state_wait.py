"""The query of a request that waits for the state of an operation."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import pecan

from tacker_cnf import errors
from tacker_cnf.api.openapi_parameters import MAX_WAIT_S, STATE_NOT, WAIT
from tacker_cnf.lcm import states
from tacker_cnf.sol import suggestion
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType

_NAMES: Final = (WAIT.name, STATE_NOT.name)
_SECONDS: Final = re.compile("[0-9]{1,2}")


class StateWait(NamedTuple):
    """The states that an operation has to leave before the response is
    sent.
    """

    seconds: int
    states: AbstractSet[LcmOperationStateType]


def from_request() -> StateWait | None:
    """Parse wait and state_not of the query; None: it has neither.

    :raises BadRequest: one of them is invalid or misspelled
    """
    query = pecan.request.GET
    _reject_misspelled(query)
    excluded = _states(query.getall(STATE_NOT.name))
    seconds = query.getall(WAIT.name)
    if seconds:
        return StateWait(_seconds(seconds), excluded or states.ACTIVE)
    if excluded:
        raise errors.BadRequest(
            "state_not: it needs wait, the seconds to wait for another state."
        )
    return None


def _reject_misspelled(query: Iterable[str]) -> None:
    for name in query:
        if name not in _NAMES and (
            similar := suggestion.closest_name(name, _NAMES)
        ):
            raise errors.BadRequest(
                f'Query: unknown parameter "{name}"; did you mean "{similar}"?'
            )


def _seconds(values: Sequence[str]) -> int:
    value, *others = values
    if others:
        raise errors.BadRequest("wait: it is repeated; give it once.")
    seconds = int(value) if _SECONDS.fullmatch(value) else 0
    if not 1 <= seconds <= MAX_WAIT_S:
        raise errors.BadRequest(
            f"wait: {value!r} is not valid; allowed are whole seconds from 1 "
            f"to {MAX_WAIT_S}."
        )
    return seconds


def _states(values: Sequence[str]) -> AbstractSet[LcmOperationStateType]:
    for value in values:
        if value not in [*LcmOperationStateType]:
            raise errors.BadRequest(
                f"state_not: {value!r} is not valid; allowed are "
                f"{', '.join(LcmOperationStateType)}."
            )
    return frozenset(map(LcmOperationStateType, values))
