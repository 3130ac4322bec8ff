"""The few objects that ``kubectl`` sends as protobuf.

kubectl knows these kinds itself and does not ask which format a server
takes. Fields are told by number, as in the generated.proto files of
Kubernetes; what is not in the tables is left out.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from kubernetes_sandbox import errors
from kubernetes_sandbox.objects import Obj

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

#: Field number -> its JSON name, and how its value is read: a word, the
#: table of the message it is, or that of those that it is a list of.
_Table = Mapping[int, tuple[str, Any]]

_METADATA: _Table = {
    1: ("name", "text"),
    2: ("generateName", "text"),
    3: ("namespace", "text"),
    11: ("labels", "texts by name"),
    12: ("annotations", "texts by name"),
    14: ("finalizers", "list of texts"),
}
_NAMED: _Table = {1: ("metadata", _METADATA)}
_ACCESS: _Table = {
    1: (
        "resourceAttributes",
        {
            1: ("namespace", "text"),
            2: ("verb", "text"),
            3: ("group", "text"),
            4: ("version", "text"),
            5: ("resource", "text"),
            6: ("subresource", "text"),
            7: ("name", "text"),
        },
    ),
    2: ("nonResourceAttributes", {1: ("path", "text"), 2: ("verb", "text")}),
}
_BINDING: _Table = {
    **_NAMED,
    2: (
        "subjects",
        [
            {
                1: ("kind", "text"),
                2: ("apiGroup", "text"),
                3: ("name", "text"),
                4: ("namespace", "text"),
            }
        ],
    ),
    3: (
        "roleRef",
        {1: ("apiGroup", "text"), 2: ("kind", "text"), 3: ("name", "text")},
    ),
}
_ROLE: _Table = {
    **_NAMED,
    2: (
        "rules",
        [
            {
                1: ("verbs", "list of texts"),
                2: ("apiGroups", "list of texts"),
                3: ("resources", "list of texts"),
                4: ("resourceNames", "list of texts"),
                5: ("nonResourceURLs", "list of texts"),
            }
        ],
    ),
}
_KINDS: Mapping[str, _Table] = {
    "Namespace": _NAMED,
    "ServiceAccount": _NAMED,
    "ConfigMap": {
        **_NAMED,
        2: ("data", "texts by name"),
        3: ("binaryData", "bytes by name"),
        4: ("immutable", "truth"),
    },
    "Secret": {
        **_NAMED,
        2: ("data", "bytes by name"),
        3: ("type", "text"),
        4: ("stringData", "texts by name"),
        5: ("immutable", "truth"),
    },
    "SelfSubjectAccessReview": {**_NAMED, 2: ("spec", _ACCESS)},
    "SelfSubjectRulesReview": {
        **_NAMED,
        2: ("spec", {1: ("namespace", "text")}),
    },
    "SelfSubjectReview": _NAMED,
    "TokenRequest": _NAMED,
    "ClusterRole": _ROLE,
    "ClusterRoleBinding": _BINDING,
    "Role": _ROLE,
    "RoleBinding": _BINDING,
    "DeleteOptions": {
        1: ("gracePeriodSeconds", "number"),
        2: (
            "preconditions",
            {1: ("uid", "text"), 2: ("resourceVersion", "text")},
        ),
        3: ("orphanDependents", "truth"),
        4: ("propagationPolicy", "text"),
        5: ("dryRun", "list of texts"),
    },
}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, form = tag >> 3, tag & 7
        if form == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(form, 0)
        if form == _BYTES:
            size, at = _varint(data, at)
        yield number, data[at : at + size]
        at += size


def _pair(data: bytes) -> tuple[str, bytes]:
    key, value = "", b""
    for number, found in _fields(data):
        assert isinstance(found, bytes)
        if number == 1:
            key = found.decode()
        else:
            value = found
    return key, value


def _put(obj: Obj, name: str, told: Any, value: int | bytes) -> None:
    if isinstance(value, int):
        obj[name] = bool(value) if told == "truth" else value
        return
    if told == "text":
        if value:
            obj[name] = value.decode()
    elif told == "list of texts":
        obj.setdefault(name, []).append(value.decode())
    elif told == "texts by name":
        key, text = _pair(value)
        obj.setdefault(name, {})[key] = text.decode()
    elif told == "bytes by name":
        key, raw = _pair(value)
        encoded = base64.b64encode(raw).decode()
        obj.setdefault(name, {})[key] = encoded
    elif isinstance(told, list):
        obj.setdefault(name, []).append(_message(value, told[0]))
    else:
        obj[name] = _message(value, told)


def _message(data: bytes, table: _Table) -> Obj:
    obj: Obj = {}
    for number, value in _fields(data):
        if number in table:
            _put(obj, *table[number], value)
    return obj


def decode(body: bytes) -> Obj:
    """Read an object.

    :raises ApiError: 415, it is of a kind that is not in the tables
    """
    if not body.startswith(_MAGIC):
        raise errors.unsupported_media_type()
    try:
        envelope = dict(_fields(body[len(_MAGIC) :]))
        kind = _message(
            bytes(envelope[1]),
            {1: ("apiVersion", "text"), 2: ("kind", "text")},
        )
        return {**kind, **_message(bytes(envelope[2]), _KINDS[kind["kind"]])}
    except (KeyError, IndexError, AssertionError, UnicodeDecodeError):
        raise errors.unsupported_media_type() from None
