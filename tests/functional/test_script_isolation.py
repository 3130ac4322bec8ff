"""Attacks of a package's code on the service that runs it."""

import errno
import hashlib
import json
import os
import socket
import sys
import textwrap
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools

import tacker_cnf
from tacker_cnf import conf as configuration
from tacker_cnf.drivers.openstack.userdata import ChosenUserData
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import Lease
from tacker_cnf.scripts import isolation
from tacker_cnf.scripts.isolation import Sandbox
from tacker_cnf.scripts.limits import limits_of
from tacker_cnf.scripts.process import ScriptProcess
from tacker_cnf.scripts.workdir import Workspace
from tests.fixtures import waiting
from tests.fixtures.sandbox import (
    UNPRIVILEGED,
    find_processes,
    require_bubblewrap,
    run_unprivileged,
)
from tests.fixtures.vnfm import FAKE_VIM, Csar, Vnfm
from tests.functional.test_scripts import FLAVOUR, SCRIPT, flavour_with_scripts
from tests.functional.test_user_data import UserDataCase

#: tries actions, and writes the results on stderr
TRY: Final = """\
import json, os, socket, sys
script_input = json.load(sys.stdin)
results = {{}}
def attempt(name, action):
    try:
        results[name] = repr(action())
    except Exception as error:
        results[name] = type(error).__name__
{body}
print(json.dumps(results), file=sys.stderr)
"""
HIDDEN: Final = {"FileNotFoundError"}
READ_ONLY: Final = {"OSError", "FileNotFoundError", "PermissionError"}


