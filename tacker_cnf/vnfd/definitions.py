"""Read the definitions files of a package, with imports and types."""

import dataclasses
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tacker_cnf import errors
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.limits import Limits
from tacker_cnf.vnfd.values import Budget, Value, Warnings

#: the folder of a package's definitions files
FOLDER: Final = "Definitions"
#: the section by which a service template describes a flavour
MAPPINGS: Final = "substitution_mappings"
BUILT_IN_FILE_PREFIX: Final = "etsi_nfv_sol001_"
SECTIONS: Final = (
    "node_types",
    "policy_types",
    "group_types",
    "data_types",
    "interface_types",
    "artifact_types",
)
#: SOL001 types that derive from another type
BUILT_IN: Final[Mapping[str, str]] = {
    "tosca.nodes.nfv.VduCp": "tosca.nodes.nfv.Cp",
    "tosca.nodes.nfv.VirtualCp": "tosca.nodes.nfv.Cp",
    "tosca.nodes.nfv.VnfExtCp": "tosca.nodes.nfv.Cp",
    "tosca.nodes.nfv.VipCp": "tosca.nodes.nfv.Cp",
    "tosca.nodes.nfv.VduSubCp": "tosca.nodes.nfv.Cp",
}


@dataclasses.dataclass(frozen=True)
class Definitions:
    """The entry definitions and all files that they import, by path."""

    tree: Path
    entry: str
    documents: Mapping[str, Value]
    types: Mapping[str, Mapping[str, Value]]

    def lineage(self, section: str, name: str) -> Iterator[tuple[str, Value]]:
        """Return a type and its ancestors, the type itself first.

        :raises InvalidPackage: a type derives from itself
        """
        seen: set[str] = set()
        following: str | None = name
        while following is not None:
            definition = self.types[section].get(following, Value(None, ""))
            if following in seen:
                raise definition.fault("the type derives from itself")
            seen.add(following)
            yield following, definition
            parent = definition.get("derived_from").text_or_none()
            following = parent or BUILT_IN.get(following)

    def is_a(self, section: str, name: str, base: str) -> bool:
        return any(kind == base for kind, _ in self.lineage(section, name))

    def check_type(self, section: str, kind: Value) -> str:
        """Return a type's name.

        :raises InvalidPackage: neither the package nor a standard defines it
        """
        name = kind.text()
        if name not in self.types[section] and not name.startswith("tosca."):
            raise kind.fault(f"the type {name} is not defined")
        return name


def path_of(reference: Value) -> str:
    """Return the path in the tree that a reference of a file names.

    :raises InvalidPackage: it is outside of the package
    """
    written = reference.text()
    folder = posixpath.dirname(reference.file)
    path = posixpath.normpath(posixpath.join(folder, written))
    if _is_outside(path):
        raise reference.fault(f"{written!r:.200} is outside of the package")
    return path


def find_file(tree: Path, reference: Value) -> tuple[str | None, Warnings]:
    """Find the file that a reference names, relative to its definitions file,
    or else to the root of the package.

    :raises InvalidPackage: it is outside of the package
    """
    path = path_of(reference)
    if is_file(tree, path):
        return path, ()
    from_root = posixpath.normpath(reference.text())
    if _is_outside(from_root) or not is_file(tree, from_root):
        return None, ()
    what = f"there is no file {path}: {from_root} is used"
    return from_root, (reference.warning(what),)


def _is_outside(path: str) -> bool:
    return path.startswith(("../", "/")) or path == ".." or "\0" in path


def _collect(collected: dict[str, Value], section: Value) -> None:
    for name, definition in section.entries().items():
        other = collected.setdefault(name, definition)
        if other.raw != definition.raw and not name.startswith("tosca."):
            raise definition.fault(
                f"it is defined differently in {other.file}"
            )


