"""The Heat templates of a flavour in a package."""

from pathlib import Path

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.vnfd import base_hot
from tacker_cnf.vnfd.base_hot import BaseHot


class TestRead(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.package = self.root / "package"
        self.folder = self.package / "BaseHOT" / "simple"
        (self.folder / "nested").mkdir(parents=True)

    def read(self, flavour: str = "simple") -> BaseHot:
        return base_hot.read(self.package, "a-vnfd", flavour)

    def refused(self, words: str, flavour: str = "simple") -> None:
        error = self.assertRaises(errors.InvalidParameters, self.read, flavour)
        self.assertIn(words, str(error))

    def test_yaml_and_yml_files_are_read(self) -> None:
        (self.folder / "a.yml").write_text("a: 1")
        (self.folder / "nested" / "b.yaml").write_text("b: 1")
        (self.folder / "nested" / "c.yml").write_text("c: 1")
        (self.folder / "nested" / "d.yaml.orig").write_text("d: 1")
        (self.folder / "nested" / "e.yhtml").write_text("e: 1")
        self.assertEqual(
            BaseHot(
                name="BaseHOT/simple/a.yml",
                template="a: 1",
                files={"b.yaml": "b: 1", "c.yml": "c: 1"},
            ),
            self.read(),
        )

    def test_exactly_one_template_is_required(self) -> None:
        self.refused("0 Heat templates BaseHOT/simple/*.yaml")
        for name in ("a.yaml", "b.yml"):
            (self.folder / name).touch()
        self.refused("2 Heat templates BaseHOT/simple/*.yaml")

    def test_templates_outside_of_the_package_are_rejected(self) -> None:
        outside = self.root / "outside"
        outside.mkdir()
        (outside / "secret.yaml").write_text("secret")
        self.refused("0 Heat templates", flavour="../../outside")
        (self.package / "BaseHOT" / "led").symlink_to(outside)
        self.refused("0 Heat templates", flavour="led")
        (self.folder / "a.yaml").symlink_to(outside / "secret.yaml")
        self.refused("BaseHOT/simple/a.yaml is not a file of the VNF package")
        (self.folder / "a.yaml").unlink()
        (self.folder / "a.yaml").touch()
        (self.folder / "nested").rmdir()
        (self.folder / "nested").symlink_to(outside)
        self.assertEqual({}, self.read().files)

    def test_a_template_that_is_not_a_text_is_rejected(self) -> None:
        (self.folder / "a.yaml").write_bytes(b"\xff")
        self.refused("BaseHOT/simple/a.yaml: not UTF-8")
