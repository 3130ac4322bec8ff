"""tacker-cnf-manage doctor: what it finds."""

import datetime
import functools
import json
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import fixtures
import sqlalchemy as sa

from tacker_cnf.cmd import start
from tacker_cnf.cmd.doctor import options, workload
from tacker_cnf.db import conductors, keys, models
from tacker_cnf.db.types import VAULT
from tests.fixtures import keystone, waiting
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.ports import ReservedPort
from tests.fixtures.sandbox import best_isolation
from tests.fixtures.signing import create_identity
from tests.functional.test_manage import ManageCase, fail_instantiation

ROOT = Path(__file__).parent.parent.parent
NOW = datetime.datetime.now(datetime.UTC)


class MissingPackage(fixtures.Fixture):
    """Let the import of a package fail, and those of modules that need it."""

    def __init__(self, name: str, *users: str) -> None:
        super().__init__()
        self._names = (name, *users)

    def _setUp(self) -> None:
        changed = mock.patch.dict(sys.modules)
        changed.start()
        self.addCleanup(changed.stop)
        for name in self._names:
            sys.modules.pop(name, None)
            if "." in name:  # it is an attribute of its package, too
                self.useFixture(
                    fixtures.MonkeyPatch(name, fixtures.MonkeyPatch.delete)
                )
        missing: Any = None
        sys.modules[self._names[0]] = missing


class DoctorCase(ManageCase):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(VAULT.open, VAULT.fernet)
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.configure("DEFAULT", transport_url="fake://")
        self.configure("api", auth_strategy="noauth")
        self.config.chmod(0o600)

    def configure(self, group: str, **values: object) -> None:
        """Add options to the configuration file."""
        with self.config.open("a") as file:
            file.write(f"[{group}]\n")
            for name, value in values.items():
                file.write(f"{name} = {value}\n")

    def diagnose(self, *arguments: str) -> tuple[int, str]:
        status, output = self.manage("doctor", *arguments)
        self.assertNotIn("Traceback", output)
        return status, output

    def check(self, level: str, subject: str, message: str) -> None:
        """Check that there is such a finding, and the exit status."""
        status, output = self.diagnose()
        self.assertRegex(output, rf"(?m)^{level} +{subject}: .*{message}")
        has_error = any(
            line.startswith("error ") for line in output.splitlines()
        )
        self.assertEqual(has_error, bool(status), output)


