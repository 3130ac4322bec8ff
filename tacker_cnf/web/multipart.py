"""The body of a form with a file (multipart/form-data, RFC 7578), which is
read as it arrives.
"""

import io
import re
from typing import BinaryIO, Final, NamedTuple, cast

from tacker_cnf import errors

TYPE: Final = "multipart/form-data"
READ_BYTES: Final = 65_536
MAX_HEAD_BYTES: Final = 4096
MAX_FIELD_BYTES: Final = 4096
#: fields before the file
MAX_FIELDS: Final = 10
# as browsers write them (RFC 7578, 4.1 and 4.2)
_BOUNDARY: Final = re.compile(
    r""";\s*boundary=("?)([\w'()+,./:=?-]{1,70})\1\s*(;|$)""",
    re.ASCII | re.IGNORECASE,
)
_DISPOSITION: Final = rb"^content-disposition:[^\r\n]*;\s*"
_NAME: Final = re.compile(
    _DISPOSITION + rb'name="([^"\r\n]*)"', re.IGNORECASE | re.MULTILINE
)
_FILE_NAME: Final = re.compile(
    _DISPOSITION + rb"filename\*?=", re.IGNORECASE | re.MULTILINE
)


class Upload(NamedTuple):
    """A form up to its file."""

    fields: dict[str, str]
    #: its content; the rest of the form is ignored
    file: BinaryIO


def read(source: BinaryIO, content_type: str) -> Upload:
    """Read the fields of a form up to its file.

    :raises BadRequest: the form is malformed, or has no file
    """
    reader = _Reader(source, _delimiter(content_type))
    reader.skip_preamble()
    fields: dict[str, str] = {}
    for _ in range(MAX_FIELDS):
        head = reader.head()
        if _FILE_NAME.search(head):
            file = io.BufferedReader(_Part(reader), READ_BYTES)
            return Upload(fields, cast("BinaryIO", file))
        name = _NAME.search(head)
        if name is None:
            raise errors.BadRequest("A field of the form has no name.")
        fields[name[1].decode("latin-1")] = reader.field()
    raise errors.BadRequest("The form has too many fields before its file.")


def _delimiter(content_type: str) -> bytes:
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise errors.BadRequest("Content-Type: it has no valid boundary.")
    return b"\r\n--" + boundary[2].encode()


class _Reader:
    """Reads a body from delimiter to delimiter."""

    def __init__(self, source: BinaryIO, delimiter: bytes) -> None:
        self._source = source
        self._delimiter = delimiter
        # the first delimiter need not begin with a line break
        self._buffer = bytearray(b"\r\n")

    def skip_preamble(self) -> None:
        """Read up to the first delimiter."""
        while self.content(READ_BYTES):
            pass

    def head(self) -> bytes:
        """Read the delimiter and the headers of a part.

        :raises BadRequest: there is no further part
        """
        del self._buffer[: len(self._delimiter)]
        while len(self._buffer) < len(b"--"):
            self._fill()
        if self._buffer.startswith(b"--"):
            raise errors.BadRequest("The form has no file.")
        end = self._find(b"\r\n\r\n", MAX_HEAD_BYTES)
        if end < 0:
            raise errors.BadRequest("The headers of a field are too long.")
        head = bytes(self._buffer[2:end])
        del self._buffer[: end + 4]
        return head

    def field(self) -> str:
        """Read the content of a part that is a text.

        :raises BadRequest: it is too long, or not UTF-8
        """
        end = self._find(self._delimiter, MAX_FIELD_BYTES)
        if end < 0:
            raise errors.BadRequest("A field of the form is too long.")
        try:
            return self.content(end).decode() if end else ""
        except UnicodeDecodeError:
            raise errors.BadRequest("The form is not UTF-8.") from None

    def content(self, limit: int) -> bytes:
        """Read some of a part; nothing at its end.

        :raises BadRequest: the body ends before the part
        """
        while True:
            end = self._buffer.find(self._delimiter)
            if end < 0:
                end = len(self._buffer) - len(self._delimiter) + 1
            elif end == 0:
                return b""
            if end > 0:
                size = min(end, limit)
                found = bytes(self._buffer[:size])
                del self._buffer[:size]
                return found
            self._fill()

    def _find(self, text: bytes, limit: int) -> int:
        """Return where a text begins; -1: not within a limit."""
        while (found := self._buffer.find(text)) < 0:
            if len(self._buffer) > limit:
                return -1
            self._fill()
        return found if found <= limit else -1

    def _fill(self) -> None:
        chunk = self._source.read(READ_BYTES)
        if not chunk:
            raise errors.BadRequest("The form ends before its last boundary.")
        self._buffer += chunk


class _Part(io.RawIOBase):
    """The file of a form."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        found = self._reader.content(len(buffer))
        buffer[: len(found)] = found
        return len(found)
