"""Suggestions for misspelled names."""

import testtools

from tacker_cnf.sol import suggestion

KNOWN = (
    "id",
    "all",
    "type",
    "vimId",
    "vimType",
    "vnfcInstanceId",
    "namespace",
)


class SpellingTest(testtools.TestCase):
    def test_similar_names_are_suggested(self) -> None:
        for given, meant in (
            ("ID", "id"),
            ("VimType", "vimType"),
            ("vim_type", "vimType"),
            ("tpye", "type"),
            ("al", "all"),
            ("vnfcInstanceID", "vnfcInstanceId"),
            ("vnfInstanceIds", "vnfcInstanceId"),
            ("namespase", "namespace"),
            ("namepsace", "namespace"),
            ("names-pace", "namespace"),
            ("nmaespaec", "namespace"),
            ("namespacexx", "namespace"),
        ):
            self.assertEqual(
                meant, suggestion.closest_name(given, KNOWN), given
            )

    def test_other_names_are_not_suggested(self) -> None:
        for given in ("", "x", "ip", "pd", "any", "time", "spaces", "VNFC"):
            self.assertIsNone(suggestion.closest_name(given, KNOWN), given)

    def test_long_names_are_fast(self) -> None:
        for given in ("n" * 10**6, "namespac" * 10**5, "aepscamen"):
            self.assertIsNone(suggestion.closest_name(given, KNOWN))
