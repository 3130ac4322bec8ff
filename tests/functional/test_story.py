"""The life of a VNF, told over HTTP; the VIM is the fake one."""

import testtools

from tests.fixtures.vnfm import FAKE_VIM, Vnfm


class TestLife(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())

    def test_from_package_to_deletion(self) -> None:
        instance_id = self.vnfm.create()
        done = self.vnfm.run(
            instance_id,
            "instantiate",
            {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM},
        )
        self.assertEqual("COMPLETED", done["operationState"])
