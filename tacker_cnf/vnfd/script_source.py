"""Analyse a script without running it, by its syntax tree."""

import ast
import contextlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

#: the package of the reference implementation
REFERENCE_PACKAGE: Final = "tacker"
#: longer scripts are not analysed
MAX_BYTES: Final = 1024**2
#: one thread at a time: CPython 3.11 counts the depth of a tree for all threads
#: together, and raises SystemError when they differ (gh-106905)
_PARSER_LOCK: Final = threading.Lock()
#: attempts, as Python itself parses the lines of a traceback in other threads
PARSE_ATTEMPTS: Final = 10
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINES: Final = (*_FUNCTIONS, ast.ClassDef)
_NO_EFFECT: Final = (
    *(ast.Import, ast.ImportFrom, ast.Pass, ast.Assign, ast.AnnAssign),
    *(ast.If, ast.Try, ast.With, ast.For, ast.While, ast.Match),
)
#: functions that are called to create a constant
_HARMLESS: Final = frozenset(
    {
        *("bool", "bytes", "dict", "float", "frozenset", "int", "len", "list"),
        *("range", "set", "sorted", "str", "tuple"),
        *("getLogger", "log.getLogger", "logging.getLogger"),
        *("Path", "pathlib.Path", "os.path.abspath", "os.path.dirname"),
        *("os.path.join", "os.path.realpath", "os.environ.get", "os.getenv"),
        *("re.compile", "namedtuple", "collections.namedtuple"),
    }
)


def parse(script: Path) -> ast.Module:
    """Parse a script; invalid Python results in an empty module, as its run
    reports the error.
    """
    return _parsed(script) or ast.Module([], [])


def _parsed(script: Path) -> ast.Module | None:
    try:
        with script.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            return None
        with _PARSER_LOCK:
            return _parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parse(text: bytes) -> ast.Module:
    for _ in range(PARSE_ATTEMPTS - 1):
        with contextlib.suppress(SystemError):
            return ast.parse(text)
    return ast.parse(text)


def imports(tree: ast.Module) -> frozenset[str]:
    """Return the modules that a script imports, at any depth."""
    return frozenset(_imported(ast.walk(tree)))


def reference_imports(tree: ast.Module) -> list[str]:
    """Return what a script imports from the reference implementation, and
    cannot be loaded without: neither a function nor a condition imports it.
    """
    found = {
        name
        for name in _imported(tree.body)
        if name.partition(".")[0] == REFERENCE_PACKAGE
    }
    return sorted(found - {name.rpartition(".")[0] for name in found})


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def classes(tree: ast.Module) -> dict[str, frozenset[str]]:
    """Return the methods of each class."""
    return {
        node.name: frozenset(
            inner.name for inner in node.body if isinstance(inner, _DEFINES)
        )
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def does_nothing(tree: ast.Module) -> bool:
    """Check for a script that defines something and uses nothing of it: it
    has no statement with a call, other than to create a constant.
    """
    return bool(_defined(tree)) and not _has_effect(tree)


def is_inert(module: Path) -> bool:
    """Check for a module that does nothing but define and import."""
    tree = _parsed(module)
    return tree is not None and not _has_effect(tree)


def _defined(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, _DEFINES)}


def _has_effect(tree: ast.Module) -> bool:
    defined = _defined(tree)
    return any(_acts(node, defined) for node in _executed(tree))


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """Return the nodes that run without a call of an own function."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.ClassDef):
            waiting += (inner for inner in node.body if not _is_inert(inner))
        elif not isinstance(node, _DEFINES):
            waiting += ast.iter_child_nodes(node)


def _is_inert(member: ast.stmt) -> bool:
    """Check for a method or a docstring."""
    return isinstance(member, _FUNCTIONS) or (
        isinstance(member, ast.Expr) and isinstance(member.value, ast.Constant)
    )


def _acts(node: ast.AST, defined: set[str]) -> bool:
    """Check whether a node by itself may have a side effect."""
    if isinstance(node, _DEFINES):
        return bool(node.decorator_list)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.stmt):
        return not isinstance(node, _NO_EFFECT)
    if isinstance(node, ast.Call):
        return _dotted(node.func) not in _HARMLESS
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.Name) and node.id in defined


def _dotted(function: ast.expr) -> str:
    """Return a name such as ``os.path.join``."""
    names: list[str] = []
    while isinstance(function, ast.Attribute):
        names.append(function.attr)
        function = function.value
    root = function.id if isinstance(function, ast.Name) else ""
    return ".".join([root, *reversed(names)])
