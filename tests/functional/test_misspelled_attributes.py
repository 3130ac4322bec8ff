"""Requests with misspelled attributes are refused."""

from typing import Any

import testtools

from tests.fixtures.vnfm import FAKE_VIM, Vnfm

ROOT = "/vnflcm/v2/vnf_instances"
FILTER = {"vnfInstanceSubscriptionFilter": {"vnfdIDs": ["a"]}}


class TestAttributes(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.idle_instance = self.vnfm.create()
        self.instantiated = self.vnfm.create_instantiated()

    def refused(self, method: str, path: str, body: Any) -> str:
        response = self.vnfm.call(method, path, body)
        self.assertEqual(400, response.status, str(response.content))
        return response.detail

    def test_a_misspelled_attribute_is_refused(self) -> None:
        one, up = f"{ROOT}/{self.idle_instance}", f"{ROOT}/{self.instantiated}"
        vim = {"vim1": {"vimtype": "fake", "interfaceInfo": {}}}
        cases: list[tuple[str, str, Any, str, str, str]] = [
            ("POST", ROOT, {"vnfdID": "x"}, "vnfdID", "vnfdId", ""),
            (
                "POST",
                f"{one}/instantiate",
                {"flavourId": "simple", "flavorId": "simple"},
                "flavorId",
                "flavourId",
                "",
            ),
            (
                "POST",
                f"{one}/instantiate",
                {"flavourId": "simple", "vimConnectionInfo": vim},
                "vimtype",
                "vimType",
                "$.vimConnectionInfo[...]",
            ),
            (
                "POST",
                f"{up}/heal",
                {"vnfcInstanceID": ["x"]},
                "vnfcInstanceID",
                "vnfcInstanceId",
                "",
            ),
            (
                "POST",
                f"{up}/heal",
                {"vnfc_instance_id": ["x"]},
                "vnfc_instance_id",
                "vnfcInstanceId",
                "",
            ),
            (
                "PATCH",
                up,
                {"vnfcInfoModifications": [{"ID": "x"}]},
                "ID",
                "id",
                "$.vnfcInfoModifications[0]",
            ),
            (
                "POST",
                "/vnflcm/v2/subscriptions",
                {"callbackUri": "http://127.0.0.1:1/", "filter": FILTER},
                "vnfdIDs",
                "vnfdIds",
                "$.filter.vnfInstanceSubscriptionFilter",
            ),
            (
                "POST",
                "/v1.0/vims",
                {"vim": {"nmae": "x"}},
                "nmae",
                "name",
                "$.vim",
            ),
            (
                "POST",
                "/vnfpkgm/v1/vnf_packages",
                {"userDefineData": {}},
                "userDefineData",
                "userDefinedData",
                "",
            ),
        ]
        for method, path, body, name, suggested, place in cases:
            with self.subTest(name):
                detail = self.refused(method, path, body)
                location = f" at `{place}`" if place else ""
                self.assertEqual(
                    f'Unknown attribute "{name}"{location}; did you mean '
                    f'"{suggested}"?',
                    detail,
                )

    def test_an_unrelated_attribute_is_ignored(self) -> None:
        vim = {"vim1": {**FAKE_VIM["vim1"], "moon": {"vimtype": 1}}}
        body = {
            "flavourId": "simple",
            "id": "short",
            "vendorExtension": {"flavourid": 1},
            "vimConnectionInfo": vim,
            "additionalParams": {"flavourid": 1},
        }
        done = self.vnfm.run(self.idle_instance, "instantiate", body)
        self.assertEqual("COMPLETED", done["operationState"])

    def test_null_is_the_same_as_absent(self) -> None:
        body = {
            "flavourId": "simple",
            "instantiationLevelId": None,
            "extVirtualLinks": None,
            "vimConnectionInfo": {"vim1": {**FAKE_VIM["vim1"], "extra": None}},
            "additionalParams": None,
            "extensions": None,
        }
        done = self.vnfm.run(self.idle_instance, "instantiate", body)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertNotIn("extVirtualLinks", done["operationParams"])
        for name in ("vnfcInstanceId", "additionalParams"):
            healed = self.vnfm.run(self.instantiated, "heal", {name: None})
            self.assertEqual("COMPLETED", healed["operationState"])
        scaled = self.vnfm.run(
            self.instantiated,
            "scale",
            {
                "type": "SCALE_OUT",
                "aspectId": "web_aspect",
                "numberOfSteps": None,
            },
        )
        self.assertEqual(1, scaled["operationParams"]["numberOfSteps"])
        detail = self.refused("POST", ROOT, {"vnfdId": None})
        self.assertIn("got `null` - at `$.vnfdId`", detail)

    def test_null_of_a_merge_patch_deletes(self) -> None:
        for name in ("given", None):
            body = {"vnfInstanceName": name}
            done = self.vnfm.modify(self.instantiated, body)
            self.assertEqual("COMPLETED", done["operationState"])
            shown = self.vnfm.instance(self.instantiated).get(
                "vnfInstanceName"
            )
            self.assertEqual(name, shown)

    def test_a_heal_of_no_vnfc_is_refused(self) -> None:
        detail = self.refused(
            "POST", f"{ROOT}/{self.instantiated}/heal", {"vnfcInstanceId": []}
        )
        self.assertEqual(
            "Expected `array` of length >= 1 - at `$.vnfcInstanceId`.", detail
        )
