import hashlib
import stat
import struct
import warnings
import zipfile

from tacker_cnf import errors
from tacker_cnf.vnfd import csar
from tacker_cnf.vnfd.csar import Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.testcases import CsarTest

MIB = 1024 * 1024


class TestHostileArchives(CsarTest):
    def _write(self, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> None:
        with zipfile.ZipFile(self.archive, "w") as archive:
            for name, data in packages.package_files().items():
                archive.writestr(name, data)
            for entry, data in entries:
                archive.writestr(entry, data)

    def test_names(self) -> None:
        for name, expected in (
            ("/etc/passwd", "which is not a relative path"),
            ("C:/windows", "which is not a relative path"),
            ("c:evil", "which is not a relative path"),
            ("../evil", "which has an empty, '.' or '..' part"),
            ("a/../../evil", "which has an empty, '.' or '..' part"),
            ("a/./b", "which has an empty, '.' or '..' part"),
            ("a//b", "which has an empty, '.' or '..' part"),
            ("a/..", "which has an empty, '.' or '..' part"),
            ("a\\b", "which has a backslash or an unprintable character"),
            (
                "..\\evil",
                "which has a backslash or an unprintable character",
            ),
            ("a\nb", "which has a backslash or an unprintable character"),
            (
                "a\x7fb",
                "which has a backslash or an unprintable character",
            ),
            (
                "a\u202eb",
                "which has a backslash or an unprintable character",
            ),
            ("d/" * 32 + "f", "which is too deep"),
            ("n" * 256, "which is too long"),
            ("\u00e4" * 128, "which is too long"),
            ("/".join(["n" * 250] * 5), "which is too long"),
        ):
            self._write((name, b""))
            self.assertEqual(
                f"the archive contains {name!r:.200}, {expected}",
                self.refused(),
            )

    def test_the_longest_names(self) -> None:
        longest = "/".join([*["n" * 250] * 4, "m" * 19])
        self.assertEqual(1023, len(longest))
        for name in (longest, "o" * 255, "\u00e4" * 127, "d/" * 31 + "f"):
            self._write((name, b"x"))
            tree = self.root / name[0]
            csar.unpack(self.archive, tree)
            self.assertEqual(b"x", (tree / name).read_bytes())
        self._write((f"{longest}m", b""))
        self.assertIn("which is too long", self._refusal())

    def _refusal(self) -> str:
        error = self.assertRaises(
            errors.InvalidPackage,
            csar.unpack,
            self.archive,
            self.root / "refused",
        )
        return str(error)

    def test_content_that_is_shorter_than_its_entry_says(self) -> None:
        self._write(("file", b"some content"))
        data = bytearray(self.archive.read_bytes())
        at = data.rindex(b"PK\x01\x02")
        for size in (13, 100):
            struct.pack_into("<I", data, at + 24, size)
            self.archive.write_bytes(data)
            self.assertEqual(
                f"file: 12 bytes, where the archive claims {size}",
                self._refusal(),
            )

    def test_a_name_with_a_nul(self) -> None:
        self._write(("evilX.py", b""))
        data = self.archive.read_bytes().replace(b"evilX", b"evil\0")
        self.archive.write_bytes(data)
        self.assertIn("NUL", self.refused())

    def test_an_empty_name(self) -> None:
        self._write(("Q", b""))
        data = bytearray(self.archive.read_bytes())
        at = data.rindex(b"PK\x01\x02")
        struct.pack_into("<H", data, at + 28, 0)  # the name's length
        struct.pack_into("<H", data, at + 32, 1)  # the comment's
        self.archive.write_bytes(data)
        self.assertEqual(
            "the archive contains '', which is not a relative path",
            self.refused(),
        )

    def test_names_that_collide(self) -> None:
        entry = zipfile.ZipInfo
        for names, expected in (
            (["a", "a"], "the archive contains 'a' twice"),
            (
                ["a", "A"],
                "the archive contains 'a' and 'A', which differ by case only",
            ),
            (
                ["d/x", "D/y"],
                "the archive contains 'd' and 'D', which differ by case only",
            ),
            (
                ["stra\u00dfe", "STRASSE"],
                (
                    "the archive contains 'stra\u00dfe' and 'STRASSE', which"
                    " differ by case only"
                ),
            ),
            (
                ["a", "a/b"],
                "the archive contains 'a' as file and as directory",
            ),
            (
                ["a/b", "a"],
                "the archive contains 'a' as file and as directory",
            ),
            (["a/", "a"], "the archive contains 'a' as file and as directory"),
            (["a", "a/"], "the archive contains 'a' as file and as directory"),
        ):
            with warnings.catch_warnings(action="ignore"):
                self._write(*[(entry(name), b"") for name in names])
            self.assertEqual(expected, self.refused())

    def test_a_directory_may_be_repeated(self) -> None:
        with warnings.catch_warnings(action="ignore"):
            self._write(("d/", b""), ("d/", b""), ("d/f", b""))
        csar.unpack(self.archive, self.tree)
        self.assertTrue((self.tree / "d/f").is_file())

    def test_special_entries(self) -> None:
        for kind, name in (
            (stat.S_IFLNK, "link"),
            (stat.S_IFIFO, "pipe"),
            (stat.S_IFCHR, "device"),
            (stat.S_IFBLK, "disk"),
            (stat.S_IFSOCK, "socket"),
            (stat.S_IFDIR, "directory-without-slash"),
            (stat.S_IFLNK, "link/"),
        ):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (kind | 0o777) << 16
            self._write((entry, b"/etc/passwd"))
            self.assertEqual(
                f"the archive contains {name!r}, which is neither a file nor a"
                " directory",
                self.refused(),
            )

    def test_encrypted_entries(self) -> None:
        for flags in (0x1, 0x41, 0x2000):
            self._write(("secret", b"x"))
            data = bytearray(self.archive.read_bytes())
            at = data.rindex(b"PK\x01\x02")
            struct.pack_into("<H", data, at + 8, flags)
            self.archive.write_bytes(data)
            self.assertEqual("'secret' is encrypted", self.refused())

    def test_other_compressions(self) -> None:
        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            entry = zipfile.ZipInfo("odd")
            entry.compress_type = method
            self._write((entry, b"x" * 100))
            self.assertEqual(
                "'odd' is compressed by a method that is not supported",
                self.refused(),
            )

    def test_files_that_are_not_zip_archives(self) -> None:
        self._write()
        content = self.archive.read_bytes()
        for data in (
            b"",
            b"hello",
            content[:-30],
            content[100:],
            content[:100],
        ):
            self.archive.write_bytes(data)
            self.assertIn("cannot be read as zip", self.refused())

    def test_a_wrong_checksum(self) -> None:
        self._write(("file", b"some content"))
        data = self.archive.read_bytes().replace(
            b"some content", b"xome content"
        )
        self.archive.write_bytes(data)
        self.assertEqual(
            "file cannot be read as zip: Bad CRC-32 for file 'file'",
            self.refused(),
        )

    def test_a_missing_archive_is_not_the_packages_fault(self) -> None:
        self.assertRaises(
            FileNotFoundError,
            csar.unpack,
            self.archive,
            self.tree,
        )
        self.assertFalse(self.tree.exists())


class TestLimits(CsarTest):
    def test_the_number_of_files_and_directories(self) -> None:
        # two files in two directories of their own, and these
        files = packages.package_files({"a": "", "b/": "", "c/d/e": ""})
        self.unpack(files, Limits(max_files=9))
        packages.write_zip(self.archive, files)
        self.assertEqual(
            "the archive contains more than the 8 files and directories"
            " accepted",
            self.refused(Limits(max_files=8)),
        )

    def test_the_length_of_the_directory(self) -> None:
        files = packages.package_files({f"f{n}": "" for n in range(100)})
        packages.write_zip(self.archive, files)
        self.assertEqual(
            "the archive cannot be read as zip: the archive's directory is too"
            " long",
            self.refused(Limits(max_directory_bytes=4096)),
        )

    def test_the_total_size(self) -> None:
        random_bytes = bytes(hashlib.shake_128(b"seed").digest(200_000))
        packages.write_zip(
            self.archive,
            packages.package_files({"a": random_bytes, "b": random_bytes}),
        )
        self.assertEqual(
            "the package unpacks to more than the 300000 bytes accepted, at b",
            self.refused(Limits(max_unpacked_bytes=300_000)),
        )

    def test_the_compression_ratio_of_a_file_above_one_mebibyte(self) -> None:
        small = packages.package_files({"zeros": b"\0" * MIB})
        self.unpack(small)
        packages.write_zip(
            self.archive,
            packages.package_files({"zeros": b"\0" * (2 * MIB)}),
        )
        self.assertEqual(
            "zeros: unpacks to more than 200 times its packed size",
            self.refused(),
        )

    def test_sizes_that_the_archive_understates(self) -> None:
        packages.write_zip(
            self.archive,
            packages.package_files({"zeros": b"\0" * (8 * MIB)}),
        )
        data = bytearray(self.archive.read_bytes())
        at = data.rindex(b"PK\x01\x02")
        struct.pack_into("<I", data, at + 24, 10)
        self.archive.write_bytes(data)
        self.assertIn("zeros", self.refused())

    def test_packed_sizes_that_the_archive_overstates(self) -> None:
        packages.write_zip(
            self.archive,
            packages.package_files(
                {
                    "zeros": b"\0" * (64 * MIB),
                    "zz": hashlib.shake_128(b"").digest(4 * MIB),
                },
            ),
        )
        data = bytearray(self.archive.read_bytes())
        at = data.index(b"zeros", data.index(b"PK\x01\x02")) - 46
        struct.pack_into("<I", data, at + 20, 3 * MIB)
        self.archive.write_bytes(data)
        self.assertEqual(
            "the archive contains 'zeros', which overlaps with another entry",
            self.refused(),
        )

    def test_many_files_each_within_its_limits(self) -> None:
        """They had 1 GiB in an archive of 1.1 MiB."""
        zeros = {f"f{n}": b"\0" * MIB for n in range(1024)}
        packages.write_zip(self.archive, packages.package_files(zeros))
        size = self.archive.stat().st_size
        self.assertLess(size, 1.5 * MIB)
        self.assertEqual(
            "the package unpacks to more than 200 times its size of"
            f" {size} bytes",
            self.refused(),
        )

    def test_understated_sizes_of_many_files(self) -> None:
        zeros = {f"f{n}": b"\0" * MIB for n in range(40)}
        packages.write_zip(self.archive, packages.package_files(zeros))
        data = bytearray(self.archive.read_bytes())
        at = 0
        while (at := data.find(b"PK\x01\x02", at + 1)) > 0:
            if data[at + 46 : at + 47] == b"f":
                struct.pack_into("<I", data, at + 24, 10)
        self.archive.write_bytes(data)
        self.assertIn("f0", self.refused())

    def test_a_small_package_needs_no_ratio(self) -> None:
        zeros = {f"f{n}": b"\0" * MIB for n in range(15)}
        self.unpack(packages.package_files(zeros))
        more = packages.package_files({**zeros, "f15": b"\0" * MIB})
        packages.write_zip(self.archive, more)
        self.assertIn("more than 200 times", self.refused())
        self.unpack(more, Limits(max_package_ratio=1000))

    def test_the_ratio_to_what_was_received(self) -> None:
        """A signed envelope is compressed, too."""
        zeros = {f"f{n}": b"\0" * MIB for n in range(20)}
        packages.write_zip(
            self.archive,
            packages.package_files(
                {**zeros, "random": hashlib.shake_128(b"").digest(MIB)}
            ),
        )
        csar.unpack(self.archive, self.root / "tree")
        error = self.assertRaises(
            errors.InvalidPackage,
            csar.unpack,
            self.archive,
            self.root / "refused",
            None,
            10_000,
        )
        self.assertIn("its size of 10000 bytes", str(error))

    def test_entries_that_overlap(self) -> None:
        """Many entries unpack the same bytes."""
        kernel = hashlib.shake_128(b"").digest(MIB)
        packages.write_zip(
            self.archive,
            packages.package_files({"kernel": kernel, "last": b"x"}),
        )
        data = self.archive.read_bytes()
        at = data.index(b"kernel", data.index(b"PK\x01\x02")) - 46
        entry = data[at : at + 46 + len("kernel")]
        copies = b"".join(
            entry.replace(b"kernel", f"copy{n:02}".encode()) for n in range(90)
        )
        end = bytearray(data[data.rindex(b"PK\x05\x06") :])
        count, size = struct.unpack_from("<HI", end, 10)
        struct.pack_into(
            "<HHI", end, 8, count + 90, count + 90, size + len(copies)
        )
        begin = data.rindex(b"PK\x05\x06")
        self.archive.write_bytes(data[:begin] + copies + bytes(end))
        self.assertIn("which overlaps with another entry", self.refused())

    def test_an_archive_in_the_archive_stays_packed(self) -> None:
        inner = packages.write_zip(
            self.root / "inner.zip", {"zeros": b"\0" * (64 * MIB)}
        )
        content = inner.read_bytes()
        inner.unlink()
        self.unpack(packages.package_files({"inner.zip": content}))
        self.assertEqual(content, (self.tree / "inner.zip").read_bytes())

    def test_a_full_disk(self) -> None:
        packages.write_zip(self.archive, packages.package_files())
        error = self.assertRaises(
            errors.InsufficientStorage,
            csar.unpack,
            self.archive,
            self.root / "refused",
            Limits(min_free_bytes=2**62),
        )
        self.assertIn("no space", str(error))
        self.assertEqual([self.archive], list(self.root.iterdir()))
