"""Base class of the tests of the SOL types."""

import json
from typing import Any, TypeVar

import msgspec
import testtools

from tacker_cnf.sol.base import decode, encode

T = TypeVar("T")


class TestCase(testtools.TestCase):
    def assert_same(self, kind: type[T], body: dict[str, Any]) -> T:
        value = decode(json.dumps(body), kind)
        self.assertEqual(body, json.loads(encode(value)))
        return value

    def assert_rejected(
        self, kind: type[Any], body: object, message: str
    ) -> None:
        error = self.assertRaises(
            msgspec.ValidationError, decode, json.dumps(body), kind
        )
        self.assertEqual(message, str(error))
