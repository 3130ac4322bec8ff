"""Commands and files on a machine with a real SSH server."""

import functools
import os
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import snapshots
from tacker_cnf.mgmt_drivers.remote import Host, Login, on_all, ssh_transport
from tacker_cnf.mgmt_drivers.remote.ssh_transport import SshTarget
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import LEASE_FD, Lease
from tests.fixtures import waiting
from tests.fixtures.clock import SteppingClock
from tests.fixtures.ports import ReservedPort
from tests.fixtures.processes import is_running
from tests.fixtures.tcp_proxy import TcpProxy
from tests.services.ssh_server import (
    SshServer,
    SystemUser,
    fingerprint,
    make_key,
)

#: seconds in which a command has surely begun on a loaded machine
TIMEOUT_S = 5
TOKEN = "abcdef.0123456789abcdef"


class TestCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.machine = self.useFixture(SshServer(self))
        self.folder = self.machine.folder

    def proxy(self) -> TcpProxy:
        return self.useFixture(TcpProxy(self.machine.port))

    def connected(self, host: Host | None = None) -> Host:
        entered = (host or self.machine.host()).__enter__()
        self.addCleanup(entered.__exit__)
        return entered

    def connect_error(
        self, host: Host, kind: type[errors.RemoteFailed]
    ) -> str:
        """Return the message of a connection that fails."""
        error = self.assertRaises(kind, host.__enter__)
        self.assertIs(kind, type(error))
        return str(error)

    def wait_end(self, *pids: int) -> None:
        for pid in pids:
            has_ended = functools.partial(self._has_ended, pid)
            waiting.until(has_ended, f"the end of {pid}")

    @staticmethod
    def _has_ended(pid: int) -> bool:
        return not is_running(pid)

    def pids(self, count: int = 1) -> list[int]:
        """Wait for the process ids that pid_script has written."""
        path = self.folder / "pids"

        def read_pids() -> list[int] | None:
            text = path.read_text() if path.exists() else ""
            found = text.split() if text.endswith("\n") else []
            return [int(f) for f in found] if len(found) == count else None

        return waiting.until(read_pids, "processes that start")

    @property
    def pid_script(self) -> str:
        """A command that records the id of its process."""
        return f"echo $BASHPID >>{self.folder}/pids"


