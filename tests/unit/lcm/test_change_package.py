"""What a change of package changes of an instance."""

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.operations import change_package
from tacker_cnf.lcm.operations.base import Modifications
from tacker_cnf.lcm.operations.change_package import ChangePackage
from tacker_cnf.sol.lcm_request import ChangeCurrentVnfPkgRequest
from tacker_cnf.sol.vnf_lcm_op_occ import ModificationsTriggeredByVnfPkgChange
from tests.factories import (
    a_flavour,
    a_running_instance,
    a_vdu,
    a_vnfc,
    a_vnfd,
    an_instance,
)

NEXT = msgspec.structs.replace(
    a_vnfd(), id="next", software_version="1.1", descriptor_version="2.1"
)


class TestCheck(testtools.TestCase):
    def test_a_vdu_in_use_has_to_stay(self) -> None:
        vnfd = a_vnfd(a_flavour(vdus={"agent": a_vdu("agent")}))
        running = a_running_instance(a_vnfc())
        self.assertRaises(
            errors.IncompatibleVnfd, change_package.check, running, vnfd
        )
        change_package.check(running, a_vnfd())
        change_package.check(an_instance(), vnfd)


class TestChanged(testtools.TestCase):
    def test_the_vnfd_and_the_values_of_the_request(self) -> None:
        before = an_instance(
            extensions={"a": 1, "b": 2},
            vnf_configurable_properties={"c": 3},
            metadata={"d": 4},
        )
        request = ChangeCurrentVnfPkgRequest(
            vnfd_id="next",
            extensions={"a": None, "e": 5},
            vnf_configurable_properties={"c": 4},
        )
        after = ChangePackage().finish(request, before, NEXT, {})
        self.assertEqual(
            an_instance(
                vnfd_id="next",
                vnf_software_version="1.1",
                vnfd_version="2.1",
                extensions={"b": 2, "e": 5},
                vnf_configurable_properties={"c": 4},
                metadata={"d": 4},
            ),
            after,
        )
        self.assertEqual(
            Modifications(
                triggered_by_vnf_pkg_change=ModificationsTriggeredByVnfPkgChange(
                    vnfd_id="next",
                    vnf_software_version="1.1",
                    vnfd_version="2.1",
                    extensions={"a": None, "e": 5},
                    vnf_configurable_properties={"c": 4},
                )
            ),
            ChangePackage().modifications(before, after),
        )

    def test_no_modifications(self) -> None:
        instance = an_instance()
        self.assertEqual(
            Modifications(), ChangePackage().modifications(instance, instance)
        )