class TestDoctor(DoctorCase):
    def test_a_service_that_works(self) -> None:
        self.configure("scripts", isolation=best_isolation())
        self.vnfm.create_instantiated()
        waiting.until(
            lambda: "notifications: process" in self.diagnose()[1],
            "a dispatcher",
            30.0,
        )
        status, output = self.diagnose("--vims")
        self.assertEqual(0, status, output)
        self.assertIn("0 errors", output)
        for line in (
            f"configuration: {self.config}",
            "broker: accepts messages",
            "key file: decrypts all secrets in the database",
            "conductors: 1 run, with 0 operations",
            "notifications: none is parked or late",
            "VIMs: none is registered",
        ):
            self.assertRegex(output, f"(?m)^ok +{line}$")

    def test_no_dispatcher(self) -> None:
        name = "tacker_cnf.db.leases.get_owner"
        self.useFixture(fixtures.MonkeyPatch(name, lambda *_: None))
        self.check("warning", "notifications", "have just started")
        with self.vnfm.parts.store.engine.begin() as connection:
            connection.execute(sa.update(models.Conductor).values(started=0))
        self.check("error", "notifications", "No process sends them. If")

    def test_json(self) -> None:
        conductors.unregister(
            self.vnfm.parts.store, self.vnfm.conductor.claims.owner
        )
        status, output = self.diagnose("--json")
        self.assertEqual(1, status)
        found = {one["subject"]: one for one in json.loads(output)}
        self.assertEqual("error", found["conductors"]["level"])

    def test_a_conductor_that_does_not_run(self) -> None:
        conductors.unregister(
            self.vnfm.parts.store, self.vnfm.conductor.claims.owner
        )
        self.check("error", "conductors", "Start tacker-cnf-conductor")

    def test_an_operation_that_failed(self) -> None:
        fail_instantiation(self.vnfm, "no quota")
        self.check("warning", "operations", "1 are FAILED_TEMP")

    def test_an_operation_that_waits(self) -> None:
        self.vnfm.create_instantiated()
        self.vnfm.conductor.stop()
        self.execute(
            "UPDATE vnf_lcm_op_occs SET operation_state = 'STARTING',"
            " owner = NULL, state_entered_time = '2026-01-01 00:00:00'"
        )
        self.check("error", "operations", "One waits for a conductor since")
        self.assertIn("noauth, no conductor", self.manage("operations")[1])

    def test_parked_notifications(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        body = {"callbackUri": f"{receiver.url}/callback"}
        path = "/vnflcm/v2/subscriptions"
        self.assertEqual(201, self.vnfm.call("POST", path, body).status)
        receiver.status = 500
        self.vnfm.create()
        waiting.until(self.count_failed, "a failed delivery", 60.0)
        self.execute("UPDATE deliveries SET state = 'PARKED'")
        self.check("warning", "notifications", "1 are parked")

    def count_failed(self) -> object:
        query = "SELECT count(*) FROM deliveries WHERE attempts > 0"
        with self.vnfm.parts.store.engine.connect() as connection:
            return connection.scalar(sa.text(query))

    def test_leftovers(self) -> None:
        self.vnfm.create()
        self.execute("UPDATE vnf_instances SET leftovers = '[]'")
        self.check("warning", "leftovers", "1 VNF instances may have left")

    def test_a_vim_that_is_unreachable(self) -> None:
        port = self.useFixture(ReservedPort()).port
        self.configure("vims", allow_loopback=True)
        self.execute(
            "INSERT INTO vims (id, project_id, name, type, description,"
            " auth_url, auth_cred, vim_project, extra, is_public, created_at)"
            " VALUES ('v', 'noauth', 'edge', 'kubernetes', '', :url, :secret,"
            " '{}', :secret, false, '2026-01-01 00:00:00')",
            url=f"https://127.0.0.1:{port}",
            secret=VAULT.fernet.encrypt(b"{}").decode(),
        )
        status, output = self.diagnose("--vims")
        self.assertEqual(1, status)
        self.assertRegex(output, r"(?m)^error +VIMs: edge \(v\) at https:")

    def execute(self, statement: str, **values: object) -> None:
        with self.vnfm.parts.store.engine.begin() as connection:
            connection.execute(sa.text(statement), values)


class TestMissing(DoctorCase):
    """What is not installed, or not created yet."""

    def test_the_tables(self) -> None:
        path = self.folder / "new.sqlite"
        self.configure("database", connection=f"sqlite:///{path}")
        message = start.NoTables.__doc__ or ""
        self.check("error", "database", message)
        for command in ("conductors", "operations"):
            expected = 1, f"tacker-cnf-manage: {message}\n"
            self.assertEqual(expected, self.manage(command))
        self.assertFalse(path.exists())

    def test_the_packages_of_traces(self) -> None:
        self.configure("tracing", endpoint="http://127.0.0.1:1")
        self.useFixture(
            MissingPackage("opentelemetry", "tacker_cnf.cmd.span_exporter")
        )
        self.check("error", "tracing", r"install tacker_cnf\[tracing\]")

    def test_the_driver_of_the_database(self) -> None:
        url = "postgresql+psycopg2://127.0.0.1/x"
        self.configure("database", connection=url)
        self.useFixture(MissingPackage("psycopg2"))
        message = (
            r"psycopg2 is not installed: install tacker_cnf\[postgresql\]"
        )
        self.check("error", "database", message)

    def test_packages_of_what_is_not_used(self) -> None:
        self.configure("oslo_messaging_rabbit", rabbit_quorum_queue=True)
        self.useFixture(
            MissingPackage(
                "amqp",
                "oslo_messaging.opts",
                "oslo_messaging._drivers.impl_rabbit",
            )
        )
        self.useFixture(
            MissingPackage(
                "keystonemiddleware.auth_token", "keystonemiddleware.opts"
            )
        )
        self.check("ok", "configuration", "x.conf")
        self.configure("DEFAULT", transport_url="rabbit://127.0.0.1")
        message = "The options of oslo.messaging .*amqp is not installed"
        self.check("error", "configuration", message)


class TestOptions(DoctorCase):
    def test_the_sample_file_has_the_same_options(self) -> None:
        path = ROOT / "etc" / "tacker_cnf" / "config-generator.conf"
        lines = path.read_text().splitlines()
        names = [
            line.partition(" = ")[2]
            for line in lines
            if line.startswith("namespace")
        ]
        self.assertEqual(list(options.NAMESPACES), names)

    def test_unknown_options(self) -> None:
        for group, name, hint in (
            ("secrets", "key_fil", "did you mean key_file"),
            ("conductor", "port", r"it is one of \[api\]"),
            ("conductors", "lease", r"did you mean \[conductor\]"),
            ("vims", "zzzzzz", "the service ignores it"),
        ):
            self.configure(group, **{name: 1})
            self.check("error", "configuration", rf"\[{group}\] .*{hint}")

    def test_a_deprecated_option(self) -> None:
        self.configure("keystone_authtoken", memcache_servers="x:1")
        new = r"use \[keystone_authtoken\] memcached_servers"
        self.check("warning", "configuration", new)

    def test_passwords_that_every_user_can_read(self) -> None:
        self.config.chmod(0o644)
        passwords = r"contains \[DEFAULT\] transport_url, and every user"
        self.check("warning", "configuration", passwords)

    def test_policies(self) -> None:
        path = self.folder / "policy.yaml"
        self.configure("oslo_policy", policy_file=path)
        name = "os_nfv_orchestration_api:vnf_instances:scale"
        path.write_text(f'"mine": "role:x"\n"{name}": "rule:mine"\n')
        self.check("ok", "policies", "2 of them are set by the policy file")
        path.write_text(f'"{name}d": "role:x"')
        self.check("error", "policies", f"{name}d: this service has no such")
        path.write_text("a: b: c")
        self.check("error", "policies", "mapping values are not allowed")


class TestFiles(DoctorCase):
    def test_a_key_file_of_another_database(self) -> None:
        self.vnfm.create_instantiated()
        path = self.folder / "other.key"
        keys.create(path)
        path.chmod(0o640)
        self.configure("secrets", key_file=path)
        self.check("error", "key file", rf"were encrypted .* not in {path}")
        self.check_line(f"key file: {path} has mode 0640")

    def check_line(self, message: str) -> None:
        self.assertIn(message, self.diagnose()[1])

    def test_a_missing_key_file(self) -> None:
        self.configure("secrets", key_file="/nowhere/key")
        self.check("error", "key file", "`tacker-cnf-manage keys create`")
        self.check_line("What needs the database and the keys was not checked")

    def test_missing_content(self) -> None:
        self.vnfm.onboard()
        packages = Path(self.vnfm.state_path) / "packages"
        for path in packages.glob("*/tree"):
            path.rename(self.folder / "aside")
        self.check("error", "content of packages", "Restore the directory")

    def test_a_full_disk(self) -> None:
        free = shutil.disk_usage(self.folder).free
        self.configure("catalogue", min_free_bytes=2 * free)
        self.check("error", "content of packages", "has no space")

    def test_certificates(self) -> None:
        path = self.folder / "server.pem"
        self.configure("api", tls_certificate=path)
        for days, level, message in (
            (-1, "error", "CN=a-server expired at"),
            (10, "warning", "CN=a-server expires at"),
            (90, "ok", "valid until"),
        ):
            identity = create_identity(
                "a-server", until=NOW + datetime.timedelta(days=days)
            )
            path.write_bytes(identity.pem + identity.key_pem)
            self.check(level, "certificates", message)
        path.write_text("nothing")
        self.check("error", "certificates", "cannot be used")


class TestPeers(DoctorCase):
    def test_an_unreachable_broker(self) -> None:
        port = self.useFixture(ReservedPort()).port
        url = f"rabbit://guest:guest@127.0.0.1:{port}/"
        self.configure("DEFAULT", transport_url=url)
        self.check("error", "broker", "Connection refused")

    def test_an_unreachable_database(self) -> None:
        self.configure("database", connection="sqlite:////nowhere/db")
        self.check("error", "database", "unable to open database file")

    def test_a_database_of_another_release(self) -> None:
        for version, level, message in (
            ("9999", "ok", "has schema version 9999"),
            ("0001", "error", "`tacker-cnf-manage db upgrade`"),
        ):
            with self.vnfm.parts.store.engine.begin() as connection:
                change = "UPDATE alembic_version SET version_num = :version"
                connection.execute(sa.text(change), {"version": version})
            self.check(level, "database", message)

    def test_a_clock_that_differs(self) -> None:
        self.patch(workload, "MAX_CLOCK_DIFFERENCE_S", -60.0)
        self.check("warning", "database", "Its clock and that of this mach")

    def test_isolation(self) -> None:
        self.configure("scripts", isolation="none")
        self.check("warning", "script isolation", "all rights of the conduct")
        self.configure("scripts", isolation="bubblewrap")
        self.useFixture(fixtures.EnvironmentVariable("PATH", "/nowhere"))
        self.check("error", "script isolation", "no program bwrap in PATH")


class TestKeystone(DoctorCase):
    """A Keystone that answers as a test says."""

    def setUp(self) -> None:
        super().setUp()
        self.keystone = self.useFixture(HttpReceiver())
        self.configure("api", auth_strategy="keystone")

    def configure_user(self) -> None:
        self.configure(
            "keystone_authtoken",
            interface="public",
            auth_type="password",
            auth_url=f"{self.keystone.url}/v3",
            username="tacker",
            password="hunter2",
            project_name="service",
            user_domain_name="Default",
            project_domain_name="Default",
        )
        self.assertIn(f"configuration: {self.config}\n", self.diagnose()[1])

    def answer(self, status: int, request: ReceivedRequest) -> Response:
        """Issue tokens, and answer a request to check one by a status."""
        if request.method == "POST":
            return keystone.token("identity", self.keystone.url, request)
        if request.path.endswith("/auth/tokens"):
            return status, {}, b"{}"
        link = {"rel": "self", "href": f"{self.keystone.url}/v3"}
        version = {"id": "v3.14", "status": "stable", "links": [link]}
        kind = {"Content-Type": "application/json"}
        return 200, kind, json.dumps({"version": version}).encode()

    def refuse(self, request: ReceivedRequest) -> Response:
        if request.method == "POST":
            return 401, {}, b"{}"
        return self.answer(404, request)

    def test_options_that_are_missing(self) -> None:
        self.check("error", "keystone", "auth_type is not set")

    def test_tokens_are_checked(self) -> None:
        self.configure_user()
        self.keystone.responder = functools.partial(self.answer, 404)
        self.check("ok", "keystone", "checks tokens for the user")

    def test_the_user_has_not_the_role(self) -> None:
        self.configure_user()
        self.keystone.responder = functools.partial(self.answer, 403)
        self.check("error", "keystone", "the role service or admin")

    def test_a_wrong_password(self) -> None:
        self.configure_user()
        self.keystone.responder = self.refuse
        self.check("error", "keystone", "Identity server rejected")

    def test_an_unreachable_keystone(self) -> None:
        self.configure_user()
        self.keystone.stop()
        self.check("error", "keystone", "Unable to establish connection")
