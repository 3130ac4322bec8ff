"""The metrics of this service, each declared once.

Values are not counted, and prometheus_client is not imported, until a program
creates a `Registry`.
"""

import os
import platform
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final

#: seconds, of the buckets of requests and of what takes longer
REQUEST_BUCKETS_S: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
WORK_BUCKETS_S: Final = (
    *(0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0),
    3600.0,
)
#: label of what is done on VIMs that are not registered
UNREGISTERED: Final = "unregistered"
#: environment variable of prometheus_client: directory of the values of
#: processes that are shown as one
DIRECTORY_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"


class Metric:
    """A metric, and its series by the values of their labels.

    :param kind: class of prometheus_client
    """

    def __init__(
        self, kind: str, name: str, text: str, *labels: str, **options: Any
    ) -> None:
        self._kind = kind
        self.name = f"tacker_cnf_{name}"
        self._text = text
        self.labels = labels
        self._options = options
        self._metric: Any = None
        self._series: dict[tuple[str, ...], Any] = {}
        self._lock = threading.Lock()

    def create(self, library: Any, registry: Any) -> None:
        """Begin to count."""
        self._series = {}
        self._metric = getattr(library, self._kind)(
            self.name,
            self._text,
            self.labels,
            registry=registry,
            **self._options,
        )

    def inc(self, *labels: str) -> None:
        """Add one to a counter."""
        if self._metric is not None:
            self._of(labels).inc()

    def set(self, value: float, *labels: str) -> None:
        """Set a gauge."""
        if self._metric is not None:
            self._of(labels).set(value)

    def follow(self, read: Callable[[], float]) -> None:
        """Let a gauge have the value that a function returns."""
        if self._metric is not None:
            self._of(()).set_function(read)

    def observe(self, seconds: float, *labels: str) -> None:
        """Add a duration to a histogram."""
        if self._metric is not None:
            self._of(labels).observe(seconds)

    def remove_unless(self, is_kept: Callable[[Sequence[str]], bool]) -> None:
        """Remove the series whose labels are not kept."""
        with self._lock:
            for labels in [s for s in self._series if not is_kept(s)]:
                del self._series[labels]
                self._metric.remove(*labels)

    def _of(self, labels: tuple[str, ...]) -> Any:
        found = self._series.get(labels)
        if found is None:
            with self._lock:
                found = self._metric
                if labels:
                    found = self._metric.labels(*labels)
                self._series[labels] = found
        return found


BUILD: Final = Metric(
    "Gauge",
    "build_info",
    "1, with the version as label",
    *("version", "python"),
    multiprocess_mode="mostrecent",
)
REQUESTS: Final = Metric(
    "Counter",
    "http_requests_total",
    "Requests by their route and status",
    *("method", "route", "status"),
)
REQUEST_SECONDS: Final = Metric(
    "Histogram",
    "http_request_seconds",
    "Time from the complete request to the response",
    *("method", "route"),
    buckets=REQUEST_BUCKETS_S,
)
OPERATIONS: Final = Metric(
    "Counter",
    "operations_total",
    "Operations that a conductor has brought to a state",
    *("operation", "state", "vim"),
)
OPERATION_SECONDS: Final = Metric(
    "Histogram",
    "operation_seconds",
    "Time of a conductor for one attempt, by the state at its end",
    *("operation", "state", "vim"),
    buckets=WORK_BUCKETS_S,
)
OPERATIONS_OPEN: Final = Metric(
    "Gauge",
    "operations_open",
    "Operations in a state that is not final, of all conductors",
    "state",
)
STEP_SECONDS: Final = Metric(
    "Histogram",
    "step_seconds",
    "Time of a step",
    *("step", "outcome"),
    buckets=WORK_BUCKETS_S,
)
QUEUE_AGE: Final = Metric(
    "Gauge",
    "queue_age_seconds",
    "Age of the oldest operation that waits for a conductor",
)
WORKERS: Final = Metric("Gauge", "workers", "Workers of this conductor")
WORKERS_BUSY: Final = Metric(
    "Gauge", "workers_busy", "Workers of this conductor that run an operation"
)
CONDUCTORS: Final = Metric(
    "Gauge", "conductors", "Conductors that are alive, of all"
)
LEASES_LOST: Final = Metric(
    "Counter",
    "leases_lost_total",
    "Operations of this conductor that another one may have taken over",
)
OUTBOX_LAG: Final = Metric(
    "Gauge",
    "outbox_lag_seconds",
    "Age of the oldest event whose notifications are not delivered",
)
OUTBOX_PENDING: Final = Metric(
    "Gauge",
    "outbox_pending",
    "Events and notifications to deliver",
    "kind",
)
VIM: Final = Metric(
    "Gauge",
    "vim_info",
    "1 for each registered VIM, with its name and type as labels",
    *("vim", "name", "type"),
)
VIM_REACHABLE: Final = Metric(
    "Gauge",
    "vim_reachable",
    "1 if the VIM answered this conductor and accepted its credentials, or 0",
    "vim",
)
SCRIPT_SECONDS: Final = Metric(
    "Histogram",
    "script_seconds",
    "Time of a script of a VNF package",
    "outcome",
    buckets=WORK_BUCKETS_S,
)
MEASURED: Final = Metric(
    "Gauge",
    "measured_timestamp_seconds",
    "Time at which this conductor last read the database for its gauges",
)

