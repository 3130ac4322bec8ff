"""What can be seen of a script without running it: its syntax tree."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

#: bytes; a longer script is not looked at
MAX_BYTES: Final = 1024**2
_DEFINES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NO_EFFECT: Final = (*_DEFINES, ast.Import, ast.ImportFrom, ast.Pass)
_BLOCKS: Final = (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.Match)


def parse(script: Path) -> ast.Module:
    """Parse a script; one that is no Python is empty, and its run says more."""
    try:
        with script.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        return ast.parse(text if len(text) <= MAX_BYTES else b"")
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def imports(tree: ast.Module) -> frozenset[str]:
    """Return the modules that a script imports, wherever in it."""
    return frozenset(_imported(tree))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def classes(tree: ast.Module) -> dict[str, frozenset[str]]:
    """Return the methods of each class."""
    return {
        one.name: frozenset(
            inner.name for inner in one.body if isinstance(inner, _DEFINES)
        )
        for one in tree.body
        if isinstance(one, ast.ClassDef)
    }


def does_nothing(tree: ast.Module) -> bool:
    """Check for a script that defines something and uses nothing of it: it
    has no statement that calls anything but to make a constant.
    """
    defined = {one.name for one in tree.body if isinstance(one, _DEFINES)}
    return bool(defined) and not _acts(tree.body, defined)


def _acts(body: Iterable[ast.stmt], defined: set[str]) -> bool:
    return any(_has_effect(one, defined) for one in body)


def _has_effect(one: ast.stmt, defined: set[str]) -> bool:
    if isinstance(one, _NO_EFFECT):
        return False
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
        return False  # a docstring
    if isinstance(one, ast.Assign | ast.AnnAssign):
        return _uses(one, defined)
    if isinstance(one, _BLOCKS):
        return _acts(_inner(one), defined) or _uses(one, defined)
    return True


def _inner(block: ast.stmt) -> Iterator[ast.stmt]:
    """Return the statements right below a block."""
    for child in ast.iter_child_nodes(block):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


def _uses(one: ast.stmt, defined: set[str]) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id in defined
        for node in ast.walk(one)
    )
