"""A pickle of plain data is loaded; any other one is rejected."""

import pickle
from typing import Any, Final

import testtools

from tacker_cnf import errors
from tacker_cnf.scripts import plain_pickle

PLAIN: Final = {
    "texts": ["", "a", "\u00e4\U0001f600", "x" * 70_000],
    "numbers": [0, -1, 255, 65_536, 2**31, -(2**70), 1.5],
    "others": [None, True, False, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    1: {1.5: [], None: {}, True: {"deep": [{"er": (1, [2])}]}},
}


class TestPlainPickle(testtools.TestCase):
    def rejection(self, data: bytes) -> str:
        with testtools.ExpectedException(errors.ScriptFailed):
            plain_pickle.load(data)
        try:
            plain_pickle.load(data)
        except errors.ScriptFailed as error:
            return str(error)
        return ""

    def test_plain_data_is_loaded(self) -> None:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            dumped = pickle.dumps(PLAIN, protocol)
            self.assertEqual(PLAIN, plain_pickle.load(dumped), f"{protocol}")

    def test_too_many_opcodes_are_rejected(self) -> None:
        self.assertIn("opcodes", self.rejection(b"}" * 1_000_000))

    def test_references_to_one_value_stay_identical(self) -> None:
        shared: list[Any] = [1]
        first, second = plain_pickle.load(pickle.dumps([shared, shared]))
        self.assertIs(first, second)

    def test_rare_opcodes(self) -> None:
        for dumped, value in (
            (b"(I1\nI2\nl.", [1, 2]),
            (b"(Va\nI2\nd.", {"a": 2}),
            (b"I1\n(I2\n00.", 1),
            (b"I1\n(I2\n1.", 1),
            (b"](I1\n2e.", [1, 1]),
        ):
            self.assertEqual(value, plain_pickle.load(dumped))

    def test_integer_keys_that_share_a_hash_are_rejected(self) -> None:
        many = {n * (2**61 - 1): None for n in range(1, 100)}
        self.assertIn("key", self.rejection(pickle.dumps(many)))

    def test_deep_or_growing_values_are_rejected(self) -> None:
        for dumped, message in (
            (b"\x80\x04)" + b"\x85" * 200_000 + b".", "100 levels deep"),
            (b"\x80\x04)" + b"2\x86" * 100_000 + b".", "100 levels deep"),
            (b"\x80\x04)" + b"2\x86" * 40 + b".", "too large for its length"),
            (b"\x80\x04]2a.", "100 levels deep"),
            (b"\x80\x04}\x94Vx\nh\x00s.", "100 levels deep"),
        ):
            self.assertIn(message, self.rejection(dumped))

    def test_malformed_pickles_are_rejected(self) -> None:
        for dumped in (
            b"",
            b".",
            b"0.",
            b"1.",
            b"a.",
            b"h\x00.",
            b"]" + b"(1e.",
            b"}(I1\nu.",
            b"Is3cr3t\n.",
            b"\xff\x00",
            pickle.dumps(PLAIN)[:-1],
        ):
            message = self.rejection(dumped)
            self.assertIn("it is malformed", message)
            self.assertNotIn("s3cr3t", message)
        self.assertIn("no list", self.rejection(b"I1\nI2\na."))
        self.assertIn("no dict", self.rejection(b"I1\nI2\nI3\ns."))

    def test_errors_quote_names_of_classes_and_no_other_text(self) -> None:
        for dumped, what in (
            (b"cposix\nsystem\n.", "posix.system"),
            (b"(iposix\nsystem\n.", "posix.system"),
            (pickle.dumps(print), "builtins.print"),
            (b"I1\nI2\n\x93.", "int.int"),
            (pickle.dumps(["s3cr3t-pw", "ca", b"bytes"]), "SHORT_BINBYTES"),
            (pickle.dumps(["s3cr3t-pw", "ca", {1}]), "EMPTY_SET"),
            (b"S's3cr3t-pw'\n.", "STRING"),
            (b"Ps3cr3t-pw\n.", "PERSID"),
        ):
            message = self.rejection(dumped)
            self.assertIn(f": {what} is not plain data", message)
            self.assertNotIn("s3cr3t", message)
