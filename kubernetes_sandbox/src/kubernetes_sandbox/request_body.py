"""Decode request bodies: JSON, YAML and protobuf."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from kubernetes_sandbox import errors, protobuf
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj

_AT_BYTE = re.compile(r"\(byte (\d+)\)")
_JSON = frozenset({"application/json", "", "text/json"})
_YAML = frozenset({"application/yaml", "text/yaml"})


def media_type(header: str) -> str:
    """Return the media type of a Content-Type header."""
    return header.partition(";")[0].strip().lower()


def is_json(header: str) -> bool:
    """Return whether a Content-Type header means JSON."""
    return media_type(header) in _JSON


def json_error(body: bytes, error: Exception) -> str:
    """Describe a JSON syntax error in the words of Go's decoder."""
    found = _AT_BYTE.search(str(error))
    at = int(found[1]) if found else len(body)
    if at >= len(body):
        return "unexpected end of JSON input"
    character = chr(body[at])
    if "object key" in str(error) or body[:at].rstrip().endswith(b"{"):
        where = "looking for beginning of object key string"
    else:
        where = "looking for beginning of value"
    return f"invalid character '{character}' {where}"


def decode_json(body: bytes, what: str) -> Any:
    """Decode JSON.

    :raises ApiError: 400, the body is not JSON
    """
    return _decode_json(body, f"error decoding {what}")


def decode_options(body: bytes, content_type: str) -> Any:
    """Decode DeleteOptions.

    :raises ApiError: 400, the body cannot be decoded
    """
    if media_type(content_type) == protobuf.MEDIA_TYPE:
        return protobuf.decode(body)
    return _decode_json(body, "couldn't get version/kind; json parse error")


def _decode_json(body: bytes, failure: str) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = json_error(body, error)
        raise errors.bad_request(f"{failure}: {message}") from error


def decode_yaml(body: bytes) -> Any:
    """Decode YAML, of which JSON is a subset.

    :raises ApiError: 400, the body is not YAML
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return msgspec.yaml.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.bad_request(f"error decoding YAML: {error}") from error


def decode_object(body: bytes, content_type: str, kind: str) -> Obj:
    """Decode the object of a create or an update.

    :raises ApiError: 400 or 415, the body cannot be decoded
    """
    form = media_type(content_type)
    if form == protobuf.MEDIA_TYPE:
        return protobuf.decode(body)
    if form in _YAML:
        found = decode_yaml(body)
    elif form in _JSON:
        try:
            found = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise errors.bad_request(
                f"the object provided is unrecognized (must be of type {kind}):"
                " couldn't get version/kind; json parse error:"
                f" {json_error(body, error)}"
            ) from error
    else:
        raise errors.unsupported_media_type()
    if not isinstance(found, dict):
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {kind})"
        )
    return found


def check_kind(kind: Kind, obj: Obj, also: Sequence[str] = ()) -> None:
    """Reject an object whose kind differs from that of its path.

    :raises ApiError: 400
    """
    given = obj.get("kind") or kind.kind
    version = obj.get("apiVersion") or kind.api_version
    if given == kind.kind and version == kind.api_version:
        return
    if given in also:
        return
    short = version.rpartition("/")[2]
    if given != kind.kind:
        raise errors.bad_request(
            f'{given} in version "{short}" cannot be handled as a {kind.kind}:'
            f" converting ({short}.{given}) to"
            f" ({kind.group or 'core'}.{kind.kind}): unknown conversion"
        )
    raise errors.bad_request(
        "the API version in the data"
        f" ({version}) does not match the expected API version"
        f" ({kind.api_version})"
    )


def check_place(obj: Obj, namespace: str, name: str) -> None:
    """Reject an object whose name or namespace differs from its path.

    :raises ApiError: 400
    """
    metadata = obj.get("metadata") or {}
    given = metadata.get("namespace")
    if namespace and given and given != namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the"
            " namespace sent on the request"
        )
    if name and metadata.get("name") != name:
        if not metadata.get("name"):
            raise errors.bad_request(
                "name must be provided in the object's metadata"
            )
        raise errors.bad_request(
            f"the name of the object ({metadata['name']}) does not match the"
            f" name on the URL ({name})"
        )
