"""Work on many machines in parallel."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from tacker_cnf import errors
from tacker_cnf.context import bind_request
from tacker_cnf.mgmt_drivers.remote.host import Host

S = TypeVar("S")
T = TypeVar("T")

#: number of machines that are worked on in parallel
MAX_PARALLEL: Final = 16


def on_all(
    hosts: Sequence[Host], action: Callable[[Host], T]
) -> tuple[T, ...]:
    """Connect to each machine and run an action there, in parallel.

    Return or raise when the actions on all machines have ended.

    :return: the results, in the order of the machines
    :raises VnfmError: the error of the one machine that failed, or a
        RemoteFailed with the errors of all that failed
    """

    def run_connected(host: Host) -> T:
        with host:
            return action(host)

    return at_once(hosts, run_connected)


def at_once(items: Sequence[S], action: Callable[[S], T]) -> tuple[T, ...]:
    """Run an action on each item in parallel; results and errors are those
    of on_all.
    """
    bound = bind_request(action)
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        futures = [pool.submit(bound, item) for item in items]
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
