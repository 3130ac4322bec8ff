"""The names of an archive's entries: none may hide or leave another one."""

import unicodedata
from typing import Final

from tacker_cnf import errors

MAX_NAME_BYTES: Final = 255


class EntryNames:
    """The names seen so far, and what may not stand beside them."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        #: folded path -> as it is written, and whether it is a directory
        self._seen: dict[str, tuple[str, bool]] = {}

    def add(self, name: str, written: str) -> None:
        path = name.removesuffix("/")
        self._check(name, path)
        if "\0" in written:
            raise errors.InvalidPackage(
                f"the archive holds {written!r:.200}, which has a NUL",
            )
        parts = path.split("/")
        for depth in range(1, len(parts)):
            self._place("/".join(parts[:depth]), is_directory=True)
        self._place(path, is_directory=name.endswith("/"))

    def _place(self, path: str, *, is_directory: bool) -> None:
        folded = unicodedata.normalize("NFC", path).casefold()
        other = self._seen.setdefault(folded, (path, is_directory))
        if other[0] != path:
            raise errors.InvalidPackage(
                f"the archive holds {other[0]!r:.200} and {path!r:.200}, which"
                " differ by case only",
            )
        if other[1] != is_directory:
            raise errors.InvalidPackage(
                f"the archive holds {path!r:.200} as file and as directory",
            )

    def _check(self, name: str, path: str) -> None:
        folded = unicodedata.normalize("NFC", path).casefold()
        if not name.endswith("/") and folded in self._seen:
            raise errors.InvalidPackage(
                f"the archive holds {path!r:.200} twice",
            )
        fault = _fault_of_name(path, self._max_bytes)
        if fault:
            raise errors.InvalidPackage(
                f"the archive holds {name!r:.200}, {fault}",
            )


def _fault_of_name(path: str, max_bytes: int) -> str | None:
    """Say what is wrong with a path, if anything."""
    parts = path.split("/")
    if not path or path.startswith("/") or path[1:2] == ":":
        return "which is no relative path"
    if ".." in parts or "." in parts or "" in parts:
        return "which is no plain path"
    if "\\" in path or not path.isprintable():
        return "which has a character that no path should have"
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in parts]
    if sum(sizes) + len(sizes) > max_bytes or max(sizes) > MAX_NAME_BYTES:
        return "which is too long"
    return None
