"""The array that is required in place of a string, for error messages."""

import re
from typing import Any, Final

import msgspec

#: msgspec's message about a string in place of an array of a structure
_NO_ARRAY: Final = re.compile(r"Expected `array`, got `str` - at `\$\.(\w+)`")
#: longest string that a message repeats
_MAX_CHARS: Final = 255


def required_array(body: bytes, message: str) -> str:
    """Return the array that a message of msgspec requires, with the string of
    the body as its only entry; empty if the message is about anything else.
    """
    match = _NO_ARRAY.fullmatch(message)
    if match is None:
        return ""
    value: Any = msgspec.json.decode(body)[match[1]]
    if len(value) > _MAX_CHARS:
        return ""
    return f"; use {msgspec.json.encode([value]).decode()}"
