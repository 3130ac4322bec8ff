"""The line that each request has in the log."""

import time
from typing import Any, Final
from urllib.parse import quote

from oslo_log import log

LOG = log.getLogger(__name__)

#: the most characters of a method or a path in a line
MAX_CHARS: Final = 512
#: characters of a path that are written as they are
_PLAIN: Final = "/:@!$&'()*+,;=~"


def write(
    method: str,
    path: str,
    status: int,
    started: float,
    client: Any,
    level: int = log.INFO,
) -> None:
    """Write a line, which is one line whatever the client has sent.

    :param path: as in PATH_INFO of WSGI
    :param started: time.perf_counter() at the beginning of the request
    """
    if LOG.isEnabledFor(level):
        LOG.log(
            level,
            "Request: method=%s path=%s status=%d seconds=%.3f client=%s",
            method[:MAX_CHARS],
            quote(path.encode("latin-1"), _PLAIN)[:MAX_CHARS],
            status,
            time.perf_counter() - started,
            client,
        )
