"""ControllerRevision.data is a RawExtension, compared byte by byte.

The server keeps the bytes of this field as received. A PATCH decodes and
encodes the object and so drops insignificant whitespace. The data of an object
that was created with whitespace then seem to change, which is rejected, for
the garbage collector as well.
"""

from typing import Any

import msgspec

from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj

KEY = "controllerrevisions.apps"


class _Body(msgspec.Struct):
    data: msgspec.Raw = msgspec.Raw()


class RawExtension(dict[str, Any]):
    """Decoded data with the received bytes."""

    raw: bytes = b""


def with_raw(kind: Kind, obj: Obj, body: bytes) -> Obj:
    """Keep the received bytes of the data of a JSON body."""
    if kind.key != KEY or not isinstance(obj.get("data"), dict):
        return obj
    data = RawExtension(obj["data"])
    data.raw = bytes(msgspec.json.decode(body, type=_Body).data)
    return {**obj, "data": data}


def without_raw(kind: Kind, obj: Obj) -> Obj:
    """Drop the received bytes, as a PATCH does."""
    if kind.key != KEY or not isinstance(obj.get("data"), dict):
        return obj
    return {**obj, "data": dict(obj["data"])}


def raw_of(data: Any) -> bytes:
    """Return the received bytes, or the encoded data without them."""
    if isinstance(data, RawExtension):
        return data.raw
    return msgspec.json.encode(data, order="sorted")
