from typing import Any

import testtools

from tacker_cnf.api import redaction
from tacker_cnf.sol.common import VimConnectionInfo
from tests.factories import an_instance, an_op_occ

SECRETS = [
    "password",
    "Password",
    "userPassword",
    "admin_password",
    "passwd",
    "passphrase",
    "secret",
    "client_secret",
    "clientSecret",
    "token",
    "bearer_token",
    "bearerToken",
    "BEARER-TOKEN",
    "private_key",
    "privateKey",
    "ssh-private-key",
    "client_key",
    "clientKey",
]
PLAIN = [
    "configmap_secret_paths",
    "oidc_token_url",
    "tokenEndpoint",
    "username",
    "endpoint",
    "region",
    "ssl_ca_cert",
    "client_cert",
    "namespace",
    "lcm-kubernetes-def-files",
    "public_key",
    "key",
    "",
]


class TestIsSecret(testtools.TestCase):
    def test_names_of_secrets(self) -> None:
        for name in SECRETS:
            self.assertTrue(redaction.is_secret(name), name)

    def test_names_of_what_may_be_shown(self) -> None:
        for name in PLAIN:
            self.assertFalse(redaction.is_secret(name), name)


class TestWithoutSecrets(testtools.TestCase):
    def test_at_any_depth(self) -> None:
        for name in SECRETS:
            hidden = {name: "hush", "a": 1}
            # a value, and what is left of it
            cases: list[tuple[Any, Any]] = [
                (hidden, {"a": 1}),
                ({"x": hidden}, {"x": {"a": 1}}),
                ([hidden, 2], [{"a": 1}, 2]),
                ({"x": [{"y": (hidden,)}]}, {"x": [{"y": [{"a": 1}]}]}),
                # a secret may have parts
                ({name: {"id": 1}, "a": 1}, {"a": 1}),
            ]
            for value, left in cases:
                self.assertEqual(left, redaction.without_secrets(value))

    def test_what_is_no_secret_stays_as_it_is(self) -> None:
        value = {name: [1, 2.5, None, True, "x"] for name in PLAIN}
        self.assertEqual(value, redaction.without_secrets(value))

    def test_the_value_itself_is_not_changed(self) -> None:
        value = {"x": [{"password": "hush"}]}
        redaction.without_secrets(value)
        self.assertEqual({"x": [{"password": "hush"}]}, value)


class TestInstance(testtools.TestCase):
    def test_every_part_of_a_vim_connection(self) -> None:
        parts = ("access_info", "interface_info", "extra")
        for part in parts:
            more: dict[str, Any] = {part: {"password": "hush", "x": 1}}
            connection = VimConnectionInfo(vim_type="fake", **more)
            shown = redaction.instance(
                an_instance(vim_connection_info={"vim1": connection})
            )
            self.assertEqual(
                {"x": 1}, getattr(shown.vim_connection_info["vim1"], part)
            )
            self.assertEqual(
                "fake", shown.vim_connection_info["vim1"].vim_type
            )


class TestOpOcc(testtools.TestCase):
    def test_what_it_was_asked(self) -> None:
        asked = {
            "vimConnectionInfo": {
                "vim1": {"accessInfo": {"username": "u", "password": "hush"}}
            },
            "additionalParams": {"list": [{"bearer_token": "hush"}]},
        }
        shown = redaction.op_occ(an_op_occ(operation_params=asked))
        self.assertEqual(
            {
                "vimConnectionInfo": {
                    "vim1": {"accessInfo": {"username": "u"}}
                },
                "additionalParams": {"list": [{}]},
            },
            shown.operation_params,
        )

    def test_nothing_was_asked(self) -> None:
        shown = redaction.op_occ(an_op_occ(operation_params=None))
        self.assertIsNone(shown.operation_params)
