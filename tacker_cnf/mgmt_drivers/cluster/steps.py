"""Named steps, each of which runs once in an operation."""

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers import remote
from tacker_cnf.mgmt_drivers.cluster.memory import Memory, Node

T = TypeVar("T")


class Steps:
    """Runs steps and records those that completed: a retry of the operation
    continues at the one that failed.

    :param hook: name of the hook
    """

    def __init__(
        self, hook: str, memory: Memory, log: Callable[[str], None]
    ) -> None:
        self._hook = hook
        self._memory = memory
        self._log = log
        self._lock = threading.Lock()
        #: descriptions of the steps that have failed
        self.failed: list[str] = []

    def run_once(
        self, what: str, nodes: Iterable[Node], work: Callable[[], None]
    ) -> None:
        """Run a step, unless the operation has completed it.

        :param nodes: its subject; the same step for other nodes is another one
        """
        targets = tuple(nodes)
        description = _describe(what, targets)
        servers = ",".join(node.vnfc for node in targets)
        name = f"{self._hook}: {description} ({servers})"
        if name in self._memory.done:
            self._log(f"{description}: already done")
            return
        self.run(what, targets, work)
        with self._lock:
            self._memory.done.append(name)

    def run(
        self, what: str, nodes: Iterable[Node], work: Callable[[], T]
    ) -> T:
        """Run a step in every attempt, and return its result.

        :raises InfraError: the step failed
        """
        description = _describe(what, nodes)
        self._log(description)
        try:
            return work()
        except errors.VnfmError as error:
            self._record_failure(description)
            # in one line: an operator reads it first
            reason = "; ".join(str(error).split("\n"))
            raise errors.InfraError(f"{description}: {reason}") from error
        except BaseException:
            self._record_failure(description)
            raise

    def run_on_each(
        self, what: str, nodes: Iterable[Node], work: Callable[[Node], None]
    ) -> None:
        """Run a step on many nodes in parallel.

        :raises InfraError: it failed on some nodes; the message names each
        """
        remote.at_once(
            tuple(nodes),
            lambda node: self.run_once(what, [node], lambda: work(node)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what an operator reads of a failed hook: its name (hook), and
        descriptions of steps (failed, done).
        """
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
