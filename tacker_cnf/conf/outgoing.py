"""[outgoing]: how this service calls others over HTTP."""

from oslo_config import cfg

OPTIONS = (
    cfg.BoolOpt(
        "verify",
        default=True,
        help="Make sure by their certificates that others are who they "
        "should be. Without it anybody in between can read and change all "
        "that is sent: for a laboratory.",
    ),
    cfg.StrOpt(
        "ca_file",
        help="File with the certificates (PEM) of the authorities that are "
        "trusted. Default: those of the operating system.",
    ),
    cfg.StrOpt(
        "client_certificate",
        help="File with the certificate (PEM) by which this service proves "
        "who it is, to those that want TLS_CERT or OAUTH2_CLIENT_CERT.",
    ),
    cfg.StrOpt(
        "client_key",
        help="File with the key of client_certificate (PEM, not encrypted). "
        "Default: it is in the same file.",
    ),
    cfg.FloatOpt(
        "connect_timeout",
        default=5.0,
        min=0.1,
        help="Seconds within which a connection has to be made.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=20.0,
        min=0.1,
        help="Seconds that another service may be silent while it answers.",
    ),
)
