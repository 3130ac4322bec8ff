"""[tracing]: traces of OpenTelemetry."""

from oslo_config import cfg

OPTIONS = (
    cfg.URIOpt(
        "endpoint",
        schemes=["http", "https"],
        help="URL of a collector to which spans are sent by OTLP over HTTP, "
        "such as http://collector:4318/v1/traces. It needs the packages of "
        "tacker_cnf[tracing]. Headers and certificates are set by the "
        "environment variables of OpenTelemetry. "
        "Default: there are no traces.",
    ),
    cfg.FloatOpt(
        "sample_ratio",
        default=1.0,
        min=0.0,
        max=1.0,
        help="The part of the requests that is traced, chosen by their IDs: "
        "a request is traced in all processes, or in none.",
    ),
)
