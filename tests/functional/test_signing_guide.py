"""The example of the page on signatures: every command as documented."""

import json
import os
import re
import subprocess
import textwrap
import threading
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import fixtures
import testtools

from tacker_cnf.cmd import compose
from tests.fixtures.vnfm import SAMPLES, Vnfm

PAGE: Final = SAMPLES.parent / "doc" / "source" / "admin" / "signatures.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: bash\n\n((?:   .*\n|\n)+)", re.MULTILINE
)


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log no request."""


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class TestGuide(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        (self.folder / "samples").symlink_to(SAMPLES)
        self.vnfm = self.useFixture(Vnfm())

    def run_script(self, script: str, **environ: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.folder,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def serve(self) -> str:
        """Start a service with the files of the page; return its address."""
        conf = self.vnfm.conf
        for name, value in (
            ("signatures", "required"),
            ("trusted_certificates", str(self.folder / "vendors")),
        ):
            conf.set_override(name, value, "catalogue")
        parts = compose.parts(conf)
        self.addCleanup(parts.store.close)
        server = Server(("127.0.0.1", 0), QuietHandler)
        server.set_app(compose.application(parts))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    def test_every_command(self) -> None:
        blocks = map(textwrap.dedent, BLOCK.findall(PAGE.read_text()))
        script = "\n".join(blocks)
        making, found, onboarding = script.partition("onboard() {")
        self.assertTrue(found)
        self.run_script(making)
        output = self.run_script(found + onboarding, VNFM=self.serve())
        output = output.replace("signed.csar\n", "", 1)  # what was built
        decoder, responses = json.JSONDecoder(), []
        while output := output.strip():
            response, end = decoder.raw_decode(output)
            responses.append(response)
            output = output[end:]
        accepted, refused, unsigned, signed = responses
        self.assertEqual("OPTION_2", accepted["packageSecurityOption"])
        vendor = (self.folder / "vendor.pem").read_text()
        self.assertEqual(vendor, accepted["signingCertificate"])
        message = (
            "vnf.cms: the signature is of another content than changed.csar"
        )
        self.assertIn(message, refused["detail"])
        self.assertIn(message, PAGE.read_text())
        self.assertEqual("CREATED", unsigned["onboardingState"])
        self.assertEqual("OPTION_1", signed["packageSecurityOption"])
