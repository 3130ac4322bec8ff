import json
from typing import Any

import testtools

from tacker_cnf.api import links
from tacker_cnf.lcm.states import ACTIVE
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.base import encode
from tacker_cnf.sol.vnf_instance import InstantiationState
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    UsageState,
    VnfPkgInfo,
)
from tests.factories import an_instance, an_op_occ

BASE = "https://vnfm.example:9890"
INSTANCE = f"{BASE}/vnflcm/v2/vnf_instances/an-instance"
OP_OCC = f"{BASE}/vnflcm/v2/vnf_lcm_op_occs/an-op-occ"
PACKAGE = f"{BASE}/vnfpkgm/v1/vnf_packages/a-package"


def links_by_name(value: Any) -> dict[str, str]:
    """Return the encoded links by name."""
    found = json.loads(encode(value))["_links"]
    return {name: link["href"] for name, link in found.items()}


def tasks(where: str, *names: str) -> dict[str, str]:
    return {"self": where} | {name: f"{where}/{name}" for name in names}


class TestInstance(testtools.TestCase):
    def test_tasks_that_the_state_allows_are_linked(self) -> None:
        for state, names in (
            ("NOT_INSTANTIATED", ["instantiate"]),
            ("INSTANTIATED", ["terminate", "scale", "heal", "operate"]),
        ):
            instance = an_instance(
                instantiation_state=InstantiationState(state)
            )
            wanted = tasks(INSTANCE, *names)
            if state == "INSTANTIATED":  # their links have other names
                wanted["scaleToLevel"] = f"{INSTANCE}/scale_to_level"
                wanted["changeFlavour"] = f"{INSTANCE}/change_flavour"
                wanted["changeVnfPkg"] = f"{INSTANCE}/change_vnfpkg"
                wanted["changeExtConn"] = f"{INSTANCE}/change_ext_conn"
            self.assertEqual(
                wanted,
                links_by_name(links.with_instance_links(instance, BASE)),
            )


class TestOpOcc(testtools.TestCase):
    def test_tasks_are_linked_while_they_are_allowed(self) -> None:
        both = {Op.INSTANTIATE, Op.SCALE}
        for op in (*both, Op.HEAL, Op.TERMINATE):
            for state in S:
                names = ["cancel"] if state in ACTIVE else []
                if state == S.FAILED_TEMP:
                    names = ["retry", "fail"]
                    names += ["rollback"] if op in both else []
                op_occ = an_op_occ(op, operation_state=state)
                self.assertEqual(
                    tasks(OP_OCC, *names) | {"vnfInstance": INSTANCE},
                    links_by_name(links.with_op_occ_links(op_occ, BASE)),
                )


class TestPackage(testtools.TestCase):
    def test_the_vnfd_is_linked_after_onboarding(self) -> None:
        for state, names in (
            (OnboardingState.CREATED, ["package_content"]),
            (OnboardingState.ONBOARDED, ["package_content", "vnfd"]),
        ):
            package = VnfPkgInfo(
                id="a-package",
                onboarding_state=state,
                operational_state=OperationalState.DISABLED,
                usage_state=UsageState.NOT_IN_USE,
            )
            wanted = tasks(PACKAGE, *names)
            wanted["packageContent"] = wanted.pop("package_content")
            self.assertEqual(
                wanted,
                links_by_name(
                    links.with_package_links(Api.PACKAGES_V1, package, BASE)
                ),
            )