class TestCommands(TestCase):
    def test_input_environment_and_output_are_binary_safe(self) -> None:
        host = self.connected()
        content = os.urandom(300_000) + b"\0\r\n'\"$"
        environment = {"A": "it's\n $HOME \\", "B": ""}
        result = host.run(
            'cat; printf "%s|" "$A" "$B" >&2; exit 7',
            stdin=content,
            environment=environment,
        )
        self.assertEqual(7, result.exit_code)
        self.assertEqual(content, result.stdout)
        self.assertEqual(b"it's\n $HOME \\||", result.stderr)

    def test_input_may_be_left_unread(self) -> None:
        host = self.connected()
        result = host.run("echo well", stdin=b"exit 9\n" * 1_000_000)
        self.assertEqual((0, "well\n"), (result.exit_code, result.text))

    def test_a_sink_receives_long_output(self) -> None:
        host = self.connected()
        size = 16 * 1024**2
        seen: list[bytes] = []
        result = host.check(f"head -c {size} /dev/zero", sink=seen.append)
        self.assertEqual(b"\0" * size, b"".join(seen))
        self.assertEqual(b"", result.stdout)

    def test_a_failing_sink_ends_the_command(self) -> None:
        host = self.connected()

        def fail(_: bytes) -> None:
            raise OSError(28, "No space left on device")

        error = self.assertRaises(
            errors.RemoteFailed,
            host.check,
            f"{self.pid_script}; exec cat /dev/zero",
            sink=fail,
        )
        self.assertIn("cannot be stored", str(error))
        self.assertIn("No space left", str(error))
        self.wait_end(*self.pids())

    def test_copies_of_snapshots_are_private_and_pruned(self) -> None:
        host = self.connected()
        folder = self.folder / "vnf" / "etcd"
        for number in range(5):
            source = self.folder / f"{number}.db"
            source.write_bytes(os.urandom(300_000))
            os.chmod(source, 0o644)  # noqa: PTH101
            copy = snapshots.copy(host, str(source), folder)
            self.assertEqual(source.read_bytes(), copy.read_bytes())
            self.assertEqual(0o600, copy.stat().st_mode & 0o777)
        left = sorted(path.name for path in folder.iterdir())
        self.assertEqual(["2.db", "3.db", "4.db"], left)
        self.assertEqual(0o700, folder.stat().st_mode & 0o777)
        folder = self.folder / "0.db" / "etcd"
        error = self.assertRaises(
            errors.InfraError, snapshots.copy, host, str(source), folder
        )
        self.assertIn("max_file_bytes", str(error))

    def test_several_lines_are_one_command(self) -> None:
        host = self.connected()
        self.assertEqual("", host.check("").text)
        result = host.run(
            "read x\nset -e\necho $x; false\necho no", stdin=b"1"
        )
        self.assertEqual((1, "1\n"), (result.exit_code, result.text))

    def test_failure_names_host_and_reason_and_no_secret(self) -> None:
        host = self.connected()
        error = self.assertRaises(
            errors.RemoteFailed,
            host.check,
            f"echo {'x' * 90} {TOKEN}; echo begin $A; "
            "seq 100 >&2; echo $A hunter2 >&2; exit 3",
            environment={"A": TOKEN},
            secrets=["hunter2"],
        )
        text = str(error)
        self.assertIn(f"{self.machine.user}@127.0.0.1", text)
        self.assertIn("'echo xxx", text)
        self.assertIn(
            "it ended with exit code 3: 97\n98\n99\n100\n*** ***", text
        )
        for hidden in (TOKEN, TOKEN[:6], "hunter2", "\n96\n"):
            self.assertNotIn(hidden, text)

    def test_no_command_line_has_a_secret(self) -> None:
        host = self.connected()
        lines = set()

        def collect_command_lines() -> None:
            self.pids()
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    lines.add(path.read_bytes())
                except OSError:
                    continue  # it has ended
            (self.folder / "seen").touch()

        watcher = threading.Thread(target=collect_command_lines)
        watcher.start()
        host.check(
            f"{self.pid_script}; until [ -e {self.folder}/seen ]; do sleep 0.1; "
            "done; [ -n $TOKEN ]",
            environment={"TOKEN": TOKEN},
            stdin=b"hunter2",
            timeout=60,
        )
        watcher.join()
        self.assertTrue(any(b"timeout" in line for line in lines))
        for secret in (TOKEN.encode(), b"hunter2"):
            self.assertFalse([line for line in lines if secret in line])

    def test_a_command_that_hangs_is_killed(self) -> None:
        host = self.connected()
        text = f"{self.pid_script}; sleep 1000 & {self.pid_script}; sleep 1000"
        error = self.assertRaises(
            errors.RemoteFailed, host.run, text, timeout=TIMEOUT_S
        )
        self.assertIn("did not end within 5 s and was killed", str(error))
        self.wait_end(*self.pids(2))
        self.assertEqual("on\n", host.check("echo on").text)

    def test_a_command_that_ignores_signals_is_killed(self) -> None:
        host = self.connected()
        text = (
            f"trap '' TERM HUP INT; ({self.pid_script}; while :; do sleep 9; done)& "
            f"{self.pid_script}; while :; do sleep 9; done"
        )
        error = self.assertRaises(
            errors.RemoteFailed, host.run, text, timeout=TIMEOUT_S
        )
        self.assertIn("did not end within 5 s", str(error))
        self.wait_end(*self.pids(2))

    def test_a_command_that_writes_too_much_is_killed(self) -> None:
        host = self.connected()
        error = self.assertRaises(
            errors.RemoteFailed,
            host.run,
            f"trap '' PIPE; {self.pid_script}; while :; do yes; done 2>/dev/null",
        )
        self.assertIn("wrote more than 4194304 bytes to stdout", str(error))
        self.wait_end(*self.pids())

    def test_the_end_of_stderr_is_returned(self) -> None:
        host = self.connected()
        result = host.run("yes | head -c 20000000 >&2; echo end >&2")
        self.assertEqual(64 * 1024, len(result.stderr))
        self.assertTrue(result.stderr.endswith(b"y\nend\n"))

    def test_a_command_that_writes_without_end_is_killed(self) -> None:
        host = self.connected()
        error = self.assertRaises(
            errors.RemoteFailed, host.run, "yes >&2", timeout=1
        )
        self.assertIn("did not end within", str(error))

    def test_background_processes_delay_nothing(self) -> None:
        host = self.connected()
        result = host.run(
            f"({self.pid_script}; exec sleep 1000)& echo started"
        )
        self.assertEqual("started\n", result.text)
        (pid,) = self.pids()
        self.assertTrue(is_running(pid))
        host.check(f"kill {pid}")

    def test_exit_code_of_a_killed_command(self) -> None:
        host = self.connected()
        self.assertEqual(137, host.run("kill -9 $BASHPID").exit_code)
        self.assertEqual(137, host.run("kill -9 $PPID").exit_code)

    def test_a_command_ends_with_its_connection(self) -> None:
        proxy = self.proxy()
        host = self.connected(self.machine.host(port=proxy.port))
        with ThreadPoolExecutor() as pool:
            run = pool.submit(
                host.run, f"trap '' HUP; {self.pid_script}; sleep 1000 | cat"
            )
            pids = self.pids()
            proxy.break_connections()
            error = self.assertRaises(errors.RemoteFailed, run.result)
        self.assertIn("the connection ended", str(error))
        self.wait_end(*pids)
        error = self.assertRaises(errors.RemoteFailed, host.run, "true")
        self.assertIn("the connection ended", str(error))

    def test_a_machine_that_does_not_respond(self) -> None:
        for stdin in (b"", b"x" * 20_000_000):
            proxy = self.proxy()
            host = self.connected(self.machine.host(port=proxy.port))
            proxy.stall()
            error = self.assertRaises(
                errors.RemoteFailed, host.run, "cat", stdin=stdin, timeout=2
            )
            self.assertIn("stopped responding", str(error))

    def test_a_machine_that_stops_responding_during_a_command(self) -> None:
        proxy = self.proxy()
        host = self.connected(self.machine.host(port=proxy.port))
        with ThreadPoolExecutor() as pool:
            run = pool.submit(
                host.run,
                f"{self.pid_script}; cat >/dev/null",
                stdin=b"x" * 100_000_000,
                timeout=TIMEOUT_S,
            )
            pids = self.pids()
            proxy.stall()
            error = self.assertRaises(errors.RemoteFailed, run.result)
        self.assertIn("stopped responding", str(error))
        self.wait_end(*pids)

    def test_no_command_starts_without_a_lease(self) -> None:
        host = self.connected()
        lease = Lease.new(margin=0.0)
        fd = self.enterContext(lease.shared())
        self.useFixture(fixtures.EnvironmentVariable(LEASE_FD, str(fd)))
        command = f"touch {self.folder}/made"
        self.assertRaises(errors.LeaseLost, host.run, command)
        self.assertFalse((self.folder / "made").exists())
        lease.renew(SYSTEM_CLOCK.boottime() + 600.0)
        host.check(command)

    def test_no_command_starts_after_the_deadline(self) -> None:
        host = self.connected()
        error = self.assertRaises(
            errors.RemoteFailed, host.run, "true", timeout=0
        )
        self.assertIn("no time is left", str(error))


