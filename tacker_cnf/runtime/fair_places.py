"""A number of places that groups share fairly."""

import collections
import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Final

from tacker_cnf.runtime.cancellation import CancelToken

#: the group of each level, the outermost first, such as project and VIM
Groups = tuple[str, ...]


@dataclasses.dataclass(eq=False)
class Request:
    """A request for one place."""

    groups: Groups
    #: called once, without any lock, when it has got a place
    on_granted: Callable[["Request"], None]
    is_waiting: bool = False
    has_place: bool = False


class FairPlaces:
    """Grants places to requests, in turns of their groups.

    The groups of the first level take turns, and within each of them those of
    the next level; requests of the same groups are granted in their order.
    Where groups of the first level share one of a further level, as projects
    share a VIM, they take turns in that, too. So the number of requests that
    are granted before another depends on the number of groups, and of earlier
    requests of its own groups, but not on the number of requests of others.

    A place cannot be taken away again. Therefore no group has more places
    than its level allows, even if no other waits: the others find a free one.

    :param count: number of places
    :param max_of_group: for each level, the most places of one group
    """

    def __init__(self, count: int, max_of_group: Sequence[int] = ()) -> None:
        self._free = count
        self._max_of_group = tuple(max_of_group)
        self._waiting = _Group()
        #: (level, group) -> number of its places
        self._occupied: collections.Counter[tuple[int, str]] = (
            collections.Counter()
        )
        #: (level, group) that was full -> the paths to it that met it so, and
        #: get it first, in this order; the values are not used
        self._lines: dict[tuple[int, str], dict[Groups, None]] = {}
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        """The number of free places."""
        return self._free

    def request(self, request: Request, *, first: bool = False) -> None:
        """Request a place; it is granted at once, or later.

        :param first: before the other requests of the same groups
        """
        with self._lock:
            request.is_waiting = True
            self._waiting.add(request, request.groups, first=first)
            granted = self._grant()
        _notify(granted)

    def release(self, request: Request) -> None:
        """Give the place of a request back, or withdraw the request."""
        with self._lock:
            if request.is_waiting:
                request.is_waiting = False
                self._waiting.remove(request, request.groups)
            if not request.has_place:
                return
            request.has_place = False
            self._count(request, -1)
            granted = self._grant()
        _notify(granted)

    def take(self, groups: Groups) -> Request | None:
        """Take a place that is free now; None: there is none for the groups."""
        request = Request(groups, lambda _: None)
        self.request(request)
        if request.has_place:
            return request
        self.release(request)
        return None

    def acquire(
        self,
        groups: Groups,
        seconds: float | None,
        cancel_token: CancelToken,
        *,
        first: bool = False,
    ) -> Request | None:
        """Wait for a place; None: there was none in this time.

        :param seconds: the longest time to wait; None: no limit
        :param first: before the other requests of the same groups
        :raises VnfmError: the work was cancelled
        :raises LeaseLost: the lease has ended
        """
        granted = threading.Event()
        request = Request(groups, lambda _: granted.set())
        self.request(request, first=first)
        try:
            with cancel_token.on_cancel(granted.set, gracefully=True):
                if not granted.is_set():
                    cancel_token.clock.wait(granted, seconds)
        except BaseException:
            self.release(request)
            raise
        with self._lock:
            if request.has_place:
                return request
        self.release(request)
        return None

    def _grant(self) -> list[Request]:
        """Give the free places to waiting requests; return these."""
        granted = []
        while self._free > 0:
            request = self._waiting.take(self._may_grant)
            if request is None:
                break
            self._leave_lines(request)
            request.is_waiting = False
            request.has_place = True
            self._count(request, 1)
            granted.append(request)
        return granted

    def _count(self, request: Request, change: int) -> None:
        self._free -= change
        for key in enumerate(request.groups):
            self._occupied[key] += change
            if not self._occupied[key]:
                del self._occupied[key]

    def _may_grant(self, path: Groups) -> bool:
        """Return whether a request below a path of groups may be granted; if
        not, the path has its turn before those that come later.
        """
        *_, group = path
        line = self._lines.setdefault((len(path) - 1, group), {})
        if not self._is_full(len(path) - 1, group):
            before = (other for other in line if self._is_ready(other))
            if next(before, path) == path:
                return True
        line[path] = None
        return False

    def _is_ready(self, path: Groups) -> bool:
        """Return whether a path has requests, and its outer groups allow
        them.
        """
        return path in self._waiting and not any(
            self._is_full(level, group)
            for level, group in enumerate(path[:-1])
        )

    def _leave_lines(self, request: Request) -> None:
        for level, group in enumerate(request.groups):
            line = self._lines[level, group]
            line.pop(request.groups[: level + 1], None)
            if not line:
                del self._lines[level, group]

    def _is_full(self, level: int, group: str) -> bool:
        """Return whether a group may get no further place."""
        return (
            level < len(self._max_of_group)
            and self._occupied[level, group] >= self._max_of_group[level]
        )


class _Group:
    """The waiting requests of one group, in the order of their turns."""

    def __init__(self) -> None:
        self._subgroups: Final[dict[str, _Group]] = {}
        #: those without a group of a further level
        self._requests: Final[collections.deque[Request]] = collections.deque()

    def __bool__(self) -> bool:
        return bool(self._requests or self._subgroups)

    def __contains__(self, path: Groups) -> bool:
        if not path:
            return True
        name, *further = path
        group = self._subgroups.get(name)
        return group is not None and tuple(further) in group

    def add(self, request: Request, groups: Groups, *, first: bool) -> None:
        if groups:
            name, *further = groups
            group = self._subgroups.setdefault(name, _Group())
            group.add(request, tuple(further), first=first)
        elif first:
            self._requests.appendleft(request)
        else:
            self._requests.append(request)

    def remove(self, request: Request, groups: Groups) -> None:
        if not groups:
            self._requests.remove(request)
            return
        name, *further = groups
        self._subgroups[name].remove(request, tuple(further))
        if not self._subgroups[name]:
            del self._subgroups[name]

    def take(
        self, may_grant: Callable[[Groups], bool], path: Groups = ()
    ) -> Request | None:
        """Remove and return the next request; None: there is none, or only
        those of groups that get no place, which keep their turn.
        """
        if self._requests:
            return self._requests.popleft()
        for name, group in self._subgroups.items():
            below = (*path, name)
            request = (
                group.take(may_grant, below) if may_grant(below) else None
            )
            if request is not None:
                del self._subgroups[name]
                if group:
                    self._subgroups[name] = group  # now the last one
                return request
        return None


def _notify(granted: Sequence[Request]) -> None:
    for request in granted:
        request.on_granted(request)


def share(count: int, percent: int) -> int:
    """Return a share of a number of places, at least one."""
    return max(1, count * percent // 100)
