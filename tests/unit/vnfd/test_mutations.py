"""Mutated input results in a value or InvalidPackage, nothing else."""

import contextlib
import copy
import json
import random
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.sol import base
from tacker_cnf.vnfd import bounded_yaml, csar, descriptor
from tacker_cnf.vnfd.limits import Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, META, vnfd_files

ROUNDS = 500
SMALL = Limits(
    max_unpacked_bytes=10**6,
    max_files=100,
    max_yaml_nodes=5000,
    max_directory_bytes=10**6,
)
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**62,
    1.5,
    "",
    "VDU1",
    "simple",
    "../../..",
    "a\0b",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"": None},
    {"get_input": "version"},
    {"get_input": "selected_flavour"},
    {"get_input": ["version"]},
    {"get_input": {}},
    [{"VDU1": {"type": "tosca.nodes.nfv.Vdu.Compute"}}],
)
TOKENS = (
    *b"\n:[]{}&*!#|>-?,'\"\0\xff \t%@`",
    *(ord(letter) for letter in "a0~"),
)


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Change, drop, repeat or insert a few bytes."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(changed) or 1)
        length = rng.choice((1, 1, 2, 4, 50))
        piece = bytes(rng.choice(TOKENS) for _ in range(length))
        some = bytes(changed[at : at + length])
        changed[at : at + length] = rng.choice(
            (piece, b"", some * 2, rng.randbytes(length)),
        )
    return bytes(changed)


def mutated_value(rng: random.Random, value: Any) -> Any:
    """Set an unusual value at a random place of a tree of values."""
    changed = copy.deepcopy(value)
    place: Any = {"root": changed}
    key: Any = "root"
    while isinstance(place[key], (dict, list)) and place[key]:
        place = place[key]
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = rng.choice(keys)
        if rng.random() < 0.1:
            break
    if isinstance(place, dict) and rng.random() < 0.2:
        place[rng.choice(("", "type", "x" * 300))] = place.pop(key)
    else:
        place[key] = rng.choice(ODD)
    return changed


class TestMutations(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.rng = random.Random(20261120)  # noqa: S311

    def _package(self) -> dict[str, str | bytes]:
        definitions = {
            name: json.dumps(content) for name, content in vnfd_files().items()
        }
        return packages.package_files(
            {
                **definitions,
                "TOSCA-Metadata/TOSCA.meta": META,
                "Scripts/run.py": "pass\n" * 100,
            },
        )

    def _open(self, archive: Path, tree: Path) -> None:
        try:
            opened = csar.unpack(archive, tree, SMALL)
        except errors.InvalidPackage:
            self.assertFalse(tree.exists())
            return
        with contextlib.suppress(errors.InvalidPackage):
            descriptor.read(tree, opened.entry_definitions, SMALL)

    def test_archives(self) -> None:
        archive = packages.write_zip(self.root / "a.zip", self._package())
        right = archive.read_bytes()
        directory = right.index(b"PK\x01\x02")
        places = [self.root / "in" / str(n) for n in range(ROUNDS)]
        for round_, tree in enumerate(places):
            head, tail = right[:directory], right[directory:]
            if round_ % 2:
                head = mutated_bytes(self.rng, head)
            else:
                tail = mutated_bytes(self.rng, tail)
            archive.write_bytes(head + tail)
            self._open(archive, tree)
        self.assertEqual(
            {"a.zip", "in"},
            {path.name for path in self.root.iterdir()},
        )

    def test_metadata(self) -> None:
        right = (
            META + "\nName: Scripts/run.py\nContent-Type: text\n"
        ).encode()
        for round_ in range(ROUNDS):
            meta = mutated_bytes(self.rng, right)
            files = self._package() | {"TOSCA-Metadata/TOSCA.meta": meta}
            archive = packages.write_zip(self.root / "a.zip", files)
            self._open(archive, self.root / str(round_))

    def test_definitions_by_value(self) -> None:
        right = vnfd_files()
        outcomes = []
        for round_ in range(2 * ROUNDS):
            files = mutated_value(self.rng, right)
            for _ in range(self.rng.choice((0, 0, 1, 3))):
                files = mutated_value(self.rng, files)
            tree = self.root / str(round_)
            try:
                packages.write_tree(
                    tree,
                    dict.fromkeys(right, "")
                    | {name: files.get(name) for name in right},
                )
                base.encode(descriptor.read(tree, ENTRY, SMALL).vnfd)
                outcomes.append(True)
            except errors.InvalidPackage as error:
                self.assertNotEqual("", str(error))
                outcomes.append(False)
        self.assertEqual({True, False}, set(outcomes))

    def test_yaml_texts(self) -> None:
        texts = [
            json.dumps(content, indent=1) for content in vnfd_files().values()
        ]
        texts.append(
            "a: &x {b: [1, 2]}\nc: *x\n<<: *x\nd: !!str 5\n---\ne: |\n f"
        )
        for _ in range(ROUNDS):
            right = self.rng.choice(texts).encode()
            text = mutated_bytes(self.rng, right).decode(errors="replace")
            try:
                values = bounded_yaml.load_all(text, "a.yaml", SMALL)
            except errors.InvalidPackage as error:
                self.assertThat(
                    str(error),
                    testtools.matchers.StartsWith("a.yaml"),
                )
            else:
                json.dumps(values, allow_nan=False)