class IsolationCase(testtools.TestCase):
    """A service that isolates scripts.

    :cvar options: of [scripts]
    """

    options: Mapping[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        require_bubblewrap(self)
        options = {"isolation": "bubblewrap", **self.options}
        self.vnfm = self.useFixture(Vnfm(scripts=options))
        self.state = Path(self.vnfm.state_path)
        self.marker = f"marker-{uuid.uuid4()}"

    def package(self, body: str, *hooks: str) -> Csar:
        """Build a package with a script that tries actions."""
        text = TRY.format(body=textwrap.dedent(body))
        files = {
            SCRIPT: text,
            FLAVOUR: flavour_with_scripts(*(hooks or ["instantiate_end"])),
        }
        return self.useFixture(Csar(files=files))

    def run_instantiate(self, csar: Csar) -> Any:
        """Instantiate a package; return the operation with its log."""
        instance_id = self.vnfm.create(self.vnfm.onboard(csar))
        return self.instantiate(instance_id)

    def instantiate(self, instance_id: str) -> Any:
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        return self.vnfm.run(instance_id, "instantiate", body)

    def attempt(self, body: str) -> dict[str, str]:
        """Run a script; return the results of what it has tried."""
        return self.results(self.run_instantiate(self.package(body)))

    def results(self, end: Any) -> dict[str, str]:
        """Return the last results in the log of an operation."""
        self.assertEqual("COMPLETED", end["operationState"], end)
        found: dict[str, str] = json.loads(end["scriptLog"].splitlines()[-1])
        return found


class TestFiles(IsolationCase):
    def test_reading_what_belongs_to_the_service(self) -> None:
        other = self.vnfm.onboard()
        tree = self.vnfm.unpacked(self.vnfm.create(other)).path
        secrets = [
            self.state / "secrets.key",
            *self.state.glob("*.sqlite*"),
            tree / "Definitions",
            tree.parent / "package.csar",
            self.state / "vnf" / "other",
            Path(f"/proc/{os.getpid()}/environ"),
            Path(f"/proc/{os.getpid()}/root/etc/hostname"),
            Path(__file__),
        ]
        (self.state / "vnf" / "other").mkdir(parents=True)
        self.assertEqual([], [p for p in secrets if not p.exists()])
        results = self.attempt(f"""\
            for path in {[str(path) for path in secrets]!r}:
                attempt(path, lambda: os.listdir(path) if os.path.isdir(path)
                        else open(path, "rb").read(10))
        """)
        self.assertEqual(HIDDEN, {*results.values()}, str(results))

    def test_writing_outside_its_directories(self) -> None:
        product = Path(tacker_cnf.__file__).parent
        paths = ["/x", "/usr/x", "/etc/x", "/dev/x", "/package/x"]
        paths += [str(product / "x.py"), f"{sys.prefix}/x"]
        paths += ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"]
        results = self.attempt(f"""\
            for path in {paths!r}:
                attempt(path, lambda: open(path, "a"))
            attempt("unlink", lambda: os.unlink("/package/{SCRIPT}"))
            attempt("chmod", lambda: os.chmod("/package/{SCRIPT}", 0o777))
        """)
        for path, result in results.items():
            self.assertIn(result, READ_ONLY, path)

    def test_its_own_directories(self) -> None:
        instance_id = self.vnfm.create(
            self.vnfm.onboard(
                self.package(
                    """\
                    state = script_input["stateDir"]
                    attempt("home", lambda: open("x", "w").write("1"))
                    attempt("tmp", lambda: open("/tmp/x", "w").write("1"))
                    attempt("state", lambda: open(state + "/x", "a").write("1"))
                    attempt("size", lambda: os.path.getsize(state + "/x"))
                    attempt("others", lambda: os.listdir(state + "/.."))
                    """,
                    "instantiate_start",
                    "instantiate_end",
                )
            )
        )
        other = self.state / "vnf" / "other"
        other.mkdir(parents=True)
        end = self.instantiate(instance_id)
        results = self.results(end)
        self.assertEqual("2", results["size"])
        self.assertEqual(repr([instance_id]), results["others"])
        self.assertEqual(
            "11", (self.state / "vnf" / instance_id / "x").read_text()
        )

    def test_a_readable_path_that_contains_state_path(self) -> None:
        self.vnfm.conf.set_override(
            "readable_paths", [str(self.state)], "scripts"
        )
        self.vnfm.conductor._script_limits = limits_of(self.vnfm.conf)
        results = self.attempt(f"""\
            attempt("key", lambda: open("{self.state}/secrets.key"))
            attempt("new", lambda: open("{self.state}/new", "w"))
            attempt("others", lambda: os.listdir("{self.state}"))
            attempt("own", lambda: open(
                script_input["stateDir"] + "/x", "w").close())
        """)
        self.assertEqual(
            {
                "key": "FileNotFoundError",
                "new": "OSError",
                "others": "['vnf']",
                "own": "None",
            },
            results,
        )

    def test_an_unused_directory_is_deleted(self) -> None:
        self.attempt("")
        self.assertEqual([], [*(self.state / "vnf").iterdir()])

    def test_the_temporary_files_of_another_script(self) -> None:
        self.attempt("attempt('', lambda: open('/tmp/left', 'w'))")
        results = self.attempt("attempt('tmp', lambda: os.listdir('/tmp'))")
        self.assertNotIn("left", results["tmp"])


class NetworkCase(IsolationCase):
    def setUp(self) -> None:
        super().setUp()
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        self.port = server.getsockname()[1]
        abstract = socket.socket(socket.AF_UNIX)
        self.addCleanup(abstract.close)
        abstract.bind(f"\0{self.marker}")
        abstract.listen()
        self.body = f"""\
            attempt("tcp", lambda: socket.create_connection(
                ("127.0.0.1", {self.port}), 5).close())
            attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect(
                "\\0{self.marker}"))
        """


class TestNetwork(NetworkCase):
    """As those of a database and a broker, the servers are on loopback."""

    def test_the_network_is_separate(self) -> None:
        results = self.attempt(self.body)
        self.assertEqual({"ConnectionRefusedError"}, {*results.values()})

    def test_a_package_that_may_use_it(self) -> None:
        csar = self.package(self.body)
        digest = hashlib.sha256(csar.read()).hexdigest()
        self.vnfm.conf.set_override(
            "network_packages", [digest.upper()], "scripts"
        )
        self.vnfm.conductor._script_limits = limits_of(self.vnfm.conf)
        end = self.run_instantiate(csar)
        results = self.results(end)
        self.assertEqual({"tcp": "None", "unix": "None"}, results)
        # another package of the same VNF
        results = self.attempt(self.body)
        self.assertEqual({"ConnectionRefusedError"}, {*results.values()})


class TestProcesses(IsolationCase):
    def test_killing_its_parents(self) -> None:
        results = self.attempt(f"""\
            attempt("conductor", lambda: os.kill({os.getpid()}, 9))
            attempt("supervisor", lambda: os.kill(os.getppid(), 9))
            attempt("stop", lambda: os.kill(os.getppid(), 19))
            attempt("trace", lambda: open(f"/proc/{{os.getppid()}}/mem", "rb"))
            attempt("all", lambda: os.kill(-1, 9))
        """)
        self.assertEqual("ProcessLookupError", results["conductor"])
        self.assertEqual("PermissionError", results["trace"])

    def test_daemons_end_with_it(self) -> None:
        self.attempt(f"""\
            if not os.fork():
                os.setsid()
                if not os.fork():
                    for pipe in range(3):
                        os.close(pipe)
                    os.execvp("sleep", ["{self.marker}", "600"])
                os._exit(0)
            os.wait()
            while not any(
                b"{self.marker}" in open(f"/proc/{{pid}}/cmdline", "rb").read()
                for pid in os.listdir("/proc") if pid.isdigit()
            ):
                pass
            os.kill(os.getppid(), 9)  # the supervisor, which would kill it
        """)
        self.assertEqual([], find_processes(self.marker))

    def test_further_user_namespaces(self) -> None:
        """They would give the script capabilities, and more of the kernel."""
        results = self.attempt("""\
            import ctypes
            libc = ctypes.CDLL(None)
            attempt("unshare", lambda: libc.unshare(0x10000000))
        """)
        self.assertEqual({"unshare": "-1"}, results)


MIB: Final = 1024**2
#: writes until it fails
FILL: Final = """\
def fill(folder):
    written = 0
    try:
        for n in range(200):
            with open(f"{folder}/{n}", "wb") as file:
                written += file.write(bytes(1024**2))
    except OSError as error:
        return f"{written} {error.strerror}"
    return written
"""


class TestBounds(IsolationCase):
    options: Mapping[str, Any] = {
        "max_disk_bytes": 16 * MIB,
        "max_state_bytes": 16 * MIB,
        "max_open_files": 50,
        "max_cpu_seconds": 1,
    }

    def test_filling_its_temporary_directories(self) -> None:
        results = self.attempt(
            FILL
            + "for path in '.', '/tmp', '/dev/shm', '/dev', '/':\n"
            + "    attempt(path, lambda: fill(path))"
        )
        for path in (".", "/dev/shm"):  # noqa: S108
            self.assertRegex(results[path], r"'1\d{7} No space left")
        self.assertIn("'0 No space", results["/tmp"])  # noqa: S108
        for path in ("/dev", "/"):
            self.assertIn("'0 Read-only", results[path])

    def test_filling_its_persistent_directory(self) -> None:
        body = (
            FILL + "fill(script_input['stateDir'])\n"
            "import time; time.sleep(600)"
        )
        end = self.run_instantiate(self.package(body))
        self.assertIn("max_state_bytes", end["error"]["detail"])

    def test_open_files(self) -> None:
        results = self.attempt("""\
            files = []
            def open_all():
                while True:
                    files.append(open("/dev/null"))
            attempt("open", open_all)
            files, results["count"] = [], str(len(files))
        """)
        self.assertEqual("OSError", results["open"])
        self.assertLess(int(results["count"]), 50)

    def test_processor_time(self) -> None:
        end = self.run_instantiate(self.package("while True: pass"))
        self.assertIn("killed by SIGXCPU", end["error"]["detail"])


FORKS: Final = """\
import os, time
count = 0
try:
    while count < 1000:
        if not os.fork():
            time.sleep(600)
        count += 1
except BlockingIOError:
    pass
print(count, os.getuid())
"""
RUN: Final = """\
from pathlib import Path
import dataclasses, sys
from tacker_cnf import conf as configuration
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.scripts import isolation, limits, process, workdir
limits = dataclasses.replace(
    limits.limits_of(configuration.load([])), max_processes=50
)
isolation.check_available()
sandbox = isolation.Sandbox(
    packages={{"/package": Path({package!r})}},
    readable=[path for path in sys.path if path.endswith("packages")],
    max_disk_bytes=1024**2,
)
with workdir.sandboxed(sandbox) as workspace, process.ScriptProcess(
    ("/package/script.py",), workspace, limits, SecretMasker(())
) as child:
    code = child.execute(b"", lambda: None)
    print(code, child.output().decode(), child.log())
"""


class TestUnprivilegedConductor(testtools.TestCase):
    """As in production, the conductor does not run as root."""

    def setUp(self) -> None:
        super().setUp()
        require_bubblewrap(self)
        # other users may not reach the default directory
        folder = fixtures.TempDir(rootdir=isolation.TEMPORARY)
        self.folder = Path(self.useFixture(folder).path)
        self.folder.chmod(0o755)
        self.package = self.folder / "package"
        self.package.mkdir()

    def run_script(self, text: str) -> list[str]:
        """Run a script; return the words that it writes on stdout."""
        (self.package / "script.py").write_text(text)
        output = run_unprivileged(self, RUN.format(package=str(self.package)))
        code, *words = output.split()
        self.assertEqual("0", code, output)
        return words

    def test_a_fork_bomb(self) -> None:
        """The kernel does not limit the processes of root."""
        count, uid = map(int, self.run_script(FORKS))
        self.assertLess(count, 50)
        self.assertNotEqual(0, uid)

    def test_files_of_the_conductor(self) -> None:
        secret = self.folder / "secret"
        secret.touch(mode=0o600)
        if os.geteuid() == 0:
            os.chown(secret, UNPRIVILEGED, UNPRIVILEGED)
        words = self.run_script(
            "import os\n"
            f"for path in {str(secret)!r}, '/new', '/package/script.py':\n"
            "    try:\n"
            "        open(path, 'r+' if path.endswith('py') else 'a+')\n"
            "    except OSError as error:\n"
            "        print(type(error).__name__, error.errno)\n"
            "print(os.path.exists('/etc/passwd'), len(os.listdir('.')))\n"
        )
        self.assertEqual("FileNotFoundError", words[0])
        self.assertEqual(str(errno.EROFS), words[3])
        self.assertEqual(["True", "0"], words[-2:])


class TestUserData(UserDataCase):
    """User data of Heat is isolated, too."""

    def setUp(self) -> None:
        super().setUp()
        require_bubblewrap(self)
        conf = configuration.load([])
        conf.set_override("run", "all", "scripts")
        self.user_data = ChosenUserData(limits_of(conf))

    def test_reading_another_file(self) -> None:
        error = self.run_failing(f"open({__file__!r})")
        self.assertIn("FileNotFoundError", error)

    def test_the_package_and_the_product(self) -> None:
        fields = self.call_user_data("UserData/named.py", "NamedUserData")
        self.assertIn("nfv", fields.parameters)


class TestUnavailable(IsolationCase):
    """A script does not run without isolation unless the operator wants it."""

    def setUp(self) -> None:
        super().setUp()
        isolation._probe.cache_clear()
        self.addCleanup(isolation._probe.cache_clear)
        self.programs = Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(
            fixtures.EnvironmentVariable("PATH", str(self.programs))
        )

    def assert_refused(self, reason: str) -> None:
        end = self.run_instantiate(self.package(""))
        self.assertEqual("FAILED_TEMP", end["operationState"])
        detail = end["error"]["detail"]
        self.assertIn(reason, detail)
        self.assertIn("[scripts] isolation = none", detail)

    def test_no_bubblewrap(self) -> None:
        self.assert_refused("there is no program bwrap in PATH")

    def test_no_user_namespaces(self) -> None:
        program = self.programs / "bwrap"
        program.write_text("#!/bin/sh\necho No permissions >&2\nexit 1\n")
        program.chmod(0o755)
        self.assert_refused("bwrap failed: No permissions")


class TestSandboxProcess(testtools.TestCase):
    """The end of a sandbox with its conductor, and with its lease."""

    def setUp(self) -> None:
        super().setUp()
        require_bubblewrap(self)
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.marker = f"marker-{uuid.uuid4()}"
        (self.folder / "script.py").write_text(
            "import os\n"
            "for signal in 1, 2, 3, 15:\n"
            "    import signal as s; s.signal(signal, s.SIG_IGN)\n"
            f"os.execvp('sleep', ['{self.marker}', '600'])\n"
        )

    def start(self, lease: int | None = None) -> ScriptProcess:
        sandbox = Sandbox(
            packages={"/package": self.folder}, max_disk_bytes=1024**2
        )
        conf = configuration.load([])
        return ScriptProcess(
            ("/package/script.py",),
            Workspace(
                package_dirs=(),
                home=Path(isolation.HOME),
                wrapper=isolation.command(sandbox),
            ),
            limits_of(conf),
            SecretMasker(()),
            lease,
        )

    def wait_started(self) -> None:
        waiting.until(lambda: find_processes(self.marker), "the script")

    def assert_ended(self) -> None:
        waiting.until(
            lambda: not find_processes(self.marker), "the script's end"
        )

    def test_a_cancelled_script(self) -> None:
        with self.start() as child:
            self.wait_started()
            child.terminate()
            self.assertEqual([], find_processes(self.marker))

    def test_a_killed_conductor(self) -> None:
        with self.start() as child:
            self.wait_started()
            child._process.kill()
            self.assert_ended()

    def test_an_expired_lease(self) -> None:
        lease = Lease.new(margin=0.0)
        lease.renew(SYSTEM_CLOCK.boottime() + 600.0)
        with lease.shared() as fd, self.start(fd):
            self.wait_started()
            lease.renew(SYSTEM_CLOCK.boottime())
            self.assert_ended()