#: the metrics of API servers, and those of conductors
API_METRICS: Final = (BUILD, REQUESTS, REQUEST_SECONDS, SCRIPT_SECONDS)
CONDUCTOR_METRICS: Final = (
    *(BUILD, OPERATIONS, OPERATION_SECONDS, OPERATIONS_OPEN, STEP_SECONDS),
    *(QUEUE_AGE, WORKERS, WORKERS_BUSY, CONDUCTORS, LEASES_LOST),
    *(OUTBOX_LAG, OUTBOX_PENDING, VIM, VIM_REACHABLE, SCRIPT_SECONDS),
    MEASURED,
)


class SharedValues:
    """Collects the values of all processes that count in a directory.

    :param merge: that of prometheus_client; it fails for a file that a process
        has just created, which is still empty
    """

    def __init__(
        self, directory: Path, merge: Callable[[Sequence[str]], Any]
    ) -> None:
        self._directory = directory
        self._merge = merge

    def collect(self) -> Any:
        """Return the metrics of prometheus_client."""
        files = self._directory.glob("*.db")
        return self._merge([str(f) for f in files if f.stat().st_size])


class Registry:
    """The metrics of a process, or of several that are shown as one."""

    def __init__(
        self,
        shown: Sequence[Metric],
        version: str,
        directory: Path | None = None,
    ) -> None:
        """Begin to count.

        :param directory: has the values of all processes that are shown as
            one; None: only this process is shown
        """
        if directory:  # read when the library is imported
            os.environ[DIRECTORY_VARIABLE] = str(directory)
        import prometheus_client
        from prometheus_client import multiprocess

        self._library = prometheus_client
        registry: Any = prometheus_client.CollectorRegistry()
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        for metric in shown:
            metric.create(prometheus_client, registry)
        if directory:
            registry = prometheus_client.CollectorRegistry()
            collector: Any = multiprocess.MultiProcessCollector
            registry.register(SharedValues(directory, collector.merge))
        else:
            process: Any = prometheus_client.ProcessCollector
            process(registry=registry)
        self._registry = registry
        BUILD.set(1.0, version, platform.python_version())

    @property
    def media_type(self) -> str:
        """The media type of the text."""
        return self._library.CONTENT_TYPE_LATEST

    def text(self) -> bytes:
        """Return all values in the text format of Prometheus."""
        return self._library.generate_latest(self._registry)


#: IDs of the registered VIMs: a request can have any other ID
_registered: Collection[str | None] = frozenset()


def vim_label(vim_ids: Collection[str | None]) -> str:
    """Return the label of the VIMs of an operation: the ID of the first one
    that is registered.
    """
    return next(
        (vim_id for vim_id in vim_ids if vim_id and vim_id in _registered),
        UNREGISTERED,
    )


def set_vims(vims: Collection[tuple[str, str, str]]) -> None:
    """Set the series of the registered VIMs, and remove all series of those
    that were deleted.

    :param vims: ID, name and type of each
    """
    global _registered  # noqa: PLW0603
    _registered = frozenset(vim_id for vim_id, *_ in vims)
    for vim in vims:
        VIM.set(1.0, *vim)
    VIM.remove_unless(lambda labels: tuple(labels) in vims)
    known = {UNREGISTERED, *_registered}
    for metric in (OPERATIONS, OPERATION_SECONDS, VIM_REACHABLE):
        at = metric.labels.index("vim")
        metric.remove_unless(lambda labels, at=at: labels[at] in known)  # type: ignore[misc]
