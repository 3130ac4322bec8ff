"""The timeline of an operation as bars."""

import datetime
from collections.abc import Sequence
from typing import Final, NamedTuple

from tacker_cnf.sol.timeline import TimelineResource, TimelineStep

#: width of the chart, and of the smallest bar
WIDTH: Final = 100.0
MIN_WIDTH: Final = 0.8
RUNNING: Final = "RUNNING"


class Bar(NamedTuple):
    """A bar of the chart, in its units."""

    x: float
    width: float
    #: seconds
    duration: float


class ResourceRow(NamedTuple):
    """A resource of a step, and its bar."""

    resource: TimelineResource
    bar: Bar


class StepRow(NamedTuple):
    """A step of an operation, and its bar."""

    step: TimelineStep
    #: its outcome, or that it runs
    state: str
    bar: Bar
    resources: tuple[ResourceRow, ...]


def rows(
    timeline: Sequence[TimelineStep], now: datetime.datetime
) -> list[StepRow]:
    """Return the rows of a timeline.

    :param now: where the bars of what has not ended end
    """
    if not timeline:
        return []
    scale = _Scale(timeline, now)
    return [
        StepRow(
            step,
            str(step.outcome or RUNNING),
            scale.bar(step.start_time, step.end_time),
            tuple(
                ResourceRow(found, scale.bar(found.start_time, found.end_time))
                for found in step.resources
            ),
        )
        for step in timeline
    ]


def latest(timeline: Sequence[TimelineStep]) -> TimelineStep | None:
    """Return the last step that counts its resources."""
    return next((s for s in reversed(timeline) if s.total), None)


class _Scale:
    """Converts times to positions in a chart."""

    def __init__(
        self, timeline: Sequence[TimelineStep], now: datetime.datetime
    ) -> None:
        self._now = now
        self._start = min(step.start_time for step in timeline)
        end = max(step.end_time or now for step in timeline)
        self._seconds = max((end - self._start).total_seconds(), 0.001)

    def bar(
        self, start: datetime.datetime, end: datetime.datetime | None
    ) -> Bar:
        """Return the bar of a time span; None: it has not ended."""
        duration = ((end or self._now) - start).total_seconds()
        before = (start - self._start).total_seconds()
        width = max(WIDTH * duration / self._seconds, MIN_WIDTH)
        x = min(max(WIDTH * before / self._seconds, 0.0), WIDTH - MIN_WIDTH)
        return Bar(
            round(x, 2), round(min(width, WIDTH - x), 2), max(duration, 0)
        )
