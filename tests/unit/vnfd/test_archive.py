"""Files of an archive, and the limits of reading them."""

import stat
import struct
import zipfile

from tacker_cnf import errors
from tacker_cnf.vnfd.archive import Archive
from tacker_cnf.vnfd.limits import Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.testcases import CsarTest


class TestArchive(CsarTest):
    def open(self, limits: Limits | None = None) -> Archive:
        return Archive(self.archive, limits or Limits())

    def test_small_files(self) -> None:
        packages.write_zip(self.archive, {"a": "abc", "d/": "", "b": b"\xff"})
        with self.open(Limits(max_metadata_bytes=3)) as opened:
            self.assertEqual({"a", "b"}, set(opened.files))
            self.assertEqual(b"abc", opened.read_small("a"))
            self.assertEqual("abc", opened.text("a"))
            for path, message in (
                ("b", "b: not UTF-8"),
                ("d/", "d/ is not in the package"),
                ("none", "none is not in the package"),
            ):
                error = self.assertRaises(
                    errors.InvalidPackage, opened.text, path
                )
                self.assertEqual(message, str(error))
        with self.open(Limits(max_metadata_bytes=2)) as opened:
            error = self.assertRaises(
                errors.InvalidPackage, opened.read_small, "a"
            )
            self.assertEqual("a: longer than the 2 bytes accepted", str(error))

    def test_a_byte_order_mark_is_removed(self) -> None:
        packages.write_zip(self.archive, {"a": b"\xef\xbb\xbfabc"})
        with self.open() as opened:
            self.assertEqual("abc", opened.text("a"))

    def test_a_file_of_several_chunks(self) -> None:
        content = bytes(range(256)) * 1024
        packages.write_zip(self.archive, {"a": content})
        target = self.root / "target"
        with self.open() as opened:
            self.assertEqual(content, opened.read_small("a"))
            opened.extract("a", target)
            self.assertRaises(FileExistsError, opened.extract, "a", target)
        self.assertEqual(content, target.read_bytes())
        self.assertEqual(0o444, stat.S_IMODE(target.stat().st_mode))

    def test_a_closed_archive(self) -> None:
        packages.write_zip(self.archive, {"a": "abc"})
        with self.open() as opened:
            pass
        self.assertRaises(errors.InvalidPackage, opened.read_small, "a")

    def test_the_size_of_the_directory(self) -> None:
        names = [f"a-file-{number}" for number in range(50)]
        packages.write_zip(self.archive, dict.fromkeys(names, ""))
        end = self.archive.read_bytes()[-22:]
        (size,) = struct.unpack_from("<I", end, 12)
        with self.open(Limits(max_directory_bytes=size)) as opened:
            self.assertEqual(50, len(opened.files))
        for limit in (size - 1, size - 2, size - 100):
            error = self.assertRaises(
                errors.InvalidPackage,
                self.open,
                Limits(max_directory_bytes=limit),
            )
            self.assertIn("directory is too long", str(error))

    def test_the_total_size(self) -> None:
        packages.write_zip(self.archive, {"a": "abc", "b": "de"})
        for limit in (5, 4):
            tree = self.root / str(limit)
            tree.mkdir()
            with self.open(Limits(max_unpacked_bytes=limit)) as opened:
                if limit == 5:
                    opened.unpack(tree, {})
                    continue
                error = self.assertRaises(
                    errors.InvalidPackage, opened.unpack, tree, {}
                )
            self.assertIn("more than the 4 bytes accepted, at b", str(error))

    def test_the_ratio_of_a_large_file(self) -> None:
        size = 1024 * 1024 + 1
        with zipfile.ZipFile(self.archive, "w") as archive:
            archive.writestr("a", bytes(size), zipfile.ZIP_DEFLATED)
            packed = archive.getinfo("a").compress_size
        ratio = size // packed
        for limit, accepted in ((ratio + 1, True), (ratio, False)):
            target = self.root / str(limit)
            with self.open(Limits(max_ratio=limit)) as opened:
                if accepted:
                    opened.extract("a", target)
                    continue
                error = self.assertRaises(
                    errors.InvalidPackage, opened.extract, "a", target
                )
            self.assertIn(f"more than {limit} times its", str(error))

    def test_each_flag_of_encryption(self) -> None:
        for flags, accepted in (
            (0x1, False),
            (0x40, False),
            (0x2000, False),
            # options of the compression, and names in UTF-8
            (0x2, True),
            (0x4, True),
            (0x806, True),
        ):
            packages.write_zip(self.archive, {"a": "abc"})
            data = bytearray(self.archive.read_bytes())
            at = data.rindex(b"PK\x01\x02")
            struct.pack_into("<H", data, at + 8, flags)
            self.archive.write_bytes(data)
            if accepted:
                with self.open() as opened:
                    self.assertEqual({"a"}, set(opened.files))
                continue
            error = self.assertRaises(errors.InvalidPackage, self.open)
            self.assertEqual("'a' is encrypted", str(error))
