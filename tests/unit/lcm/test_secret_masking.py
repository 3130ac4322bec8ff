"""Secrets in values, and their masking in texts."""

from typing import Any

import testtools

from tacker_cnf.lcm.secret_masking import SecretMasker, secrets_of

#: a JSON value, and its secrets
SECRETS: list[tuple[Any, set[str]]] = [
    ("password", set()),
    ({"password": "a", "user": "b"}, {"a"}),
    ({"x": [{"y": ({"token": "a"},)}]}, {"a"}),
    # each part of a secret is one
    ({"credentials": {"user": "a", "list": ["b", 3]}}, {"a", "b", "3"}),
    ({"password": 1234}, {"1234"}),
    ({"password": "", "token": None, "secret": True, "psk": False}, set()),
    # a pair of name and value
    ({"env": [{"name": "TOKEN", "value": "a"}]}, {"a"}),
    ({"env": [{"name": "SIZE", "value": "a"}]}, set()),
    ({"name": "TOKEN", "values": "a"}, set()),
    # only public attributes of accessInfo are shown
    ({"accessInfo": {"username": "a", "pin": "b"}}, {"b"}),
    ({"accessInfo": {"pin": {"username": "a"}}}, {"a"}),
    ({"interfaceInfo": {"username": "a", "pin": "b"}}, set()),
    # a manifest refers to a Secret
    ({"volumes": [{"secret": {"secretName": "a"}}]}, set()),
    ({"volumes": [{"secret": {"token": "a"}}]}, {"a"}),
    ({"secret": "a"}, {"a"}),
    ({"secret": ["a"]}, {"a"}),
    ({"token": {"secretName": "a"}}, {"a"}),
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
    def test_secrets_are_found_by_their_names(self) -> None:
        for value, expected in SECRETS:
            self.assertEqual(expected, secrets_of(value), str(value))


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
