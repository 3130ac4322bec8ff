"""How long a task bears a VIM that does not answer."""

import itertools
from collections.abc import Callable
from typing import Final, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers import interruptible
from tacker_cnf.halting import Deadline, Halt

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: seconds between tries while a VIM is away; the last again and again
PAUSES: Final = (0.05, 0.2, 0.5, 1.0, 2.0)


class Away(errors.VimUnreachable):
    """The VIM does not answer now; it may in some seconds."""


class Endurance:
    """Asks a VIM again while it is away, as an API server is that starts
    anew. All that we ask may be asked twice.

    A VIM that has answered this task before is borne for longer than one
    that may never have been there.

    :param contact: seconds that the first answer may be waited for
    :param outage: seconds that any later answer may be waited for
    """

    def __init__(
        self,
        deadline: Deadline,
        halt: Halt | None = None,
        *,
        contact: float = 1.0,
        outage: float = 1.0,
    ) -> None:
        self.deadline = deadline
        self.halt = halt or Halt()
        self._borne = contact
        self._outage = outage

    def ask(self, question: Callable[[], T]) -> T:
        """Ask until there is an answer, be it a refusal.

        :raises VimUnreachable: the VIM was away for too long
        :raises VnfmError: the task was called off at once
        """
        end = self._end()
        for pause in itertools.chain(PAUSES, itertools.repeat(PAUSES[-1])):
            self.halt.check_wait()
            try:
                return self._answered(question)
            except Away as error:
                if end.passed:
                    raise
                LOG.info("%s It is asked again.", error)
                self.halt.wait(min(pause, end.remaining))
        raise AssertionError("unreachable")

    def _answered(self, question: Callable[[], T]) -> T:
        try:
            with interruptible.under(self.halt):
                answer = question()
        except errors.VimRefused:  # it is there, then
            self._borne = self._outage
            raise
        self._borne = self._outage
        return answer

    def _end(self) -> Deadline:
        return Deadline.within(min(self._borne, self.deadline.remaining))
