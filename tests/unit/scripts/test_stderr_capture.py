"""What a script says on stderr, however it comes."""

import random

import testtools

from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.scripts import failure_reason
from tacker_cnf.scripts.stderr_capture import MAX_PENDING_CHARS, StderrCapture

KEY = "-----BEGIN KEY-----\nMIIabcdef\n-----END KEY-----"
VEIL = SecretMasker({"hunter-2", KEY})


def capture(
    data: bytes, sizes: list[int], most: int = 10_000
) -> tuple[str, list[str]]:
    """Hear something piece by piece; give it, and what was known meanwhile."""
    words = StderrCapture(most, VEIL)
    known = []
    while data:
        size = sizes.pop() if sizes else len(data)
        words.feed(data[:size])
        known.append(words.text())
        data = data[size:]
    words.finish()
    return words.text(), known


class TestWords(testtools.TestCase):
    def test_no_piece_contains_a_secret(self) -> None:
        text = f"äpfel hunter-2\n{KEY}\nx{KEY}y\nhunter-2hunter-2 end"
        chance = random.Random(1)  # noqa: S311
        for _ in range(200):
            sizes = [chance.randint(1, 20) for _ in range(40)]
            told, known = capture(text.encode(), sizes)
            self.assertIn("äpfel ***", told)
            self.assertTrue(told.endswith("****** end"), told)
            for one in (told, *known):
                for secret in ("hunt", "MIIabc"):
                    self.assertNotIn(secret, one)

    def test_what_is_whole_is_known_at_once(self) -> None:
        _, known = capture(b"one\ntwo", [3, 4])
        self.assertEqual(["one", "one"], known)

    def test_the_end_is_kept(self) -> None:
        text = b"".join(b"%d hunter-2\n" % n for n in range(1000))
        told, _ = capture(text, [], most=50)
        self.assertLessEqual(len(told), 50)
        self.assertTrue(told.endswith("\n998 ***\n999 ***"), told)

    def test_a_line_without_an_end(self) -> None:
        """A secret in it is found, wherever what is taken in ends."""
        size = MAX_PENDING_CHARS + VEIL.max_secret_bytes
        for before in range(-10, 10):
            text = b"." * (size + before) + b"hunter-2" + b"." * size
            told, known = capture(text, [size + 1, 1, 1], most=10**6)
            self.assertEqual(len(text) - 8 + 3, len(told))
            for one in (told, *known):
                self.assertNotIn("hunt", one)

    def test_bytes_that_are_no_text(self) -> None:
        told, _ = capture(b"a\xff\xe4\n", [1, 1, 1])
        self.assertEqual("a\ufffd\ufffd", told)


class TestCauses(testtools.TestCase):
    def test_the_failure_reason(self) -> None:
        head = "Traceback (most recent call last):"
        frame = '  File "a.py", line 1, in <module>\n    go()'
        for log, cause in (
            ("one\ntwo", "two"),
            (f"one\n{head}\n{frame}\nE: no\nlicence", "E: no\nlicence"),
            (f"{head}\n{frame}\nE: a\n\nDuring\n\n{head}\n{frame}\nF", "F"),
            (f"{frame}\nSyntaxError: invalid", "SyntaxError: invalid"),
            (f"one\n{head}\n{frame}", "go()"),
        ):
            told = failure_reason.describe("it failed", log)
            first = f"it failed: {cause}\n\nThe end of what it wrote:\n{log}"
            self.assertEqual(first, told)

    def test_nothing_is_reported_twice(self) -> None:
        self.assertEqual(
            "it failed: why", failure_reason.describe("it failed", "why")
        )
        self.assertEqual(
            "it failed.", failure_reason.describe("it failed", "")
        )

    def test_a_flood(self) -> None:
        told = failure_reason.describe("it failed", "x" * 100_000 + "end")
        self.assertLess(len(told), 3000)
        self.assertTrue(told.endswith("xend"))
