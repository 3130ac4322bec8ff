"""The locks agree with the requirements that they are made from."""

import configparser
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import testtools
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parent.parent.parent
LOCKS: Final = ROOT / "locks"
PIN: Final = re.compile(
    r"^(\S+)==(\S+?)(?: ; [^\n]+?)? \\\n((?:    --hash=sha256:\w{64}(?: \\)?\n)+)",
    re.MULTILINE,
)
#: requirements of the names of extras, "" for those of the package itself
Declared = dict[str, set[Requirement]]


def parse(lines: Iterable[str]) -> set[Requirement]:
    return {
        Requirement(line)
        for line in lines
        if line.strip() and not line.startswith("#")
    }


def declared(folder: Path) -> Declared:
    """Return what the setup.cfg of a distribution requires."""
    config = configparser.ConfigParser()
    config.read(folder / "setup.cfg")
    values = dict(config["options.extras_require"])
    values[""] = config["options"]["install_requires"]
    found = {}
    for extra, value in values.items():
        name = value.removeprefix("file:")
        text = (folder / name.strip()).read_text() if name != value else value
        found[extra] = parse(text.splitlines())
    return found


def read(lock: str) -> dict[str, str]:
    """Return the versions of a lock by the names of the packages."""
    text = (LOCKS / f"{lock}.txt").read_text()
    return {name: version for name, version, _ in PIN.findall(text)}


class TestLocks(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.service = declared(ROOT)
        self.sandbox = declared(ROOT / "kubernetes_sandbox")
        pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
        self.build = parse(pyproject["build-system"]["requires"])

    def check(self, lock: str, *wanted: set[Requirement]) -> None:
        """Check that a lock has a version of each requirement."""
        versions = read(lock)
        for requirement in set().union(*wanted):
            version = versions.get(canonicalize_name(requirement.name))
            self.assertTrue(
                version and requirement.specifier.contains(version),
                f"{requirement} is {version} in locks/{lock}.txt;"
                " run tools/lock",
            )

    def test_tests_are_installed_with_all_that_they_require(self) -> None:
        names = ("", "client", "mysql", "postgresql", "test")
        self.check("test", *(self.service[name] for name in names))
        self.check("test", self.sandbox[""], self.sandbox["test"], self.build)

    def test_the_service_is_installed_with_all_that_it_may_use(self) -> None:
        names = ("", "mysql", "postgresql", "tracing")
        self.check("service", *(self.service[name] for name in names))
        self.check("build", self.build)

    def test_the_demo_leaves_out_only_what_its_list_has(self) -> None:
        excluded = {
            canonicalize_name(one.name)
            for one in parse(
                (LOCKS / "demo-excludes.txt").read_text().splitlines()
            )
        }
        service = {
            one
            for one in self.service[""]
            if canonicalize_name(one.name) not in excluded
        }
        client = self.service["client"]
        self.check("demo", service, client, self.sandbox[""], self.build)
        self.assertEqual(set(), excluded & set(read("demo")))

    def test_documentation_and_lint_have_what_they_require(self) -> None:
        self.check("docs", self.service[""], self.service["docs"], self.build)
        self.check("lint", self.service["lint"])

    def test_environments_of_their_own_have_what_they_require(self) -> None:
        for path in LOCKS.glob("*.in"):
            self.check(path.stem, parse(path.read_text().splitlines()))

    def test_locks_of_one_environment_agree(self) -> None:
        together = read("test")
        for lock in (
            "bench",
            "build",
            "demo",
            "docs",
            "lint",
            "mutation",
            "service",
        ):
            for name, version in read(lock).items():
                self.assertEqual(
                    version, together.setdefault(name, version), name
                )

    def test_each_package_is_pinned_with_hashes_alone(self) -> None:
        """No address of an index or a file is in a lock."""
        for path in LOCKS.glob("*.txt"):
            if path.name == "demo-excludes.txt":
                continue
            text = path.read_text()
            rest = PIN.sub("", text)
            lines = [one for one in rest.splitlines() if one[:1] != "#"]
            self.assertEqual([], lines, path.name)

    def test_both_distributions_are_built_by_the_same(self) -> None:
        path = ROOT / "kubernetes_sandbox" / "pyproject.toml"
        pyproject = tomllib.loads(path.read_text())
        self.assertEqual(
            self.build, parse(pyproject["build-system"]["requires"])
        )
