"""The syntax of a filter (SOL013 5.2.2): ``(op,name[/name]*,value[,value]*)``,
with ``;`` between the expressions.
"""

from typing import Final, NoReturn

import msgspec

from tacker_cnf import errors
from tacker_cnf.api import attributes
from tacker_cnf.db.filtering import Op

KEY: Final = "@key"
_SEVERAL: Final = frozenset({Op.IN, Op.NIN, Op.CONT, Op.NCONT})


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """One simple filter expression."""

    op: Op
    #: the path as it was written
    name: str
    prefix: tuple[str, ...]
    #: the last name of the path; None for the keys of a map
    leaf: str | None
    values: tuple[str, ...]


def read(text: str) -> list[Expression]:
    """Read all expressions of a filter.

    :raises InvalidFilter: it is malformed; the message says where
    """
    reader = _Reader(text)
    expressions = [reader.expression()]
    while reader.next:
        reader.take(";")
        expressions.append(reader.expression())
    return expressions


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        nul = text.find("\0")
        if nul >= 0:
            self._fail("there is a NUL", nul)

    @property
    def next(self) -> str:
        """The next character; nothing at the end."""
        return self._text[self._at : self._at + 1]

    def take(self, mark: str) -> None:
        if self.next != mark:
            found = f"there is {self.next}" if self.next else "it ends"
            self._fail(f"{mark} is expected where {found}")
        self._at += 1

    def expression(self) -> Expression:
        self.take("(")
        op = self._op()
        self.take(",")
        begin = self._at
        name = self._until(",")
        if ");(" in name:
            at = begin + name.index(");(")
            self._fail(", and a value are expected where there is )", at)
        *prefix, leaf = self._path(name, begin)
        self.take(",")
        values = [self._value()]
        while self.next == ",":
            if op not in _SEVERAL:
                self._fail(f"{op} takes one value, there is another one")
            self._at += 1
            values.append(self._value())
        self.take(")")
        return Expression(
            op=op,
            name=name,
            prefix=tuple(prefix),
            leaf=None if name.rpartition("/")[2] == KEY else leaf,
            values=tuple(values),
        )

    def _op(self) -> Op:
        begin = self._at
        word = self._until(",)")
        try:
            return Op(word)
        except ValueError:
            known = ", ".join(Op)
            self._fail(f"there is no operator {word!r} but {known}", begin)

    def _path(self, name: str, at: int) -> list[str]:
        path = []
        *prefix, _ = parts = name.split("/")
        for part in parts:
            if not part:
                self._fail("the name of an attribute is expected", at)
            try:
                path.append(attributes.unescaped(part))
            except ValueError as error:
                where = at + int(error.args[0])
                self._fail("there is an unknown escape", where)
            at += len(part) + 1
            if KEY in prefix and part == KEY:
                self._fail("nothing may follow on @key", at - 1)
        return path

    def _value(self) -> str:
        if self.next == "'":
            return self._quoted()
        begin = self._at
        value = self._until(",)")
        if "'" in value:
            at = begin + value.index("'")
            self._fail("a value with a quote in it has to be quoted", at)
        return value

    def _quoted(self) -> str:
        begin = self._at
        parts = []
        while self.next == "'":
            self._at += 1
            parts.append(self._until("'"))
            if not self.next:
                self._fail("the quoted value has no end", begin)
            self._at += 1
        return "'".join(parts)

    def _until(self, marks: str) -> str:
        """Take all before one of these characters."""
        begin = self._at
        while self.next and self.next not in marks:
            self._at += 1
        return self._text[begin : self._at]

    def _fail(self, what: str, at: int | None = None) -> NoReturn:
        position = (self._at if at is None else at) + 1
        raise errors.InvalidFilter(f"filter: {what}, at position {position}.")
