"""An OpenSSH server on this machine, in the role of a machine of a VNF."""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import uuid
from pathlib import Path

import fixtures
import testtools

from tacker_cnf.mgmt_drivers.remote import Host, Login
from tacker_cnf.runtime.cancellation import Deadline
from tests.fixtures import waiting
from tests.fixtures.ports import ReservedPort
from tests.services.backends import skip_or_fail

SSHD = "/usr/sbin/sshd"
CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
{host_keys}
PidFile none
AuthorizedKeysFile {authorized}
StrictModes no
UsePAM no
PasswordAuthentication yes
PermitRootLogin yes
MaxStartups 100
LogLevel VERBOSE
"""


def make_key(path: Path, kind: str, *options: str) -> Path:
    """Create a key pair; the public key is in ``<path>.pub``."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path, *options],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return path


def fingerprint(public: Path) -> str:
    """Return the fingerprint of a public key: ``SHA256:...``."""
    output = subprocess.check_output(["ssh-keygen", "-lf", public], text=True)
    return output.split()[1]


class SshServer(fixtures.Fixture):
    """An SSH server that accepts the authorized keys."""

    def __init__(self, case: testtools.TestCase) -> None:
        super().__init__()
        self._case = case
        self.user = getpass.getuser()

    def _setUp(self) -> None:
        if not Path(SSHD).exists():
            skip_or_fail(self._case, f"{SSHD} is not installed")
        if os.geteuid() == 0:  # sshd requires it
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.folder.chmod(0o755)  # the server reads keys as the user
        self.host_keys = [
            make_key(self.folder / f"host_{kind}", kind)
            for kind in ("ed25519", "rsa")
        ]
        self.key = make_key(self.folder / "user", "ed25519")
        self.authorize(self.key)
        self.port = self.useFixture(ReservedPort()).port
        self.start()

    def authorize(self, *keys: Path) -> None:
        """Accept these keys for logins, and no others."""
        public = (Path(f"{key}.pub").read_text() for key in keys)
        (self.folder / "authorized").write_text("".join(public))

    def start(self, *host_keys: Path) -> None:
        """Start the server, with these host keys instead of its own."""
        config = self.folder / "config"
        keys = host_keys or self.host_keys
        config.write_text(
            CONFIG.format(
                port=self.port,
                host_keys="\n".join(f"HostKey {key}" for key in keys),
                authorized=self.folder / "authorized",
            )
        )
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", config],
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        self.addCleanup(self.stop)
        waiting.until(self._is_listening, "the SSH server")

    def stop(self) -> None:
        self._server.terminate()
        self._server.wait()
        # a process of a connection has the listener until its execve
        waiting.until(self._is_port_free, "the end of the SSH server")

    def _is_port_free(self) -> bool:
        try:
            socket.create_server(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def log(self) -> str:
        """Return the log of the server."""
        return (self.folder / "log").read_text()

    def login(self) -> Login:
        return Login(self.user, private_key=self.key.read_text())

    def host(
        self,
        login: Login | None = None,
        *,
        port: int | None = None,
        known_key: str | None = None,
        connect_timeout: float = 30.0,
        fresh: bool = False,
    ) -> Host:
        """Build the Host by which a script connects to the server."""
        return Host(
            "127.0.0.1",
            login or self.login(),
            Deadline.within(120),
            port=port or self.port,
            known_key=known_key,
            connect_timeout=connect_timeout,
            fresh=fresh,
        )

    def _is_listening(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except ConnectionRefusedError:
            return False
        return True


class SystemUser(fixtures.Fixture):
    """A user with a password and sudo, deleted after the test."""

    def __init__(self, case: testtools.TestCase) -> None:
        super().__init__()
        self._case = case
        self.name = f"vnf{uuid.uuid4().hex[:10]}"
        self.password = secrets.token_urlsafe(12)

    def _setUp(self) -> None:
        if os.geteuid() != 0 or not shutil.which("sudo"):
            skip_or_fail(self._case, "creating a user needs root and sudo")
        _root("useradd", "--create-home", "--shell", "/bin/sh", self.name)
        self.addCleanup(_root, "userdel", "--remove", "--force", self.name)
        _root("chpasswd", stdin=f"{self.name}:{self.password}")
        rule = Path(f"/etc/sudoers.d/{self.name}")
        rule.write_text(f"{self.name} ALL=(ALL) NOPASSWD: ALL\n")
        self.addCleanup(rule.unlink)
        rule.chmod(0o440)

    def login(self) -> Login:
        return Login(self.name, password=self.password)


def _root(*command: str, stdin: str = "") -> None:
    subprocess.run(
        command, check=True, input=stdin, text=True, capture_output=True
    )
