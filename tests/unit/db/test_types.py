import datetime
from typing import Any

import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.db import instances, keys, models
from tacker_cnf.db.types import VAULT, UtcDateTime, Vault
from tacker_cnf.sol.vnf_package import OnboardingState, OperationalState
from tests.factories import NOW, an_instance
from tests.unit.db.base import StoreTest

CREDENTIALS = {"username": "me", "password": "hunter2"}


def a_vim(**overrides: Any) -> models.Vim:
    given: dict[str, Any] = {
        "id": "a-vim",
        "name": "a name",
        "type": "fake",
        "description": "",
        "auth_url": "https://vim",
        "project_id": "a-project",
        "auth_cred": CREDENTIALS,
        "vim_project": {},
        "extra": {},
        "created_at": NOW,
    }
    return models.Vim(**given | overrides)


def a_package(**overrides: Any) -> models.VnfPackage:
    given: dict[str, Any] = {
        "id": "a-package",
        "onboarding_state": OnboardingState.CREATED,
        "operational_state": OperationalState.DISABLED,
        "user_defined_data": {},
        "project_id": "a-project",
        "created_at": NOW,
    }
    return models.VnfPackage(**given | overrides)


class ColumnTest(StoreTest):
    def save_and_load(self, row: Any) -> Any:
        """Write a row, and read it by another session."""
        with self.store.writer() as session:
            session.add(row)
        with self.store.reader() as session:
            return session.get(type(row), row.id)

    def raw(self, column: str, table: str) -> Any:
        """Return the stored value of the one row of a table."""
        with self.store.engine.connect() as connection:
            query = sa.text(f"SELECT {column} FROM {table}")  # noqa: S608
            return connection.scalar(query)


class TestTimes(ColumnTest):
    def test_times_are_returned_in_utc_with_microseconds(self) -> None:
        instant = NOW.replace(microsecond=123456)
        tokyo = datetime.timezone(datetime.timedelta(hours=9))
        for number, given in enumerate((instant, instant.astimezone(tokyo))):
            read = self.save_and_load(
                a_package(id=str(number), created_at=given)
            )
            self.assertEqual(instant, read.created_at)
            self.assertEqual(datetime.UTC, read.created_at.tzinfo)

    def test_times_in_different_zones_are_compared_as_instants(self) -> None:
        west = datetime.timezone(datetime.timedelta(hours=-5))
        self.save_and_load(a_package(created_at=NOW.astimezone(west)))
        later = NOW + datetime.timedelta(seconds=1)
        column = models.VnfPackage.created_at
        with self.store.reader() as session:
            for bound, found in ((later, 1), (NOW, 0)):
                query = sa.select(sa.func.count()).where(column < bound)
                self.assertEqual(found, session.scalar(query))

    def test_an_unset_time_is_none(self) -> None:
        self.assertIsNone(self.save_and_load(a_vim()).updated_at)
        column = UtcDateTime()
        dialect = self.store.engine.dialect
        self.assertIsNone(column.process_bind_param(None, dialect))


class TestEnums(ColumnTest):
    def test_enums_are_stored_as_values_and_returned_as_members(self) -> None:
        for state in OnboardingState:
            read = self.save_and_load(
                a_package(id=state, onboarding_state=state)
            )
            self.assertIs(state, read.onboarding_state)
        stored = self.raw("group_concat(onboarding_state)", "vnf_packages")
        self.assertEqual(set(OnboardingState), set(stored.split(",")))

    def test_a_stored_value_that_is_no_member_is_an_error(self) -> None:
        self.save_and_load(a_package())
        with self.store.writer() as session:
            session.execute(
                sa.text("UPDATE vnf_packages SET onboarding_state = 'ODD'")
            )
        with self.store.reader() as session:
            self.assertRaises(
                ValueError, session.get, models.VnfPackage, "a-package"
            )


class TestJson(ColumnTest):
    def test_json_values_are_returned_unchanged(self) -> None:
        for value in ({}, {"a": [1, 2.5, None, True, {"ü": "\0"}]}):
            read = self.save_and_load(
                a_package(id=str(value), user_defined_data=value)
            )
            self.assertEqual(value, read.user_defined_data)

    def test_none_is_stored_as_null(self) -> None:
        self.save_and_load(a_package())
        self.assertIsNone(self.raw("additional_artifacts", "vnf_packages"))


class TestSecrets(ColumnTest):
    def test_secrets_are_stored_encrypted(self) -> None:
        read = self.save_and_load(a_vim())
        self.assertEqual(CREDENTIALS, read.auth_cred)
        stored = self.raw("auth_cred", "vims")
        self.assertNotIn("hunter2", stored)
        self.assertNotIn("password", stored)
        plain = keys.load(self.key_file).decrypt(stored)
        self.assertEqual(b'{"username":"me","password":"hunter2"}', plain)

    def test_database_files_contain_no_plain_secret(self) -> None:
        self.save_and_load(a_vim())
        self.store.close()
        for file in self.folder.iterdir():
            self.assertNotIn(b"hunter2", file.read_bytes(), file.name)

    def test_attributes_and_events_of_an_instance_are_encrypted(self) -> None:
        hidden = {"password": "hunter2"}
        with self.store.writer() as session:
            session.add(a_package(vnfd_id="a-vnfd"))
            session.flush()
            instance = an_instance(
                vnfd_id="a-vnfd",
                vnf_instance_name="a-name",
                extensions=hidden,
                metadata=hidden,
                vnf_configurable_properties=hidden,
            )
            instances.add(session, instance, "a-package", NOW)
        columns = "extensions || metadata || vnf_configurable_properties"
        stored = self.raw(columns, "vnf_instances")
        stored += self.raw("announcement", "lifecycle_events")
        for part in ("hunter2", "password", "a-name"):
            self.assertNotIn(part, stored)

    def test_a_secret_is_encrypted_differently_each_time(self) -> None:
        self.save_and_load(a_vim())
        first = self.raw("auth_cred", "vims")
        with self.store.writer() as session:
            vim = session.get_one(models.Vim, "a-vim")
            session.delete(vim)
        self.save_and_load(a_vim())
        self.assertNotEqual(first, self.raw("auth_cred", "vims"))

    def test_secrets_can_be_read_after_a_key_rotation(self) -> None:
        self.save_and_load(a_vim())
        keys.rotate(self.key_file)
        VAULT.open(keys.load(self.key_file))
        with self.store.reader() as session:
            vim = session.get_one(models.Vim, "a-vim")
            self.assertEqual(CREDENTIALS, vim.auth_cred)

    def test_an_unknown_key_fails_without_revealing_data(self) -> None:
        self.save_and_load(a_vim())
        other = self.folder / "other.key"
        keys.create(other)
        VAULT.open(keys.load(other))
        with self.store.reader() as session:
            error = self.assertRaises(
                errors.VnfmError, session.get, models.Vim, "a-vim"
            )
        self.assertEqual(
            "A secret in the database was encrypted with a key that is not "
            "in the key file.",
            str(error),
        )

    def test_a_vault_without_keys_is_reported(self) -> None:
        key_vault = Vault()
        error = self.assertRaises(errors.VnfmError, lambda: key_vault.fernet)
        self.assertEqual("No key file was loaded.", str(error))
