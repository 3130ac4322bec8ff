"""Files that pages for readers of the source mention exist."""

import re
from pathlib import Path

import testtools

ROOT = Path(__file__).parents[3]
PAGES = ("README.rst", "CONTRIBUTING.rst", "samples/README.rst")
#: a path below a directory of the project, or a file of its root
OURS = re.compile(
    r"(?<![\w/.])(?:(?:api-ref|doc|etc|kubernetes_sandbox|releasenotes|samples|tacker_cnf|tests|tools)"
    r"/[\w./-]*\w|(?:CONTRIBUTING|README)\.rst|LICENSE|pyproject\.toml"
    r"|tox\.ini)"
)
INCLUDE = re.compile(r"\.\. include:: (\S+)\n((?: +:.*\n)*)")
MARK = re.compile(r":(?:start-after|end-before): (.*)")


def mentioned_files(text: str) -> set[str]:
    """Return the files of the project that a page mentions."""
    return set(OURS.findall(text))


class ReferenceTest(testtools.TestCase):
    def test_mentioned_files_exist(self) -> None:
        for page in PAGES:
            files = mentioned_files((ROOT / page).read_text())
            self.assertNotEqual(set(), files, page)
            missing = {name for name in files if not (ROOT / name).exists()}
            self.assertEqual(set(), missing, page)

    def test_markers_of_included_parts_exist(self) -> None:
        for page in (ROOT / "doc" / "source").rglob("*.rst"):
            for name, options in INCLUDE.findall(page.read_text()):
                included = (page.parent / name).read_text().splitlines()
                for mark in MARK.findall(options):
                    self.assertIn(mark, included, str(page))
