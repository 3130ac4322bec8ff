"""The answers of the server, and the forms a client may ask for."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kubernetes_sandbox import errors, tables
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.store import Entry, encode

JSON = "application/json"


@dataclass(slots=True)
class Answer:
    """A whole answer, ready to be sent."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


def of(obj: Obj, status: int = 200) -> Answer:
    """Answer an object as JSON."""
    return Answer(status, encode(obj))


def of_error(error: errors.ApiError) -> Answer:
    """Answer an error as a Status."""
    return Answer(error.code, encode(error.as_status()))


def wants_table(accept: str) -> bool:
    """Tell whether a client asks the server to print."""
    return "as=Table" in accept


def wants_metadata(accept: str) -> bool:
    """Tell whether a client asks for metadata only."""
    return "as=PartialObjectMetadata" in accept


def metadata_only(obj: Obj) -> Obj:
    """Cut an object down to its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }


def of_entry(entry: Entry, accept: str) -> Answer:
    """Answer one stored object in the form asked for."""
    if wants_table(accept):
        return of(tables.table(entry.kind, [entry.obj], {}))
    if wants_metadata(accept):
        return of(metadata_only(entry.obj))
    return Answer(200, entry.raw)


def of_list(
    kind: Kind, entries: Sequence[Entry], metadata: Obj, accept: str
) -> Answer:
    """Answer a list in the form asked for."""
    if wants_table(accept):
        objects = [entry.obj for entry in entries]
        return of(tables.table(kind, objects, metadata))
    if wants_metadata(accept):
        items = [metadata_only(entry.obj) for entry in entries]
        head = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
        }
        return of({**head, "metadata": metadata, "items": items})
    return Answer(200, list_body(kind, entries, metadata))


def list_body(kind: Kind, entries: Sequence[Entry], metadata: Obj) -> bytes:
    """Write a list around the JSON that the store keeps."""
    if kind.custom:
        metadata = {"continue": "", **metadata}
    head = b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[' % (
        kind.list_kind.encode(),
        kind.api_version.encode(),
        encode(metadata),
    )
    return head + b",".join(entry.raw_item for entry in entries) + b"]}"


def page(
    entries: Sequence[Entry],
    chosen: Callable[[Obj], bool] | None,
    query: Mapping[str, str],
    version: int,
) -> tuple[Sequence[Entry], Obj]:
    """Choose the entries of a list and the metadata of the page.

    :raises ApiError: the continue token cannot be read
    """
    metadata: Obj = {"resourceVersion": str(version)}
    if token := query.get("continue"):
        start = _start_of(token)
        entries = [e for e in entries if _place(e) > start]
    if chosen is not None:
        entries = [e for e in entries if chosen(e.obj)]
    limit = int(query.get("limit") or 0)
    if limit and len(entries) > limit:
        last = entries[limit - 1]
        metadata["continue"] = _token(version, _place(last))
        if chosen is None:
            metadata["remainingItemCount"] = len(entries) - limit
        entries = entries[:limit]
    return entries, metadata


def _place(entry: Entry) -> str:
    metadata = entry.obj["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _token(version: int, start: str) -> str:
    told = {"v": "meta.k8s.io/v1", "rv": version, "start": f"{start}\x00"}
    return base64.urlsafe_b64encode(encode(told)).rstrip(b"=").decode()


def _start_of(token: str) -> str:
    try:
        padded = token + "=" * (-len(token) % 4)
        told = msgspec.json.decode(base64.urlsafe_b64decode(padded))
        return str(told["start"]).rstrip("\x00")
    except (ValueError, KeyError, TypeError, msgspec.DecodeError):
        raise errors.bad_request("continue key is not valid") from None
