"""Random filters, and a simple implementation that evaluates them.

Everything here is independent of the code under test: a case is a list of
operators, paths and texts, judged on the JSON of a resource.
"""

import contextlib
import datetime
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

TEXTS = [
    *("", "a", "A", "b", "ab", "aB", "AB", "a b", "a ", " a", "ä", "a\u0308"),
    *(
        "Z",
        "z",
        "_",
        "%",
        "a_b",
        "a%b",
        "é",
        "ß",
        "ss",
        "i",
        "I",
        "\u0131",
        "日本",
    ),
    *("\U0001f600", "\ufffd", "~", "'", "''", ",", ")", "(;)", "\\", '"'),
    *("true", "5", "5.0", "1e1", "null", "\t", "\n", "x" * 40),
]
TIMES = [
    "2026-11-20T12:00:00Z",
    "2026-11-20T12:00:00.5Z",
    "2026-11-20T12:00:01Z",
    "2026-11-20T13:00:00+01:00",
    "2026-11-20T11:59:59.999999Z",
    "0001-01-01T00:00:00Z",
    "9999-12-30T00:00:00Z",
]
KEY = "@key"
EQUALITY = ["eq", "neq", "in", "nin"]
ORDER = ["gt", "gte", "lt", "lte"]
OPS = {
    "text": [*EQUALITY, *ORDER, "cont", "ncont"],
    "any": [*EQUALITY, *ORDER, "cont", "ncont"],
    "number": [*EQUALITY, *ORDER],
    "time": [*EQUALITY, *ORDER],
    "flag": EQUALITY,
}
VALUES: dict[str, Sequence[str]] = {
    "text": TEXTS,
    "any": TEXTS,
    "number": ["0", "1", "2", "-1", "1.5", "1e0"],
    "time": TIMES,
    "flag": ["true", "false"],
}


class Simple(NamedTuple):
    op: str
    path: tuple[str, ...]
    kind: str
    values: tuple[str, ...]


def random_filter(
    rng: random.Random, names: Mapping[tuple[str, ...], str]
) -> list[Simple]:
    """Build a filter on these attributes, with values of their kinds."""
    found = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path, kind = rng.choice(list(names.items()))
        op = rng.choice(OPS[kind])
        several = op in {"in", "nin", "cont", "ncont"}
        count = rng.randint(1, 4) if several else 1
        values = tuple(rng.choices(VALUES[kind], k=count))
        found.append(Simple(op, path, kind, values))
    return found


def format_filter(rng: random.Random, simples: Iterable[Simple]) -> str:
    """Return a filter in the syntax of SOL013."""

    def quoted(text: str) -> str:
        if set(text) & set("',)") or rng.random() < 0.3:
            return "'" + text.replace("'", "''") + "'"
        return text

    def escaped(name: str) -> str:
        if name == KEY:
            return name
        for mark, escape in (("~", "0"), ("/", "1"), (",", "a"), ("@", "b")):
            name = name.replace(mark, "~" + escape)
        return name

    return ";".join(
        f"({s.op},{'/'.join(map(escaped, s.path))},"
        f"{','.join(map(quoted, s.values))})"
        for s in simples
    )


def matches(shown: Mapping[str, Any], simples: Sequence[Simple]) -> bool:
    """Check whether a resource matches: of the elements at a prefix, one has
    to fulfil all conditions with this prefix.
    """
    for prefix in {s.path[:-1] for s in simples}:
        conditions = [s for s in simples if s.path[:-1] == prefix]
        elements = list(_walk(shown, prefix))
        if not any(all(_one(e, s) for s in conditions) for e in elements):
            return False
    return True


def _walk(value: Any, path: Sequence[str]) -> Iterator[Any]:
    values = value if isinstance(value, list | tuple) else [value]
    for each in values:
        if isinstance(each, list | tuple):
            yield from _walk(each, path)
        elif not path:
            yield each
        elif isinstance(each, dict) and path[0] in each:
            yield from _walk(each[path[0]], path[1:])


def _one(element: Any, simple: Simple) -> bool:
    if simple.path[-1] == KEY:
        leaves = list(element) if isinstance(element, dict) else []
    else:
        leaves = list(_walk(element, simple.path[-1:]))
    return any(_compare(leaf, simple) for leaf in leaves)


def _compare(leaf: Any, simple: Simple) -> bool:
    if leaf is None or isinstance(leaf, dict):
        return False
    if simple.op in {"cont", "ncont"}:
        inside = [v in leaf for v in simple.values if isinstance(leaf, str)]
        return bool(inside) and any(inside) == (simple.op == "cont")
    values = list(_typed_values(leaf, simple))
    if simple.kind == "time":
        leaf = datetime.datetime.fromisoformat(leaf)
    if simple.op in EQUALITY:
        return (leaf in values) == (simple.op in {"eq", "in"})
    if not values or isinstance(leaf, bool):
        return False
    order = (leaf > values[0]) - (leaf < values[0])
    return (
        order
        in {"gt": {1}, "gte": {0, 1}, "lt": {-1}, "lte": {0, -1}}[simple.op]
    )


def _typed_values(leaf: Any, simple: Simple) -> Iterator[Any]:
    """Yield the values in the type of the attribute."""
    for text in simple.values:
        with contextlib.suppress(ValueError):
            yield _convert(leaf, text, simple.kind)


def _convert(leaf: Any, text: str, kind: str) -> Any:
    if kind == "time":
        return datetime.datetime.fromisoformat(text)
    if isinstance(leaf, bool):
        if text not in {"true", "false"}:
            raise ValueError
        return text == "true"
    if isinstance(leaf, int | float):
        if text != text.strip():
            raise ValueError
        return float(text)
    return text
