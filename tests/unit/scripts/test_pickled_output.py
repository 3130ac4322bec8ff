"""A pickle of plain data is converted to JSON; any other one is rejected."""

import json
import os
import pickle
from typing import Any, Final

import testtools

from tacker_cnf.scripts import pickled_output

MAX_BYTES: Final = 200_000
PLAIN: Final = {
    "texts": ["", "a", "\u00e4\U0001f600", "x" * 70_000],
    "numbers": [0, -1, 255, 65_536, 2**31, -(2**70), 1.5],
    "others": [None, True, False, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "keys": {1: {1.5: [], None: {}, "deep": [{"er": (1, [2])}]}},
}


def converted(data: bytes) -> Any:
    return json.loads(pickled_output.to_json(data, MAX_BYTES))


class TestConversion(testtools.TestCase):
    def check(self, message: str, *pickles: bytes) -> None:
        for dumped in pickles:
            output = converted(dumped)
            self.assertEqual(["error"], list(output), str(dumped[:80]))
            self.assertIn(message, output["error"], str(dumped[:80]))
            self.assertNotIn("s3cr3t", output["error"])

    def test_plain_data_is_converted(self) -> None:
        output = {"vnf_instance": PLAIN, "user_script_err_handling_data": {}}
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.assertEqual(
                {"vnfInstance": json.loads(json.dumps(PLAIN))},
                converted(pickle.dumps(output, protocol)),
            )

    def test_other_output_is_ignored(self) -> None:
        for other in (b"", b"N.", b"(l.", b"}Verror\nVx\ns."):
            self.assertEqual({}, converted(other))

    def test_malformed_pickles_are_rejected(self) -> None:
        short = (b".", b"0.", b"1.", b"a.", b"h\x00.", b"](1e.", b"}]Ns.")
        self.check("it is malformed", *short, b"\xff\x00", b"\x82\x01.")
        self.check("it is malformed", b"Is3cr3t\n.", b"(Vs3cr3t\nR.")
        self.check("it is malformed", b"\x96" + b"\xff" * 8 + b".")
        self.check("it is malformed", pickle.dumps(PLAIN)[:-1])

    def test_classes_are_rejected(self) -> None:
        self.check(
            "posix.system is not plain data",
            b"cposix\nsystem\n(Vs3cr3t\ntR.",
            b"(Vs3cr3t\niposix\nsystem\n.",
            pickle.dumps(["s3cr3t", os.system]),
        )
        self.check("a persistent id is not plain data", b"Ps3cr3t\n.")
        self.check("a" * 200 + " is not", b"c" + b"a" * 999 + b"\nb\n.")

    def test_what_json_lacks_is_rejected(self) -> None:
        for value, message in (
            (b"s3cr3t", "bytes"),
            ({"s3cr3t"}, "set"),
            ({("s3cr3t",): 1}, "tuple"),
            ([float("nan")], "float"),
            (1 << 20_000, "digits"),
            ("s3cr3t\ud800", "surrogates"),
        ):
            self.check(message, pickle.dumps({"vnf_instance": value}))

    def test_deep_and_long_values_are_rejected(self) -> None:
        for value, message in (
            (b")" + b"\x85" * 100_000, "nested too deep"),
            (b"]2a", "Circular reference"),
            (b"V" + b"a" * MAX_BYTES + b"\n", "than 200000 bytes"),
            # each tuple contains the next one twice
            (b")" + b"2\x86" * 40, "more than 200000 bytes as JSON"),
        ):
            self.check(message, b"}Vvnf_instance\n" + value + b"s.")
