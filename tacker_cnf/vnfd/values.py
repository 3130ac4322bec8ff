"""Values of a definitions file with their file and path.

A descriptor is read by the expected type of each value; a value of another
type raises InvalidPackage with its file and path.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

from tacker_cnf import errors

QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]+)")
MAX_SIZE: Final = 2**60
#: TOSCA 3.3.6.4
BYTES: Final[Mapping[str, float]] = {
    "b": 1,
    "kb": 10**3,
    "kib": 2**10,
    "mb": 10**6,
    "mib": 2**20,
    "gb": 10**9,
    "gib": 2**30,
    "tb": 10**12,
    "tib": 2**40,
}
#: TOSCA 3.3.6.5
SECONDS: Final[Mapping[str, float]] = {
    "d": 86400,
    "h": 3600,
    "m": 60,
    "s": 1,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
}
TYPE_NAMES: Final[Mapping[type, str]] = {
    dict: "a map",
    list: "a list",
    str: "a text",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    type(None): "nothing",
}

#: what a package does not conform to and the onboarding tolerates, each with
#: its place
Warnings = tuple[str, ...]


class Budget:
    """The number of reads left.

    Types, inputs and policies may refer to each other in such a way that a
    short VNFD takes very long to read; this limits the total.
    """

    def __init__(self, max_reads: int) -> None:
        self._reads_left = max_reads

    def count_read(self, place: "Value") -> None:
        self._reads_left -= 1
        if self._reads_left < 0:
            raise place.fault("the VNFD takes too long to read")


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """The value at a path of a file; ``get_input`` resolves to its default."""

    written: Any
    file: str
    path: str = ""
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    budget: Budget | None = None

    @property
    def raw(self) -> Any:
        if not isinstance(self.written, dict) or len(self.written) != 1:
            return self.written
        return self._input() if "get_input" in self.written else self.written

    @property
    def absent(self) -> bool:
        return self.raw is None

    def fault(self, what: str) -> errors.InvalidPackage:
        return errors.InvalidPackage(self.warning(what))

    def warning(self, what: str) -> str:
        """Return a message with the file and path of the value."""
        where = f"{self.file}: {self.path}" if self.path else self.file
        return f"{where}: {what}"

    def get(self, *keys: str) -> "Value":
        """Return the value at a path of maps; a missing one is absent."""
        value = self
        for key in keys:
            value = value._child(value._map().get(key), key)
        return value

    def entries(self) -> dict[str, "Value"]:
        """Return the entries of a map; those of an absent one are empty."""
        return {
            key: self._child(item, key) for key, item in self._map().items()
        }

    def items(self) -> list["Value"]:
        """Return the items of a list; those of an absent one are empty."""
        raw = [] if self.raw is None else self.raw
        if not isinstance(raw, list):
            raise self._wrong_type("a list")
        return [self._child(item, str(n)) for n, item in enumerate(raw)]

    def named_values(self) -> list[tuple[str, "Value"]]:
        """Return the entries of a map, or of a list of one-key maps."""
        if not isinstance(self.raw, list):
            return list(self.entries().items())
        pairs = []
        for item in self.items():
            entries = item.entries()
            if len(entries) != 1:
                raise item.fault("a map of exactly one key is expected")
            ((name, value),) = entries.items()
            pairs.append((name, self._child(value.written, name)))
        return pairs

    def text(self) -> str:
        raw = self.raw
        if isinstance(raw, (bool, int, float)):
            raise self.fault(f"a text is expected; put {raw} in quotes")
        if not isinstance(raw, str):
            raise self._wrong_type("a text")
        return raw

    def text_or_none(self) -> str | None:
        return None if self.absent else self.text()

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def count(self) -> int:
        raw = self.raw
        if isinstance(raw, bool) or not isinstance(raw, int):
            raise self._wrong_type("a number of 0 or more")
        if raw < 0:
            raise self.fault(f"a number of 0 or more is expected, not {raw}")
        return raw

    def count_or_none(self) -> int | None:
        return None if self.absent else self.count()

    def boolean_or_none(self) -> bool | None:
        raw = self.raw
        if raw is None or isinstance(raw, bool):
            return raw
        raise self._wrong_type("a boolean")

    def size(self) -> int | None:
        """Read a scalar-unit.size, in bytes."""
        if isinstance(self.raw, int):
            return self.count()
        quantity = self._quantity(BYTES, "a size like 2 GB")
        if quantity is not None and quantity > MAX_SIZE:
            raise self.fault(f"{self.raw} is more than {MAX_SIZE} bytes")
        return None if quantity is None else int(quantity)

    def seconds(self) -> float | None:
        """Read a scalar-unit.time."""
        return self._quantity(SECONDS, "a time like 30 s")

    def _quantity(
        self,
        units: Mapping[str, float],
        expected: str,
    ) -> float | None:
        if self.absent:
            return None
        match = QUANTITY.fullmatch(self.text().strip())
        factor = units.get(match[2].lower()) if match else None
        if match is None or factor is None or len(match[1]) > 18:
            raise self.fault(f"{expected} is expected, not {self.raw!r:.50}")
        return float(match[1]) * factor

    def _map(self) -> dict[str, Any]:
        raw = {} if self.raw is None else self.raw
        if not isinstance(raw, dict):
            raise self._wrong_type("a map")
        return raw

    def _input(self) -> Any:
        name = self.written["get_input"]
        name = name[0] if isinstance(name, list) and len(name) == 1 else name
        if not isinstance(name, str) or name not in self.inputs:
            raise self.fault(f"get_input: there is no input {name!r:.80}")
        return self.inputs[name]

    def _child(self, written: Any, key: str) -> "Value":
        if self.budget:
            self.budget.count_read(self)
        path = f"{self.path}.{key:.80}" if self.path else f"{key:.80}"
        return Value(written, self.file, path, self.inputs, self.budget)

    def _wrong_type(self, expected: str) -> errors.InvalidPackage:
        found = TYPE_NAMES[type(self.raw)]
        return self.fault(f"{expected} is expected, not {found}")
