"""Bars of a timeline."""

import datetime

import testtools

from tacker_cnf.sol.timeline import (
    ResourceStatus,
    StepOutcome,
    TimelineResource,
    TimelineStep,
)
from tacker_cnf.web import timeline_chart
from tacker_cnf.web.timeline_chart import Bar

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def at(seconds: float) -> datetime.datetime:
    return START + datetime.timedelta(seconds=seconds)


def a_step(
    start: float, end: float | None, *resources: TimelineResource
) -> TimelineStep:
    return TimelineStep(
        step="INFRA",
        attempt=1,
        start_time=at(start),
        end_time=None if end is None else at(end),
        outcome=None if end is None else StepOutcome.FAILED,
        total=4 if resources else None,
        resources=resources,
    )


class TestRows(testtools.TestCase):
    def test_bars_have_one_scale(self) -> None:
        pod = TimelineResource(
            kind="Pod",
            name="web-0",
            status=ResourceStatus.IN_PROGRESS,
            start_time=at(7.5),
        )
        first, second = timeline_chart.rows(
            [a_step(0, 5), a_step(5, None, pod)], at(10)
        )
        self.assertEqual(("FAILED", Bar(0, 50, 5)), (first.state, first.bar))
        self.assertEqual(
            ("RUNNING", Bar(50, 50, 5)), (second.state, second.bar)
        )
        self.assertEqual(Bar(75, 25, 2.5), second.resources[0].bar)

    def test_a_moment_can_be_seen(self) -> None:
        first, second = timeline_chart.rows(
            [a_step(0, 0), a_step(100, 100)], at(100)
        )
        self.assertEqual(Bar(0, 0.8, 0), first.bar)
        self.assertEqual(Bar(99.2, 0.8, 0), second.bar)

    def test_clocks_that_differ(self) -> None:
        (row,) = timeline_chart.rows([a_step(10, None)], at(0))
        self.assertEqual(Bar(0, 0.8, 0), row.bar)

    def test_no_timeline(self) -> None:
        self.assertEqual([], timeline_chart.rows([], at(0)))
        self.assertIsNone(timeline_chart.latest([a_step(0, 1)]))
