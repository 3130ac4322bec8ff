"""Logins, host keys and command lines of SSH."""

import msgspec
import testtools
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.remote import Login
from tacker_cnf.mgmt_drivers.remote.commands import Command
from tacker_cnf.mgmt_drivers.remote.keys import HostKey

PEM = Encoding.PEM
ED25519 = ed25519.Ed25519PrivateKey.generate()


def openssh(
    encryption: serialization.KeySerializationEncryption,
) -> str:
    key = ED25519.private_bytes(PEM, PrivateFormat.OpenSSH, encryption)
    return key.decode()


class TestLogin(testtools.TestCase):
    def test_each_type_of_key_in_each_format(self) -> None:
        for key in (
            rsa.generate_private_key(65537, 2048),
            ec.generate_private_key(ec.SECP256R1()),
            ec.generate_private_key(ec.SECP521R1()),
            ED25519,
        ):
            for form in PrivateFormat.OpenSSH, PrivateFormat.PKCS8:
                text = key.private_bytes(PEM, form, NoEncryption()).decode()
                for pem in (text, f"\n{text.strip()}", f"{text}\n\n"):
                    login = Login("x", private_key=pem)
                    self.assertEqual(1, len(list(login.auth_methods(None))))

    def test_invalid_keys_are_rejected_and_not_quoted(self) -> None:
        good = openssh(NoEncryption())
        other = dsa.generate_private_key(2048).private_bytes(
            PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )
        for text in (
            "hunter2",
            good[:150],
            good.replace("OPENSSH ", ""),
            openssh(BestAvailableEncryption(b"hunter2")),
            other.decode(),
        ):
            error = self.assertRaises(
                errors.InvalidParameters, Login, "deb", private_key=text
            )
            self.assertIn("private key of user deb cannot be", str(error))
            self.assertNotIn("hunter2", str(error))

    def test_a_login_without_password_and_key_is_rejected(self) -> None:
        for secrets in ({}, {"password": "", "private_key": None}):
            error = self.assertRaises(
                errors.InvalidParameters,
                msgspec.convert,
                {"username": "deb", **secrets},
                Login,
            )
            self.assertIn("User deb has neither", str(error))

    def test_repr_contains_no_secret(self) -> None:
        login = Login("deb", "hunter2", openssh(NoEncryption()))
        self.assertEqual("Login('deb')", f"{login!r}")
        self.assertEqual(2, len(list(login.auth_methods(None))))


class TestHostKey(testtools.TestCase):
    def test_a_key_is_parsed_and_formatted(self) -> None:
        public = ED25519.public_key().public_bytes(
            Encoding.OpenSSH, PublicFormat.OpenSSH
        )
        key = HostKey.parse(f"{public.decode()} root@somewhere\n")
        self.assertEqual(public.decode(), str(key))
        self.assertEqual(key, HostKey.parse(str(key)))
        self.assertIn("ssh-ed25519 SHA256:", key.fingerprint)

    def test_text_that_is_no_key_is_rejected(self) -> None:
        for text in ("", "ssh-rsa", "ssh-rsa !", "ssh-foo AAAA", "a b c"):
            self.assertRaises(errors.InvalidParameters, HostKey.parse, text)


class TestCommand(testtools.TestCase):
    def test_the_command_line_is_the_same_for_all_commands(self) -> None:
        command = Command(text="cat $A", stdin=b"B", environment={"A": "C"})
        other = Command(text="true")
        self.assertEqual(command.command_line(7), other.command_line(7))
