"""Decoding of protobuf request bodies.

``kubectl create deployment`` and others send protobuf unconditionally, and do
not retry a rejected request as JSON. Responses are always JSON, which these
clients accept as well.
"""

import base64
import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubernetes_sandbox import errors
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import Obj, stamp
from kubernetes_sandbox.protobuf_messages import MESSAGES, Field, Message

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
#: apiVersion and kind of runtime.Unknown, the envelope.
_TYPE_META: Message = {
    1: Field("apiVersion", "string"),
    2: Field("kind", "string"),
}
_Value = int | bytes


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, _Value]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(wire_type, 0)
        if wire_type == _BYTES:
            size, at = _varint(data, at)
        if at + size > len(data):
            raise IndexError
        yield number, data[at : at + size]
        at += size


def _int(value: _Value) -> int:
    number = int(value)
    return number - (1 << 64) if number >> 63 else number


def _int_or_string(value: _Value) -> int | str:
    fields = dict(_fields(bytes(value)))
    if fields.get(1):
        return bytes(fields.get(3, b"")).decode()
    return _int(fields.get(2, 0))


def _quantity(value: _Value) -> str:
    return bytes(dict(_fields(bytes(value))).get(1, b"0")).decode()


def _time(value: _Value) -> str:
    seconds = dict(_fields(bytes(value))).get(1)
    if seconds is None:
        return ""
    return stamp(dt.datetime.fromtimestamp(_int(seconds), dt.UTC))


_SCALARS: Mapping[str, Callable[[_Value], Any]] = {
    "string": lambda value: bytes(value).decode(),
    "bytes": lambda value: base64.b64encode(bytes(value)).decode(),
    "bool": bool,
    "int": _int,
    "IntOrString": _int_or_string,
    "Quantity": _quantity,
    "Time": _time,
}


def _value(field: Field, value: _Value) -> Any:
    decode = _SCALARS.get(field.type)
    if decode is not None:
        return decode(value)
    return _message(bytes(value), field.type, MESSAGES[field.type])


def _entry(field: Field, value: _Value) -> tuple[str, Any]:
    entry = dict(_fields(bytes(value)))
    key = bytes(entry.get(1, b"")).decode()
    return key, _value(field, entry.get(2, b""))


def _message(data: bytes, name: str, message: Message) -> Obj:
    obj: Obj = {}
    for number, value in _fields(data):
        field = message.get(number)
        if field is None:
            if value:
                raise _unknown_field(name, number)
        elif field.type != "ignored":
            _set(obj, field, value)
    return obj


def _set(obj: Obj, field: Field, value: _Value) -> None:
    if field.is_map:
        key, item = _entry(field, value)
        obj.setdefault(field.name, {})[key] = item
        return
    decoded = _value(field, value)
    if field.is_list:
        obj.setdefault(field.name, []).append(decoded)
    elif field.is_inline:
        obj.update(decoded)
    elif field.is_pointer or decoded not in ("", 0, {}):
        obj[field.name] = decoded


def _unknown_field(message: str, number: int) -> ApiError:
    return ApiError(
        415,
        "UnsupportedMediaType",
        f"the sandbox cannot decode field {number} of {message} from protobuf;"
        " send JSON",
        {},
    )


def decode(body: bytes) -> Obj:
    """Decode an object.

    :raises ApiError: 415, its kind or one of its fields is unknown
    """
    if not body.startswith(_MAGIC):
        raise errors.unsupported_media_type()
    try:
        envelope = dict(_fields(body[len(_MAGIC) :]))
        head = _message(bytes(envelope[1]), "TypeMeta", _TYPE_META)
        kind = head["kind"]
        versioned = f"{head['apiVersion']}.{kind}"
        name = versioned if versioned in MESSAGES else kind
        return {**head, **_message(bytes(envelope[2]), name, MESSAGES[name])}
    except (KeyError, IndexError, TypeError, UnicodeDecodeError):
        raise errors.unsupported_media_type() from None
