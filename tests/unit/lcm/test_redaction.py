"""What is hidden in values that leave the service."""

from typing import Any

import msgspec
import testtools

from tacker_cnf.lcm import redaction
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import ModificationsTriggeredByVnfPkgChange
from tacker_cnf.vnfd.model import PublicNames
from tests.factories import a_vnfc, an_info, an_instance, an_op_occ

NAMES = ShownNames(
    vnfd=PublicNames(
        parameters=("size",),
        properties=("size",),
        extensions=("size",),
        sensitive_metadata=("ki", "database_url"),
    ),
    operator=frozenset({"site"}),
)
VALUES = {
    "size": {"password": 1},
    "site": [1],
    "ki": "a-secret",
    "database_url": {"size": "a-secret"},
    "removed": None,
}
SHOWN = VALUES | {"ki": "***", "database_url": "***"}
VIM = {
    "vimType": "fake",
    "accessInfo": {"username": "u", "pin": 1, "otp": {"username": "u"}},
    "interfaceInfo": {"endpoint": "https://vim", "ki": 1},
    "extra": {"region": "r", "site": "s", "key": 1},
}
SHOWN_VIM = {
    "vimType": "fake",
    "accessInfo": {"username": "u"},
    "interfaceInfo": {"endpoint": "https://vim"},
    "extra": {"region": "r", "site": "s"},
}
FREE_FORM = ("extensions", "metadata", "vnfConfigurableProperties")


def connections(value: dict[str, Any]) -> dict[str, VimConnectionInfo]:
    return msgspec.convert({"vim1": value}, dict[str, VimConnectionInfo])


class TestInstance(testtools.TestCase):
    def test_vim_connections_show_listed_names(self) -> None:
        shown = redaction.instance(
            an_instance(vim_connection_info=connections(VIM)), NAMES
        )
        self.assertEqual(connections(SHOWN_VIM), shown.vim_connection_info)

    def test_free_form_attributes_are_masked(self) -> None:
        info = an_info(a_vnfc("web-1"))
        vnfc = msgspec.structs.replace(
            info.vnfc_info[0], vnfc_configurable_properties=VALUES
        )
        info = msgspec.structs.replace(
            info, vnfc_info=(vnfc,), metadata=VALUES | {"tenant": "t"}
        )
        names = ("extensions", "metadata", "vnf_configurable_properties")
        free_form: dict[str, Any] = dict.fromkeys(names, VALUES)
        shown = redaction.instance(
            an_instance(instantiated_vnf_info=info, **free_form), NAMES
        )
        for name in names:
            self.assertEqual(SHOWN, getattr(shown, name), name)
        assert shown.instantiated_vnf_info
        self.assertEqual(
            SHOWN | {"tenant": "t"}, shown.instantiated_vnf_info.metadata
        )
        (vnfc,) = shown.instantiated_vnf_info.vnfc_info
        self.assertEqual(SHOWN, vnfc.vnfc_configurable_properties)

    def test_the_original_value_is_not_changed(self) -> None:
        instance = an_instance(extensions=dict(VALUES))
        redaction.instance(instance, NAMES)
        self.assertEqual(VALUES, instance.extensions)


class TestOpOcc(testtools.TestCase):
    def test_changes(self) -> None:
        free_form = dict.fromkeys(FREE_FORM, VALUES)
        change = {"id": "v", "vnfcConfigurableProperties": VALUES}
        info = free_form | {
            "vnfcInfoModifications": [change],
            "vimConnectionInfo": {"vim1": VIM},
        }
        triggered = msgspec.convert(
            free_form, ModificationsTriggeredByVnfPkgChange
        )
        shown = redaction.op_occ(
            an_op_occ(
                changed_info=msgspec.convert(info, VnfInfoModifications),
                modifications_triggered_by_vnf_pkg_change=triggered,
            ),
            NAMES,
        )
        expected = dict.fromkeys(FREE_FORM, SHOWN)
        change = {"id": "v", "vnfcConfigurableProperties": SHOWN}
        self.assertEqual(
            (
                expected
                | {
                    "vnfcInfoModifications": (change,),
                    "vimConnectionInfo": {"vim1": SHOWN_VIM},
                },
                expected,
            ),
            (
                msgspec.to_builtins(shown.changed_info),
                msgspec.to_builtins(
                    shown.modifications_triggered_by_vnf_pkg_change
                ),
            ),
        )

    def test_parameters(self) -> None:
        for params, expected in (
            (None, None),
            ({"additionalParams": VALUES}, {"additionalParams": SHOWN}),
            ({"metadata": None}, {"metadata": None}),
            (
                {"vnfcInfoModifications": [{"extensions": VALUES}]},
                {"vnfcInfoModifications": [{"extensions": SHOWN}]},
            ),
            (
                {"vimConnectionInfo": {"vim1": VIM, "gone": None}},
                {"vimConnectionInfo": {"vim1": SHOWN_VIM, "gone": {}}},
            ),
            # the key of a connection is no attribute
            (
                {"vimConnectionInfo": {"metadata": VIM}},
                {"vimConnectionInfo": {"metadata": SHOWN_VIM}},
            ),
            ({"flavourId": "simple"}, {"flavourId": "simple"}),
        ):
            shown = redaction.op_occ(an_op_occ(operation_params=params), NAMES)
            self.assertEqual(expected, shown.operation_params)

    def test_the_data_of_a_script(self) -> None:
        def problem(data: Any) -> ProblemDetails:
            return ProblemDetails(
                status=500, detail="x", user_script_err_handling_data=data
            )

        shown = redaction.op_occ(an_op_occ(error=problem(VALUES)), NAMES)
        self.assertEqual(problem(SHOWN), shown.error)
        self.assertIsNone(redaction.op_occ(an_op_occ(), NAMES).error)


class TestVimSecrets(testtools.TestCase):
    def test_only_vim_connections_are_changed(self) -> None:
        instance = an_instance(
            vim_connection_info=connections(VIM), extensions=VALUES
        )
        expected = connections(SHOWN_VIM | {"extra": {"region": "r"}})
        self.assertEqual(
            an_instance(vim_connection_info=expected, extensions=VALUES),
            redaction.without_vim_secrets(instance),
        )

    def test_parameters_that_are_left_out(self) -> None:
        self.assertEqual(
            {"size": {"password": 1}, "site": [1]},
            redaction.shown_only(VALUES, "additionalParams", NAMES),
        )
