"""The packages whose code runs: [scripts] run."""

import os
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.drivers.openstack.userdata import ChosenUserData
from tacker_cnf.scripts.limits import limits_of
from tacker_cnf.vnfd import tree_digest
from tests.fixtures import signing
from tests.fixtures.signing import Signer
from tests.fixtures.vnfm import FAKE_VIM, Csar, Vnfm
from tests.functional.test_packages import build_zip
from tests.functional.test_scripts import FLAVOUR, SCRIPT, flavour_with_scripts
from tests.functional.test_user_data import CLASS, PATH, UserDataCase

UNSIGNED = "has no verified signature (packageSecurityOption)"


class SignedCsar:
    """A package in an envelope with its signature."""

    def __init__(self, csar: Csar, signature: bytes) -> None:
        self.vnfd_id = csar.vnfd_id
        self._content = build_zip(
            {"vnf.csar": csar.read(), "vnf.cms": signature}
        )

    def read(self) -> bytes:
        return self._content


class TestPolicy(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vendor = signing.create_identity("vendor")
        self.trusted = Path(self.useFixture(fixtures.TempDir()).path)
        (self.trusted / "vendor.pem").write_bytes(self.vendor.pem)
        self.csar = self.package()

    def package(self) -> Csar:
        """Build a package with a script."""
        files = {SCRIPT: "", FLAVOUR: flavour_with_scripts("instantiate_end")}
        return self.useFixture(Csar(files=files))

    def signed(self) -> SignedCsar:
        signer = self.useFixture(Signer())
        return SignedCsar(
            self.csar, signer.sign(self.csar.read(), self.vendor)
        )

    def instantiate(
        self, csar: Csar | SignedCsar, run: str, **catalogue: str
    ) -> Any:
        """Instantiate a package; return the operation."""
        options = {"trusted_certificates": str(self.trusted), **catalogue}
        vnfm = self.useFixture(Vnfm(scripts={"run": run}, catalogue=options))
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        instance_id = vnfm.create(vnfm.onboard(csar))
        return vnfm.run(instance_id, "instantiate", body)

    def assert_refused(self, op_occ: Any, reason: str) -> None:
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertIn(reason, op_occ["error"]["detail"])

    def test_the_default_is_signed(self) -> None:
        conf = configuration.load([])
        self.assertEqual("signed", limits_of(conf).run)

    def test_signed(self) -> None:
        end = self.instantiate(self.signed(), "signed")
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assert_refused(self.instantiate(self.csar, "signed"), UNSIGNED)

    def test_a_signature_that_is_not_verified(self) -> None:
        end = self.instantiate(self.signed(), "signed", signatures="off")
        self.assert_refused(end, UNSIGNED)

    def test_none_and_all(self) -> None:
        end = self.instantiate(self.signed(), "none")
        self.assert_refused(end, "[scripts] run is none")
        end = self.instantiate(self.csar, "all")
        self.assertEqual("COMPLETED", end["operationState"], end)


class TestChangedPackage(testtools.TestCase):
    """Code of a package whose files have changed does not run."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        files = {
            SCRIPT: "",
            "Scripts/imported.py": "",
            FLAVOUR: flavour_with_scripts("instantiate_end"),
        }
        vnfd_id = self.vnfm.onboard(self.useFixture(Csar(files=files)))
        self.instance_id = self.vnfm.create(vnfd_id)
        self.tree = self.vnfm.unpacked(self.instance_id).path

    def assert_fails(self) -> None:
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        end = self.vnfm.run(self.instance_id, "instantiate", body)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertIn(
            "are not those that were onboarded", end["error"]["detail"]
        )

    def test_a_changed_file(self) -> None:
        path = self.tree / "Scripts" / "imported.py"
        path.chmod(0o600)
        path.write_text("harm")
        self.assert_fails()

    def test_an_added_file(self) -> None:
        (self.tree / "Scripts" / "json.py").write_text("harm")
        self.assert_fails()

    def test_a_file_that_became_a_link(self) -> None:
        path = self.tree / "Scripts" / "imported.py"
        path.rename(self.tree.parent / "moved.py")
        path.symlink_to(self.tree.parent / "moved.py")
        self.assert_fails()

    def test_it_was_read_before(self) -> None:
        """A file is read again if it has changed, also with its old times."""
        digest = tree_digest.compute(self.tree)
        path = self.tree / SCRIPT
        before = path.stat()
        path.chmod(0o600)
        path.write_bytes(b" ")
        path.write_bytes(b"")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(digest, tree_digest.compute(self.tree))
        path.write_bytes(b"#")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertNotEqual(digest, tree_digest.compute(self.tree))


class TestUserData(UserDataCase):
    def test_it_is_refused_before_the_operation(self) -> None:
        self.user_data = ChosenUserData(limits_of(configuration.load([])))
        task = self.build_task(
            **{PATH: "UserData/named.py", CLASS: "NamedUserData"}
        )
        error = self.assertRaises(
            errors.InvalidParameters, self.user_data.check, task
        )
        self.assertIn(UNSIGNED, str(error))
        self.assertIn(PATH, str(error))
        # the default user data is no code of the package
        self.user_data.check(self.build_task())