class TestFiles(TestCase):
    def test_files_are_written_and_read(self) -> None:
        host = self.connected()
        path = self.folder / "it's a file"
        for content, mode in ((b"", 0o600), (b"\0\r\n" * 500_000, 0o755)):
            host.put(content, str(path), mode=mode)
            self.assertEqual(mode, path.stat().st_mode & 0o7777)
            self.assertEqual(content, host.get(str(path)))

    def test_a_failed_write_leaves_no_file(self) -> None:
        host = self.connected()
        folder = self.folder / "some"
        (folder / "taken").mkdir(parents=True)
        for path in (folder / "taken", folder / "none" / "file"):
            error = self.assertRaises(
                errors.RemoteFailed, host.put, b"x", str(path)
            )
            self.assertIn(str(path), str(error))
        self.assertEqual(["taken"], [p.name for p in folder.iterdir()])
        error = self.assertRaises(
            errors.RemoteFailed, host.get, str(folder / "none")
        )
        self.assertIn("No such file or directory", str(error))

    def test_an_incomplete_file_never_replaces_another(self) -> None:
        proxy = self.proxy()
        host = self.connected(self.machine.host(port=proxy.port))
        folder = self.folder / "some"
        folder.mkdir()
        path = folder / "file"
        path.write_text("before")

        def is_partial() -> bool:
            return any(p.name != "file" for p in folder.iterdir())

        with ThreadPoolExecutor() as pool:
            put = pool.submit(host.put, b"x" * 200_000_000, str(path))
            waiting.until(is_partial, "the temporary file")
            proxy.break_connections()
            self.assertRaises(errors.RemoteFailed, put.result)
        waiting.until(
            lambda: not is_partial(), "the deletion of the temporary file"
        )
        self.assertEqual("before", path.read_text())


