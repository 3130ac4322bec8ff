"""The header Retry-After."""

import testtools

from tacker_cnf.http_client.retry_after import retry_after


class TestRetryAfter(testtools.TestCase):
    def test_malformed_values(self) -> None:
        for text in ("", "-3", "1.5", "soon", "٣"):
            self.assertIsNone(retry_after(text), text)

    def test_seconds(self) -> None:
        for text, wanted in (("0", 0.0), ("120", 120.0)):
            self.assertEqual(wanted, retry_after(text), text)

    def test_dates(self) -> None:
        past = "Fri, 20 Nov 2015 12:00:00 GMT"
        self.assertEqual(0.0, retry_after(past))
        for zone in ("GMT", "-0000", "+0100"):
            seconds = retry_after(f"Fri, 20 Nov 2099 12:00:00 {zone}")
            self.assertGreater(seconds or 0.0, 1e9)

    def test_very_long_delays(self) -> None:
        self.assertGreater(retry_after("9" * 5000) or 0.0, 1e8)
