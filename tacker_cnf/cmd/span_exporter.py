"""Export of spans to a collector of OpenTelemetry."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
    OTLPSpanExporter,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import (
    Decision,
    ParentBased,
    TraceIdRatioBased,
)
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
)
from oslo_config import cfg

from tacker_cnf.conf.opts import VERSION
from tacker_cnf.tracing import Value

#: the part of an ID of a trace that is the ID of a span
SPAN_ID_MASK: Final = 2**64 - 1


class SpanExporter:
    """Records spans, and sends them in batches, by a thread of its own; those
    that cannot be sent are dropped.

    :param program: the name of the process
    """

    def __init__(self, conf: cfg.ConfigOpts, program: str) -> None:
        self._sampler = TraceIdRatioBased(conf.tracing.sample_ratio)
        self._provider = TracerProvider(
            resource=Resource.create(
                {"service.name": program, "service.version": VERSION}
            ),
            sampler=ParentBased(self._sampler),
            shutdown_on_exit=True,
        )
        exporter = OTLPSpanExporter(endpoint=conf.tracing.endpoint)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("tacker_cnf", VERSION)

    @contextlib.contextmanager
    def span(
        self, name: str, trace_id: int, attributes: Mapping[str, Value]
    ) -> Iterator[Any]:
        """Record a block (tracing.Tracer)."""
        context = None
        if not trace.get_current_span().get_span_context().is_valid:
            context = self._context_of(name, trace_id)
        with self._tracer.start_as_current_span(
            name,
            context,
            SpanKind.INTERNAL,
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

    def _context_of(self, name: str, trace_id: int) -> Any:
        """Return the context of a trace, as if its first span were remote."""
        decision = self._sampler.should_sample(None, trace_id, name).decision
        flags = TraceFlags.DEFAULT
        if decision is Decision.RECORD_AND_SAMPLE:
            flags = TraceFlags.SAMPLED
        first = SpanContext(
            trace_id,
            trace_id & SPAN_ID_MASK,
            is_remote=True,
            trace_flags=TraceFlags(flags),
        )
        return trace.set_span_in_context(NonRecordingSpan(first))

    def shutdown(self) -> None:
        """Send what was recorded, and end."""
        self._provider.shutdown()
