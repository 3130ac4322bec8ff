"""Downloads of package content and artifacts: in full, by range, by HEAD."""

import random
from typing import ClassVar

from tests.fixtures.vnfm import Response
from tests.functional import test_packages

SIZE = 1_000_000
BINARY = random.Random(2).randbytes(SIZE)  # noqa: S311


class TestDownloads(test_packages.PackageTest):
    def setUp(self) -> None:
        super().setUp()
        files = self.files | {"Files/image": BINARY, "Files/none": b""}
        self.path = self.onboard_content(test_packages.build_zip(files))
        self.image = f"{self.path}/artifacts/Files/image"

    def get_range(self, byte_range: str, **more: str) -> Response:
        headers = {"Range": byte_range, **more}
        return self.call("GET", self.image, headers=headers)

    def assert_whole(self, response: Response) -> None:
        self.assertEqual(200, response.status)
        self.assertEqual(BINARY, response.content)
        self.assertEqual(str(SIZE), response.headers["Content-Length"])
        self.assertEqual("bytes", response.headers["Accept-Ranges"])
        self.assertNotIn("Content-Range", response.headers)

    def test_one_range(self) -> None:
        # Range header -> first byte and the byte after the last
        cases = {
            "bytes=0-0": (0, 1),
            "bytes=0-99": (0, 100),
            "bytes=1-": (1, SIZE),
            "bytes=999999-": (SIZE - 1, SIZE),
            "bytes=300000-800000": (300_000, 800_001),
            "bytes=5-99999999999": (5, SIZE),
            "bytes=-1": (SIZE - 1, SIZE),
            "bytes=-600000": (400_000, SIZE),
            "bytes=-99999999999": (0, SIZE),
            " Bytes = 7-8 ": (7, 9),
        }
        for byte_range, (first, end) in cases.items():
            response = self.get_range(byte_range)
            self.assertEqual(206, response.status, byte_range)
            self.assertEqual("application/octet-stream", response.type)
            self.assertEqual(BINARY[first:end], response.content, byte_range)
            self.assertEqual(
                f"bytes {first}-{end - 1}/{SIZE}",
                response.headers["Content-Range"],
            )
            self.assertEqual(
                str(end - first), response.headers["Content-Length"]
            )

    def test_a_package_is_downloaded_by_ranges(self) -> None:
        content = f"{self.path}/package_content"
        expected = self.call("GET", content).content
        pieces: list[bytes] = []
        while len(b"".join(pieces)) < len(expected):
            position = len(b"".join(pieces))
            byte_range = {"Range": f"bytes={position}-{position + 299_999}"}
            response = self.call("GET", content, headers=byte_range)
            self.assertEqual(206, response.status)
            self.assertEqual("application/zip", response.type)
            pieces.append(response.content)
        self.assertEqual(expected, b"".join(pieces))
        self.assertEqual(4, len(pieces))

    def test_ranges_after_the_end(self) -> None:
        for byte_range in (
            "bytes=1000000-",
            "bytes=2000000-3000000",
            "bytes=-0",
        ):
            response = self.get_range(byte_range)
            self.assert_problem(416, response, f"{SIZE} bytes")
            self.assertEqual(
                f"bytes */{SIZE}", response.headers["Content-Range"]
            )
        missing = f"{self.path}/artifacts/Files/none"
        for byte_range in ("bytes=0-", "bytes=-5"):
            headers = {"Range": byte_range}
            response = self.call("GET", missing, headers=headers)
            self.assert_problem(416, response, "0 bytes")
            self.assertEqual("bytes */0", response.headers["Content-Range"])

    def test_more_than_one_range(self) -> None:
        for byte_range in ("bytes=0-1,5-6", "bytes=0-1 , -5"):
            self.assert_problem(
                400,
                self.get_range(byte_range),
                "several ranges are not supported",
            )

    def test_an_invalid_range_is_ignored(self) -> None:
        for byte_range in (
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=5-2",
            "bytes=0x1-0x2",
            "bytes=+1-2",
            "bytes=\u0661-\u0662".encode().decode("latin-1"),
            "lines=0-1",
            f"bytes={'9' * 5000}-",
        ):
            self.assert_whole(self.get_range(byte_range))

    def test_if_range(self) -> None:
        tag = self.call("GET", self.image).headers["ETag"]
        response = self.get_range("bytes=0-0", **{"If-Range": tag})
        self.assertEqual(206, response.status)
        self.assertEqual(tag, response.headers["ETag"])
        for other in ('"other"', f"W/{tag}", "Sat, 01 Jan 2000 00:00:00 GMT"):
            self.assert_whole(
                self.get_range("bytes=0-0", **{"If-Range": other})
            )

    def test_head_has_the_size(self) -> None:
        for path in (self.image, f"{self.path}/package_content"):
            expected = self.call("GET", path)
            byte_range = {"Range": "bytes=0-0,5-6"}
            response = self.call("HEAD", path, headers=byte_range)
            self.assertEqual((200, b""), (response.status, response.content))
            for name in ("Content-Length", "Content-Type", "ETag"):
                self.assertEqual(
                    expected.headers[name], response.headers[name]
                )
        response = self.call("HEAD", f"{self.path}/artifacts/Files/no")
        self.assertEqual(404, response.status)

    def test_an_empty_file_is_downloaded(self) -> None:
        missing = f"{self.path}/artifacts/Files/none"
        self.assertEqual(b"", self.call("GET", missing).content)
        self.assertEqual(200, self.call("HEAD", missing).status)

    not_files: ClassVar[tuple[str, ...]] = ("", "/vnfd")

    def test_only_files_have_a_head(self) -> None:
        for part in self.not_files:
            response = self.call("HEAD", f"{self.path}{part}")
            self.assertEqual(405, response.status)
