"""The protocols of scripts."""

from pathlib import Path

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.scripts import protocol
from tacker_cnf.scripts.protocol import ScriptProtocol


class TestDetectProtocol(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.script = Path(folder) / "script.py"

    def check(
        self, script_protocol: ScriptProtocol, *texts: str | bytes
    ) -> None:
        for text in texts:
            data = text.encode() if isinstance(text, str) else text
            self.script.write_bytes(data)
            found = protocol.detect_protocol(self.script)
            self.assertEqual(script_protocol, found, str(text[:80]))

    def test_pickle(self) -> None:
        self.check(
            ScriptProtocol.PICKLE,
            "import pickle",
            "import sys, pickle",
            "import os; import pickle as p",
            "from pickle import load, dump",
            "from pickle import *",
            "import _pickle",
            "from _pickle import load",
            "def main():\n    import pickle\n",
            "try:\n    import cPickle\nexcept ImportError:\n    import pickle\n",
            "\ufeffimport pickle",
            b"# coding: latin-1\n# \xfc\nimport pickle\n",
        )

    def test_json(self) -> None:
        self.check(
            ScriptProtocol.JSON,
            "",
            "import json, pickletools",
            "# import pickle",
            '"""\nimport pickle\n"""',
            "text = 'x'\ntext += '''\nimport pickle\n'''",
            "from . import pickle",
            "from .pickle import load",
            "from json import pickle",
            "import tacker_cnf.mgmt_drivers_of_mine",
        )

    def test_drivers(self) -> None:
        self.check(
            ScriptProtocol.DRIVER,
            "from tacker_cnf.mgmt_drivers.base import MgmtDriver",
            "from tacker_cnf.mgmt_drivers import container_update",
            "from tacker_cnf import mgmt_drivers",
            "import tacker_cnf.mgmt_drivers.base as ours",
            # pickle for another purpose
            "import pickle\nfrom tacker_cnf.mgmt_drivers import base",
        )

    def test_a_file_that_is_no_python(self) -> None:
        self.check(
            ScriptProtocol.JSON,
            "import pickle\nprint 'as of old'",
            b"import pickle\n\xff",
            b"import pickle\0",
            "import pickle\nx = " + "-" * 300_000 + "1",
            "import pickle\nx = a" + ".a" * 300_000,
            "import pickle\n" + "(" * 100_000,
        )

    def test_a_missing_file(self) -> None:
        self.assertEqual(
            ScriptProtocol.JSON, protocol.detect_protocol(self.script)
        )


class TestOutput(testtools.TestCase):
    def test_only_drivers_need_an_output(self) -> None:
        for script_protocol, empty in (
            (ScriptProtocol.JSON, b""),
            (ScriptProtocol.PICKLE, b"{}"),
        ):
            output = protocol.DECODERS[script_protocol](empty)
            self.assertEqual(protocol.ScriptOutput(), output)
        error = self.assertRaises(
            errors.ScriptFailed,
            protocol.DECODERS[ScriptProtocol.DRIVER],
            b" \n",
        )
        self.assertIn("it wrote no output", str(error))
