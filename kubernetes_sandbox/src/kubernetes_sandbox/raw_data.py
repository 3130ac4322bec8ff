"""ControllerRevision.data: compared byte for byte, blanks included.

A server keeps the bytes of this field as they came. Every PATCH reads the
object and writes it without blanks, so that the data of one that was made
with blanks seem to change, and that is refused: of the garbage collector, too.
"""

from typing import Any

import msgspec

from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj

KEY = "controllerrevisions.apps"


class _Body(msgspec.Struct):
    data: msgspec.Raw = msgspec.Raw()


class RawData(dict[str, Any]):
    """Data, with the bytes as which they came."""

    raw: bytes = b""


def with_bytes(kind: Kind, obj: Obj, body: bytes) -> Obj:
    """Let an object that came in a JSON body keep the bytes of its data."""
    if kind.key != KEY or not isinstance(obj.get("data"), dict):
        return obj
    data = RawData(obj["data"])
    data.raw = bytes(msgspec.json.decode(body, type=_Body).data)
    return {**obj, "data": data}


def as_patched(kind: Kind, obj: Obj) -> Obj:
    """Copy an object as a PATCH writes it, without the bytes of its data."""
    if kind.key != KEY or not isinstance(obj.get("data"), dict):
        return obj
    return {**obj, "data": dict(obj["data"])}


def bytes_of(data: Any) -> bytes:
    """Return the bytes of data, as they came or as the server writes them."""
    if isinstance(data, RawData):
        return data.raw
    return msgspec.json.encode(data, order="sorted")
