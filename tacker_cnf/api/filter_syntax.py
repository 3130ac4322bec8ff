"""The syntax of a filter (SOL013 5.2.2): ``(op,name[/name]*,value[,value]*)``,
with ``;`` between the expressions.
"""

from typing import Final, NoReturn

import msgspec

from tacker_cnf import errors
from tacker_cnf.api import attributes
from tacker_cnf.list_query import Op

KEY: Final = "@key"
_MULTI_VALUE_OPS: Final = frozenset({Op.IN, Op.NIN, Op.CONT, Op.NCONT})


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """One simple filter expression."""

    op: Op
    #: the path as the client wrote it
    name: str
    prefix: tuple[str, ...]
    #: the last name of the path; None for the keys of a map
    leaf: str | None
    values: tuple[str, ...]


def parse(text: str) -> list[Expression]:
    """Parse all expressions of a filter.

    :raises InvalidFilter: the filter is malformed; the message has the
        position
    """
    reader = _Reader(text)
    expressions = [reader.expression()]
    while reader.next:
        reader.expect(";")
        expressions.append(reader.expression())
    return expressions


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        nul = text.find("\0")
        if nul >= 0:
            self._fail("NUL is not allowed", nul)

    @property
    def next(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._position : self._position + 1]

    def expect(self, character: str) -> None:
        if self.next != character:
            found = f"found {self.next!r}" if self.next else "the filter ends"
            self._fail(f"expected {character!r} but {found}")
        self._position += 1

    def expression(self) -> Expression:
        self.expect("(")
        op = self._op()
        self.expect(",")
        start = self._position
        name = self._read_until(",")
        if ");(" in name:
            offset = start + name.index(");(")
            self._fail("expected ',' and a value but found ')'", offset)
        *prefix, leaf = self._path(name, start)
        self.expect(",")
        values = [self._value()]
        while self.next == ",":
            if op not in _MULTI_VALUE_OPS:
                self._fail(f"{op} takes one value, found another")
            self._position += 1
            values.append(self._value())
        self.expect(")")
        return Expression(
            op=op,
            name=name,
            prefix=tuple(prefix),
            leaf=None if name.rpartition("/")[2] == KEY else leaf,
            values=tuple(values),
        )

    def _op(self) -> Op:
        start = self._position
        word = self._read_until(",)")
        try:
            return Op(word)
        except ValueError:
            operators = ", ".join(Op)
            self._fail(f"unknown operator {word!r}; use {operators}", start)

    def _path(self, name: str, offset: int) -> list[str]:
        path = []
        *prefix, _ = parts = name.split("/")
        for part in parts:
            if not part:
                self._fail("expected the name of an attribute", offset)
            try:
                path.append(attributes.unescape(part))
            except ValueError as error:
                where = offset + int(error.args[0])
                self._fail("unknown escape; use ~0, ~1, ~a or ~b", where)
            offset += len(part) + 1
            if KEY in prefix and part == KEY:
                self._fail("nothing may follow @key", offset - 1)
        return path

    def _value(self) -> str:
        if self.next == "'":
            return self._quoted_value()
        start = self._position
        value = self._read_until(",)")
        if "'" in value:
            offset = start + value.index("'")
            self._fail("a value that contains a quote must be quoted", offset)
        return value

    def _quoted_value(self) -> str:
        start = self._position
        parts = []
        while self.next == "'":
            self._position += 1
            parts.append(self._read_until("'"))
            if not self.next:
                self._fail("the quoted value has no closing quote", start)
            self._position += 1
        return "'".join(parts)

    def _read_until(self, characters: str) -> str:
        """Return the text before the next of these characters."""
        start = self._position
        while self.next and self.next not in characters:
            self._position += 1
        return self._text[start : self._position]

    def _fail(self, what: str, offset: int | None = None) -> NoReturn:
        position = (self._position if offset is None else offset) + 1
        raise errors.InvalidFilter(f"filter: {what}, at position {position}.")
