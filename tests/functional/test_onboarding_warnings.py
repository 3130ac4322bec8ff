"""Packages that do not conform, and are onboarded with warnings."""

import re
from urllib import parse

import fixtures

from tacker_cnf.catalogue import package_reader
from tests.functional.test_packages import (
    FLAVOURS,
    PACKAGES,
    PackageTest,
    build_zip,
)

COUNT = re.compile(rb"(initial_delta:\s+number_of_instances): 1")


class TestWarnings(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())

    def onboard(self, count: int, targets: int = 1) -> str:
        """Onboard a package whose VDU has another initial count."""
        name = FLAVOURS[1]
        text = COUNT.sub(rb"\1: %d" % count, self.files[name])
        mapping = b"requirements: {%s}" % b", ".join(
            b"r%d: [gone, virtual_link]" % number for number in range(targets)
        )
        text = text.replace(
            b"substitution_mappings:",
            b"substitution_mappings:\n    " + mapping,
        )
        return self.onboard_content(build_zip(self.files | {name: text}))

    def test_they_are_shown_and_logged(self) -> None:
        path = self.onboard(7)
        shown = self.call("GET", path).json
        self.assertEqual("ONBOARDED", shown["onboardingState"])
        requirement, count = shown["warnings"]
        self.assertEqual(
            f"{FLAVOURS[1]}: topology_template.substitution_mappings"
            ".requirements.r0.0: there is no node gone: r0 is ignored",
            requirement,
        )
        self.assertIn("7 is not within 1 to 3, the vdu_profile of", count)
        for warning in (requirement, count):
            self.assertIn(
                "VNF package does not conform:"
                f" package_id={shown['id']} warning={warning}",
                self.log.output,
            )

    def test_lists_have_them_on_request_and_compare_them(self) -> None:
        self.onboard(7)
        (listed,) = self.call("GET", PACKAGES).json
        self.assertNotIn("warnings", listed)
        (listed,) = self.call("GET", f"{PACKAGES}?all_fields").json
        self.assertEqual(2, len(listed["warnings"]))
        for text, number in (("vdu_profile", 1), ("nothing", 0)):
            query = parse.quote(f"(cont,warnings,{text})")
            found = self.call("GET", f"{PACKAGES}?filter={query}").json
            self.assertEqual(number, len(found), text)

    def test_a_conforming_package_has_none(self) -> None:
        shown = self.call("GET", self.onboard_content()).json
        self.assertNotIn("warnings", shown)
        self.assertNotIn("does not conform", self.log.output)

    def test_their_number_is_limited(self) -> None:
        warnings = self.call("GET", self.onboard(1, 60)).json["warnings"]
        self.assertEqual(package_reader.MAX_WARNINGS, len(warnings))
        self.assertEqual("and 11 more warnings", warnings[-1])
