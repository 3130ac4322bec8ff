"""The SSH host keys on the consoles of servers."""

import testtools
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tacker_cnf import conf as configuration
from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tacker_cnf.mgmt_drivers.cluster import host_keys
from tacker_cnf.mgmt_drivers.cluster.host_keys import HostKeyPolicy
from tacker_cnf.mgmt_drivers.kubernetes_cluster import HOST_KEYS_OPTION

ED25519, OTHER, ECDSA = (
    key.public_key()
    .public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    .decode()
    for key in (
        ed25519.Ed25519PrivateKey.generate(),
        ed25519.Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP256R1()),
    )
)


def console(*keys: str) -> str:
    """Build what cloud-init prints, with the noise of a serial line."""
    lines = "".join(f"{key} root@node\r\n" for key in keys)
    return (
        "[    9.1] cloud-init[412]: Cloud-init v. 22.4.2 finished\r\n"
        "<14>Nov 25 02:00:00 ec2: -----BEGIN SSH HOST KEY FINGERPRINTS-----"
        "\r\n<14>Nov 25 02:00:00 ec2: 256 SHA256:abc root@node (ED25519)\r\n"
        "<14>Nov 25 02:00:00 ec2: -----END SSH HOST KEY FINGERPRINTS-----\r\n"
        "-----BEGIN SSH HOST KEY KEYS-----\r\n"
        f"{lines}-----END SSH HOST KEY KEYS-----\r\nnode login: "
    )


class TestOption(testtools.TestCase):
    def test_verified_keys_are_required_by_default(self) -> None:
        conf = configuration.load(["--config-dir", "."])
        options = OpenstackDriver(conf).script_options
        policy = HostKeyPolicy(options[HOST_KEYS_OPTION])
        self.assertIs(HostKeyPolicy.REQUIRED, policy)


class TestConsole(testtools.TestCase):
    def printed(self, text: str) -> str | None:
        found = host_keys.preferred(host_keys.printed_keys(text))
        return None if found is None else str(found)

    def test_ed25519_is_preferred(self) -> None:
        self.assertEqual(ED25519, self.printed(console(ECDSA, ED25519)))
        self.assertEqual(ECDSA, self.printed(console(ECDSA)))

    def test_the_last_boot_counts(self) -> None:
        text = console(OTHER) + console(ED25519)
        self.assertEqual(ED25519, self.printed(text))

    def test_no_keys(self) -> None:
        for text in (
            "",
            "booting",
            console(),
            console("ssh-ed25519 AAAA", "ssh-dss AAAAB3NzaC1kc3M="),
            console(ED25519).partition("-----END SSH HOST KEY KEYS")[0],
            f"{ED25519}\r\n",
        ):
            self.assertIsNone(self.printed(text), text)
