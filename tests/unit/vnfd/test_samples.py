from pathlib import Path

import fixtures
import testtools

from samples import build
from tacker_cnf.vnfd import bounded_yaml, csar, descriptor, scaling
from tacker_cnf.vnfd.descriptor import Vnfd

CNF = Path(build.__file__).parent / "cnf"
CLUSTER = Path(build.__file__).parent / "kubernetes-cluster"
VNFD_ID = "5c6bd0c9-8f0e-4d0b-9a53-2f1d6f4e7a10"
OTHER_ID = "00000000-0000-4000-8000-000000000001"
KINDS = {
    "probe": "Pod",
    "web": "Deployment",
    "cache": "ReplicaSet",
    "store": "StatefulSet",
    "agent": "DaemonSet",
}


class SampleTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)

    def read(self, vnfd_id: str | None = None, source: Path = CNF) -> Vnfd:
        package = build.build(source, self.root / "sample.csar", vnfd_id)
        opened = csar.unpack(package, self.root / "tree")
        found = descriptor.read(self.root / "tree", opened.entry_definitions)
        self.assertEqual((), found.warnings)
        return found.vnfd


class TestCnf(SampleTest):
    def test_flavours(self) -> None:
        vnfd = self.read()
        self.assertEqual(VNFD_ID, vnfd.id)
        self.assertEqual("tacker_cnf samples", vnfd.provider)
        self.assertEqual(["simple", "small"], list(vnfd.flavours))
        self.assertEqual("simple", vnfd.default_flavour)

    def test_levels(self) -> None:
        simple = self.read().flavours["simple"]
        quiet = dict.fromkeys(KINDS, 1)
        self.assertEqual(quiet, scaling.counts_of_level(simple, None))
        self.assertEqual(quiet, scaling.counts_of_level(simple, "quiet"))
        self.assertEqual(
            quiet | {"web": 3, "cache": 2, "store": 3},
            scaling.counts_of_level(simple, "busy"),
        )

    def test_scale_levels_agree_with_the_counts(self) -> None:
        simple = self.read().flavours["simple"]
        for level in simple.levels:
            counts = scaling.counts_of_level(simple, level)
            self.assertEqual(
                scaling.scale_levels_of(simple, level),
                {
                    aspect: scaling.level_of(simple, aspect, counts)
                    for aspect in simple.aspects
                },
            )

    def test_every_vdu_has_a_workload_of_its_name(self) -> None:
        vnfd = self.read()
        manifests = [
            manifest
            for path in (self.root / "tree/Files/kubernetes").iterdir()
            for manifest in bounded_yaml.load_all(path.read_text(), path.name)
        ]
        names = {(m["kind"], m["metadata"]["name"]) for m in manifests}
        for vdu in vnfd.flavours["simple"].vdus.values():
            self.assertIn((KINDS[vdu.id], vdu.name), names)
        self.assertEqual(len(manifests), len(names))


class TestKubernetesCluster(SampleTest):
    def setUp(self) -> None:
        super().setUp()
        self.simple = self.read(source=CLUSTER).flavours["simple"]

    def test_levels(self) -> None:
        self.assertEqual(
            {"small": (1, 1), "available": (3, 2), "large": (3, 4)},
            {
                level: (counts["masterNode"], counts["workerNode"])
                for level in self.simple.levels
                for counts in [scaling.counts_of_level(self.simple, level)]
            },
        )

    def test_one_script_handles_all_node_operations(self) -> None:
        self.assertEqual(
            {
                f"{operation}_{when}"
                for operation in ("instantiate", "heal", "scale", "terminate")
                for when in ("start", "end")
            }
            | {"scale_rollback_start"},
            set(self.simple.scripts),
        )
        (script,) = set(self.simple.scripts.values())
        self.assertTrue((self.root / "tree" / script).is_file())


class TestBuild(SampleTest):
    def test_the_same_source_gives_the_same_bytes(self) -> None:
        first = build.build(CNF, self.root / "a.csar").read_bytes()
        second = build.build(CNF, self.root / "b.csar").read_bytes()
        self.assertEqual(first, second)

    def test_every_file_outside_of_definitions_has_a_digest(self) -> None:
        opened = csar.unpack(
            build.build(CNF, self.root / "a.csar"),
            self.root / "tree",
        )
        self.assertEqual(
            {
                path.relative_to(CNF).as_posix()
                for path in (CNF / "Files").rglob("*.yaml")
            },
            {artifact.path for artifact in opened.artifacts},
        )
        for artifact in opened.artifacts:
            self.assertEqual("sha256", artifact.algorithm)

    def test_another_vnfd_id(self) -> None:
        self.assertEqual(OTHER_ID, self.read(OTHER_ID).id)
        for path in (self.root / "tree/Definitions").iterdir():
            self.assertNotIn(VNFD_ID, path.read_text())

    def test_invalid_sources_are_rejected(self) -> None:
        for source in (CNF / "Definitions", self.root / "nowhere"):
            self.assertRaises(
                ValueError,
                build.build,
                source,
                self.root / "a.csar",
            )
