"""Watches: what changed, as a stream of lines."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubernetes_sandbox import answers, errors, selectors, tables
from kubernetes_sandbox.calls import is_true
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.store import Change, Entry, Store, encode

_BOOKMARK_SECONDS = 60.0
_DEFAULT_SECONDS = 3000.0
_INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a watch is to tell, and how."""

    kind: Kind
    namespace: str
    chosen: Callable[[Obj], bool] | None
    version: str
    seconds: float
    bookmarks: bool
    initial: bool
    accept: str

    @classmethod
    def read(
        cls, kind: Kind, namespace: str, query: Mapping[str, str], accept: str
    ) -> "Wish":
        """Read the parameters of a watch.

        :raises ApiError: a selector cannot be read
        """
        return cls(
            kind=kind,
            namespace=namespace,
            chosen=selectors.selection(
                query.get("labelSelector", ""),
                query.get("fieldSelector", ""),
                kind.key,
            ),
            version=query.get("resourceVersion", ""),
            seconds=float(query.get("timeoutSeconds") or _DEFAULT_SECONDS),
            bookmarks=is_true(query, "allowWatchBookmarks"),
            initial=is_true(query, "sendInitialEvents"),
            accept=accept,
        )


class Watcher:
    """Gathers the lines of one watch until somebody takes them."""

    def __init__(self, store: Store, wish: Wish) -> None:
        self._store = store
        self._wish = wish
        self._lines: list[bytes] = []
        self._woken = asyncio.Event()
        self._stop: Callable[[], None] | None = None
        self._plain = not (
            answers.wants_table(wish.accept)
            or answers.wants_metadata(wish.accept)
        )
        self.ended = False

    def begin(self) -> None:
        """Gather what the watch begins with, and listen."""
        wish = self._wish
        if wish.initial or wish.version in {"", "0"}:
            self._begin_now()
        else:
            try:
                missed = self._store.since(wish.kind.key, int(wish.version))
            except errors.ApiError as error:
                self._end_with(error)
                return
            for change in missed:
                self._hear(change)
        self._stop = self._store.subscribe(wish.kind.key, self._hear)

    def _begin_now(self) -> None:
        wish = self._wish
        for entry in self._store.entries(wish.kind.key, wish.namespace):
            if wish.chosen is None or wish.chosen(entry.obj):
                self._add(Change("ADDED", entry, None), "ADDED")
        if wish.initial and wish.bookmarks:
            self._lines.append(self._bookmark({_INITIAL_END: "true"}))

    def _end_with(self, error: errors.ApiError) -> None:
        event = {"type": "ERROR", "object": error.as_status()}
        self._lines.append(encode(event) + b"\n")
        self.end()

    def end(self) -> None:
        """Let the reader come to an end."""
        self.ended = True
        self._woken.set()

    def close(self) -> None:
        """Listen no longer."""
        if self._stop is not None:
            self._stop()
            self._stop = None

    async def lines(self, timeout: float) -> bytes | None:  # noqa: ASYNC109
        """Wait for lines; None when the watch is at its end."""
        if not self._lines and not self.ended:
            self._woken.clear()
            wait = min(timeout, _BOOKMARK_SECONDS)
            try:
                await asyncio.wait_for(self._woken.wait(), wait)
            except TimeoutError:
                return self._quiet(timeout)
        if not self._lines:
            return None
        taken, self._lines = self._lines, []
        return b"".join(taken)

    def _quiet(self, timeout: float) -> bytes | None:
        if timeout <= _BOOKMARK_SECONDS:
            return self._bookmark({}) if self._last_word() else None
        return self._bookmark({}) if self._wish.bookmarks else b""

    def _last_word(self) -> bool:
        self.ended = True
        return self._wish.bookmarks

    def _hear(self, change: Change) -> None:
        wish = self._wish
        obj = change.entry.obj
        namespace = obj["metadata"].get("namespace", "")
        if wish.namespace and namespace != wish.namespace:
            return
        seen_as = change.type
        if wish.chosen is not None:
            seen_as = _seen(change, wish.chosen)
        if seen_as:
            self._add(change, seen_as)
            self._woken.set()

    def _add(self, change: Change, seen_as: str) -> None:
        if self._plain:
            self._lines.append(change.line(seen_as))
            return
        obj = self._formed(change.entry)
        event = {"type": seen_as, "object": obj}
        self._lines.append(encode(event) + b"\n")

    def _formed(self, entry: Entry) -> Obj:
        if answers.wants_table(self._wish.accept):
            metadata = {
                "resourceVersion": entry.obj["metadata"]["resourceVersion"]
            }
            return tables.table(entry.kind, [entry.obj], metadata)
        return answers.metadata_only(entry.obj)

    def _bookmark(self, annotations: Obj) -> bytes:
        metadata: Obj = {"resourceVersion": str(self._store.version)}
        if annotations:
            metadata["annotations"] = annotations
        obj = {
            "kind": self._wish.kind.kind,
            "apiVersion": self._wish.kind.api_version,
            "metadata": metadata,
        }
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def _seen(change: Change, chosen: Callable[[Obj], bool]) -> str:
    """Tell how a change looks through a selector; empty: not at all."""
    before = change.old is not None and chosen(change.old)
    after = chosen(change.entry.obj)
    if change.type == "DELETED":
        return "DELETED" if before else ""
    if after:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""
