"""Capture the end of a script's stderr, with secrets masked."""

import codecs
from typing import Final

from oslo_log import log

from tacker_cnf.lcm.secret_masking import SecretMasker

LOG = log.getLogger(__name__)

#: how much of one line the conductor logs
MAX_LINE_CHARS: Final = 2000
#: characters after which an incomplete line is processed
MAX_PENDING_CHARS: Final = 64 * 1024


class StderrCapture:
    """Collects stderr; text() never contains a secret of the masker.

    :param max_chars: how much of the end to keep, and of the beginning to log
    """

    def __init__(self, max_chars: int, masker: SecretMasker) -> None:
        self._max_chars = max_chars
        self._masker = masker
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tail = ""
        #: text in which a secret may be incomplete
        self._pending = ""
        self._logged_chars = 0

    def feed(self, chunk: bytes) -> None:
        """Append a chunk, and log complete lines."""
        self._pending += self._decoder.decode(chunk)
        # the masker masks each line of a secret of several lines
        end = self._pending.rfind("\n") + 1
        if (
            not end
            and len(self._pending)
            > MAX_PENDING_CHARS + self._masker.max_secret_bytes
        ):
            safe = len(self._pending) - self._masker.max_secret_bytes
            end = self._masker.end_of_secret(self._pending, safe)
        self._consume(end)

    def finish(self) -> None:
        """Process the rest at the end of stderr."""
        self._pending += self._decoder.decode(b"", final=True)
        self._consume(len(self._pending))

    def text(self) -> str:
        """Return the end of stderr so far."""
        return self._tail.strip()

    def _consume(self, end: int) -> None:
        if not end:
            return
        masked = self._masker(self._pending[:end])
        self._pending = self._pending[end:]
        self._tail = (self._tail + masked)[-self._max_chars :]
        for line in masked.removesuffix("\n").split("\n"):
            if self._logged_chars >= self._max_chars:
                return
            self._log(line)

    def _log(self, line: str) -> None:
        shown = "".join(
            c if c.isprintable() else "?" for c in line[:MAX_LINE_CHARS]
        )
        LOG.info("Script output: line=%s", shown)
        # count empty lines, too
        self._logged_chars += len(shown) + 1
        if self._logged_chars >= self._max_chars:
            LOG.info("Script log truncated: chars=%s", self._max_chars)
