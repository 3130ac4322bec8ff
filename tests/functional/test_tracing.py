"""Traces of requests, as a collector of OpenTelemetry receives them."""

import sys
import uuid
from typing import Any
from unittest import mock

import fixtures
import testtools
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tacker_cnf import conf as configuration
from tacker_cnf import context, errors, tracing
from tacker_cnf.cmd import start
from tacker_cnf.cmd.span_exporter import SpanExporter
from tests.fixtures.cluster import CnfService
from tests.fixtures.http_receiver import HttpReceiver

HEADER = "X-Openstack-Request-Id"


class Collector(fixtures.Fixture):
    """A collector, and the export of this process to it."""

    def __init__(self, ratio: float) -> None:
        super().__init__()
        self._ratio = ratio

    def _setUp(self) -> None:
        self._receiver = self.useFixture(HttpReceiver())
        conf = configuration.load([])
        conf.set_override("endpoint", self._receiver.url, "tracing")
        conf.set_override("sample_ratio", self._ratio, "tracing")
        self._exporter = SpanExporter(conf, "tests")
        tracing.set_tracer(self._exporter)
        self.addCleanup(tracing.set_tracer, None)

    def spans(self) -> list[Any]:
        """Return the spans of all processes, after the last one has ended."""
        self._exporter.shutdown()
        return [
            span
            for request in self._receiver.received
            for resource in ExportTraceServiceRequest.FromString(
                request.body
            ).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class TestTrace(testtools.TestCase):
    def scale(self, ratio: float, **headers: str) -> tuple[Any, list[Any]]:
        """Scale a VNF; return the operation and the spans of the request."""
        vnfm = self.useFixture(CnfService())
        instance_id = vnfm.start_vnf()
        collector = self.useFixture(Collector(ratio))
        response = vnfm.call(
            "POST",
            f"/vnflcm/v2/vnf_instances/{instance_id}/scale",
            {"type": "SCALE_OUT", "aspectId": "web_aspect"},
            headers,
        )
        op_occ = vnfm.wait_operation(response.headers["Location"])
        trace_id = context.trace_of(op_occ["requestId"])
        return op_occ, [
            span
            for span in collector.spans()
            if int.from_bytes(span.trace_id, "big") == trace_id
        ]

    def test_one_trace_has_all_that_a_request_causes(self) -> None:
        request_id = f"req-{uuid.uuid4()}"
        op_occ, spans = self.scale(1.0, **{HEADER: request_id})
        self.assertEqual(request_id, op_occ["requestId"])
        by_name = {span.name: span for span in spans}
        request = by_name["POST /vnflcm/v2/vnf_instances/{id}/scale"]
        operation, infra = by_name["SCALE"], by_name["INFRA"]
        values = {a.key: a.value for a in request.attributes}
        self.assertEqual(
            202, values["http.response.status_code"].int_value, str(values)
        )
        ids = {a.key: a.value.string_value for a in operation.attributes}
        self.assertEqual(op_occ["id"], ids["vnf_lcm_op_occ_id"])
        self.assertEqual(b"", request.parent_span_id)
        self.assertEqual(request.span_id, operation.parent_span_id)
        self.assertEqual(operation.span_id, infra.parent_span_id)
        self.assertEqual(
            [Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CONSUMER],
            [request.kind, operation.kind],
        )
        patch = by_name["PATCH 127.0.0.1"]
        self.assertEqual(Span.SPAN_KIND_CLIENT, patch.kind)
        self.assertEqual(infra.span_id, patch.parent_span_id)
        # paths and queries may have secrets
        self.assertNotIn("/namespaces/", str(spans))

    def test_a_request_continues_the_trace_of_its_client(self) -> None:
        trace_id = uuid.uuid4()
        op_occ, spans = self.scale(
            1.0, traceparent=f"00-{trace_id.hex}-00f067aa0ba902b7-01"
        )
        self.assertEqual(f"req-{trace_id}", op_occ["requestId"])
        by_name = {span.name: span for span in spans}
        request = by_name["POST /vnflcm/v2/vnf_instances/{id}/scale"]
        self.assertEqual("00f067aa0ba902b7", request.parent_span_id.hex())
        self.assertEqual(request.span_id, by_name["SCALE"].parent_span_id)

    def test_a_failed_step_has_the_type_of_the_error(self) -> None:
        """Its text may have secrets."""
        collector = self.useFixture(Collector(1.0))
        context.enter_request(f"req-{uuid.uuid4()}")

        def fail() -> None:
            with tracing.span("INFRA"):
                raise errors.InfraError("the password is secret-text")

        self.assertRaises(errors.InfraError, fail)
        (span,) = collector.spans()
        self.assertNotIn("secret-text", str(span))
        values = {a.key: a.value.string_value for a in span.attributes}
        self.assertEqual({"error.type": "InfraError"}, values)
        self.assertEqual(Status.STATUS_CODE_ERROR, span.status.code)

    def test_a_request_that_is_not_sampled_has_no_spans(self) -> None:
        _, spans = self.scale(0.0)
        self.assertEqual([], spans)


class TestStart(testtools.TestCase):
    def test_missing_packages(self) -> None:
        conf = configuration.load([])
        conf.set_override("endpoint", "http://127.0.0.1:1", "tracing")
        with mock.patch.dict(sys.modules):
            sys.modules.pop("tacker_cnf.cmd.span_exporter", None)
            missing: Any = None  # an import of it fails
            sys.modules["opentelemetry"] = missing
            error = self.assertRaises(
                errors.VnfmError, start.start_tracing, conf, "tests"
            )
        self.assertEqual(
            "[tracing] endpoint is set, but opentelemetry is not installed: "
            "install tacker_cnf[tracing].",
            str(error),
        )

    def test_nothing_is_exported_by_default(self) -> None:
        start.start_tracing(configuration.load([]), "tests")
        with tracing.span("a") as span:
            span.describe("b", c=1)
