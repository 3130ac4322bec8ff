"""Parse YAML from an untrusted source to JSON values, at a bounded cost.

The text is parsed event by event, so that values are counted before they are
built. Keys are strings as written, dates stay strings, aliases are expanded,
``<<`` merges; tags that create objects, duplicate keys and values that JSON
cannot represent are rejected. Numbers and booleans are read as by kubectl.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import yaml
from yaml import events

from tacker_cnf import errors
from tacker_cnf.vnfd import scalars
from tacker_cnf.vnfd.limits import Limits

TAG: Final = "tag:yaml.org,2002:"
MERGE: Final = "<<"


def text_of(path: Path, name: str, limit: int | None = None) -> str:
    """Read a text file up to a limit.

    :param name: the file's name for errors
    :param limit: bytes
    :raises InvalidPackage: it is longer, or not UTF-8
    """
    limit = Limits().max_yaml_bytes if limit is None else limit
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise errors.InvalidPackage(
            f"{name}: longer than the {limit} bytes accepted here",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.InvalidPackage(f"{name}: not UTF-8") from error


def load(text: str, name: str, limits: Limits | None = None) -> Any:
    """Parse a text with one document; an empty one is None.

    :raises InvalidPackage: it is invalid; the message has line and column
    """
    documents = load_all(text, name, limits)
    if len(documents) > 1:
        raise errors.InvalidPackage(
            f"{name}: one YAML document is expected, not {len(documents)}",
        )
    return documents[0] if documents else None


def load_all(text: str, name: str, limits: Limits | None = None) -> list[Any]:
    """Parse every document of a text; empty ones are left out.

    :raises InvalidPackage: it is invalid; the message has line and column
    """
    limits = limits or Limits()
    if len(text) > limits.max_yaml_bytes:
        raise errors.InvalidPackage(
            f"{name}: the YAML text is longer than the"
            f" {limits.max_yaml_bytes} bytes accepted",
        )
    try:
        stream = yaml.parse(text, Loader=yaml.CSafeLoader)
        return list(_Builder(stream, name, limits).documents())
    except yaml.MarkedYAMLError as error:
        _refuse(name, error.problem_mark, str(error.problem))
    except (yaml.YAMLError, UnicodeError) as error:
        raise errors.InvalidPackage(
            f"{name}: this is not YAML: {str(error).splitlines()[0]}",
        ) from error


class _Anchored(NamedTuple):
    value: Any
    nodes: int
    height: int


class _Builder:
    """Builds values from events, and counts what it builds."""

    def __init__(
        self,
        stream: Iterator[events.Event],
        name: str,
        limits: Limits,
    ) -> None:
        self._stream = stream
        self._name = name
        self._limits = limits
        self._nodes = 0
        self._height = 0  # of the deepest value below the current node
        self._anchors: dict[str, _Anchored | None] = {}

    def documents(self) -> Iterator[Any]:
        for event in self._stream:
            if isinstance(event, events.DocumentStartEvent):
                self._anchors = {}
                value = self._value(next(self._stream), 1)
                if value is not None:
                    yield value

    def _value(self, event: events.Event, depth: int) -> Any:
        self._count(event, 1, depth)
        if isinstance(event, events.AliasEvent):
            return self._alias(event, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is None:
            return self._plain_value(event, depth)
        self._anchors[anchor] = None
        before, outer = self._nodes, self._height
        self._height = depth
        value = self._plain_value(event, depth)
        self._anchors[anchor] = _Anchored(
            value,
            self._nodes - before + 1,
            self._height - depth,
        )
        self._height = max(outer, self._height)
        return value

    def _plain_value(self, event: events.Event, depth: int) -> Any:
        if isinstance(event, events.MappingStartEvent):
            self._check_tag(event, "map")
            return self._mapping(depth)
        if isinstance(event, events.SequenceStartEvent):
            self._check_tag(event, "seq")
            return self._sequence(depth)
        assert isinstance(event, events.ScalarEvent)
        return self._scalar(event)

    def _sequence(self, depth: int) -> list[Any]:
        values: list[Any] = []
        for event in self._stream:
            if isinstance(event, events.SequenceEndEvent):
                break
            values.append(self._value(event, depth + 1))
        return values

    def _mapping(self, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for event in self._stream:
            if isinstance(event, events.MappingEndEvent):
                break
            key = self._key(event)
            value = self._value(next(self._stream), depth + 1)
            if key == MERGE:
                merged |= self._merged(event, value)
            elif key in own:
                self._refuse(event, f"duplicate key {key!r}")
            else:
                own[key] = value
        return merged | own

    def _key(self, event: events.Event) -> str:
        if not isinstance(event, events.ScalarEvent):
            self._refuse(event, "a key is not a plain scalar")
        self._check_tag(event, "str")
        self._count(event, 1, 0)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(event.value, 1, 0)
        return str(event.value)

    def _merged(self, event: events.Event, value: Any) -> dict[str, Any]:
        """Return the values that ``<<`` merges; the first of several wins."""
        several = value if isinstance(value, list) else [value]
        merged: dict[str, Any] = {}
        for mapping in reversed(several):
            if not isinstance(mapping, dict):
                self._refuse(event, "<< merges a value that is not a map")
            merged.update(mapping)
        return merged

    def _scalar(self, event: events.ScalarEvent) -> Any:
        tag = event.tag
        if tag is None and not event.implicit[0]:
            return event.value  # quoted
        try:
            if tag is None:
                return scalars.resolve(event.value)
            if tag == "!":
                return event.value
            return scalars.CONVERTERS[tag.removeprefix(TAG)](event.value)
        except KeyError:
            self._refuse(event, f"the tag {tag} is not accepted")
        except ValueError as error:
            self._refuse(event, str(error))

    def _alias(self, event: events.AliasEvent, depth: int) -> Any:
        anchor = str(event.anchor)
        if anchor not in self._anchors:
            self._refuse(event, f"there is no anchor {anchor!r}")
        anchored = self._anchors[anchor]
        if anchored is None:
            self._refuse(event, f"the alias {anchor!r} contains itself")
        self._count(event, anchored.nodes - 1, depth + anchored.height)
        return _copy(anchored.value)

    def _count(self, event: events.Event, nodes: int, depth: int) -> None:
        self._nodes += nodes
        self._height = max(self._height, depth)
        if self._nodes > self._limits.max_yaml_nodes:
            self._refuse(
                event,
                f"there are more than {self._limits.max_yaml_nodes} values",
            )
        if depth > self._limits.max_yaml_depth:
            self._refuse(
                event,
                f"values are nested deeper than {self._limits.max_yaml_depth}",
            )

    def _check_tag(self, event: events.NodeEvent, kind: str) -> None:
        tag = getattr(event, "tag", None)
        if tag not in {None, "!", TAG + kind}:
            self._refuse(event, f"the tag {tag} is not accepted")

    def _refuse(self, event: events.Event, what: str) -> NoReturn:
        _refuse(self._name, event.start_mark, what)


def _refuse(name: str, mark: Any, what: str) -> NoReturn:
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    raise errors.InvalidPackage(f"{name}{where}: {what}")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
