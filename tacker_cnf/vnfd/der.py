"""A strict parser of the DER (ITU-T X.690) that signatures use."""

from typing import Final, NamedTuple

INTEGER: Final = 0x02
OCTETS: Final = 0x04
OBJECT_ID: Final = 0x06
SEQUENCE: Final = 0x30
SET: Final = 0x31
#: context tags, constructed
CONTEXT: Final = (0xA0, 0xA1)
#: consecutive values; a signature has some dozens
MAX_VALUES: Final = 10_000
#: the context tag 0 with primitive content
CONTEXT_PLAIN: Final = 0x80


class Unreadable(ValueError):
    """The data are malformed or unexpected; the message says how."""


class Value(NamedTuple):
    """One value: its tag, its content, and its complete encoding."""

    tag: int
    content: bytes
    whole: bytes


def values(data: bytes) -> list[Value]:
    """Parse consecutive values.

    :raises Unreadable: this is not DER
    """
    found: list[Value] = []
    at = 0
    while at < len(data):
        if len(found) == MAX_VALUES:
            raise Unreadable(f"there are more than {MAX_VALUES} values")
        found.append(_value(data, at))
        at += len(found[-1].whole)
    return found


def read_one(data: bytes, tag: int) -> bytes:
    """Return the content of data that are exactly one value with this tag.

    :raises Unreadable: there is more than one value, or the tag differs
    """
    value = _value(data, 0)
    if value.tag != tag or len(value.whole) != len(data):
        raise Unreadable("a value of another type is expected")
    return value.content


def dotted(object_id: bytes) -> str:
    """Convert an object identifier to dotted notation.

    :raises Unreadable: it is malformed
    """
    arcs = [0]
    for byte in object_id:
        arcs[-1] = arcs[-1] << 7 | byte & 0x7F
        if not byte & 0x80:
            arcs.append(0)
    if len(arcs) < 2 or len(object_id) > 64 or object_id[-1] & 0x80:
        raise Unreadable("an object identifier is malformed")
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, (first, arcs[0] - 40 * first, *arcs[1:-1])))


def _value(data: bytes, at: int) -> Value:
    """Parse the value that begins at an offset."""
    head = data[at : at + 2]
    if len(head) < 2 or head[0] & 0x1F == 0x1F:
        raise Unreadable("this is not DER")
    start, length = at + 2, head[1]
    if length & 0x80:
        size = data[start : start + (length & 0x7F)]
        start += length & 0x7F
        length = int.from_bytes(size)
        # an indefinite length, or one not in its shortest form
        if not 1 <= len(size) <= 4 or not size[0] or length < 0x80:
            raise Unreadable("this is not DER")
    end = start + length
    if len(data) < end:
        raise Unreadable("the data are truncated")
    return Value(head[0], data[start:end], data[at:end])
