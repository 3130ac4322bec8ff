"""The state machine of lifecycle operations (SOL003 5.6.2.2).

Shared by start, retry and rollback: each is a plan of steps, and every step
ends in one event of this table.
"""

import enum
from collections.abc import Mapping
from typing import Final

from tacker_cnf import errors
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S


class Event(enum.StrEnum):
    """An event of an operation's state machine."""

    #: the NFVO granted the operation
    GRANTED = "GRANTED"
    #: a step succeeded and others follow
    STEPPED = "STEPPED"
    #: the last step succeeded
    DONE = "DONE"
    #: a step failed
    FAIL = "FAIL"
    #: a client requests a retry
    RETRY = "RETRY"
    #: a client requests a rollback to the state before the operation
    ROLLBACK = "ROLLBACK"
    #: a client accepts the failure
    GIVE_UP = "GIVE_UP"
    #: a client requests cancellation; the operation continues until the
    #: conductor that runs it has checked for it, and then fails
    CANCEL = "CANCEL"


TRANSITIONS: Final[Mapping[tuple[S, Event], S]] = {
    (S.STARTING, Event.GRANTED): S.PROCESSING,
    # nothing was changed yet, so there is nothing to retry or roll back
    (S.STARTING, Event.FAIL): S.ROLLED_BACK,
    (S.STARTING, Event.CANCEL): S.STARTING,
    (S.PROCESSING, Event.STEPPED): S.PROCESSING,
    (S.PROCESSING, Event.DONE): S.COMPLETED,
    (S.PROCESSING, Event.FAIL): S.FAILED_TEMP,
    (S.PROCESSING, Event.CANCEL): S.PROCESSING,
    (S.FAILED_TEMP, Event.RETRY): S.PROCESSING,
    (S.FAILED_TEMP, Event.ROLLBACK): S.ROLLING_BACK,
    (S.FAILED_TEMP, Event.GIVE_UP): S.FAILED,
    (S.ROLLING_BACK, Event.STEPPED): S.ROLLING_BACK,
    (S.ROLLING_BACK, Event.DONE): S.ROLLED_BACK,
    (S.ROLLING_BACK, Event.FAIL): S.FAILED_TEMP,
    (S.ROLLING_BACK, Event.CANCEL): S.ROLLING_BACK,
}
#: states without a transition out of them
FINAL: Final = frozenset(S) - {source for source, _ in TRANSITIONS}
#: states in which a conductor has work to do
ACTIVE: Final = frozenset({S.STARTING, S.PROCESSING, S.ROLLING_BACK})


def advance(state: S, event: Event) -> S:
    """Return the state that follows.

    :raises WrongState: the event is not possible in this state
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise errors.WrongState(
            f"{event} is not possible in state {state}."
        ) from None
