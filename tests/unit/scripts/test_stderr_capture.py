"""The stderr of a script, in chunks of any size."""

import random

import testtools

from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.scripts import failure_reason
from tacker_cnf.scripts.stderr_capture import MAX_PENDING_CHARS, StderrCapture

KEY = "-----BEGIN KEY-----\nMIIabcdef\n-----END KEY-----"
MASKER = SecretMasker({"hunter-2", KEY})


def capture(
    data: bytes, sizes: list[int], most: int = 10_000
) -> tuple[str, list[str]]:
    """Feed data in chunks; return the final text and those meanwhile."""
    stderr = StderrCapture(most, MASKER)
    texts = []
    while data:
        size = sizes.pop() if sizes else len(data)
        stderr.feed(data[:size])
        texts.append(stderr.text())
        data = data[size:]
    stderr.finish()
    return stderr.text(), texts


class TestStderrCapture(testtools.TestCase):
    def test_no_text_contains_a_secret(self) -> None:
        text = f"äpfel hunter-2\n{KEY}\nx{KEY}y\nhunter-2hunter-2 end"
        rng = random.Random(1)  # noqa: S311
        for _ in range(200):
            sizes = [rng.randint(1, 20) for _ in range(40)]
            masked, texts = capture(text.encode(), sizes)
            self.assertIn("äpfel ***", masked)
            self.assertTrue(masked.endswith("****** end"), masked)
            for captured in (masked, *texts):
                for secret in ("hunt", "MIIabc"):
                    self.assertNotIn(secret, captured)

    def test_a_complete_line_is_available_at_once(self) -> None:
        _, texts = capture(b"one\ntwo", [3, 4])
        self.assertEqual(["one", "one"], texts)

    def test_the_end_is_returned(self) -> None:
        text = b"".join(b"%d hunter-2\n" % n for n in range(1000))
        masked, _ = capture(text, [], most=50)
        self.assertLessEqual(len(masked), 50)
        self.assertTrue(masked.endswith("\n998 ***\n999 ***"), masked)

    def test_a_line_without_an_end(self) -> None:
        """A secret in it is masked, wherever a chunk ends."""
        size = MAX_PENDING_CHARS + MASKER.max_secret_bytes
        for before in range(-10, 10):
            text = b"." * (size + before) + b"hunter-2" + b"." * size
            masked, texts = capture(text, [size + 1, 1, 1], most=10**6)
            self.assertEqual(len(text) - 8 + 3, len(masked))
            for captured in (masked, *texts):
                self.assertNotIn("hunt", captured)

    def test_bytes_that_are_not_utf_8(self) -> None:
        text, _ = capture(b"a\xff\xe4\n", [1, 1, 1])
        self.assertEqual("a\ufffd\ufffd", text)


class TestFailureReason(testtools.TestCase):
    def test_the_cause_comes_first(self) -> None:
        head = "Traceback (most recent call last):"
        frame = '  File "a.py", line 1, in <module>\n    go()'
        for log, cause in (
            ("one\ntwo", "two"),
            (f"one\n{head}\n{frame}\nE: no\nlicence", "E: no\nlicence"),
            (f"{head}\n{frame}\nE: a\n\nDuring\n\n{head}\n{frame}\nF", "F"),
            (f"{frame}\nSyntaxError: invalid", "SyntaxError: invalid"),
            (f"one\n{head}\n{frame}", "go()"),
        ):
            text = failure_reason.describe("it failed", log)
            first = f"it failed: {cause}\n\nThe end of what it wrote:\n{log}"
            self.assertEqual(first, text)

    def test_nothing_is_reported_twice(self) -> None:
        self.assertEqual(
            "it failed: why", failure_reason.describe("it failed", "why")
        )
        self.assertEqual(
            "it failed.", failure_reason.describe("it failed", "")
        )

    def test_a_long_text_is_cut(self) -> None:
        text = failure_reason.describe("it failed", "x" * 100_000 + "end")
        self.assertLess(len(text), 3000)
        self.assertTrue(text.endswith("xend"))
