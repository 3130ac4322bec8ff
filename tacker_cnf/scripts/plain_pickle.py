"""Load a pickle of plain data from an untrusted script.

A pickle is a program. This interpreter supports only the opcodes that build
containers, text and numbers. It limits depth, size and dictionary keys, so
that no value can exhaust the recursion limit, the memory or the CPU.
"""

import io
import pickletools
from collections.abc import Callable, Mapping
from typing import Any, Final

from tacker_cnf import errors

#: how much larger than its pickle a value may be, as it may refer to a part
#: many times
MAX_GROWTH_FACTOR: Final = 4
#: added to that limit
MIN_SIZE_LIMIT: Final = 10_000
#: maximum nesting of containers
MAX_DEPTH: Final = 100
#: integers that may be keys; too many larger ones could share a hash
_KEY_RANGE: Final = range(-(2**63), 2**64)
#: opcodes that refer to a class or a function
_NAMED_BY_ARGUMENT: Final = frozenset({"GLOBAL", "INST"})
_NAMED_BY_STACK: Final = frozenset({"STACK_GLOBAL"})


def load(data: bytes) -> Any:
    """Return the value of a pickle.

    :raises ScriptFailed: the pickle is malformed, contains other than plain
        data, or its value exceeds a limit
    """
    try:
        value = _Machine().run(data)
    except errors.ScriptFailed:
        raise
    except Exception:  # noqa: BLE001  # of damaged bytes, anything
        # the message of the error may quote a secret
        raise _invalid("it is malformed") from None
    _check_size(value, len(data) * MAX_GROWTH_FACTOR + MIN_SIZE_LIMIT)
    return value


def _invalid(reason: str) -> errors.ScriptFailed:
    return errors.ScriptFailed(
        f"what it wrote on stdout is no plain pickle: {reason}"
    )


#: maximum number of opcodes in a pickle
MAX_INSTRUCTIONS: Final = 300_000


class _Machine:
    """The stack and the memo of an unpickler."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        #: the stacks below each mark
        self._outer_stacks: list[list[Any]] = []
        self._memory: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        opcodes = pickletools.genops(io.BytesIO(data))
        for count, (opcode, argument, _) in enumerate(opcodes):
            if count == MAX_INSTRUCTIONS:
                raise _invalid(f"it has more than {MAX_INSTRUCTIONS} opcodes")
            operation = _OPERATIONS.get(opcode.name)
            if operation is None:
                description = self._describe(opcode.name, argument)
                raise _invalid(f"{description} is not plain data")
            operation(self, argument)
        return self._stack.pop()

    def _describe(self, operation: str, argument: Any) -> str:
        """Return the name of a class, or else only the opcode, because any
        other text may be a secret.
        """
        if operation in _NAMED_BY_ARGUMENT:
            return str(argument).replace(" ", ".")[:200]
        if operation in _NAMED_BY_STACK:
            return ".".join(map(_text, self._stack[-2:]))[:200]
        return operation

    def ignore(self, _: Any) -> None:
        """Skip an opcode without effect on the value."""

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def mark(self, _: Any) -> None:
        self._outer_stacks.append(self._stack)
        self._stack = []

    def pop_to_mark(self, _: Any = None) -> list[Any]:
        values, self._stack = self._stack, self._outer_stacks.pop()
        return values

    def pop(self, _: Any) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self.pop_to_mark()

    def duplicate(self, _: Any) -> None:
        self.push(self._stack[-1])

    def as_list(self, _: Any) -> None:
        self.push(self.pop_to_mark())

    def as_tuple(self, _: Any) -> None:
        self.push(tuple(self.pop_to_mark()))

    def as_dict(self, _: Any) -> None:
        values = self.pop_to_mark()
        self.push({})
        self._set(values)

    def append(self, _: Any) -> None:
        self._extend([self._stack.pop()])

    def appends(self, _: Any) -> None:
        self._extend(self.pop_to_mark())

    def set_item(self, _: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set([key, value])

    def set_items(self, _: Any) -> None:
        self._set(self.pop_to_mark())

    def memoize(self, _: Any) -> None:
        self._memory[len(self._memory)] = self._stack[-1]

    def put(self, number: Any) -> None:
        self._memory[int(number)] = self._stack[-1]

    def get(self, number: Any) -> None:
        self.push(self._memory[int(number)])

    def push_tuple(self, count: int) -> None:
        """Push a tuple of the last values."""
        values = [self._stack.pop() for _ in range(count)]
        self.push(tuple(reversed(values)))

    def _extend(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise _invalid("it appends to a value that is no list")
        target += values

    def _set(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise _invalid("it sets an item of a value that is no dict")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[_key(key)] = value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


def _key(value: Any) -> Any:
    """Return a value that may be a dictionary key. A tuple may not, because
    hashing it would hash all its nested values.

    :raises ScriptFailed: the value is no text and no number in _KEY_RANGE
    """
    plain = value is None or isinstance(value, str | int | float)
    if not plain or (isinstance(value, int) and value not in _KEY_RANGE):
        raise _invalid(
            "it has a key that is neither text nor a number of 64 bits"
        )
    return value


_Operation = Callable[[_Machine, Any], object]


def _constant(make: Callable[[], Any]) -> _Operation:
    return lambda machine, _: machine.push(make())


def _tuple_of(count: int) -> _Operation:
    return lambda machine, _: machine.push_tuple(count)


#: opcode -> operation, for the opcodes of plain values
_OPERATIONS: Final[Mapping[str, _Operation]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), _Machine.ignore),
    **dict.fromkeys(
        (
            "INT",
            "BININT",
            "BININT1",
            "BININT2",
            "LONG",
            "LONG1",
            "LONG4",
            "FLOAT",
            "BINFLOAT",
            "UNICODE",
            "BINUNICODE",
            "SHORT_BINUNICODE",
            "BINUNICODE8",
        ),
        _Machine.push,
    ),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Machine.put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get),
    "MEMOIZE": _Machine.memoize,
    "NONE": _constant(lambda: None),
    "NEWTRUE": _constant(lambda: True),
    "NEWFALSE": _constant(lambda: False),
    "EMPTY_DICT": _constant(dict),
    "EMPTY_LIST": _constant(list),
    "EMPTY_TUPLE": _constant(tuple),
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _Machine.pop_to_mark,
    "DUP": _Machine.duplicate,
    "LIST": _Machine.as_list,
    "DICT": _Machine.as_dict,
    "TUPLE": _Machine.as_tuple,
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
}


def _check_size(value: Any, max_size: int) -> None:
    """Check that a value is not far larger than its pickle, as it would be
    if each list contained the next one twice.

    :raises ScriptFailed: the value is too large, or nested too deep
    """
    pending = [(value, 0)]
    size = 0
    while pending:
        current, depth = pending.pop()
        size += len(current) + 1 if isinstance(current, str) else 1
        if depth > MAX_DEPTH:
            raise _invalid(f"it is nested more than {MAX_DEPTH} levels deep")
        pending += [(child, depth + 1) for child in _children(current)]
        if size + len(pending) > max_size:
            raise _invalid("its value is too large for its length")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return list(value) if isinstance(value, list | tuple) else []
