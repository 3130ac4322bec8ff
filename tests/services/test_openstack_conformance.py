"""The OpenStack driver runs the conformance suite on a real Heat."""

import fixtures
import msgspec

from tacker_cnf.drivers.base import RegisteredVim
from tacker_cnf.drivers.openstack.driver import OpenstackDriver
from tacker_cnf.drivers.openstack.inventory import SERVER
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.testing import driver_conformance
from tacker_cnf.testing.vnf_operation import Target
from tests.fixtures.driver_target import UnpackedSample
from tests.fixtures.openstack import (
    TIMEOUT_S,
    Project,
    read_settings,
    require_cloud,
)
from tests.fixtures.openstack_vnf import a_link, a_point
from tests.fixtures.ports import ReservedPort


class TestOpenstackDriver(
    fixtures.TestWithFixtures, driver_conformance.DriverConformance
):
    def create_target(self) -> Target:
        read_settings(self)  # or skip the test
        project = self.useFixture(Project(self))
        sample = self.useFixture(UnpackedSample("vnf"))
        link = a_link(
            project.network(),
            a_point("front_cp"),
            a_point("store_cp", "198.51.100.7"),
        )
        request = {"flavourId": "simple", "extVirtualLinks": [link]}
        unused = self.useFixture(ReservedPort()).port
        return Target(
            driver=OpenstackDriver(sample.conf),
            vim=RegisteredVim(id="a-vim", extra={}, **project.vim),
            unreachable_url=f"http://127.0.0.1:{unused}/v3",
            package=sample.package,
            request=msgspec.convert(request, InstantiateVnfRequest),
            aspect_id="front_aspect",
            vnfc_kind=SERVER,
            timeout=TIMEOUT_S,
        )

    def test_stop_and_start(self) -> None:
        require_cloud(self)
        super().test_stop_and_start()

    def test_stop_is_rolled_back(self) -> None:
        require_cloud(self)
        super().test_stop_is_rolled_back()
