"""Small named steps, each of which is done once in an operation."""

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers import remote
from tacker_cnf.mgmt_drivers.cluster.memory import Memory, Node

T = TypeVar("T")


class Steps:
    """Does steps and keeps which were done: an operation that is tried again
    goes on at the one that failed.

    :param hook: the hook that they are part of
    """

    def __init__(
        self, hook: str, memory: Memory, log: Callable[[str], None]
    ) -> None:
        self._hook = hook
        self._memory = memory
        self._log = log
        self._lock = threading.Lock()
        #: the steps that have failed
        self.failed: list[str] = []

    def do(
        self, what: str, nodes: Iterable[Node], work: Callable[[], None]
    ) -> None:
        """Do one step, unless it was done.

        :param nodes: whom it is about; the same step of others is another
        """
        about = tuple(nodes)
        told = _told(what, about)
        servers = ",".join(node.vnfc for node in about)
        name = f"{self._hook}: {told} ({servers})"
        if name in self._memory.done:
            self._log(f"{told}: was done")
            return
        self.ask(what, about, work)
        with self._lock:
            self._memory.done.append(name)

    def ask(
        self, what: str, nodes: Iterable[Node], question: Callable[[], T]
    ) -> T:
        """Do what has to be done in each try, for what it gives."""
        told = _told(what, nodes)
        self._log(told)
        try:
            return question()
        except errors.VnfmError as error:
            self._note_failed(told)
            # in one line: it is what an operator is told first
            why = "; ".join(str(error).split("\n"))
            raise errors.InfraError(f"{told}: {why}") from error
        except BaseException:
            self._note_failed(told)
            raise

    def on_each(
        self, what: str, nodes: Iterable[Node], work: Callable[[Node], None]
    ) -> None:
        """Do one step on many nodes at once.

        :raises InfraError: it failed on some of them; it tells of each
        """
        remote.at_once(
            tuple(nodes),
            lambda node: self.do(what, [node], lambda: work(node)),
        )

    def told(self) -> dict[str, Any]:
        """Give what an operator is to see of it when the hook has failed."""
        return {
            "hook": self._hook,
            "failed": sorted(self.failed),
            "done": list(self._memory.done),
        }

    def _note_failed(self, told: str) -> None:
        with self._lock:
            self.failed.append(told)


def _told(what: str, nodes: Iterable[Node]) -> str:
    return f"{what}: {', '.join(map(str, nodes))}"
