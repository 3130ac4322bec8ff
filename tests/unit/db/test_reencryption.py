"""Encryption of all secrets with the first key."""

from cryptography.fernet import Fernet, MultiFernet

from tacker_cnf import errors
from tacker_cnf.db import keys, op_occs, reencryption
from tacker_cnf.db.types import VAULT
from tests.factories import NOW, a_stored_instance, an_op_occ
from tests.unit.db.test_op_occs import OpOccTest

PARAMS = {"password": "a-secret"}


class TestReencrypt(OpOccTest):
    def setUp(self) -> None:
        super().setUp()
        self.ids = [f"an-op-occ-{n}" for n in range(5)]
        for name in self.ids:
            op_occ = an_op_occ(id=name, operation_params=PARAMS)
            with self.store.writer() as session:
                op_occs.add(session, op_occ, a_stored_instance(), {}, NOW, 1)

    def test_the_older_keys_are_not_needed_any_more(self) -> None:
        self.patch(reencryption, "BATCH_SIZE", 2)
        old = self.key_file.read_bytes()
        keys.rotate(self.key_file)
        count = reencryption.reencrypt(self.store, keys.load(self.key_file))
        self.assertGreater(count, len(self.ids))
        self.key_file.write_bytes(self.key_file.read_bytes()[: -len(old)])
        VAULT.open(keys.load(self.key_file))
        with self.store.reader() as session:
            for name in self.ids:
                found = op_occs.load(session, name).op_occ
                self.assertEqual(PARAMS, found.operation_params)

    def test_an_unknown_key(self) -> None:
        other = MultiFernet([Fernet(Fernet.generate_key())])
        error = self.assertRaises(
            errors.VnfmError, reencryption.reencrypt, self.store, other
        )
        self.assertIn("not in the key file", str(error))
