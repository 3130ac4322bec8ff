"""tacker-cnf-status upgrade check."""

import contextlib
import io
import json
from typing import Any

import sqlalchemy as sa

from tacker_cnf.cmd import start, status
from tacker_cnf.db import conductors, keys
from tests.functional.test_doctor import DoctorCase, MissingPackage

SUCCESS, WARNING, FAILURE = range(3)


class TestUpgradeCheck(DoctorCase):
    def check_upgrade(self) -> tuple[int, dict[str, Any]]:
        """Return the exit status, and check -> code and details."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = status.main(
                [
                    "--config-file",
                    str(self.config),
                    "upgrade",
                    "check",
                    "--json",
                ]
            )
        found = json.loads(output.getvalue())["checks"]
        return code, {
            one["check"]: (one["result"], one["details"]) for one in found
        }

    def check_result(self, name: str, code: int, message: str) -> None:
        status_code, found = self.check_upgrade()
        self.assertEqual(code, status_code, str(found))
        result, details = found[name]
        self.assertEqual(code, result, details)
        self.assertIn(message, details)

    def execute(self, statement: str) -> None:
        with self.vnfm.parts.store.engine.begin() as connection:
            connection.execute(sa.text(statement))

    def set_version(self, version: str) -> None:
        self.execute(f"UPDATE alembic_version SET version_num = '{version}'")  # noqa: S608

    def test_a_service_that_can_be_upgraded(self) -> None:
        code, found = self.check_upgrade()
        self.assertEqual(SUCCESS, code)
        self.assertEqual({(SUCCESS, None)}, set(found.values()))

    def test_the_schema(self) -> None:
        self.set_version("0014")
        self.check_result("Database schema", WARNING, "manage db upgrade`")
        self.set_version("0007")
        self.check_result("Database schema", FAILURE, "while no process runs")

    def test_a_database_without_tables(self) -> None:
        path = self.folder / "new.sqlite"
        self.configure("database", connection=f"sqlite:///{path}")
        for present in (False, True):
            if present:
                path.touch()
            code, found = self.check_upgrade()
            self.assertEqual(WARNING, code)
            for name in ("Database schema", "Conductors", "Operations"):
                self.assertEqual(
                    (WARNING, start.NoTables.__doc__), found[name]
                )
            self.assertEqual(present, path.exists())

    def test_traces_without_their_packages(self) -> None:
        self.configure("tracing", endpoint="http://127.0.0.1:1")
        self.useFixture(
            MissingPackage("opentelemetry", "tacker_cnf.cmd.span_exporter")
        )
        self.check_result("Tracing", FAILURE, "tacker_cnf[tracing]")

    def test_an_unreachable_database(self) -> None:
        self.configure("database", connection="sqlite:////nowhere/db")
        self.check_result("Database schema", FAILURE, "unable to open")

    def test_secrets_that_no_key_decrypts(self) -> None:
        self.vnfm.create_instantiated()
        keys.create(self.folder / "other.key")
        self.configure("secrets", key_file=self.folder / "other.key")
        self.check_result("Key file", FAILURE, "is not in")

    def test_a_policy_file_in_json(self) -> None:
        path = self.folder / "policy.json"
        path.write_text("{}")
        self.configure("oslo_policy", policy_file=path)
        self.check_result("Policy file JSON to YAML", FAILURE, "JSON-formatt")

    def test_an_option_that_does_not_exist(self) -> None:
        self.configure("conductor", pause=1)
        self.check_result("Configuration", FAILURE, "pause is no option")

    def test_no_conductor(self) -> None:
        owner = self.vnfm.conductor.claims.owner
        conductors.unregister(self.vnfm.parts.store, owner)
        self.check_result("Conductors", WARNING, "operations wait")

    def test_an_operation_that_runs(self) -> None:
        self.vnfm.create_instantiated()
        self.vnfm.conductor.stop()
        self.execute("UPDATE vnf_lcm_op_occs SET operation_state = 'STARTING'")
        _, found = self.check_upgrade()
        code, details = found["Operations"]
        self.assertEqual(WARNING, code)
        self.assertIn("1 operations run or wait", details)
