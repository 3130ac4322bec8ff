"""HTTP responses, and the representations that a client can accept."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kubernetes_sandbox import errors, list_options, tables
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.store import Entry, Store, encode

JSON = "application/json"
#: The resourceVersion in a continue token that goes on inconsistently.
_LATEST = -1


@dataclass(slots=True)
class Response:
    """A complete response, ready to be sent."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


def of(obj: Obj, status: int = 200) -> Response:
    """Return an object as JSON."""
    return Response(status, encode(obj))


def of_error(error: errors.ApiError) -> Response:
    """Return an error as a Status."""
    return Response(error.code, encode(error.as_status()))


def check_accept(accept: str) -> None:
    """Reject a request that does not accept JSON.

    :raises ApiError: 406
    """
    ranges = [one.strip().lower() for one in accept.split(",")]
    accepted = [one.partition(";")[0].strip() for one in ranges]
    if not accept or {"*/*", JSON} & set(accepted):
        return
    raise errors.ApiError(
        406,
        "NotAcceptable",
        "406: Not Acceptable\n\nAvailable representations: application/json,"
        " application/yaml, application/vnd.kubernetes.protobuf",
        {},
    )


def wants_table(accept: str) -> bool:
    """Return whether a client accepts a Table."""
    return "as=Table" in accept


def wants_metadata(accept: str) -> bool:
    """Return whether a client accepts only PartialObjectMetadata."""
    return "as=PartialObjectMetadata" in accept


def metadata_only(obj: Obj) -> Obj:
    """Return the PartialObjectMetadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }


def of_entry(entry: Entry, accept: str) -> Response:
    """Return a stored object in the accepted representation."""
    if wants_table(accept):
        return of(tables.table(entry.kind, [entry.obj], {}))
    if wants_metadata(accept):
        return of(metadata_only(entry.obj))
    return Response(200, entry.raw)


def of_list(
    kind: Kind, entries: Sequence[Entry], metadata: Obj, accept: str
) -> Response:
    """Return a list in the accepted representation."""
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
    return Response(200, list_body(kind, entries, metadata))


def list_body(kind: Kind, entries: Sequence[Entry], metadata: Obj) -> bytes:
    """Encode a list around the JSON that the store caches."""
    if kind.custom:
        metadata = {"continue": "", **metadata}
    head = b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[' % (
        kind.list_kind.encode(),
        kind.api_version.encode(),
        encode(metadata),
    )
    return head + b",".join(entry.raw_item for entry in entries) + b"]}"


def page(
    store: Store,
    kind: Kind,
    namespace: str,
    matches_selector: Callable[[Obj], bool] | None,
    query: Mapping[str, str],
) -> tuple[Sequence[Entry], Obj]:
    """Return the entries of a page and the metadata of the list.

    All pages show the objects at the resourceVersion of the first one.

    :raises ApiError: a parameter or the continue token is not valid
    """
    list_options.check(query)
    version = store.version
    if token := query.get("continue"):
        if query.get("resourceVersion"):
            raise errors.bad_request(
                "specifying resource version is not allowed when using"
                " continue"
            )
        version, start = _decode_token(token)
        entries = _rest(store, kind, namespace, version, start)
        version = store.version if version == _LATEST else version
    else:
        entries = list_options.entries(store, kind.key, namespace, query)
        if query.get("resourceVersionMatch") == "Exact":
            version = int(query["resourceVersion"])
    if matches_selector is not None:
        entries = [e for e in entries if matches_selector(e.obj)]
    metadata: Obj = {"resourceVersion": str(version)}
    limit = int(query.get("limit") or 0)
    if query.get("resourceVersion") == "0":
        limit = 0  # served by the watch cache
    if 0 < limit < len(entries):
        last = entries[limit - 1]
        metadata["continue"] = _token(version, _sort_key(last))
        if matches_selector is None:
            metadata["remainingItemCount"] = len(entries) - limit
        entries = entries[:limit]
    return entries, metadata


def _rest(
    store: Store, kind: Kind, namespace: str, version: int, start: str
) -> list[Entry]:
    if version == _LATEST:
        entries = store.entries(kind.key, namespace)
    else:
        try:
            entries = store.entries_at(kind.key, namespace, version)
        except errors.ApiError as error:
            token = _token(_LATEST, start)
            raise errors.continue_expired(token) from error
    return [e for e in entries if _sort_key(e) > start]


def _sort_key(entry: Entry) -> str:
    metadata = entry.obj["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _token(version: int, start: str) -> str:
    content = {"v": "meta.k8s.io/v1", "rv": version, "start": f"{start}\x00"}
    return base64.urlsafe_b64encode(encode(content)).rstrip(b"=").decode()


def _decode_token(token: str) -> tuple[int, str]:
    try:
        decoded = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        content = msgspec.json.decode(decoded)
        return int(content["rv"]), str(content["start"]).rstrip("\x00")
    except (ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise errors.bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from None
