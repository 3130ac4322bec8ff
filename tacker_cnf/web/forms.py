"""The forms that browsers send."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib import parse

import msgspec

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.sol import strict
from tacker_cnf.vnfd import bounded_yaml

FORM: Final = "application/x-www-form-urlencoded"
MAX_FIELDS: Final = 1000
T = TypeVar("T")


class Form:
    """The fields of a form; a field without a text is absent."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._fields = fields

    def text(self, name: str) -> str | None:
        """Return the text of a field, without spaces around it."""
        return next(iter(self.texts(name)), None)

    def texts(self, name: str) -> list[str]:
        """Return the texts of all fields of a name."""
        found = (value.strip() for value in self._fields.get(name, ()))
        return [value for value in found if value]

    def items(self, *without: str) -> list[tuple[str, str]]:
        """Return all fields, except some, as name and text."""
        return [
            (name, value)
            for name, values in self._fields.items()
            for value in values
            if name not in without
        ]

    def number(self, name: str) -> int | None:
        """Return the number of a field.

        :raises BadRequest: it is not a number
        """
        text = self.text(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            raise errors.BadRequest(
                f"{name}: {text!r:.40} is not a number."
            ) from None

    def secret(self, name: str) -> str:
        """Return a field as it was typed."""
        return next(iter(self._fields.get(name, ())), "")

    def mapping(self, name: str) -> dict[str, Any]:
        """Return the JSON or YAML of a field.

        :raises BadRequest: it is neither, or not an object
        """
        value = bounded_yaml.load(self.text(name) or "{}", name)
        if not isinstance(value, dict):
            raise errors.BadRequest(f"{name}: it is not a JSON object.")
        return value


def from_request() -> Form:
    """Parse the form of the request.

    :raises UnsupportedMediaType: the body is not a form
    :raises PayloadTooLarge: it is too large
    :raises BadRequest: it is malformed
    """
    http.check_content_type((FORM,))
    body = http.read_body(http.settings().max_body_bytes)
    try:
        fields = parse.parse_qs(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:  # UnicodeDecodeError is one
        raise errors.BadRequest(f"The form is malformed: {error}.") from None
    if any("\0" in text for texts in fields.values() for text in texts):
        raise errors.BadRequest("The form contains a NUL character.")
    return Form(fields)


def build(values: Mapping[str, Any], kind: type[T]) -> T:
    """Convert values of a form, without those that are absent, to a type.

    :raises BadRequest: they are not valid
    """
    given = {k: v for k, v in values.items() if v not in (None, [])}
    try:
        return strict.convert(given, kind)
    except msgspec.ValidationError as error:
        raise errors.BadRequest(f"{error}.") from None
