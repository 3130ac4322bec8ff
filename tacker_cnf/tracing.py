"""Spans of OpenTelemetry: what a request causes, in all processes.

The trace of a request follows from its ID, so that no process has to know
more than this ID, and a line of the log leads to the trace.
"""

import contextlib
import enum
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from tacker_cnf.context import current_request_id, trace_of

#: the value of an attribute of a span
Value = str | int | float | bool


class Kind(enum.StrEnum):
    """What a span is for the process that records it."""

    #: a request of a client
    SERVER = "SERVER"
    #: a request to a peer
    CLIENT = "CLIENT"
    #: work that another process has requested
    CONSUMER = "CONSUMER"
    INTERNAL = "INTERNAL"


class Tracer(Protocol):
    """Begins spans."""

    def span(
        self,
        name: str,
        kind: Kind,
        trace_id: int,
        attributes: Mapping[str, Value],
        traceparent: str | None,
    ) -> contextlib.AbstractContextManager[Any]:
        """Begin a span, in the one of this thread or else in a trace; it ends
        with the block, and failed if that raises an error.

        :param traceparent: of the client (W3C Trace Context)
        """


class Span:
    """A span that is being recorded, or not if nothing is exported."""

    def __init__(self, recorded: Any = None) -> None:
        self._recorded = recorded

    def describe(
        self, name: str | None = None, **attributes: Value | None
    ) -> None:
        """Rename the span, and add attributes."""
        if self._recorded is None:
            return
        if name:
            self._recorded.update_name(name)
        self._recorded.set_attributes(_existing(attributes))


_NOT_RECORDED: Final = Span()
_tracer: Tracer | None = None


def set_tracer(tracer: Tracer | None) -> None:
    """Record spans from now on; None: do not."""
    global _tracer  # noqa: PLW0603
    _tracer = tracer


@contextlib.contextmanager
def span(
    name: str,
    kind: Kind = Kind.INTERNAL,
    traceparent: str | None = None,
    **attributes: Value | None,
) -> Iterator[Span]:
    """Record the block as a span of the request that this thread works for, if
    there is one.

    :param traceparent: of the client that sent the request
    :param attributes: with __ for the dot of a name; None: absent
    """
    trace_id = trace_of(current_request_id()) if _tracer else None
    if _tracer is None or trace_id is None:
        yield _NOT_RECORDED
        return
    with _tracer.span(
        name, kind, trace_id, _existing(attributes), traceparent
    ) as recorded:
        yield Span(recorded)


def exchange(
    method: str, host: str
) -> contextlib.AbstractContextManager[Span]:
    """Record the block as a span of a request to a peer. Its path and query
    may have secrets, and are left out.
    """
    return span(
        f"{method} {host}",
        Kind.CLIENT,
        http__request__method=method,
        server__address=host,
    )


def _existing(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {
        name.replace("__", "."): value
        for name, value in attributes.items()
        if value is not None
    }
