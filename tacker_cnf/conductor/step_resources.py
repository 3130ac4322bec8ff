"""The resources that a step of an operation changes."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from tacker_cnf.drivers.progress import ResourceProgress
from tacker_cnf.sol.timeline import ResourceStatus, TimelineResource

#: the most resources that a step shows, and that a timeline keeps of the
#: steps that have ended
MAX_RESOURCES: Final = 200

Key = tuple[str, str, str]


class StepResources:
    """The resources of a step: all that are in progress, and the latest of
    those that are done; and how many there are.
    """

    def __init__(self) -> None:
        #: resources that are ready or deleted
        self.done = 0
        self._resources: dict[Key, TimelineResource] = {}
        #: kind -> resources that were reported
        self._seen: Counter[str] = Counter()
        #: kind -> scope of names -> resources that the step changes at least
        self._expected: defaultdict[str, Counter[str]] = defaultdict(Counter)

    @property
    def total(self) -> int:
        """The number of resources that the step changes, as far as known."""
        return sum(
            max(self._seen[kind], self._expected_of(kind))
            for kind in {*self._seen, *self._expected}
        )

    def _expected_of(self, kind: str) -> int:
        counts = self._expected.get(kind, Counter())
        of_plan = counts.get("", 0)
        return max(of_plan, counts.total() - of_plan)

    def expect(self, kind: str, count: int, scope: str) -> None:
        """Record how many resources of a kind the step changes at least.

        :param scope: of the names of these resources; empty: of all
        """
        counts = self._expected[kind]
        counts[scope] = max(count, counts[scope])

    def report(
        self, resource: ResourceProgress, now: datetime.datetime
    ) -> None:
        """Record the state of a resource."""
        known = self._resources.get(resource.key)
        if known is None:
            self._seen[resource.kind] += 1
        was_done = known is not None and _is_done(known)
        is_in_progress = resource.status == ResourceStatus.IN_PROGRESS
        new = self._resources[resource.key] = TimelineResource(
            kind=resource.kind,
            name=resource.name,
            id=resource.id,
            status=resource.status,
            message=resource.message,
            vdu_id=resource.vdu_id,
            vnfc_id=resource.vnfc_id,
            start_time=known.start_time if known else now,
            end_time=None if is_in_progress else now,
        )
        self.done += _is_done(new) - was_done
        if len(self._resources) > 2 * MAX_RESOURCES:
            self._forget()

    def _forget(self) -> None:
        """Forget the oldest resources that are done."""
        shown = set(self.shown())
        self._resources = {
            key: resource
            for key, resource in self._resources.items()
            if resource in shown or not _is_done(resource)
        }

    def shown(self) -> tuple[TimelineResource, ...]:
        """Return the resources that are shown."""
        return select(self._resources.values(), MAX_RESOURCES)


def select(
    resources: Iterable[TimelineResource], number: int
) -> tuple[TimelineResource, ...]:
    """Return so many resources, in their order: first those that are not done,
    as they need attention, then the latest ones.
    """
    found = list(resources)
    if len(found) <= number:
        return tuple(found)
    by_importance = sorted(
        range(len(found)), key=lambda i: (_is_done(found[i]), -i)
    )
    return tuple(found[i] for i in sorted(by_importance[:number]))


def _is_done(resource: TimelineResource) -> bool:
    return resource.status == ResourceStatus.DONE
