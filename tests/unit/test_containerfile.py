"""The Containerfile follows the rules for images of this service."""

import json
import re
from pathlib import Path
from typing import Final

import testtools

from tests.fixtures.container_build import instructions

ROOT: Final = Path(__file__).parents[2]
CONTAINERFILE: Final = ROOT / "etc" / "container" / "Containerfile"
VALUES: Final = ROOT / "etc" / "helm" / "tacker-cnf" / "values.yaml"


class TestContainerfile(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.steps = list(instructions(CONTAINERFILE))

    def values(self, name: str) -> list[str]:
        return [value for found, value in self.steps if found == name]

    def test_python_packages_are_checked_by_their_hashes(self) -> None:
        for step in self.values("RUN"):
            for command in step.split("&&"):
                if re.search(r"pip .*install", command):
                    self.assertIn("--no-deps", command)
                    is_ours = "./tacker_cnf-*.whl" in command
                    self.assertNotEqual(
                        is_ours, "--require-hashes" in command, command
                    )

    def test_debian_packages_leave_no_lists_in_the_image(self) -> None:
        installing = [s for s in self.values("RUN") if "apt-get" in s]
        for step in installing:
            self.assertIn("apt-get update && ", step)
            self.assertIn("--no-install-recommends", step)
        self.assertIn("rm -rf /var/lib/apt/lists/*", installing[-1])

    def test_programs_run_directly_as_a_user_without_rights(self) -> None:
        (user,) = self.values("USER")
        self.assertRegex(user, r"^[1-9]\d*:[1-9]\d*$")
        number, _, group = user.partition(":")
        self.assertEqual(number, group)
        self.assertIn(f"\nuser: {number}\n", VALUES.read_text())
        for name in ("ENTRYPOINT", "CMD"):
            (value,) = self.values(name)
            self.assertIsInstance(json.loads(value), list)
        self.assertEqual([], self.values("HEALTHCHECK"))
        self.assertEqual([], self.values("ADD"))

    def test_stages_have_the_same_base_with_a_release(self) -> None:
        bases = {value.split()[0] for value in self.values("FROM")}
        self.assertEqual({"docker.io/library/debian:12-slim"}, bases)
