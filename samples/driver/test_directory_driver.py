"""Runs the conformance suite: python -m unittest test_directory_driver"""

import tempfile
from pathlib import Path

from directory_driver.driver import DirectoryDriver

from tacker_cnf.drivers.base import RegisteredVim
from tacker_cnf.testing import driver_conformance, sample_vnf
from tacker_cnf.testing.vnf_operation import Target


class TestDirectoryDriver(driver_conformance.DriverConformance):
    def create_target(self) -> Target:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        return Target(
            driver=DirectoryDriver(
                sample_vnf.load_configuration(Path(folder))
            ),
            vim=RegisteredVim("a-vim", "directory", folder, {}, {}, {}),
            unreachable_url=f"{folder}/missing",
            package=sample_vnf.create_package(Path(folder)),
            request=sample_vnf.REQUEST,
            aspect_id=sample_vnf.ASPECT,
            vnfc_kind="File",
        )
