"""Responses that are a file or one range of it (IETF RFC 9110, 13 and 14).

A malformed Range header is ignored, and the complete file is sent. More than
one range is rejected: SOL003 10.4.5.3.2 allows only one.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http

PACKAGE_DELETED: Final = "The VNF package was deleted during the request."
CHUNK_BYTES: Final = 256 * 1024
_RANGES: Final = re.compile(
    r"bytes[ \t]*=[ \t]*((?:\d*-\d*)(?:[ \t]*,[ \t]*\d*-\d*)*)",
    re.ASCII | re.IGNORECASE,
)
#: most digits of a position in a file
_MAX_DIGITS: Final = 18


class Range(NamedTuple):
    """Bytes of a file."""

    first: int
    size: int


def file_response(path: Path, kind: str, tag: str) -> Any:
    """Return a response with a file, or the requested range of it.

    :param kind: the media type
    :param tag: the ETag: changes whenever the file does

    :raises RangeNotSatisfiable: the range begins behind the end of the file
    :raises BadRequest: the client requested several ranges
    :raises NotFound: the package was deleted during the request
    """
    try:
        length = path.stat().st_size
        byte_range = _requested_range(tag, length)
        file = path.open("rb")
    except FileNotFoundError:
        raise errors.NotFound(PACKAGE_DELETED) from None
    first, size = byte_range or Range(0, length)
    response = pecan.response
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["ETag"] = f'"{tag}"'
    if byte_range:
        response.status = 206
        last = first + size - 1
        response.headers["Content-Range"] = f"bytes {first}-{last}/{length}"
    response.content_type = kind
    response.charset = None
    pecan.request.environ[http.CONTENT_LENGTH] = size
    response.app_iter = _chunks(file, first, size)
    return response


def generated_file_response(file: BinaryIO, kind: str) -> Any:
    """Return a response with a file that was created for it.

    :param kind: the media type
    """
    size = file.seek(0, io.SEEK_END)
    response = pecan.response
    response.content_type = kind
    response.charset = None
    pecan.request.environ[http.CONTENT_LENGTH] = size
    response.app_iter = _chunks(file, 0, size)
    return response


def _requested_range(tag: str, length: int) -> Range | None:
    request = pecan.request
    if_range = request.headers.get("If-Range", f'"{tag}"')
    if request.method != "GET" or if_range != f'"{tag}"':
        return None
    return parse_range(request.headers.get("Range"), length)


def parse_range(header: str | None, length: int) -> Range | None:
    """Parse a Range header; None: send the complete file.

    :raises RangeNotSatisfiable: no byte of the file is in the range
    :raises BadRequest: the client requested several ranges
    """
    match = _RANGES.fullmatch(header.strip()) if header else None
    if match is None:
        return None
    if "," in match[1]:
        raise errors.BadRequest(
            "Range: several ranges are not supported; request one."
        )
    start, _, end = match[1].partition("-")
    if not start + end or max(len(start), len(end)) > _MAX_DIGITS:
        return None
    if start and end and int(start) > int(end):
        return None
    first = int(start) if start else max(length - int(end), 0)
    last = int(end) if start and end else length
    size = min(last + 1, length) - first
    if size <= 0:
        raise errors.RangeNotSatisfiable(length)
    return Range(first, size)


def _chunks(file: BinaryIO, first: int, size: int) -> Iterator[bytes]:
    with file:
        file.seek(first)
        remaining = size - min(CHUNK_BYTES, size)
        # even for an empty file: without a chunk, pecan answers 204
        yield file.read(size - remaining)
        while remaining and (chunk := file.read(min(CHUNK_BYTES, remaining))):
            remaining -= len(chunk)
            yield chunk
