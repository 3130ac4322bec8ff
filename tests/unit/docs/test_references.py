"""What the pages for readers of the source name is there."""

import re
from pathlib import Path

import testtools

ROOT = Path(__file__).parents[3]
PAGES = ("README.rst", "CONTRIBUTING.rst", "samples/README.rst")
#: a path below one of our directories, or a file of the root
OURS = re.compile(
    r"(?<![\w/.])(?:(?:api-ref|doc|etc|kubernetes_sandbox|releasenotes|samples|tacker_cnf|tests|tools)"
    r"/[\w./-]*\w|(?:CONTRIBUTING|README)\.rst|LICENSE|pyproject\.toml"
    r"|tox\.ini)"
)
INCLUDE = re.compile(r"\.\. include:: (\S+)\n((?: +:.*\n)*)")
MARK = re.compile(r":(?:start-after|end-before): (.*)")


def named_files(text: str) -> set[str]:
    """Find the files of ours that a page names."""
    return set(OURS.findall(text))


class ReferenceTest(testtools.TestCase):
    def test_files_that_pages_name_exist(self) -> None:
        for page in PAGES:
            files = named_files((ROOT / page).read_text())
            self.assertNotEqual(set(), files, page)
            missing = {name for name in files if not (ROOT / name).exists()}
            self.assertEqual(set(), missing, page)

    def test_included_parts_are_marked(self) -> None:
        for page in (ROOT / "doc" / "source").rglob("*.rst"):
            for name, options in INCLUDE.findall(page.read_text()):
                included = (page.parent / name).read_text().splitlines()
                for mark in MARK.findall(options):
                    self.assertIn(mark, included, str(page))
