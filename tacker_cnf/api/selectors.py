"""Attribute selectors (SOL013 5.3): which attributes an answer has.

Only what is complex and optional is selected; everything else is always
there. Of a map the names are keys, and those that are not listed go.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import inspect

from tacker_cnf import errors
from tacker_cnf.api import attributes
from tacker_cnf.sol.base import SolType

#: names, and of each the tree of what is below it; empty: all of it
Tree: TypeAlias = dict[str, Any]

LINKS: Final = "_links"
ALL: Final = "all_fields"
FIELDS: Final = "fields"
EXCLUDED: Final = "exclude_fields"
DEFAULT: Final = "exclude_default"
#: those that say enough by being there
FLAGS: Final = frozenset({ALL, DEFAULT})


class Selector:
    """What of a resource an answer shows.

    :param governed: the attributes that are shown only when they are listed
    :param listed: what was listed of them
    :param excluded: what is not shown of the others
    """

    def __init__(
        self,
        kind: type[SolType],
        governed: Iterable[str] = (),
        listed: Tree | None = None,
        excluded: Tree | None = None,
    ) -> None:
        self._fields = attributes.fields_of(kind)
        self._type = attributes.type_of(kind)
        self._governed = frozenset(governed)
        self._listed = listed or {}
        self._excluded = excluded or {}

    @property
    def attributes(self) -> frozenset[str]:
        """What has to be known of a resource, by the names of its type.

        What is simple costs nothing.
        """
        return frozenset(
            field.name
            for name, field in self._fields.items()
            if not (_selectable(field) and self._is_gone(name))
        )

    def _is_gone(self, name: str) -> bool:
        if name in self._governed:
            return name not in self._listed
        return self._excluded.get(name) == {}

    def cut(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        """Leave of the JSON of a resource what the answer shows."""
        left = {}
        for name, value in shown.items():
            if name not in self._governed:
                left[name] = value
            elif name in self._listed:
                kind = self._fields[name].type
                left[name] = _kept(value, kind, self._listed[name])
        if self._excluded:
            left = _without(left, self._type, self._excluded)
        return left


def _selectable(field: inspect.Field) -> bool:
    """Tell whether an attribute is one of those that may be left out."""
    return (
        not field.required
        and field.encode_name != LINKS
        and attributes.is_complex(field.type)
    )


def _kept(value: Any, kind: inspect.Type, tree: Tree) -> Any:
    """Keep what is listed, and in a structure what is not selectable."""
    if not tree:
        return value
    if isinstance(value, list | tuple):
        return [_kept(one, kind, tree) for one in value]
    if not isinstance(value, dict):
        return value
    left = {}
    for name, inner in value.items():
        if name in tree:
            below = attributes.below(kind, name) or inspect.AnyType()
            left[name] = _kept(inner, below, tree[name])
        elif not _may_go(kind, name, simple=False):
            left[name] = inner
    return left


def _without(value: Any, kind: inspect.Type, tree: Tree) -> Any:
    """Take away what is excluded, unless it is required."""
    if isinstance(value, list | tuple):
        return [_without(one, kind, tree) for one in value]
    if not isinstance(value, dict):
        return value
    left = dict(value)
    for name in tree.keys() & left.keys():
        if tree[name]:
            below = attributes.below(kind, name) or inspect.AnyType()
            left[name] = _without(left[name], below, tree[name])
        elif _may_go(kind, name, simple=True):
            del left[name]
    return left


def _may_go(kind: inspect.Type, name: str, *, simple: bool) -> bool:
    kind = attributes.element(kind)
    if not isinstance(kind, inspect.StructType):
        return True
    field = attributes.fields_of(kind.cls)[name]
    if simple:
        return not field.required and name != LINKS
    return _selectable(field)


def read(
    given: Mapping[str, str], kind: type[SolType], heavy: Iterable[str]
) -> Selector:
    """Read the selectors of a query; without any it is exclude_default.

    :param given: those of the query, by name
    :param heavy: what a list has only when asked, by the names of the type
    :raises InvalidSelector: they do not go together, or name an attribute
        that the type does not have
    """
    _check_combination(given)
    fields = attributes.fields_of(kind)
    if ALL in given:
        return Selector(kind)
    if EXCLUDED in given:
        return Selector(kind, excluded=_tree(EXCLUDED, given, kind))
    if FIELDS in given and DEFAULT not in given:
        governed = {name for name, f in fields.items() if _selectable(f)}
    else:
        governed = {name for name, f in fields.items() if f.name in heavy}
    listed = _tree(FIELDS, given, kind) if FIELDS in given else {}
    return Selector(kind, governed, listed)


def _check_combination(given: Mapping[str, str]) -> None:
    if len(given) > 1 and set(given) != {FIELDS, DEFAULT}:
        raise errors.InvalidSelector(
            f"{' and '.join(sorted(given))} do not go together."
        )
    for flag in FLAGS & given.keys():
        if given[flag] not in {"", "true"}:
            raise errors.InvalidSelector(f"{flag} takes no value.")


def _tree(
    parameter: str, given: Mapping[str, str], kind: type[SolType]
) -> Tree:
    """Read a list of attributes. What is listed whole needs no parts."""
    tree: Tree = {}
    paths = [_path(parameter, n, kind) for n in given[parameter].split(",")]
    for path in sorted(paths, key=len):
        _plant(tree, path)
    return tree


def _plant(tree: Tree, path: Sequence[str]) -> None:
    for depth, name in enumerate(path):
        if name in tree and not tree[name]:
            return  # whole already
        if name not in tree:
            tree[name] = {}
            if depth < len(path) - 1:
                _plant(tree[name], path[depth + 1 :])
            return
        tree = tree[name]


def _path(parameter: str, name: str, kind: type[SolType]) -> list[str]:
    try:
        path = [attributes.unescaped(part) for part in name.split("/")]
    except ValueError:
        raise errors.InvalidSelector(
            f"{parameter}: {name} has an unknown escape."
        ) from None
    if attributes.follow(kind, path) is None:
        raise errors.InvalidSelector(
            f"{parameter}: {kind.__name__} has no attribute {name!r}."
        )
    return path
