"""Secrets in values, and their masking in texts."""

from typing import Any

import testtools

from tacker_cnf.lcm.secret_masking import SecretMasker, secrets_of
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.vnfd.model import PublicNames

NAMES = ShownNames(
    vnfd=PublicNames(parameters=("size",), sensitive_metadata=("pin",))
)
#: JSON of SOL003, and its secrets
SECRETS: list[tuple[Any, set[str]]] = [
    ("password", set()),
    ({"password": "secret"}, set()),
    ({"additionalParams": {"ki": "secret", "size": "large"}}, {"secret"}),
    ({"x": [{"extensions": {"a": ({"b": "secret"},)}}]}, {"secret"}),
    # each part is one
    (
        {"extensions": {"a": {"user": "name", "list": ["item", 1234]}}},
        {"name", "item", "1234"},
    ),
    # too short, or no text
    ({"extensions": {"a": ["", None, True, False, "abc", 123]}}, set()),
    # it is shown elsewhere
    ({"extensions": {"a": "simple"}, "flavourId": "simple"}, set()),
    (
        {"additionalParams": {"a": "simple", "size": {"x": "simple"}}},
        set(),
    ),
    ({"metadata": {"owner": "operator", "pin": "secret"}}, {"secret"}),
    (
        {"instantiatedVnfInfo": {"metadata": {"x": "secret", "tenant": "t1"}}},
        {"secret"},
    ),
    # manifests of the package
    (
        {"instantiatedVnfInfo": {"metadata": {"vdu_reses": {"a": "Pod1"}}}},
        set(),
    ),
    (
        {
            "vimConnectionInfo": {
                "accessInfo": {
                    "accessInfo": {"username": "name", "pin": "secret"},
                    "interfaceInfo": {"endpoint": "https://a", "x": "other"},
                },
                "gone": None,
            }
        },
        {"secret", "other"},
    ),
    ({"userScriptErrHandlingData": {"a": "secret"}}, {"secret"}),
    ({"userScriptErrHandlingData": None}, set()),
    ({"memory": {"a": ["secret"]}}, {"secret"}),
]

#: secrets, text, masked text
TEXTS: list[tuple[tuple[str, ...], str, str]] = [
    ((), "abc", "abc"),
    (("b",), "abcb", "a***c***"),
    (("b", "bcd"), "abcde", "a***e"),
    ((".",), "a.c", "a***c"),
    ((" b ",), "a b c", "a *** c"),
    (("", "  "), "a b", "a b"),
    (("one\n  two\n",), "one x two", "*** x ***"),
    (("one\ntwo",), "one\ntwo", "***"),
]

#: position in "..secret..", and the end of the secret that it is in
ENDS = [(0, 0), (2, 2), (3, 8), (7, 8), (8, 8), (10, 10)]


class TestSecretsOf(testtools.TestCase):
    def test_hidden_values_are_found(self) -> None:
        for value, expected in SECRETS:
            found = secrets_of(value, names=NAMES)
            self.assertEqual(expected, found, str(value))

    def test_a_value_that_another_one_shows(self) -> None:
        hidden = {"extensions": {"a": "simple"}}
        self.assertEqual({"simple"}, secrets_of(hidden))
        self.assertEqual(set(), secrets_of(hidden, {"flavourId": "simple"}))


class TestSecretMasker(testtools.TestCase):
    def test_secrets_are_replaced_by_stars(self) -> None:
        for secrets, text, expected in TEXTS:
            self.assertEqual(expected, SecretMasker(secrets)(text), text)

    def test_the_size_of_the_longest_secret(self) -> None:
        for secrets, size in (
            ((), 0),
            (("a", "abc"), 3),
            (("ä",), 2),
            (("one\ntwo",), 7),
        ):
            self.assertEqual(size, SecretMasker(secrets).max_secret_bytes)

    def test_a_position_within_a_secret_is_moved_to_its_end(self) -> None:
        masker = SecretMasker(["secret"])
        for position, expected in ENDS:
            found = masker.end_of_secret("..secret..", position)
            self.assertEqual(expected, found, str(position))
        self.assertEqual(14, masker.end_of_secret("secret  secret", 9))
        self.assertEqual(3, SecretMasker().end_of_secret("secret", 3))
