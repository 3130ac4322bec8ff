"""Check that an archive's entry names are harmless and do not collide."""

import unicodedata
from typing import Final

from tacker_cnf import errors
from tacker_cnf.vnfd.limits import Limits

#: bytes that file systems allow for one name
MAX_NAME_BYTES: Final = 255


class EntryNames:
    """The names of an archive's entries so far."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        #: case-folded path -> the path as written, whether it is a directory
        self._seen: dict[str, tuple[str, bool]] = {}

    def add(self, name: str) -> None:
        """Add the name of an entry; the name of a directory ends in a slash.

        :raises InvalidPackage: the name is not allowed, or collides
        """
        path = name.removesuffix("/")
        fault = _fault_of_name(path, self._limits)
        if fault:
            raise errors.InvalidPackage(
                f"the archive contains {name!r:.200}, {fault}",
            )
        parts = path.split("/")
        for depth in range(1, len(parts)):
            self._register("/".join(parts[:depth]), is_directory=True)
        is_directory = name.endswith("/")
        is_new = self._register(path, is_directory=is_directory)
        if not is_new and not is_directory:
            raise errors.InvalidPackage(f"the archive contains {path!r} twice")

    def _register(self, path: str, *, is_directory: bool) -> bool:
        """Register a path; return whether it is new."""
        folded = unicodedata.normalize("NFC", path).casefold()
        number = len(self._seen)
        other = self._seen.setdefault(folded, (path, is_directory))
        if len(self._seen) > self._limits.max_files:
            raise errors.InvalidPackage(
                f"the archive contains more than the {self._limits.max_files}"
                " files and directories accepted",
            )
        if other[0] != path:
            raise errors.InvalidPackage(
                f"the archive contains {other[0]!r} and {path!r}, which differ"
                " by case only",
            )
        if other[1] != is_directory:
            raise errors.InvalidPackage(
                f"the archive contains {path!r} as file and as directory",
            )
        return len(self._seen) > number


def _fault_of_name(path: str, limits: Limits) -> str | None:
    """Return what is wrong with a path, if anything."""
    parts = path.split("/")
    if not path or path.startswith("/") or path[1:2] == ":":
        return "which is not a relative path"
    if ".." in parts or "." in parts or "" in parts:
        return "which has an empty, '.' or '..' part"
    if "\\" in path or not path.isprintable():
        return "which has a backslash or an unprintable character"
    if len(parts) > limits.max_path_depth:
        return "which is too deep"
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in parts]
    is_long = sum(sizes) + len(sizes) > limits.max_path_bytes
    return (
        "which is too long" if is_long or max(sizes) > MAX_NAME_BYTES else None
    )
