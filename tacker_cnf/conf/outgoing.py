"""[outgoing]: HTTP requests that this service sends."""

from oslo_config import cfg

OPTIONS = (
    cfg.BoolOpt(
        "verify",
        default=True,
        help="Verify the TLS certificates of servers. False: requests can be "
        "read and changed on their way: for tests only.",
    ),
    cfg.StrOpt(
        "ca_file",
        help="File with the certificates (PEM) of the trusted authorities. "
        "Default: those of the operating system.",
    ),
    cfg.StrOpt(
        "client_certificate",
        help="File with the client certificate (PEM) of this service, for "
        "TLS_CERT and OAUTH2_CLIENT_CERT.",
    ),
    cfg.StrOpt(
        "client_key",
        help="File with the key of client_certificate (PEM, not encrypted). "
        "Default: the file of the certificate.",
    ),
    cfg.FloatOpt(
        "connect_timeout",
        default=5.0,
        min=0.1,
        help="Maximum seconds to open a connection.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=20.0,
        min=0.1,
        help="Maximum seconds between two parts of a response.",
    ),
    cfg.FloatOpt(
        "exchange_timeout",
        default=120.0,
        min=0.1,
        help="Maximum seconds from a request to the end of its response, for "
        "all servers: VIMs, the NFVO and token endpoints. A longer "
        "request_timeout of a VIM applies to it instead, and to downloads of "
        "VNF packages [catalogue] upload_timeout.",
    ),
    cfg.IntOpt(
        "max_response_bytes",
        default=64 * 1024 * 1024,
        min=65536,
        help="Maximum size of a response that is read into memory, in bytes. "
        "A watch of a cluster is opened again after so many bytes.",
    ),
)
