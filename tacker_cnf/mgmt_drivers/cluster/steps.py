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

    def run_once(
        self, what: str, nodes: Iterable[Node], work: Callable[[], None]
    ) -> None:
        """Do one step, unless it was done.

        :param nodes: whom it is about; the same step of others is another
        """
        targets = tuple(nodes)
        description = _describe(what, targets)
        servers = ",".join(node.vnfc for node in targets)
        name = f"{self._hook}: {description} ({servers})"
        if name in self._memory.done:
            self._log(f"{description}: was done")
            return
        self.run(what, targets, work)
        with self._lock:
            self._memory.done.append(name)

    def run(
        self, what: str, nodes: Iterable[Node], work: Callable[[], T]
    ) -> T:
        """Do what has to be done in each try, for what it gives."""
        description = _describe(what, nodes)
        self._log(description)
        try:
            return work()
        except errors.VnfmError as error:
            self._record_failure(description)
            # in one line: it is what an operator is told first
            reason = "; ".join(str(error).split("\n"))
            raise errors.InfraError(f"{description}: {reason}") from error
        except BaseException:
            self._record_failure(description)
            raise

    def run_on_each(
        self, what: str, nodes: Iterable[Node], work: Callable[[Node], None]
    ) -> None:
        """Do one step on many nodes at once.

        :raises InfraError: it failed on some of them; it tells of each
        """
        remote.at_once(
            tuple(nodes),
            lambda node: self.run_once(what, [node], lambda: work(node)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give what an operator is to see of it when the hook has failed."""
        return {
            "hook": self._hook,
            "failed": sorted(self.failed),
            "done": list(self._memory.done),
        }

    def _record_failure(self, description: str) -> None:
        with self._lock:
            self.failed.append(description)


def _describe(what: str, nodes: Iterable[Node]) -> str:
    return f"{what}: {', '.join(map(str, nodes))}"
