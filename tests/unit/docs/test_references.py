"""What the pages for readers of the source name is there."""

import re
from pathlib import Path

import testtools

ROOT = Path(__file__).parents[3]
PAGES = ("README.rst", "CONTRIBUTING.rst", "samples/README.rst")
#: a path below one of our directories, or a file of the root
OURS = re.compile(
    r"(?<![\w/.])(?:(?:api-ref|doc|etc|releasenotes|samples|tacker_cnf|tests|tools)"
    r"/[\w./-]*\w|(?:CONTRIBUTING|README)\.rst|LICENSE|pyproject\.toml"
    r"|tox\.ini)"
)


def named_files(text: str) -> set[str]:
    """Find the files of ours that a page names."""
    return set(OURS.findall(text))


class ReferenceTest(testtools.TestCase):
    def test_files_that_pages_name_exist(self) -> None:
        for page in PAGES:
            named = named_files((ROOT / page).read_text())
            self.assertNotEqual(set(), named, page)
            missing = {name for name in named if not (ROOT / name).exists()}
            self.assertEqual(set(), missing, page)

    def test_included_parts_of_the_readme_are_marked(self) -> None:
        readme = (ROOT / "README.rst").read_text().splitlines()
        for page in (ROOT / "doc" / "source").rglob("*.rst"):
            marks = re.findall(
                r":(?:start-after|end-before): (\.\. [\w-]+)", page.read_text()
            )
            self.assertEqual([], [m for m in marks if m not in readme])