class TestUsers(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.user = self.useFixture(SystemUser(self))

    def test_login_by_password_and_commands_as_root(self) -> None:
        host = self.connected(self.machine.host(self.user.login()))
        self.assertEqual(f"{self.user.name}\n", host.check("id -un").text)
        result = host.check(
            'id -un; echo "$TOKEN"',
            as_root=True,
            environment={"TOKEN": TOKEN},
        )
        self.assertEqual(f"root\n{TOKEN}\n", result.text)
        path = self.folder / "root's"
        host.put(b"x", str(path), as_root=True)
        self.assertEqual(0, path.stat().st_uid)
        self.assertRaises(errors.RemoteFailed, host.get, str(path))
        self.assertEqual(b"x", host.get(str(path), as_root=True))

    def test_a_command_of_root_is_killed_too(self) -> None:
        host = self.connected(self.machine.host(self.user.login()))
        error = self.assertRaises(
            errors.RemoteFailed,
            host.run,
            f"trap '' TERM; {self.pid_script}; while :; do sleep 9; done",
            as_root=True,
            timeout=TIMEOUT_S,
        )
        self.assertIn("did not end within 5 s", str(error))
        self.wait_end(*self.pids())

    def test_wrong_password_is_tried_once(self) -> None:
        login = Login(self.user.name, password="hunter2")
        error = self.connect_error(
            self.machine.host(login), errors.LoginRejected
        )
        self.assertIn(f"{self.user.name}@127.0.0.1", error)
        self.assertIn("rejects the login", error)
        self.assertNotIn("hunter2", error)
        # sshd may respond to a login before it logs it
        waiting.until(
            lambda: "authenticating user" in self.machine.log(),
            "the end of the connection",
        )
        log = self.machine.log()
        self.assertEqual(1, log.count("Failed password for"), log)

    def test_the_password_is_used_if_the_key_is_rejected(self) -> None:
        other = make_key(self.folder / "other", "ed25519")
        login = Login(
            self.user.name,
            password=self.user.password,
            private_key=other.read_text(),
        )
        host = self.connected(self.machine.host(login))
        self.assertEqual(f"{self.user.name}\n", host.check("id -un").text)


class TestConnecting(TestCase):
    def test_login_with_each_type_of_key(self) -> None:
        for kind in ("rsa", "ecdsa", "ed25519"):
            key = make_key(self.folder / kind, kind)
            self.machine.authorize(key)
            login = Login(self.machine.user, private_key=key.read_text())
            host = self.connected(self.machine.host(login))
            self.assertEqual("in\n", host.check("echo in").text)

    def test_the_host_key_of_the_first_contact_is_returned(self) -> None:
        host = self.machine.host()
        self.assertIsNone(host.key)
        public = Path(f"{self.machine.host_keys[0]}.pub").read_text()
        shown = self.connected(host).key
        self.assertEqual(public.split()[:2], str(shown).split())
        for key in self.machine.host_keys:
            public = Path(f"{key}.pub").read_text()
            verified_host = self.machine.host(known_key=public)
            self.assertIn(str(self.connected(verified_host).key), public)

    def test_no_login_is_sent_to_a_changed_host_key(self) -> None:
        with self.machine.host() as host:
            known = host.key
        # sshd may accept a login before it logs it
        logins = waiting.until(self.logins, "the login")
        other = make_key(self.folder / "other", "ed25519")
        self.machine.stop()
        self.machine.start(other)
        again = self.machine.host(known_key=known)
        for message in (
            self.connect_error(again, errors.HostKeyChanged),
            self.connect_error(host, errors.HostKeyChanged),
        ):
            self.assertIn(f"{self.machine.user}@127.0.0.1", message)
            for key in (self.machine.host_keys[0], other):
                self.assertIn(fingerprint(Path(f"{key}.pub")), message)
        self.assertEqual(logins, self.logins())

    def logins(self) -> int:
        return len(re.findall("Accepted|Failed", self.machine.log()))

    def test_login_with_an_unknown_key_is_rejected(self) -> None:
        other = make_key(self.folder / "other", "ed25519")
        login = Login(self.machine.user, private_key=other.read_text())
        error = self.connect_error(
            self.machine.host(login), errors.LoginRejected
        )
        self.assertIn(self.machine.user, error)

    def test_login_on_a_fresh_machine_is_retried(self) -> None:
        other = make_key(self.folder / "other", "ed25519")
        login = Login(self.machine.user, private_key=other.read_text())
        host = self.machine.host(login, fresh=True)
        with ThreadPoolExecutor() as pool:
            entered = pool.submit(host.__enter__)
            waiting.until(
                lambda: "Failed publickey" in self.machine.log(),
                "a rejected login",
            )
            self.machine.authorize(other)
            entered.result()
        self.addCleanup(host.__exit__)
        self.assertEqual("in\n", host.check("echo in").text)

    def test_host_unreachable(self) -> None:
        self.machine.stop()
        host = self.machine.host(connect_timeout=1)
        error = self.connect_error(host, errors.RemoteUnreachable)
        self.assertIn(f"{self.machine.user}@127.0.0.1", error)
        self.assertIn("refused", error)

    def test_a_port_without_an_ssh_server(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            host = self.machine.host(connect_timeout=TIMEOUT_S, port=port)
            error = self.connect_error(host, errors.RemoteUnreachable)
            self.assertIn("no SSH server responds", error)

            def respond() -> None:
                end, _ = server.accept()  # the connection that timed out
                end.close()
                while True:
                    end, _ = server.accept()
                    with end:
                        if end.recv(1) == b"x":
                            return
                        end.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

            responder = threading.Thread(target=respond)
            responder.start()
            try:
                refused = self.assertRaises(
                    errors.RemoteUnreachable,
                    ssh_transport.connect,
                    SshTarget("127.0.0.1", self.machine.login(), port=port),
                    Deadline.within(TIMEOUT_S, SteppingClock()),
                )
            finally:
                with socket.create_connection(("127.0.0.1", port)) as last:
                    last.sendall(b"x")
                responder.join()
        self.assertIn("no SSH server listens there", str(refused))

    def test_connecting_is_retried_while_a_machine_boots(self) -> None:
        self.machine.stop()
        address = ("127.0.0.1", self.machine.port)
        with ThreadPoolExecutor() as pool:
            with socket.create_server(address) as server:
                host = self.machine.host()
                entered = pool.submit(host.__enter__)
                server.accept()[0].close()
            self.machine.start()
            entered.result()
        self.addCleanup(host.__exit__)
        self.assertEqual("up\n", host.check("echo up").text)

    def test_a_server_that_does_not_respond_at_the_login(self) -> None:
        proxy = self.proxy()
        proxy.stall()
        host = self.machine.host(port=proxy.port, connect_timeout=1)
        error = self.connect_error(host, errors.RemoteUnreachable)
        self.assertIn("no SSH server responds", error)

    def test_an_unknown_host_name(self) -> None:
        with self.machine.host() as host:
            deadline = host._deadline
        unknown_host = Host(
            "no.invalid", self.machine.login(), deadline, connect_timeout=0
        )
        error = self.connect_error(unknown_host, errors.RemoteUnreachable)
        self.assertIn("@no.invalid: ", error)


class TestOnAll(TestCase):
    def test_twenty_machines_in_parallel(self) -> None:
        before = threading.enumerate()
        hosts = [self.machine.host() for _ in range(20)]
        numbers = {host: str(n) for n, host in enumerate(hosts)}
        found = on_all(hosts, lambda h: h.check(f"echo {numbers[h]}").text)
        self.assertEqual(tuple(f"{n}\n" for n in range(20)), found)
        self.assertEqual(set(), set(threading.enumerate()).difference(before))

    def test_each_failure_is_reported(self) -> None:
        before = threading.enumerate()
        closed = self.useFixture(ReservedPort()).port
        good, bad = self.machine.host(), self.machine.host()
        unreachable_host = self.machine.host(port=closed, connect_timeout=0.5)
        done = []

        def do(host: Host) -> None:
            host.check("exit 3" if host is bad else "exit 0")
            done.append(host)

        error = self.assertRaises(
            errors.RemoteFailed, on_all, [unreachable_host, good, bad], do
        )
        self.assertIn("2 of 3 machines failed", str(error))
        self.assertIn(f"port {closed}: the connection is refused", str(error))
        self.assertIn("'exit 3': it ended with exit code 3", str(error))
        self.assertEqual([good], done)
        self.assertRaises(
            errors.RemoteUnreachable, on_all, [unreachable_host, good], do
        )
        self.assertEqual(set(), set(threading.enumerate()).difference(before))

    def test_no_machine(self) -> None:
        self.assertEqual((), on_all((), str))
