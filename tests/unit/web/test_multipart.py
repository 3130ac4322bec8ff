"""Forms with a file, as they arrive."""

import io
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.web import multipart

TYPE = "multipart/form-data; boundary=xyz"
FIELD = b'--xyz\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nabc'
FILE = (
    b'\r\n--xyz\r\nContent-Disposition: form-data; name="f"; filename="a"'
    b"\r\nContent-Type: application/zip\r\n\r\n"
)
END = b"\r\n--xyz--\r\n"


class Chunks(io.RawIOBase):
    """A stream of which each read returns some bytes only."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = io.BytesIO(data)
        self._size = size

    def read(self, _: int = -1) -> bytes:
        return self._data.read(self._size)


def read(data: bytes, size: int = 7) -> multipart.Upload:
    source: Any = Chunks(data, size)
    return multipart.read(source, TYPE)


class TestRead(testtools.TestCase):
    def test_contents(self) -> None:
        contents = (
            b"",
            b"PK",
            b"\r\n",
            b"\r\n--xy",
            b"--xyz",
            b"a\r\n--xy\r\n--xz\r\nb",
            b"x" * 200_000,
            b"\r\n-" * 50_000,
        )
        for content in contents:
            for size in (1, 2, 3, 7, 64, 65_536):
                if len(content) > 1000 and size < 64:
                    continue
                upload = read(FIELD + FILE + content + END, size)
                self.assertEqual({"csrf": "abc"}, upload.fields)
                self.assertEqual(content, upload.file.read())

    def test_a_preamble_and_an_empty_field(self) -> None:
        upload = read(b"ignored\r\n" + FIELD[:-3] + FILE + b"x" + END)
        self.assertEqual({"csrf": ""}, upload.fields)
        self.assertEqual(b"x", upload.file.read())

    def test_forms_that_are_not_valid(self) -> None:
        long = b"x" * 70_000
        for data, message in (
            (b"", "ends before"),
            (FIELD, "ends before"),
            (FIELD + END, "no file"),
            (FIELD + b"\r\n--xyz\r\n" + long, "headers of a field"),
            (FIELD + long + FILE + END, "too long"),
            (FIELD + b"\xff" + FILE + END, "not UTF-8"),
            (b"--xyz\r\nname: x\r\n\r\n" + FILE + END, "has no name"),
            (
                b"--xyz\r\nContent-Disposition: x; name*0*=''a;name*2=b\r\n\r\n"
                + FILE
                + END,
                "has no name",
            ),
            ((FIELD + b"\r\n") * 11 + FILE + END, "too many fields"),
        ):
            error = self.assertRaises(errors.BadRequest, read, data)
            self.assertIn(message, str(error))

    def test_a_file_that_is_cut_off(self) -> None:
        file = read(FIELD + FILE + b"abc").file
        self.assertRaises(errors.BadRequest, file.read)

    def test_boundaries(self) -> None:
        for parameter in (
            "boundary=xyz",
            ' Boundary="xyz"; charset=utf-8',
            "charset=utf-8;boundary=xyz ; x=y",
        ):
            source = io.BytesIO(FIELD + FILE + b"x" + END)
            upload = multipart.read(source, f"multipart/form-data;{parameter}")
            self.assertEqual(b"x", upload.file.read())

    def test_a_type_without_boundary(self) -> None:
        for kind in (
            "multipart/form-data",
            "",
            "multipart/form-data; boundary=",
            'multipart/form-data; boundary="xyz',
            "multipart/form-data; boundary*=utf-8''%E2%82%AC",
            "multipart/form-data; boundary*0*=''a; boundary*2=b",
            "multipart/form-data; boundary=\xe4",
        ):
            error = self.assertRaises(
                errors.BadRequest, multipart.read, io.BytesIO(), kind
            )
            self.assertIn("no valid boundary", str(error))
