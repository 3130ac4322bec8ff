"""Valid and invalid URIs."""

import msgspec
import testtools

from tacker_cnf.sol import base
from tacker_cnf.sol.authentication import ParamsOauth2ClientCredentials
from tacker_cnf.sol.subscription import LccnSubscriptionRequest
from tacker_cnf.sol.uri import check_no_user

GOOD = (
    "http://receiver.example",
    "https://receiver.example:9990/notify?to=%20a",
    "http://192.0.2.1:1/",
    "http://[2001:db8::1]:65535/",
    "http://[::ffff:192.0.2.1]",
    "http://1.2.3/",
)
BAD = (
    "http://[0]",
    "http://[D4db]/",
    "http://[1:2:3]/",
    "http://999.1.1.1/",
    "http://receiver.example:65536/",
    "http://receiver.example:99999",
    "ftp://receiver.example/",
    "http://user:secret@receiver.example/",
    "http:///path",
)


def subscription(uri: str) -> LccnSubscriptionRequest:
    body = msgspec.json.encode({"callbackUri": uri})
    return base.decode(body, LccnSubscriptionRequest)


class UriTest(testtools.TestCase):
    def test_valid_uris_are_accepted(self) -> None:
        for uri in GOOD:
            self.assertEqual(uri, subscription(uri).callback_uri)

    def test_invalid_uris_are_rejected(self) -> None:
        for uri in BAD:
            with self.subTest(uri):
                self.assertRaises(msgspec.ValidationError, subscription, uri)

    def test_a_token_endpoint_is_checked(self) -> None:
        body = b"""{"clientId": "me", "clientPassword": "secret",
            "tokenEndpoint": "http://[0]/token"}"""
        error = self.assertRaises(
            msgspec.ValidationError,
            base.decode,
            body,
            ParamsOauth2ClientCredentials,
        )
        self.assertIn("tokenEndpoint is not a valid URI", str(error))
        self.assertNotIn("secret", str(error))


class UserTest(testtools.TestCase):
    def test_users_and_passwords_are_refused_without_an_echo(self) -> None:
        for uri in (
            "https://name:a-secret@host/",
            "https://a-secret@host",
            "https://:a-secret@host:1/path?query",
            "https://name:a-secret@host?x",
            "https://name:a-secret@",
            "gopher://name:a-secret@host/",
        ):
            error = self.assertRaises(
                ValueError, check_no_user, "auth_url", uri
            )
            self.assertIn("auth_url contains a user name", str(error))
            self.assertNotIn("a-secret", str(error))

    def test_other_uris(self) -> None:
        for uri in (
            *GOOD,
            "https://host/@",
            "https://host?a@b",
            "https://host#a@b",
            "a@b",
            "",
            "-----BEGIN CERTIFICATE-----",
        ):
            check_no_user("auth_url", uri)
