"""Export of spans to a collector of OpenTelemetry."""

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
    OTLPSpanExporter,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
)
from opentelemetry.trace.propagation import tracecontext
from oslo_config import cfg

from tacker_cnf.conf.opts import VERSION
from tacker_cnf.tracing import Kind, Value

#: the part of an ID of a trace that is the ID of its first span
SPAN_ID_MASK: Final = 2**64 - 1
#: seconds for sending a batch; it is dropped then
EXPORT_TIMEOUT_S: Final = 2
_KINDS: Final = {kind: SpanKind[kind] for kind in Kind}


class SpanExporter:
    """Records spans, and sends them in batches, by a thread of its own; those
    that cannot be sent are dropped.

    :param program: the name of the process
    """

    def __init__(self, conf: cfg.ConfigOpts, program: str) -> None:
        # one line for each batch that is dropped
        logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)
        by_ratio = TraceIdRatioBased(conf.tracing.sample_ratio)
        self._ids = _Ids()
        self._provider = TracerProvider(
            resource=Resource.create(
                {"service.name": program, "service.version": VERSION}
            ),
            # all processes decide by the ID of the trace
            sampler=ParentBased(
                by_ratio,
                remote_parent_sampled=by_ratio,
                remote_parent_not_sampled=by_ratio,
            ),
            id_generator=self._ids,
        )
        exporter = OTLPSpanExporter(
            endpoint=conf.tracing.endpoint, timeout=EXPORT_TIMEOUT_S
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("tacker_cnf", VERSION)

    @contextlib.contextmanager
    def span(
        self,
        name: str,
        kind: Kind,
        trace_id: int,
        attributes: Mapping[str, Value],
        traceparent: str | None,
    ) -> Iterator[Any]:
        """Record a block (tracing.Tracer)."""
        context = None
        if kind is Kind.SERVER:  # the first span of the trace in this service
            self._ids.choose(trace_id)
            context = _context_of_client(trace_id, traceparent)
        elif not trace.get_current_span().get_span_context().is_valid:
            context = _context_of_request(trace_id)
        with self._tracer.start_as_current_span(
            name,
            context,
            _KINDS[kind],
            dict(attributes),
            # texts of errors may have secrets
            record_exception=False,
            set_status_on_exception=False,
        ) as recorded:
            try:
                yield recorded
            except Exception as error:
                recorded.set_attribute("error.type", type(error).__name__)
                recorded.set_status(StatusCode.ERROR)
                raise

    def shutdown(self) -> None:
        """Send what was recorded, and end."""
        self._provider.shutdown()


class _Ids(RandomIdGenerator):
    """The IDs of spans: random, but for the first one of a request, by which
    other processes know it as their parent.
    """

    def __init__(self) -> None:
        self._chosen = threading.local()

    def choose(self, trace_id: int) -> None:
        """Set the IDs of the next span of this thread."""
        self._chosen.trace_id = trace_id

    def generate_trace_id(self) -> int:
        """Return the ID of a trace; generate_span_id() is called next."""
        chosen: int | None = getattr(self._chosen, "trace_id", None)
        return chosen or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """Return the ID of a span."""
        chosen: int | None = getattr(self._chosen, "trace_id", None)
        self._chosen.trace_id = None
        span_id = chosen and chosen & SPAN_ID_MASK
        return span_id or super().generate_span_id()


def _context_of_client(trace_id: int, traceparent: str | None) -> Any:
    """Return the context of the span of a client; without one of this trace,
    that of a new trace.
    """
    carrier = {"traceparent": traceparent} if traceparent else {}
    found = tracecontext.TraceContextTextMapPropagator().extract(
        carrier, trace.set_span_in_context(trace.INVALID_SPAN)
    )
    parent = trace.get_current_span(found).get_span_context()
    if parent.trace_id == trace_id:
        return found
    return trace.set_span_in_context(trace.INVALID_SPAN)


def _context_of_request(trace_id: int) -> Any:
    """Return the context of the first span of a request."""
    first = SpanContext(
        trace_id,
        trace_id & SPAN_ID_MASK,
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(NonRecordingSpan(first))
