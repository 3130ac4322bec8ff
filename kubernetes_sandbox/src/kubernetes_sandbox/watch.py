"""Watches: changes as a stream of events."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubernetes_sandbox import (
    errors,
    list_options,
    responses,
    selectors,
    tables,
)
from kubernetes_sandbox.api_request import is_true
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.store import Change, Entry, Store, encode

_BOOKMARK_INTERVAL_S = 60.0
#: Shorter watches end without a bookmark.
_MIN_BOOKMARK_S = 2.0
_DEFAULT_TIMEOUT_S = 3000.0
_INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The parameters of a watch."""

    kind: Kind
    namespace: str
    matches_selector: Callable[[Obj], bool] | None
    resource_version: str
    seconds: float
    bookmarks: bool
    send_initial_events: bool
    accept: str

    @classmethod
    def read(
        cls, kind: Kind, namespace: str, query: Mapping[str, str], accept: str
    ) -> "WatchOptions":
        """Read the parameters of a watch.

        :raises ApiError: a parameter is not valid
        """
        version = query.get("resourceVersion", "")
        fault = list_options.syntax_error(version or "0")
        if fault is not None:
            raise errors.ApiError(500, "", fault)
        return cls(
            kind=kind,
            namespace=namespace,
            matches_selector=selectors.selection(
                query.get("labelSelector", ""),
                query.get("fieldSelector", ""),
                kind.key,
            ),
            resource_version=version,
            seconds=float(query.get("timeoutSeconds") or _DEFAULT_TIMEOUT_S),
            bookmarks=is_true(query, "allowWatchBookmarks"),
            send_initial_events=is_true(query, "sendInitialEvents"),
            accept=accept,
        )


class Watcher:
    """Collects the events of one watch until they are sent."""

    def __init__(self, store: Store, options: WatchOptions) -> None:
        self._store = store
        self._options = options
        self._lines: list[bytes] = []
        self._wakeup = asyncio.Event()
        self._stop: Callable[[], None] | None = None
        self._is_plain = not (
            responses.wants_table(options.accept)
            or responses.wants_metadata(options.accept)
        )
        self.ended = False

    def begin(self) -> None:
        """Collect the initial events and subscribe to changes."""
        options = self._options
        if options.send_initial_events or options.resource_version in {
            "",
            "0",
        }:
            self._begin_now()
        else:
            try:
                missed = self._store.since(
                    options.kind.key, int(options.resource_version)
                )
            except errors.ApiError as error:
                self._end_with(error)
                return
            for change in missed:
                self._on_change(change)
        self._stop = self._store.subscribe(options.kind.key, self._on_change)

    def _begin_now(self) -> None:
        options = self._options
        for entry in self._store.entries(options.kind.key, options.namespace):
            if options.matches_selector is None or options.matches_selector(
                entry.obj
            ):
                self._add(Change("ADDED", entry, None), "ADDED")
        if options.send_initial_events and options.bookmarks:
            self._lines.append(self._bookmark({_INITIAL_END: "true"}))

    def _end_with(self, error: errors.ApiError) -> None:
        event = {"type": "ERROR", "object": error.as_status()}
        self._lines.append(encode(event) + b"\n")
        self.end()

    def end(self) -> None:
        """End the watch."""
        self.ended = True
        self._wakeup.set()

    def close(self) -> None:
        """Unsubscribe."""
        if self._stop is not None:
            self._stop()
            self._stop = None

    async def lines(self, timeout: float) -> bytes | None:  # noqa: ASYNC109
        """Wait for events; return None at the end of the watch."""
        if not self._lines and not self.ended:
            self._wakeup.clear()
            wait = min(timeout, _BOOKMARK_INTERVAL_S)
            try:
                await asyncio.wait_for(self._wakeup.wait(), wait)
            except TimeoutError:
                return self._on_timeout(timeout)
        if not self._lines:
            return None
        lines, self._lines = self._lines, []
        return b"".join(lines)

    def _on_timeout(self, timeout: float) -> bytes | None:
        if timeout <= _BOOKMARK_INTERVAL_S:
            return self._bookmark({}) if self._end_with_bookmark() else None
        return self._bookmark({}) if self._options.bookmarks else b""

    def _end_with_bookmark(self) -> bool:
        self.ended = True
        options = self._options
        return options.bookmarks and options.seconds > _MIN_BOOKMARK_S

    def _on_change(self, change: Change) -> None:
        options = self._options
        obj = change.entry.obj
        namespace = obj["metadata"].get("namespace", "")
        if options.namespace and namespace != options.namespace:
            return
        event_type = change.type
        if options.matches_selector is not None:
            event_type = _event_type(change, options.matches_selector)
        if event_type:
            self._add(change, event_type)
            self._wakeup.set()

    def _add(self, change: Change, event_type: str) -> None:
        if self._is_plain:
            self._lines.append(change.line(event_type))
            return
        obj = self._representation(change.entry)
        event = {"type": event_type, "object": obj}
        self._lines.append(encode(event) + b"\n")

    def _representation(self, entry: Entry) -> Obj:
        if responses.wants_table(self._options.accept):
            metadata = {
                "resourceVersion": entry.obj["metadata"]["resourceVersion"]
            }
            return tables.table(entry.kind, [entry.obj], metadata)
        return responses.metadata_only(entry.obj)

    def _bookmark(self, annotations: Obj) -> bytes:
        metadata: Obj = {"resourceVersion": str(self._store.version)}
        if annotations:
            metadata["annotations"] = annotations
        obj = {
            "kind": self._options.kind.kind,
            "apiVersion": self._options.kind.api_version,
            "metadata": metadata,
        }
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def _event_type(
    change: Change, matches_selector: Callable[[Obj], bool]
) -> str:
    """Return the event type that a selector makes of a change; empty: none."""
    before = change.old is not None and matches_selector(change.old)
    after = matches_selector(change.entry.obj)
    if change.type == "DELETED":
        return "DELETED" if before else ""
    if after:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""
