import errno
import fcntl
import hashlib
import io
import os
import threading
import time
from pathlib import Path
from typing import BinaryIO

import fixtures
import testtools

from tacker_cnf import errors, temporary_directories
from tacker_cnf.catalogue import content
from tacker_cnf.catalogue.content import (
    CHUNK_BYTES,
    ContentStore,
    UploadLimits,
)


class SlowStream(io.RawIOBase):
    """A stream that returns at most three bytes per read."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = io.BytesIO(data)
        self.read_sizes: list[int] = []

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self.read_sizes.append(size)
        return self._data.read(min(size, 3))


class ContentTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path) / "store"
        self.store = ContentStore(self.root)

    def store_content(self, name: str, data: bytes = b"zip") -> None:
        with self.store.incoming() as staged:
            (staged / "package.csar").write_bytes(data)
            tree = staged / "tree" / "folder"
            tree.mkdir(parents=True)
            (tree / "file").write_bytes(data)
            (tree / "file").chmod(0o444)
            tree.chmod(0o555)
            tree.parent.chmod(0o555)
            content.sync_to_disk(staged)
            with self.store.lock() as locked:
                locked.store_content(staged, name)

    def overwrite(self, path: Path) -> None:
        path.chmod(0o644)
        path.write_bytes(b"zap")

    def remove(self, name: str) -> None:
        with self.store.lock() as locked:
            locked.remove(name)

    def list_files(self) -> set[str]:
        found = {path.name for path in self.root.iterdir()}
        return found - {"incoming", "lock"}

    def list_pending(self) -> list[str]:
        return [p.name for p in (self.root / "incoming").iterdir()]


class TestStore(ContentTest):
    def test_stored_content_is_complete(self) -> None:
        self.store_content("abc")
        self.assertEqual(b"zip", self.store.csar("abc").read_bytes())
        file = self.store.unpacked("abc") / "folder" / "file"
        self.assertEqual(b"zip", file.read_bytes())
        self.assertEqual([], self.list_pending())

    def test_equal_content_is_stored_once(self) -> None:
        self.store_content("abc")
        first = self.store.csar("abc").stat().st_ino
        self.store_content("abc")
        self.assertEqual(first, self.store.csar("abc").stat().st_ino)
        self.assertEqual({"abc"}, self.list_files())
        self.assertEqual([], self.list_pending())

    def test_damaged_content_is_replaced(self) -> None:
        logged = self.useFixture(fixtures.FakeLogger())
        csar = self.store.csar("abc")
        file = self.store.unpacked("abc") / "folder" / "file"
        for damage in (
            lambda: csar.write_bytes(b""),
            lambda: csar.write_bytes(b"zap"),
            csar.unlink,
            lambda: self.overwrite(file),
            lambda: temporary_directories.remove(self.store.unpacked("abc")),
        ):
            self.store_content("abc")
            damage()
            self.store_content("abc")
            self.assertEqual(b"zip", csar.read_bytes())
            self.assertEqual(b"zip", file.read_bytes())
            self.assertEqual({"abc"}, self.list_files())
            self.assertEqual([], self.list_pending())
            self.assertIn(
                f"Damaged content replaced: path={self.root / 'abc'}",
                logged.output,
            )
            logged.reset_output()

    def test_content_is_synced_before_it_is_visible(self) -> None:
        """Stored content survives a power loss."""
        synced: dict[int, set[str]] = {}

        def sync(handle: int) -> None:
            synced[os.fstat(handle).st_ino] = self.list_files()

        self.useFixture(fixtures.MonkeyPatch("os.fsync", sync))
        self.store_content("abc")
        for path in [self.root / "abc", *(self.root / "abc").rglob("*")]:
            # no content was visible yet
            self.assertEqual(set(), synced.pop(path.stat().st_ino))
        # the root, with the new name, is synced last
        self.assertEqual({self.root.stat().st_ino: {"abc"}}, synced)

    def test_a_failed_sync_is_an_error(self) -> None:
        def fail(_: int) -> None:
            raise OSError(errno.EIO, "a faulty disk")

        self.useFixture(fixtures.MonkeyPatch("os.fsync", fail))
        self.assertRaises(OSError, self.store_content, "abc")
        self.assertEqual(set(), self.list_files())

    def test_a_failed_rename_is_an_error(self) -> None:
        self.root.mkdir()
        (self.root / "abc").write_bytes(b"in the way")
        self.assertRaises(OSError, self.store_content, "abc")
        self.assertEqual([], self.list_pending())

    def test_an_upload_that_fails_leaves_nothing(self) -> None:
        def fail() -> None:
            with self.store.incoming() as staged:
                (staged / "package.csar").write_bytes(b"half")
                raise errors.InvalidPackage

        self.assertRaises(errors.InvalidPackage, fail)
        self.assertEqual([], self.list_pending())

    def test_read_only_content_is_removed(self) -> None:
        self.store_content("abc")
        self.store_content("def")
        self.remove("abc")
        self.assertEqual({"def"}, self.list_files())
        self.assertEqual([], self.list_pending())

    def test_removing_missing_content_does_nothing(self) -> None:
        self.remove("abc")
        self.assertEqual(set(), self.list_files())

    def test_files_are_deleted_after_the_release_of_the_lock(self) -> None:
        self.store_content("abc")
        with self.store.lock() as locked:
            locked.remove("abc")
            self.assertEqual(set(), self.list_files())
            (trash,) = self.list_pending()
            csar = self.root / "incoming" / trash / "package.csar"
            self.assertEqual(b"zip", csar.read_bytes())
            ContentStore(self.root).sweep()  # skips a locked directory
            self.assertTrue(csar.exists())
        self.assertEqual([], self.list_pending())

    def test_a_full_disk_does_not_prevent_removal(self) -> None:
        def full(*_: object, **__: object) -> str:
            raise OSError(errno.ENOSPC, "No space left on device")

        self.store_content("abc")
        self.useFixture(fixtures.MonkeyPatch("tempfile.mkdtemp", full))
        self.remove("abc")
        self.assertEqual(set(), self.list_files())
        self.assertEqual([], self.list_pending())

    def test_content_that_cannot_be_removed_stays(self) -> None:
        def fail(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        self.store_content("abc")
        logged = self.useFixture(fixtures.FakeLogger())
        with fixtures.MonkeyPatch("pathlib.Path.rename", fail):
            self.remove("abc")
        self.assertEqual({"abc"}, self.list_files())
        self.assertIn(
            f"Content not removed: path={self.root / 'abc'}", logged.output
        )
        self.remove("abc")
        self.assertEqual(set(), self.list_files())

    def test_the_lock_is_exclusive(self) -> None:
        order: list[str] = []

        def enter() -> None:
            with ContentStore(self.root).lock():
                order.append("second")

        other = threading.Thread(target=enter)
        with self.store.lock():
            with (self.root / "lock").open("w") as file:
                flags = fcntl.LOCK_EX | fcntl.LOCK_NB
                self.assertRaises(BlockingIOError, fcntl.flock, file, flags)
            other.start()
            order.append("first")
        other.join()
        self.assertEqual(["first", "second"], order)

    def test_the_lock_is_released_after_an_error(self) -> None:
        def fail() -> None:
            with self.store.lock():
                raise errors.Conflict

        self.assertRaises(errors.Conflict, fail)
        with self.store.lock():
            pass


class TestSweep(ContentTest):
    def write_stale(self, name: str, age: float) -> Path:
        """Create a directory as a killed process leaves it."""
        path = self.root / "incoming" / name
        (path / "tree" / "a").mkdir(parents=True)
        (path / "tree" / "a" / "file").write_bytes(b"x")
        (path / "tree" / "a").chmod(0o500)
        then = time.time() - age
        os.utime(path, (then, then))
        return path

    def test_files_of_killed_uploads_are_deleted(self) -> None:
        left = [
            self.write_stale("old", 3600),
            self.write_stale(".new-old", 3600),
        ]
        left.append(self.write_stale("of-a-moment-ago", 0))
        # its process is about to lock it
        young = self.write_stale(".new-young", 5)
        with self.store.incoming() as held:
            os.utime(held, (1, 1))
            self.store.sweep()
            self.assertTrue(held.exists())
        self.assertEqual([], [path for path in left if path.exists()])
        self.assertTrue(young.exists())

    def test_an_empty_store(self) -> None:
        self.store.sweep()
        self.assertEqual([], self.store.ids())

    def test_ids_are_listed(self) -> None:
        with self.store.incoming() as staged:
            (staged / "tree").mkdir()
            with self.store.lock() as locked:
                locked.store_content(staged, "abc")
        self.assertEqual(["abc"], self.store.ids())


class TestReceive(ContentTest):
    def receive(
        self,
        source: BinaryIO | SlowStream,
        length: int | None,
        most: int = 100,
    ) -> str:
        self.target = self.root.parent / "upload"
        return content.receive(
            source,  # type: ignore[arg-type]
            self.target,
            UploadLimits(most),
            length,
        )

    def test_the_digest_is_returned(self) -> None:
        # bytes sent, Content-Length, bytes received
        cases = [
            (b"0123456789", 10, b"0123456789"),
            (b"0123456789", None, b"0123456789"),
            # the rest belongs to the next request
            (b"0123456789", 4, b"0123"),
            (b"x" * 100, 100, b"x" * 100),
            (b"x" * 100, None, b"x" * 100),
        ]
        for data, length, received in cases:
            digest = self.receive(io.BytesIO(data), length)
            self.assertEqual(hashlib.sha256(received).hexdigest(), digest)
            self.assertEqual(received, self.target.read_bytes())

    def test_a_stream_may_return_less_than_requested(self) -> None:
        for length in (10, None):
            self.receive(SlowStream(b"0123456789"), length)
            self.assertEqual(b"0123456789", self.target.read_bytes())

    def test_at_most_one_chunk_is_read_at_once(self) -> None:
        source = SlowStream(b"0123456789")
        self.receive(source, None, most=10**12)
        self.assertEqual({CHUNK_BYTES}, set(source.read_sizes))

    def test_nothing_is_read_beyond_the_content_length(self) -> None:
        source = SlowStream(b"0123456789")
        self.receive(source, 5)
        self.assertEqual([5, 2], source.read_sizes)

    def test_a_too_long_upload_is_rejected(self) -> None:
        for length in (101, 10**15, None):
            error = self.assertRaises(
                errors.PayloadTooLarge,
                self.receive,
                io.BytesIO(b"x" * 101),
                length,
            )
            self.assertEqual(
                "A VNF package may have 100 bytes at most.", str(error)
            )

    def test_an_upload_that_ended_early_is_rejected(self) -> None:
        # bytes sent, Content-Length, part of the message
        cases = [(b"", 7, "0 of 7"), (b"012", 7, "3 of 7")]
        for data, length, message in cases:
            error = self.assertRaises(
                errors.BadRequest, self.receive, io.BytesIO(data), length
            )
            self.assertEqual(
                f"The upload ended after {message} bytes.", str(error)
            )

    def test_an_empty_upload_is_rejected(self) -> None:
        for length in (None, 0):
            error = self.assertRaises(
                errors.BadRequest, self.receive, io.BytesIO(), length
            )
            self.assertEqual(
                "The upload is empty; it has to be a CSAR.", str(error)
            )
