"""Random input is accepted or refused; nothing breaks, and nothing leaks.

TACKER_CNF_FUZZ_ROUNDS is the number of rounds, TACKER_CNF_FUZZ_SEED the seed
of the first.
"""

import contextlib
import json
import os
import pickle
import random
import resource
from pathlib import Path
from typing import Any

import fixtures
import testtools
import yaml

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.catalogue.package_reader import PackageReader
from tacker_cnf.scripts import pickled_output, protocol
from tacker_cnf.scripts.protocol import ScriptOutput
from tacker_cnf.sol import base
from tests.fixtures import mutation
from tests.fixtures.mutation import Corpus
from tests.functional import test_packages
from tests.unit.drivers import update_plans
from tests.unit.drivers.test_manifest_validation import CRON_JOB
from tests.unit.vnfd.test_mutations import mutated_bytes

ROUNDS = int(os.environ.get("TACKER_CNF_FUZZ_ROUNDS", "300"))
SEED = int(os.environ.get("TACKER_CNF_FUZZ_SEED", "20261121"))
#: MiB that all rounds may use more than one round
MEMORY = 256
LIMITS = {"max_unpacked_bytes": 5 * 10**6, "max_files": 200}
REPLY = {
    "vnf_instance": {"metadata": {"a": [1, "x", None, True, 1.5]}},
    "user_script_err_handling_data": {"deep": {"er": ["b"] * 3}},
}


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def read_pickle(reply: bytes) -> ScriptOutput:
    """Read the output of a script as its child and the conductor do."""
    return protocol.pickle_output(pickled_output.to_json(reply, 10**6))


class FuzzTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        #: outcome -> number of rounds
        self.outcomes: dict[str, int] = {}

    def seeded_rounds(self, rounds: int) -> Any:
        """Seed the random numbers of each round, to make it repeatable."""
        before = memory()
        for number in range(SEED, SEED + rounds):
            with self.create_package(number):
                yield random.Random(number)  # noqa: S311
        self.assertLess(memory() - before, MEMORY)
        self.assertFalse([*Path("/").glob("fuzz-evil*")])
        self.assertFalse([*self.root.rglob("fuzz-evil*")])

    @contextlib.contextmanager
    def create_package(self, number: int) -> Any:
        try:
            yield
        except Exception as error:
            raise AssertionError(f"TACKER_CNF_FUZZ_SEED={number}") from error

    def count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


class TestPackages(FuzzTest):
    def setUp(self) -> None:
        super().setUp()
        self.corpus = self.useFixture(Corpus())
        vendor = self.root / "vendor.pem"
        vendor.write_bytes(self.corpus.vendor.pem)
        conf = configuration.load(["--config-dir", str(self.root)])
        for name, value in LIMITS.items():
            conf.set_override(name, value, "catalogue")
        conf.set_override("trusted_certificates", str(vendor), "catalogue")
        self.reader = PackageReader(conf)

    def test_valid_packages_are_accepted(self) -> None:
        for number, files in enumerate(self.corpus.valid_packages):
            archive = self.root / "package.csar"
            archive.write_bytes(test_packages.build_zip(files))
            vnfd = self.reader.read(archive, self.root / str(number))
            self.assertTrue(vnfd.vnfd.flavours)

    def test_mutated_packages(self) -> None:
        archive = self.root / "package.csar"
        for rng in self.seeded_rounds(ROUNDS):
            archive.write_bytes(self.corpus.mutate_one(rng))
            tree = self.root / "tree"
            try:
                vnfd = self.reader.read(archive, tree)
                base.encode(vnfd.vnfd)
                self.count("taken")
            except errors.InvalidPackage as error:
                self.assertTrue(str(error))
                self.assertNotIn(str(self.root), str(error))
                self.count("refused")
            self.check_files(tree)
        self.assertEqual({"taken", "refused"}, self.outcomes.keys())

    def check_files(self, tree: Path) -> None:
        """Check that no file is elsewhere, and delete the package's files."""
        entries = {path.name for path in self.root.iterdir()} - {tree.name}
        self.assertEqual({"package.csar", "vendor.pem"}, entries)
        for path in sorted(tree.rglob("*"), reverse=True):
            self.assertFalse(path.is_symlink())
            path.rmdir() if path.is_dir() else path.unlink()
        if tree.exists():
            tree.rmdir()


