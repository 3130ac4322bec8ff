"""Attribute selectors (SOL013 5.3): which attributes a response contains.

Only complex optional attributes can be selected; the others are always
included. The entries of a map that are not listed are removed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import inspect

from tacker_cnf import errors
from tacker_cnf.api import attributes
from tacker_cnf.sol.base import SolType

#: attribute name -> tree of its attributes; an empty tree means all of them
Tree: TypeAlias = dict[str, Any]

LINKS: Final = "_links"
ALL: Final = "all_fields"
FIELDS: Final = "fields"
EXCLUDED: Final = "exclude_fields"
DEFAULT: Final = "exclude_default"
#: parameters without a value
FLAGS: Final = frozenset({ALL, DEFAULT})


class Selector:
    """The attributes of a resource that a response contains.

    :param opt_in: names of the attributes that are included only on request
    :param included: those of them that the client listed
    :param excluded: attributes that the client excluded
    """

    def __init__(
        self,
        kind: type[SolType],
        opt_in: Iterable[str] = (),
        included: Tree | None = None,
        excluded: Tree | None = None,
    ) -> None:
        self._fields = attributes.fields_of(kind)
        self._type = attributes.type_of(kind)
        self._opt_in = frozenset(opt_in)
        self._included = included or {}
        self._excluded = excluded or {}

    @property
    def attributes(self) -> frozenset[str]:
        """Return the attributes to read from the database, by their Python
        names. Simple attributes are always among them.
        """
        return frozenset(
            field.name
            for name, field in self._fields.items()
            if not (_selectable(field) and self._is_excluded(name))
        )

    def _is_excluded(self, name: str) -> bool:
        if name in self._opt_in:
            return name not in self._included
        return self._excluded.get(name) == {}

    def apply(self, resource: Mapping[str, Any]) -> dict[str, Any]:
        """Return the selected part of the JSON of a resource."""
        result = {}
        for name, value in resource.items():
            if name not in self._opt_in:
                result[name] = value
            elif name in self._included:
                kind = self._fields[name].type
                result[name] = _include(value, kind, self._included[name])
        if self._excluded:
            result = _exclude(result, self._type, self._excluded)
        return result


def _selectable(field: inspect.Field) -> bool:
    """Check whether an attribute may be left out of a response."""
    return (
        not field.required
        and field.encode_name != LINKS
        and attributes.is_complex(field.type)
    )


def _include(value: Any, kind: inspect.Type, tree: Tree) -> Any:
    """Return the listed parts of a value; of a structure, also the attributes
    that cannot be left out.
    """
    if not tree:
        return value
    if isinstance(value, list | tuple):
        return [_include(item, kind, tree) for item in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, inner in value.items():
        if name in tree:
            child_type = attributes.child_type(kind, name) or inspect.AnyType()
            result[name] = _include(inner, child_type, tree[name])
        elif not _is_removable(kind, name, simple=False):
            result[name] = inner
    return result


def _exclude(value: Any, kind: inspect.Type, tree: Tree) -> Any:
    """Return a value without the excluded parts that are not required."""
    if isinstance(value, list | tuple):
        return [_exclude(item, kind, tree) for item in value]
    if not isinstance(value, dict):
        return value
    result = dict(value)
    for name in tree.keys() & result.keys():
        if tree[name]:
            child_type = attributes.child_type(kind, name) or inspect.AnyType()
            result[name] = _exclude(result[name], child_type, tree[name])
        elif _is_removable(kind, name, simple=True):
            del result[name]
    return result


def _is_removable(kind: inspect.Type, name: str, *, simple: bool) -> bool:
    kind = attributes.element_type(kind)
    if not isinstance(kind, inspect.StructType):
        return True
    field = attributes.fields_of(kind.cls)[name]
    if simple:
        return not field.required and name != LINKS
    return _selectable(field)


def parse(
    query: Mapping[str, str],
    kind: type[SolType],
    excluded_by_default: Iterable[str],
) -> Selector:
    """Parse the selectors of a query; without any, exclude_default applies.

    :param query: parameter name -> value, selectors only
    :param excluded_by_default: attributes that a list shows only on request,
        by their Python names
    :raises InvalidSelector: the selectors exclude each other, or name an
        attribute that the type does not have
    """
    _check_combination(query)
    fields = attributes.fields_of(kind)
    if ALL in query:
        return Selector(kind)
    if EXCLUDED in query:
        return Selector(kind, excluded=_tree(EXCLUDED, query, kind))
    if FIELDS in query and DEFAULT not in query:
        opt_in = {name for name, f in fields.items() if _selectable(f)}
    else:
        opt_in = {
            name for name, f in fields.items() if f.name in excluded_by_default
        }
    included = _tree(FIELDS, query, kind) if FIELDS in query else {}
    return Selector(kind, opt_in, included)


def _check_combination(query: Mapping[str, str]) -> None:
    if len(query) > 1 and set(query) != {FIELDS, DEFAULT}:
        raise errors.InvalidSelector(
            f"{' and '.join(sorted(query))} exclude each other; use one "
            "selector, or fields with exclude_default."
        )
    for flag in FLAGS & query.keys():
        if query[flag] not in {"", "true"}:
            raise errors.InvalidSelector(f"{flag} takes no value.")


def _tree(
    parameter: str, query: Mapping[str, str], kind: type[SolType]
) -> Tree:
    """Parse a list of attribute paths.

    :raises InvalidSelector: the type does not have one of the attributes
    """
    tree: Tree = {}
    paths = [_path(parameter, n, kind) for n in query[parameter].split(",")]
    for path in sorted(paths, key=len):
        _insert_path(tree, path)
    return tree


def _insert_path(tree: Tree, path: Sequence[str]) -> None:
    for depth, name in enumerate(path):
        if name in tree and not tree[name]:
            return  # already listed with all its attributes
        if name not in tree:
            tree[name] = {}
            if depth < len(path) - 1:
                _insert_path(tree[name], path[depth + 1 :])
            return
        tree = tree[name]


def _path(parameter: str, name: str, kind: type[SolType]) -> list[str]:
    try:
        path = [attributes.unescape(part) for part in name.split("/")]
    except ValueError:
        raise errors.InvalidSelector(
            f"{parameter}: {name} has an unknown escape."
        ) from None
    if attributes.resolve_path(kind, path) is None:
        raise errors.InvalidSelector(
            f"{parameter}: {kind.__name__} has no attribute {name!r}."
        )
    return path