class Reader:
    """Reads the definitions files of a package, each once."""

    def __init__(self, tree: Path, limits: Limits) -> None:
        self._tree = tree
        self._limits = limits
        self._documents: dict[str, Value] = {}
        #: file -> itself and all files that it imports
        self._import_closures: dict[str, set[str]] = {}
        self._budget = Budget(limits.max_value_reads)
        self._bytes_left = limits.max_definitions_bytes
        self._open: list[str] = []

    def read(self, entry: str) -> Definitions:
        """Read the entry definitions and all that they import.

        :raises InvalidPackage: a file is missing, invalid or outside of the
            package, or imports form a cycle
        """
        entry = path_of(Value(entry, ""))
        closure = self._load(entry, f"the entry definitions {entry} are")
        documents = {
            path: document
            for path, document in self._documents.items()
            if path in closure
        }
        types: dict[str, dict[str, Value]] = {
            section: {} for section in SECTIONS
        }
        for document in documents.values():
            for section in SECTIONS:
                _collect(types[section], document.get(section))
        return Definitions(self._tree, entry, documents, types)

    def unimported(self, entry: str) -> Iterator[str]:
        """List files next to the entry and in Definitions/ that were not
        imported, and that may describe a flavour.
        """
        for folder in sorted({posixpath.dirname(entry) or FOLDER, FOLDER}):
            for file in sorted((self._tree / folder).glob("*.y*ml")):
                path = posixpath.join(folder, file.name)
                if path not in self._documents and self._describes_flavour(
                    file
                ):
                    yield path

    def _describes_flavour(self, file: Path) -> bool:
        """Check whether a file has substitution mappings."""
        name = str(file.relative_to(self._tree))
        try:
            text = bounded_yaml.text_of(
                file, name, self._limits.max_yaml_bytes
            )
            if MAPPINGS not in text:
                return False
            raw = bounded_yaml.load(text, name, self._limits)
            found = Value(raw, name).get("topology_template", MAPPINGS)
        except (errors.InvalidPackage, OSError):  # no file imports it
            return False
        return not found.absent

    def _load(self, path: str, subject: str) -> set[str]:
        if path in self._open:
            cycle = " -> ".join([*self._open[self._open.index(path) :], path])
            raise errors.InvalidPackage(f"the imports form a cycle: {cycle}")
        if path in self._import_closures:
            return self._import_closures[path]
        self._check_number(path)
        self._open.append(path)
        try:
            document = self._document(path, subject)
            closure = {path}
            for reference in document.get("imports").items():
                closure |= self._follow(reference)
        finally:
            self._open.pop()
        self._documents[path] = document
        self._import_closures[path] = closure
        return closure

    def _check_number(self, path: str) -> None:
        number = len(self._open) + len(self._documents)
        if number >= self._limits.max_definitions:
            raise errors.InvalidPackage(f"{path}: there are too many imports")
        if len(self._open) >= self._limits.max_import_depth:
            raise errors.InvalidPackage(f"{path}: imports are nested too deep")

    def _follow(self, reference: Value) -> set[str]:
        target = _file_of_import(reference)
        written = target.text()
        built_in = posixpath.basename(written).startswith(BUILT_IN_FILE_PREFIX)
        if "://" in written:
            if not built_in:
                raise target.fault(
                    f"{written:.200} is not in the package; files elsewhere"
                    " are not downloaded"
                )
            return set()
        if built_in and not is_file(self._tree, _path_or_none(target)):
            return set()
        path = path_of(target)
        return self._load(path, f"{target.file} imports {path}, which is")

    def _document(self, path: str, subject: str) -> Value:
        if not is_file(self._tree, path):
            raise errors.InvalidPackage(f"{subject} not in the package")
        text = self._text(path)
        raw = bounded_yaml.load(text, path, self._limits)
        document = Value(raw, path, budget=self._budget)
        version = document.get("tosca_definitions_version")
        if version.absent or not version.text().startswith("tosca_"):
            raise version.fault("a TOSCA version is expected")
        inputs = document.get("topology_template", "inputs").entries()
        defaults = {k: v.get("default").written for k, v in inputs.items()}
        return dataclasses.replace(document, inputs=defaults)

    def _text(self, path: str) -> str:
        limit = min(self._limits.max_yaml_bytes, self._bytes_left)
        text = bounded_yaml.text_of(self._tree / path, path, limit)
        self._bytes_left -= len(text.encode())
        return text


def _file_of_import(reference: Value) -> Value:
    """Return the path of an import, in any of the notations of TOSCA."""
    if not isinstance(reference.raw, dict):
        return reference
    for key in ("file", "url"):
        if not reference.get(key).absent:
            return reference.get(key)
    entries = reference.entries()
    if len(entries) != 1:
        raise reference.fault("an import has to name one file")
    (inner,) = entries.values()
    return inner.get("file") if isinstance(inner.raw, dict) else inner


def _path_or_none(reference: Value) -> str | None:
    try:
        return path_of(reference)
    except errors.InvalidPackage:
        return None


def is_file(tree: Path, path: str | None) -> bool:
    try:
        return path is not None and (tree / path).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
