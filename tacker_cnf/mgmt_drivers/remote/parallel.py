"""Many machines at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.remote.host import Host

S = TypeVar("S")
T = TypeVar("T")

#: machines that are worked on at the same time
MAX_PARALLEL: Final = 16


def on_all(
    hosts: Sequence[Host], action: Callable[[Host], T]
) -> tuple[T, ...]:
    """Connect to each machine, and do something there.

    It ends when all are done, be it well or not.

    :return: what was given for each, in the order of the machines
    :raises VnfmError: what one machine failed with, or a RemoteFailed that
        tells it of each that failed
    """

    def run_connected(host: Host) -> T:
        with host:
            return action(host)

    return at_once(hosts, run_connected)


def at_once(items: Sequence[S], action: Callable[[S], T]) -> tuple[T, ...]:
    """Do something with each of several, such as machines, as on_all does."""
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        futures = [pool.submit(action, item) for item in items]
    failures = [error for f in futures if (error := f.exception())]
    for failure in failures:
        if len(failures) == 1 or not isinstance(failure, errors.VnfmError):
            raise failure
    if failures:
        raise errors.RemoteFailed(
            f"{len(failures)} of {len(items)} machines failed: "
            + "; ".join(map(str, failures))
        )
    return tuple(future.result() for future in futures)
