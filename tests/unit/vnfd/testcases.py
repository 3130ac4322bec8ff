"""Base classes of the tests of packages and descriptors."""

from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.vnfd import csar, descriptor
from tacker_cnf.vnfd.descriptor import Flavour, Vnfd
from tacker_cnf.vnfd.limits import Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, changed, vnfd_files

TYPES = "Definitions/types.yaml"
SIMPLE = "Definitions/simple.yaml"
VNF_TYPE = f"{TYPES}|node_types|vendor.VNF"
TOP_NODES = f"{ENTRY}|topology_template|node_templates"
TOPOLOGY = f"{SIMPLE}|topology_template"
NODES = f"{TOPOLOGY}|node_templates"


class CsarTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.archive = self.root / "package.zip"
        self.tree = self.root / "tree"

    def unpack(self, files: Any, limits: Limits | None = None) -> csar.Csar:
        packages.write_zip(self.archive, files)
        self.tree = Path(self.useFixture(fixtures.TempDir()).path) / "tree"
        return csar.unpack(self.archive, self.tree, limits)

    def refused(self, limits: Limits | None = None) -> str:
        """Unpack the archive, which is rejected; return the error message."""
        error = self.assertRaises(
            errors.InvalidPackage,
            csar.unpack,
            self.archive,
            self.root / "refused",
            limits,
        )
        self.assertEqual([self.archive], list(self.root.iterdir()))
        return str(error)


class DescriptorTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.number = 0

    def tree(self, files: Any) -> Path:
        self.number += 1
        return packages.write_tree(self.root / str(self.number), files)

    def read(self, files: Any, limits: Limits | None = None) -> Vnfd:
        return descriptor.read(self.tree(files), ENTRY, limits).vnfd

    def warnings(self, files: Any) -> tuple[str, ...]:
        """Read a VNFD that is tolerated; return the warnings."""
        return descriptor.read(self.tree(files), ENTRY).warnings

    def simple(self, path: str, value: Any) -> Flavour:
        """Read the simple flavour with one value changed."""
        return self.read(changed(vnfd_files(), path, value)).flavours["simple"]

    def refused(self, files: Any, limits: Limits | None = None) -> str:
        error = self.assertRaises(
            errors.InvalidPackage,
            descriptor.read,
            self.tree(files),
            ENTRY,
            limits,
        )
        return str(error)
