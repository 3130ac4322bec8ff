"""An upgrade installs a release as the installation guide does."""

from pathlib import Path

import testtools

PAGES = Path(__file__).parents[3] / "doc" / "source" / "admin"
LINK = "ln -sfT /opt/tacker_cnf-$VERSION /opt/tacker_cnf"


class InstallationTest(testtools.TestCase):
    def test_both_pages_have_the_same_commands(self) -> None:
        install, upgrade = (
            [line.strip() for line in (PAGES / page).read_text().splitlines()]
            for page in ("install.rst", "upgrade.rst")
        )
        first = install.index("python3 -m venv /opt/tacker_cnf-$VERSION")
        commands = install[first : install.index(LINK)]
        begin = upgrade.index(commands[0])
        self.assertEqual(commands, upgrade[begin : begin + len(commands)])
        self.assertIn(LINK, upgrade)
