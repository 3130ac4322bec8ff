"""What a script says on stderr: the end of it, without secrets."""

import codecs
from typing import Final

from oslo_log import log

from tacker_cnf.lcm.secret_masking import SecretMasker

LOG = log.getLogger(__name__)

#: how much of one line goes into our log
MAX_LINE_CHARS: Final = 2000
#: characters after which a line counts as one, though it goes on
MAX_PENDING_CHARS: Final = 64 * 1024


class StderrCapture:
    """Listens; what is known of it at any time has no secret in it.

    :param max_chars: characters that are kept
    """

    def __init__(self, max_chars: int, masker: SecretMasker) -> None:
        self._max_chars = max_chars
        self._masker = masker
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tail = ""
        #: where a secret may just have begun
        self._pending = ""
        self._logged_chars = 0

    def feed(self, chunk: bytes) -> None:
        """Take more in, and log the first lines."""
        self._pending += self._decoder.decode(chunk)
        # of a secret of several lines each is known
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
        """Note that there is no more."""
        self._pending += self._decoder.decode(b"", final=True)
        self._consume(len(self._pending))

    def text(self) -> str:
        """Give the end of what is known."""
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
        LOG.info("script: %s", shown)
        # a line of nothing is something, too
        self._logged_chars += len(shown) + 1
        if self._logged_chars >= self._max_chars:
            LOG.info("script: it says more, which is not logged")
