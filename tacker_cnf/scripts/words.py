"""What a script says on stderr: the end of it, without secrets."""

import codecs
from typing import Final

from oslo_log import log

from tacker_cnf.lcm.veil import Veil

LOG = log.getLogger(__name__)

#: how much of one line goes into our log
LINE: Final = 2000
#: characters after which a line counts as one, though it goes on
LONGEST: Final = 64 * 1024


class Words:
    """Listens; what is known of it at any time has no secret in it.

    :param most: characters that are kept
    """

    def __init__(self, most: int, veil: Veil) -> None:
        self._most = most
        self._veil = veil
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""
        #: where a secret may just have begun
        self._rest = ""
        self._logged = 0

    def hear(self, chunk: bytes) -> None:
        """Take more in, and log the first lines."""
        self._rest += self._decoder.decode(chunk)
        # of a secret of several lines each is known
        end = self._rest.rfind("\n") + 1
        if not end and len(self._rest) > LONGEST + self._veil.longest:
            safe = len(self._rest) - self._veil.longest
            end = self._veil.behind(self._rest, safe)
        self._take(end)

    def end(self) -> None:
        """Note that there is no more."""
        self._rest += self._decoder.decode(b"", final=True)
        self._take(len(self._rest))

    def text(self) -> str:
        """Give the end of what is known."""
        return self._kept.strip()

    def _take(self, end: int) -> None:
        if not end:
            return
        told = self._veil(self._rest[:end])
        self._rest = self._rest[end:]
        self._kept = (self._kept + told)[-self._most :]
        for line in told.removesuffix("\n").split("\n"):
            if self._logged >= self._most:
                return
            self._log(line)

    def _log(self, line: str) -> None:
        shown = "".join(c if c.isprintable() else "?" for c in line[:LINE])
        LOG.info("script: %s", shown)
        # a line of nothing is something, too
        self._logged += len(shown) + 1
        if self._logged >= self._most:
            LOG.info("script: it says more, which is not logged")
