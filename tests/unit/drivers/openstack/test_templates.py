"""Validation of the template of a package."""

from pathlib import Path

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.drivers.openstack import templates
from tests.factories import a_vnfd

NFV = "parameters: {{nfv: {{type: json, hidden: {}}}, key: {{hidden: true}}}}"


class TestBaseHot(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        path = Path(self.useFixture(fixtures.TempDir()).path)
        folder = path / "BaseHOT" / "simple"
        folder.mkdir(parents=True)
        self.file = folder / "a.yaml"
        self.package = UnpackedPackage(
            content_id="x", path=path, vnfd=a_vnfd()
        )

    def test_a_valid_template_is_returned(self) -> None:
        for text in (
            NFV.format("false"),
            "parameters:",
            "parameters: {nfv: 1}",
            "[]",
            "",
        ):
            self.file.write_text(text)
            found = templates.base_hot(self.package, "simple")
            self.assertEqual(text, found.template)

    def refused(self) -> str:
        error = self.assertRaises(
            errors.InvalidParameters,
            templates.base_hot,
            self.package,
            "simple",
        )
        return str(error)

    def test_a_hidden_nfv_is_rejected(self) -> None:
        self.file.write_text(NFV.format("true"))
        self.assertIn(
            "The template BaseHOT/simple/a.yaml hides its parameter nfv",
            self.refused(),
        )

    def test_a_template_that_is_not_yaml_is_rejected(self) -> None:
        self.file.write_text("a: [")
        self.assertIn(
            "The template BaseHOT/simple/a.yaml, line 2", self.refused()
        )