class TestService(test_packages.PackageTest):
    options = {"catalogue": LIMITS}  # noqa: RUF012

    def test_mutated_uploads(self) -> None:
        corpus = self.useFixture(Corpus())
        path = self.create_package()
        for number in range(SEED, SEED + max(ROUNDS // 20, 10)):
            content = corpus.mutate_one(random.Random(number))  # noqa: S311
            response = self.upload(path, content)
            with self.subTest(number):
                self.assertIn(
                    response.status, {202, 400}, str(response.content)
                )
            if response.status == 202:
                self.assertEqual(1, len(self.list_contents()))
                for part in ("", "/vnfd", "/package_content"):
                    shown = self.call("GET", f"{path}{part}")
                    self.assertEqual(200, shown.status)
                self.disable(path)
                self.assertEqual(204, self.call("DELETE", path).status)
                path = self.create_package()
            self.assertEqual(set(), self.list_contents())
        entries = {p.name for p in Path(self.vnfm.state_path).iterdir()}
        self.assertEqual(
            {"packages", "secrets.key"},
            {name for name in entries if "sqlite" not in name},
        )


class TestManifests(FuzzTest):
    """Updates and changes to a package with mutated Kubernetes manifests."""

    def setUp(self) -> None:
        super().setUp()
        self.valid_texts = update_plans.texts()
        self.valid_texts[update_plans.REST[1]] += f"---\n{CRON_JOB}"
        self.bodies = {
            name: list(yaml.safe_load_all(text))
            for name, text in self.valid_texts.items()
        }

    def mutated(self, rng: random.Random) -> dict[str, str]:
        name = rng.choice(sorted(self.valid_texts))
        if rng.random() < 0.2:
            raw = mutated_bytes(rng, self.valid_texts[name].encode())
            return {
                **self.valid_texts,
                name: raw.decode("utf-8", "surrogateescape"),
            }
        bodies = list(self.bodies[name])
        one = rng.randrange(len(bodies))
        bodies[one] = mutation.odd_value(rng, bodies[one])
        return {
            **self.valid_texts,
            name: "\n---\n".join(map(json.dumps, bodies)),
        }

    def test_mutated_manifests(self) -> None:
        for rng in self.seeded_rounds(max(ROUNDS // 5, 100)):
            tree = self.root / str(sum(self.outcomes.values()))
            update_plans.write(tree, self.mutated(rng))
            try:
                update_plans.read(tree)
                self.count("taken")
            except errors.InvalidParameters as error:
                self.assertTrue(str(error))
                self.assertNotIn(str(self.root), str(error))
                self.count("refused")
        self.assertEqual({"taken", "refused"}, self.outcomes.keys())


class TestScriptOutput(FuzzTest):
    def check_reply(self, read: Any, reply: bytes) -> None:
        try:
            base.encode(read(reply))
            self.count("taken")
        except errors.ScriptFailed as error:
            self.assertTrue(str(error))
            self.count("refused")

    def valid_texts(self) -> bytes:
        return json.dumps(
            {
                "vnfInstance": REPLY["vnf_instance"],
                "userScriptErrHandlingData": REPLY[
                    "user_script_err_handling_data"
                ],
            }
        ).encode()

    def test_json(self) -> None:
        right = self.valid_texts()
        self.check_reply(protocol.json_output, right)
        self.assertEqual({"taken": 1}, self.outcomes)
        for rng in self.seeded_rounds(ROUNDS):
            reply = mutation.mutated_reply(rng, right)
            self.check_reply(protocol.json_output, reply)
            value = mutation.odd_value(rng, json.loads(right))
            self.check_reply(protocol.json_output, json.dumps(value).encode())
        self.assertEqual({"taken", "refused"}, self.outcomes.keys())

    def test_pickle(self) -> None:
        rights = [pickle.dumps(REPLY, protocol) for protocol in range(6)]
        for right in rights:
            self.check_reply(read_pickle, right)
        self.assertEqual({"taken": 6}, self.outcomes)
        for rng in self.seeded_rounds(ROUNDS):
            right = rng.choice(rights)
            reply = mutation.mutated_reply(rng, right)
            self.check_reply(read_pickle, reply)
            value = mutation.odd_value(rng, REPLY)
            self.check_reply(read_pickle, pickle.dumps(value))
        self.assertEqual({"taken", "refused"}, self.outcomes.keys())
