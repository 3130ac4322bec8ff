from typing import Any

import msgspec
import testtools

from tacker_cnf.lcm import redaction
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import ModificationsTriggeredByVnfPkgChange
from tests.factories import a_vnfc, an_info, an_instance, an_op_occ

SECRETS = ("password", "adminPass", "access_key", "tls.key", "credentials")
HIDDEN = {
    "password": "a-secret",
    "env": [{"name": "TOKEN", "value": "a-secret", "z": 1, "a": 2}],
}
SHOWN = {"env": [{"name": "TOKEN", "z": 1, "a": 2}]}
PLAIN = ("username", "author", "tokenEndpoint", "keyName", "key", "")


class TestWithoutSecrets(testtools.TestCase):
    def test_secrets_are_removed_at_any_depth(self) -> None:
        for name in SECRETS:
            hidden = {name: "a-secret", "a": 1}
            # a value, and the value without secrets
            cases: list[tuple[Any, Any]] = [
                (hidden, {"a": 1}),
                ({"x": hidden}, {"x": {"a": 1}}),
                ([hidden, 2], [{"a": 1}, 2]),
                ({"x": [{"y": (hidden,)}]}, {"x": [{"y": [{"a": 1}]}]}),
                # a secret may have parts
                ({name: {"id": 1}, "a": 1}, {"a": 1}),
            ]
            for value, expected in cases:
                self.assertEqual(expected, redaction.without_secrets(value))

    def test_other_attributes_stay(self) -> None:
        value = {name: [1, 2.5, None, True, "x"] for name in PLAIN}
        self.assertEqual(value, redaction.without_secrets(value))

    def test_the_original_value_is_not_changed(self) -> None:
        value = {"x": [{"password": "a-secret"}]}
        redaction.without_secrets(value)
        self.assertEqual({"x": [{"password": "a-secret"}]}, value)


class TestInstance(testtools.TestCase):
    def test_secrets_are_removed_from_each_part_of_a_vim_connection(
        self,
    ) -> None:
        for part in ("access_info", "interface_info", "extra"):
            hidden = {"password": "a-secret", "username": 1}
            more: dict[str, Any] = {part: hidden}
            connection = VimConnectionInfo(vim_type="fake", **more)
            shown = redaction.instance(
                an_instance(vim_connection_info={"vim1": connection})
            )
            self.assertEqual(
                {"username": 1},
                getattr(shown.vim_connection_info["vim1"], part),
            )
            self.assertEqual(
                "fake", shown.vim_connection_info["vim1"].vim_type
            )

    def test_secrets_are_removed_from_free_form_attributes(self) -> None:
        info = an_info(a_vnfc("web-1"))
        vnfc = msgspec.structs.replace(
            info.vnfc_info[0], vnfc_configurable_properties=HIDDEN
        )
        info = msgspec.structs.replace(
            info, vnfc_info=(vnfc,), metadata=HIDDEN
        )
        names = ("extensions", "metadata", "vnf_configurable_properties")
        free_form: dict[str, Any] = dict.fromkeys(names, HIDDEN)
        shown = redaction.instance(
            an_instance(instantiated_vnf_info=info, **free_form)
        )
        for name in names:
            self.assertEqual(SHOWN, getattr(shown, name), name)
        assert shown.instantiated_vnf_info
        self.assertEqual(SHOWN, shown.instantiated_vnf_info.metadata)
        (vnfc,) = shown.instantiated_vnf_info.vnfc_info
        self.assertEqual(SHOWN, vnfc.vnfc_configurable_properties)

    def test_unknown_credential_keys_are_hidden(self) -> None:
        access = {"username": "u", "pin": 1234, "otp": {"username": "u"}}
        connection = VimConnectionInfo(vim_type="fake", access_info=access)
        shown = redaction.instance(
            an_instance(vim_connection_info={"vim1": connection})
        )
        self.assertEqual(
            {"username": "u"}, shown.vim_connection_info["vim1"].access_info
        )
        self.assertEqual(
            {"vim1": {"accessInfo": {"username": "u"}}},
            redaction.without_secrets({"vim1": {"accessInfo": access}}),
        )


class TestOpOcc(testtools.TestCase):
    def test_secrets_are_removed_from_changes(self) -> None:
        names = ("extensions", "metadata", "vnfConfigurableProperties")
        free_form = dict.fromkeys(names, HIDDEN)
        change = {"id": "v", "vnfcConfigurableProperties": HIDDEN}
        vim = {"vimType": "fake", "accessInfo": {"username": "u", "pin": 1}}
        info = free_form | {
            "vnfcInfoModifications": [change],
            "vimConnectionInfo": {"vim1": vim},
        }
        triggered = msgspec.convert(
            free_form, ModificationsTriggeredByVnfPkgChange
        )
        shown = redaction.op_occ(
            an_op_occ(
                changed_info=msgspec.convert(info, VnfInfoModifications),
                modifications_triggered_by_vnf_pkg_change=triggered,
            )
        )
        expected = dict.fromkeys(names, SHOWN)
        change = {"id": "v", "vnfcConfigurableProperties": SHOWN}
        vim = {"vimType": "fake", "accessInfo": {"username": "u"}}
        self.assertEqual(
            (
                expected
                | {
                    "vnfcInfoModifications": (change,),
                    "vimConnectionInfo": {"vim1": vim},
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

    def test_secrets_are_removed_from_parameters(self) -> None:
        params = {
            "vimConnectionInfo": {
                "vim1": {
                    "accessInfo": {"username": "u", "password": "a-secret"}
                }
            },
            "additionalParams": {"list": [{"bearer_token": "a-secret"}]},
        }
        shown = redaction.op_occ(an_op_occ(operation_params=params))
        self.assertEqual(
            {
                "vimConnectionInfo": {
                    "vim1": {"accessInfo": {"username": "u"}}
                },
                "additionalParams": {"list": [{}]},
            },
            shown.operation_params,
        )

    def test_an_operation_without_parameters(self) -> None:
        shown = redaction.op_occ(an_op_occ(operation_params=None))
        self.assertIsNone(shown.operation_params)

    def test_secrets_are_removed_from_the_data_of_a_script(self) -> None:
        def problem(data: Any) -> ProblemDetails:
            return ProblemDetails(
                status=500, detail="x", user_script_err_handling_data=data
            )

        shown = redaction.op_occ(an_op_occ(error=problem(HIDDEN)))
        self.assertEqual(problem(SHOWN), shown.error)
        self.assertIsNone(redaction.op_occ(an_op_occ()).error)


class TestVimSecrets(testtools.TestCase):
    def test_only_vim_connections_are_changed(self) -> None:
        connection = VimConnectionInfo(
            vim_type="fake", access_info={"username": "u", "pin": 1}
        )
        instance = an_instance(
            vim_connection_info={"vim1": connection}, metadata=HIDDEN
        )
        connection = VimConnectionInfo(
            vim_type="fake", access_info={"username": "u"}
        )
        self.assertEqual(
            an_instance(
                vim_connection_info={"vim1": connection}, metadata=HIDDEN
            ),
            redaction.without_vim_secrets(instance),
        )
