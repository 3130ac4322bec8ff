import stat
from pathlib import Path

import fixtures
import testtools
from cryptography.fernet import InvalidToken

from tacker_cnf import errors
from tacker_cnf.db import keys


class TestKeys(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        root = Path(self.useFixture(fixtures.TempDir()).path)
        self.path = root / "folder" / "secrets.key"

    def mode(self) -> int:
        return stat.S_IMODE(self.path.stat().st_mode)

    def test_only_the_owner_may_read_the_key_file(self) -> None:
        self.assertTrue(keys.create(self.path))
        self.assertEqual(0o600, self.mode())
        keys.rotate(self.path)
        self.assertEqual(0o600, self.mode())

    def test_an_existing_key_file_is_not_overwritten(self) -> None:
        keys.create(self.path)
        before = self.path.read_bytes()
        self.assertFalse(keys.create(self.path))
        self.assertEqual(before, self.path.read_bytes())

    def test_two_files_have_different_keys(self) -> None:
        keys.create(self.path)
        other = self.path.with_name("other.key")
        keys.create(other)
        token = keys.load(self.path).encrypt(b"secret")
        self.assertRaises(InvalidToken, keys.load(other).decrypt, token)

    def test_data_encrypted_by_older_keys_stays_readable(self) -> None:
        keys.create(self.path)
        tokens = []
        for _ in range(3):
            tokens.append(keys.load(self.path).encrypt(b"secret"))
            keys.rotate(self.path)
        for token in tokens:
            self.assertEqual(b"secret", keys.load(self.path).decrypt(token))
        self.assertEqual([self.path], list(self.path.parent.iterdir()))

    def test_the_newest_key_encrypts(self) -> None:
        keys.create(self.path)
        before = keys.load(self.path)
        keys.rotate(self.path)
        token = keys.load(self.path).encrypt(b"secret")
        self.assertRaises(InvalidToken, before.decrypt, token)

    def test_a_file_without_valid_keys_is_rejected(self) -> None:
        self.path.parent.mkdir()
        contents = [None, b"", b"\n\n", b"no key\n", b"a" * 44, b"\xff\xfe"]
        for content in contents:
            if content is not None:
                self.path.write_bytes(content)
            error = self.assertRaises(errors.VnfmError, keys.load, self.path)
            self.assertIn(str(self.path), str(error))
            self.assertIn("`tacker-cnf-manage keys create`", str(error))

    def test_a_file_with_an_invalid_key_is_rejected(self) -> None:
        keys.create(self.path)
        self.path.write_bytes(self.path.read_bytes() + b"broken\n")
        self.assertRaises(errors.VnfmError, keys.load, self.path)
