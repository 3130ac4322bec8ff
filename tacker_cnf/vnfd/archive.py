"""Read a zip archive from an untrusted source.

Limits apply to the bytes that are read and written, not to the sizes that
headers claim.
"""

import contextlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Self

from tacker_cnf import disk_space, errors
from tacker_cnf.vnfd import digests, entry_names
from tacker_cnf.vnfd.limits import MIB, Limits

CHUNK_BYTES: Final = 64 * 1024
ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
COMPRESSIONS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
FILE_MODE: Final = 0o444
DIRECTORY_MODE: Final = 0o755
#: unpacked bytes of any package that need no ratio
SMALL_PACKAGE_BYTES: Final = 16 * MIB
#: size of the header before each file, without its name
LOCAL_HEADER_BYTES: Final = 30
#: exceptions that zipfile raises for malformed archives
ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    IndexError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Archive:
    """An open archive with checked entry names.

    :param packed_bytes: the size that the whole package had when it was
        received; default: that of the archive
    """

    def __init__(
        self, source: Path, limits: Limits, packed_bytes: int | None = None
    ) -> None:
        self._limits = limits
        self._packed_bytes = packed_bytes or source.stat().st_size
        self._source = _CountingReader(source, limits.max_directory_bytes)
        self._written = 0
        try:
            with _convert_errors("the archive"):
                self._zip = zipfile.ZipFile(self._source)
            self.files = self._list_files()
        except BaseException:
            self._source.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._source.close()

    def text(self, path: str) -> str:
        """Read a small text file.

        :raises InvalidPackage: it is missing, too long or not UTF-8
        """
        try:
            return self.read_small(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise errors.InvalidPackage(f"{path}: not UTF-8") from error

    def read_small(self, path: str) -> bytes:
        """Read a small file.

        :raises InvalidPackage: it is missing or too long
        """
        if path not in self.files:
            raise errors.InvalidPackage(f"{path} is not in the package")
        limit = self._limits.max_metadata_bytes
        data = bytearray()
        for chunk in self._chunks(self.files[path]):
            data += chunk
            if len(data) > limit:
                raise errors.InvalidPackage(
                    f"{path}: longer than the {limit} bytes accepted",
                )
        return bytes(data)

    def extract(self, path: str, target: Path) -> None:
        """Write one file.

        :raises InvalidPackage: a limit is exceeded, or the archive is broken
        :raises InsufficientStorage: the disk has no space for it
        """
        info = self.files[path]
        self._check_space(target.parent, info.file_size)
        self._write(info, target, digests.Check(()))

    def unpack(
        self,
        into: Path,
        stated: Mapping[str, Sequence[digests.DeclaredDigest]],
    ) -> None:
        """Write every file below a directory, and verify its digests.

        :raises InvalidPackage: a limit is exceeded, a digest differs, or the
            archive is malformed
        :raises InsufficientStorage: the disk has no space for it
        """
        claimed = 0
        for info in self.files.values():
            claimed += info.file_size
            self._check_total(claimed, info)
        self._check_space(into, claimed)
        for info in self._zip.infolist():
            if info.is_dir():
                _make_directories(into, info.filename)
        for path, info in self.files.items():
            _make_directories(into, path.rpartition("/")[0])
            check = digests.Check(stated.get(path, ()))
            self._write(info, into / path, check)
            check.finish()

    def _write(
        self,
        info: zipfile.ZipInfo,
        target: Path,
        check: digests.Check,
    ) -> None:
        with target.open("xb") as file:
            for data in self._content(info):
                check.update(data)
                self._check_space(target.parent, len(data))
                file.write(data)
        target.chmod(FILE_MODE)

    def _content(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """Return the bytes of a file, while they are within the limits."""
        size, before = 0, self._source.consumed
        for data in self._chunks(info):
            size += len(data)
            self._written += len(data)
            packed = self._source.consumed - before
            self._check_size(info, size, min(packed, info.compress_size))
            yield data
        if size != info.file_size:
            raise errors.InvalidPackage(
                f"{info.filename}: {size} bytes, where the archive claims"
                f" {info.file_size}",
            )

    def _chunks(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        with _convert_errors(info.filename):
            content = self._zip.open(info)
        with content:
            while data := _read(content, info.filename):
                yield data

    def _check_size(
        self,
        info: zipfile.ZipInfo,
        size: int,
        packed: int,
    ) -> None:
        self._check_total(self._written, info)
        if size > MIB and size > packed * self._limits.max_ratio:
            raise errors.InvalidPackage(
                f"{info.filename}: unpacks to more than"
                f" {self._limits.max_ratio} times its packed size",
            )

    def _check_total(self, size: int, info: zipfile.ZipInfo) -> None:
        limits = self._limits
        if size > limits.max_unpacked_bytes:
            raise errors.InvalidPackage(
                "the package unpacks to more than the"
                f" {limits.max_unpacked_bytes} bytes accepted, at"
                f" {info.filename}",
            )
        allowed = self._packed_bytes * limits.max_package_ratio
        if size > max(allowed, SMALL_PACKAGE_BYTES):
            raise errors.InvalidPackage(
                f"the package unpacks to more than {limits.max_package_ratio}"
                f" times its size of {self._packed_bytes} bytes",
            )

    def _check_space(self, folder: Path, size: int) -> None:
        disk_space.check_free(folder, size, self._limits.min_free_bytes)

    def _list_files(self) -> dict[str, zipfile.ZipInfo]:
        """Return the files of the archive by their path."""
        entries = self._zip.infolist()
        names = entry_names.EntryNames(self._limits)
        for info in entries:
            names.add(info.filename)
            _check_kind(info)
        _check_separate(entries, self._zip.start_dir)
        return {info.filename: info for info in entries if not info.is_dir()}


class _CountingReader(io.FileIO):
    """Counts the bytes read, and limits the size of a single read.

    zipfile reads the archive's directory in one read, of the size that the
    archive claims.
    """

    def __init__(self, source: Path, max_read: int) -> None:
        super().__init__(source, "rb")
        self._max_read = max_read
        self.consumed = 0

    def read(self, size: int | None = -1, /) -> bytes:
        max_bytes = self._max_read + 1 if size is None or size < 0 else size
        if max_bytes > self._max_read + 1:
            raise zipfile.BadZipFile("the archive's directory is too long")
        data = super().read(max_bytes) or b""
        self.consumed += len(data)
        if len(data) > self._max_read:
            raise zipfile.BadZipFile("the archive's directory is too long")
        return data


@contextlib.contextmanager
def _convert_errors(what: str) -> Iterator[None]:
    try:
        yield
    except ZIP_ERRORS as error:
        why = str(error)
        if why == "File is not a zip file":
            why = "it is not a ZIP archive, or it is truncated"
        raise errors.InvalidPackage(
            f"{what} cannot be read as zip: {why}",
        ) from error


def _read(content: IO[bytes], name: str) -> bytes:
    with _convert_errors(name):
        return content.read(CHUNK_BYTES)


def _check_kind(info: zipfile.ZipInfo) -> None:
    name = info.orig_filename
    if "\0" in name:
        raise errors.InvalidPackage(
            f"the archive contains {name!r:.200}, which contains NUL",
        )
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in {0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG}:
        raise errors.InvalidPackage(
            f"the archive contains {name!r:.200}, which is neither a file nor"
            " a directory",
        )
    if info.flag_bits & ENCRYPTED:
        raise errors.InvalidPackage(f"{name!r:.200} is encrypted")
    if info.compress_type not in COMPRESSIONS:
        raise errors.InvalidPackage(
            f"{name!r:.200} is compressed by a method that is not supported",
        )


def _check_separate(
    entries: Sequence[zipfile.ZipInfo], directory_at: int
) -> None:
    """Check that no two entries have bytes in common: they could unpack the
    same bytes many times.

    :param directory_at: where the directory of the archive begins
    """
    end = directory_at
    for info in sorted(entries, key=_header_offset, reverse=True):
        size = LOCAL_HEADER_BYTES + info.compress_size
        if info.header_offset + size > end:
            raise errors.InvalidPackage(
                f"the archive contains {info.filename!r:.200}, which overlaps"
                " with another entry",
            )
        end = info.header_offset


def _header_offset(info: zipfile.ZipInfo) -> int:
    return info.header_offset


def _make_directories(into: Path, path: str) -> None:
    place = into
    for part in path.split("/"):
        place /= part
        if part and not place.is_dir():
            place.mkdir()
            place.chmod(DIRECTORY_MODE)
