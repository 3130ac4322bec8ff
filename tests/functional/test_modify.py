"""PATCH of a VNF instance, and the operation that it starts."""

import json
from typing import Any, ClassVar

from tests.fixtures.vnfm import FAKE_VIM, Csar
from tests.functional.test_request_checks import INSTANCES, PACKAGES, CheckTest
from tests.functional.test_scripts import ScriptCase

SMALL = "Definitions/five_kinds_df_small.yaml"
UNKNOWN_ID = "11111111-2222-4333-8444-555555555555"
SCALE = {"type": "SCALE_OUT", "aspectId": "web_aspect"}


UNKNOWN_VNFC: dict[str, Any] = {
    "vnfcInfoModifications": [{"id": "moon", "vnfcConfigurableProperties": {}}]
}
#: a value for every attribute that is patched on its own
CHANGES: dict[str, Any] = {
    "vnfInstanceName": "renamed",
    "vnfInstanceDescription": "moved to hall 2",
    "metadata": {"owner": {"name": "ops", "phone": None}},
    "extensions": {"grow": False},
    "vnfConfigurableProperties": {"threads": 4},
}
RENAME = {"vnfInstanceName": "renamed"}


class ModifyCase(CheckTest):
    secrets: ClassVar[dict[str, Any]] = {
        "public_names": ["grow", "leader", "log", "more", "threads"]
    }

    def modify(self, instance_id: str, body: Any) -> Any:
        """Modify an instance; return its operation, which has to complete."""
        op_occ = self.vnfm.modify(instance_id, body)
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        self.assertEqual("MODIFY_INFO", op_occ["operation"])
        return op_occ

    def assert_refused(
        self, status: int, instance_id: str, body: Any, message: str
    ) -> None:
        before = self.vnfm.instance(instance_id)
        response = self.vnfm.patch(instance_id, body)
        self.assert_problem(status, response, message)
        self.assertEqual(before, self.vnfm.instance(instance_id))

    def usage(self, vnfd_id: str) -> str:
        path = f"{PACKAGES}?filter=(eq,vnfdId,{vnfd_id})"
        (package,) = self.call("GET", path).json
        return str(package["usageState"])


class TestAttributes(ModifyCase):
    def test_of_an_instance_in_either_state(self) -> None:
        after = CHANGES | {"metadata": {"owner": {"name": "ops"}}}
        for instance_id in (
            self.vnfm.create(),
            self.vnfm.create_instantiated(),
        ):
            before = self.vnfm.instance(instance_id)
            op_occ = self.modify(instance_id, CHANGES)
            self.assertEqual(after, op_occ["changedInfo"])
            self.assertEqual(CHANGES, op_occ["operationParams"])
            self.assertNotIn("resourceChanges", op_occ)
            self.assertNotIn("grantId", op_occ)
            self.assertEqual(before | after, self.vnfm.instance(instance_id))

    def test_secrets_are_not_shown_and_not_lost(self) -> None:
        up = self.vnfm.create_instantiated()
        info = self.vnfm.instance(up)["instantiatedVnfInfo"]
        vnfc_id = info["vnfcInfo"][0]["id"]
        hidden = {"adminPass": "s3cret", "env": [{"a": "s3cret", "b": 1}]}
        names = ("extensions", "vnfConfigurableProperties")
        vnfc = {"id": vnfc_id, "vnfcConfigurableProperties": hidden}
        body: Any = dict.fromkeys(names, hidden)
        body["vnfcInfoModifications"] = [vnfc]
        op_occ = self.modify(up, body)
        self.assertNotIn("s3cret", json.dumps(op_occ))
        before = self.vnfm.instance(up)
        self.assertNotIn("s3cret", json.dumps(before))
        listed = self.call("GET", f"{INSTANCES}?all_fields")
        self.assertNotIn(b"s3cret", listed.content)
        self.assertEqual(dict.fromkeys(hidden, "***"), before["extensions"])
        # read, and sent back with a change
        back = {name: before[name] | {"more": 2} for name in names}
        self.modify(up, back)
        calls: list[Any] = []
        self.vnfm.driver.before["apply"] = calls.append
        self.vnfm.run(up, "scale", SCALE)
        found = calls[0].task.instance
        for attributes in (
            found.vnf_configurable_properties,
            found.extensions,
        ):
            self.assertEqual(hidden | {"more": 2}, attributes)

    def test_null_deletes(self) -> None:
        instance_id = self.vnfm.create()
        self.modify(instance_id, CHANGES)
        patch = {
            "vnfInstanceName": None,
            "metadata": {"owner": None},
            "extensions": None,
        }
        op_occ = self.modify(instance_id, patch)
        self.assertEqual(
            {"metadata": {"owner": None}, "extensions": {"grow": None}},
            op_occ["changedInfo"],
        )
        found = self.vnfm.instance(instance_id)
        for attribute in ("vnfInstanceName", "metadata", "extensions"):
            self.assertNotIn(attribute, found)
        self.assertEqual("moved to hall 2", found["vnfInstanceDescription"])

    def test_a_patch_without_changes_is_an_operation(self) -> None:
        instance_id = self.vnfm.create()
        self.modify(instance_id, CHANGES)
        for patch in ({}, CHANGES, {"metadata": {"missing": None}}):
            op_occ = self.modify(instance_id, patch)
            self.assertNotIn("changedInfo", op_occ)

    def test_json_is_read_as_a_merge_patch(self) -> None:
        instance_id = self.vnfm.create()
        path = f"{INSTANCES}/{instance_id}"
        response = self.call("PATCH", path, {"vnfInstanceName": "a"})
        self.assertEqual(202, response.status)
        self.vnfm.wait_operation(response.headers["Location"])
        plain = {"Content-Type": "text/plain"}
        response = self.call("PATCH", path, b"{}", plain)
        self.assert_problem(415, response, "merge-patch+json")

    def test_requests_that_are_invalid(self) -> None:
        instance_id = self.vnfm.create()
        for body, message in (
            ({"vnfInstanceName": 1}, "$.vnfInstanceName"),
            ({"vnfInstanceName": "n" * 256}, "$.vnfInstanceName"),
            ({"metadata": []}, "$.metadata"),
            ({"vnfdId": None}, "$.vnfdId"),
            ([], "object"),
        ):
            self.assert_refused(400, instance_id, body, message)

    def test_no_grant_is_requested(self) -> None:
        self.modify(self.vnfm.create(), CHANGES)
        self.assertEqual([], self.vnfm.nfvo.requests)

    def test_the_operation_can_be_listed(self) -> None:
        instance_id = self.vnfm.create()
        self.modify(instance_id, CHANGES)
        path = "/vnflcm/v2/vnf_lcm_op_occs?filter=(eq,operation,MODIFY_INFO)"
        (listed,) = self.call("GET", path).json
        self.assertNotIn("changedInfo", listed)
        (listed,) = self.call("GET", f"{path}&fields=changedInfo").json
        self.assertEqual("renamed", listed["changedInfo"]["vnfInstanceName"])


class TestOrder(ModifyCase):
    def test_not_found_then_busy_then_invalid(self) -> None:
        bodies: list[Any] = [{}, UNKNOWN_VNFC, {"vnfdId": UNKNOWN_ID}]
        for body in bodies:
            response = self.vnfm.patch("none", body)
            self.assert_problem(404, response, "There is no VNF instance")
        up = self.vnfm.create_instantiated()
        block, location = self.start_blocked(up, "scale", SCALE)
        for body in bodies:
            response = self.vnfm.patch(up, body)
            self.assert_problem(409, response, location.split("/")[-1])
        block.open()
        self.vnfm.wait_operation(location)
        self.assert_refused(400, up, UNKNOWN_VNFC, "no VNFC instance moon")

    def test_a_failed_operation_reserves_it(self) -> None:
        up = self.vnfm.create_instantiated()
        failed = self.run_failing(up, "scale", SCALE)
        response = self.vnfm.patch(up, {"vnfInstanceName": "a"})
        self.assert_problem(409, response, failed["id"])


class TestVnfcs(ModifyCase):
    def test_patched_attributes_survive_other_operations(self) -> None:
        up = self.vnfm.create_instantiated()
        info = self.vnfm.instance(up)["instantiatedVnfInfo"]
        vnfc_id = info["vnfcInfo"][0]["id"]
        change = {
            "id": vnfc_id,
            "vnfcConfigurableProperties": {"leader": True, "log": "debug"},
        }
        op_occ = self.modify(up, {"vnfcInfoModifications": [change]})
        self.assertEqual(
            {"vnfcInfoModifications": [change]}, op_occ["changedInfo"]
        )
        self.vnfm.run(up, "scale", SCALE)
        info = self.vnfm.instance(up)["instantiatedVnfInfo"]
        found = {
            vnfc["id"]: vnfc.get("vnfcConfigurableProperties")
            for vnfc in info["vnfcInfo"]
        }
        properties = change["vnfcConfigurableProperties"]
        self.assertEqual(properties, found.pop(vnfc_id))
        self.assertEqual({None}, set(found.values()))


class TestVimConnections(ModifyCase):
    def vim(self, name: str, kind: str = "fake") -> str:
        body = {
            "name": name,
            "type": kind,
            "auth_url": "http://somewhere",
            "auth_cred": {"bearer_token": "s3cret"},
        }
        response = self.call("POST", "/v1.0/vims", {"vim": body})
        self.assertEqual(201, response.status, str(response.content))
        return str(response.json["vim"]["id"])

    def deletion(self, vim_id: str) -> int:
        return self.call("DELETE", f"/v1.0/vims/{vim_id}").status

    def test_new_credentials_are_used_and_not_shown(self) -> None:
        up = self.vnfm.create_instantiated()
        patch = {"vim1": {"accessInfo": {"bearer_token": "n3w"}}}
        op_occ = self.modify(up, {"vimConnectionInfo": patch})
        self.assertEqual(
            {"vimConnectionInfo": FAKE_VIM}, op_occ["changedInfo"]
        )
        bodies = [self.vnfm.instance(up), op_occ]
        self.assertNotIn("n3w", json.dumps(bodies))
        calls: list[Any] = []
        self.vnfm.driver.before["apply"] = calls.append
        self.vnfm.run(up, "scale", SCALE)
        (call,) = calls
        access = call.task.vim_connections["vim1"].access_info
        self.assertEqual({"bearer_token": "n3w"}, access)

    def test_credentials_are_sent_to_no_other_address(self) -> None:
        stored = {"accessInfo": {"bearer_token": "s3cret"}}
        up = self.vnfm.create_instantiated(
            vimConnectionInfo={"vim1": FAKE_VIM["vim1"] | stored}
        )
        moved: Any = {"interfaceInfo": {"endpoint": "evil"}}
        for change in (moved, {"vimId": self.vim("one")}):
            body: Any = {"vimConnectionInfo": {"vim1": change}}
            self.assert_refused(400, up, body, "include accessInfo, too")
        own = moved | {"accessInfo": {"bearer_token": "n3w"}}
        self.modify(up, {"vimConnectionInfo": {"vim1": own}})
        calls: list[Any] = []
        self.vnfm.driver.before["apply"] = calls.append
        self.vnfm.run(up, "scale", SCALE)
        reached = calls[0].task.vim_connections["vim1"]
        self.assertEqual(own["interfaceInfo"], reached.interface_info)
        self.assertEqual(own["accessInfo"], reached.access_info)

    def test_registered_vims_in_use_cannot_be_deleted(self) -> None:
        one, two = self.vim("one"), self.vim("two")
        up = self.vnfm.create_instantiated(
            vimConnectionInfo={"v": {"vimId": one}}
        )
        self.assertEqual(409, self.deletion(one))
        self.modify(up, {"vimConnectionInfo": {"v": {"vimId": two}}})
        found = self.vnfm.instance(up)["vimConnectionInfo"]
        self.assertEqual({"v": {"vimId": two, "vimType": "fake"}}, found)
        self.assertEqual([409, 204], [self.deletion(v) for v in (two, one)])
        self.modify(up, {"vimConnectionInfo": {"v": {"vimId": two}}})
        self.vnfm.run(up, "terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual(204, self.deletion(two))

    def test_connections_that_do_not_reach_the_vnf_are_refused(self) -> None:
        up = self.vnfm.create_instantiated()
        noop = {"vimType": "noop", "interfaceInfo": {"endpoint": "y"}}
        for patch, message in (
            (None, "use the connection vim1"),
            ({"vim1": None}, "use the connection vim1"),
            ({"vim1": {"vimType": "noop"}}, "a VIM of another type"),
            ({"vim2": noop}, "several types"),
            ({"vim1": {"vimType": "moon"}}, "no driver for 'moon'"),
            (
                {"vim1": {"vimId": UNKNOWN_ID, "interfaceInfo": None}},
                UNKNOWN_ID,
            ),
            ({"vim2": {"vimId": UNKNOWN_ID}}, UNKNOWN_ID),
            ({"vim2": {}}, "vimType, or the vimId"),
        ):
            body: Any = {"vimConnectionInfo": patch}
            self.assert_refused(400, up, body, message)

    def test_an_instance_on_no_vim(self) -> None:
        body = {"vimConnectionInfo": FAKE_VIM}
        self.assert_refused(
            400, self.vnfm.create(), body, "is not instantiated"
        )


class TestVnfd(ModifyCase):
    def other(self, **changes: Any) -> str:
        return self.vnfm.onboard(self.useFixture(Csar(**changes)))

    def newer(self, name: str = "Definitions/five_kinds.vnfd.yaml") -> str:
        """Onboard the same VNF in its next version."""
        csar = self.useFixture(Csar())
        text = (csar.path.parent / "source" / name).read_text()
        text = text.replace("_version: '1.0'", "_version: '2.0'")
        return self.other(files={name: text})

    def test_the_instance_becomes_one_of_the_other_package(self) -> None:
        for instance_id in (
            self.vnfm.create(),
            self.vnfm.create_instantiated(),
        ):
            before = self.vnfm.instance(instance_id)
            newer = self.newer()
            op_occ = self.modify(instance_id, {"vnfdId": newer})
            changes = {
                "vnfdId": newer,
                "vnfSoftwareVersion": "2.0",
                "vnfdVersion": "2.0",
            }
            self.assertEqual(changes, op_occ["changedInfo"])
            runs = before["instantiationState"] == "INSTANTIATED"
            is_reported = "names no management script" in op_occ.get(
                "scriptLog", ""
            )
            self.assertEqual(runs, is_reported)
            self.assertEqual(before | changes, self.vnfm.instance(instance_id))
            self.assertEqual("NOT_IN_USE", self.usage(before["vnfdId"]))
            self.assertEqual("IN_USE", self.usage(newer))

    def test_later_operations_use_the_other_package(self) -> None:
        up = self.vnfm.create_instantiated()
        newer = self.newer()
        self.modify(up, {"vnfdId": newer})
        calls: list[Any] = []
        self.vnfm.driver.before["apply"] = calls.append
        op_occ = self.vnfm.run(up, "scale", SCALE)
        self.assertEqual("COMPLETED", op_occ["operationState"])
        self.assertEqual(newer, calls[0].task.package.vnfd.id)

    def test_its_own_package_changes_nothing(self) -> None:
        up = self.vnfm.create_instantiated()
        own = self.vnfm.instance(up)["vnfdId"]
        self.assertNotIn("changedInfo", self.modify(up, {"vnfdId": own}))

    def test_a_package_has_to_be_onboarded_and_enabled(self) -> None:
        instance_id = self.vnfm.create()
        self.assert_refused(
            422, instance_id, {"vnfdId": UNKNOWN_ID}, UNKNOWN_ID
        )
        other = self.other()
        (package,) = self.call(
            "GET", f"{PACKAGES}?filter=(eq,vnfdId,{other})"
        ).json
        disable = {"operationalState": "DISABLED"}
        self.call("PATCH", f"{PACKAGES}/{package['id']}", disable)
        body = {"vnfdId": other}
        self.assert_refused(422, instance_id, body, "is disabled")

    def test_a_running_vnf_has_to_be_compatible(self) -> None:
        up = self.vnfm.create_instantiated()
        name = "Definitions/five_kinds_df_simple.yaml"
        csar = self.useFixture(Csar())
        text = (csar.path.parent / "source" / name).read_text()
        no_flavour = text.replace("flavour_id: simple", "flavour_id: plain")
        self.assertNotEqual(text, no_flavour)
        other = self.other(files={name: no_flavour})
        body = {"vnfdId": other}
        self.assert_refused(422, up, body, "has no flavour 'simple'")
        self.assertEqual("NOT_IN_USE", self.usage(other))
        self.modify(self.vnfm.create(), body)


END = "script_input.operation == 'modify_information_end'"
FAILS = f"self.write(script_input); {END} and exit(1)"


class TestScripts(ScriptCase):
    hooks = (
        "modify_information_start",
        "modify_information_end",
        "modify_information_rollback_start",
        "modify_information_rollback_end",
    )

    def create_running(self, script: str) -> str:
        instance_id = self.instance(script)
        op_occ = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        return instance_id

    def test_scripts_receive_the_instance_before_and_after(self) -> None:
        up = self.create_running(self.recording())
        op_occ = self.vnfm.modify(up, RENAME)
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        start, end = self.read_script_inputs()
        self.assertEqual("modify_information_start", start["operation"])
        self.assertEqual("modify_information_end", end["operation"])
        self.assertEqual(RENAME, end["request"])
        self.assertNotIn("vnfInstanceName", start["vnfInstance"])
        self.assertEqual("renamed", end["vnfInstance"]["vnfInstanceName"])

    def test_the_scripts_of_the_old_package_run(self) -> None:
        up = self.create_running(self.recording())
        other = self.vnfm.onboard(self.useFixture(Csar()))
        self.vnfm.modify(up, {"vnfdId": other})
        start, end = self.read_script_inputs()
        self.assertEqual(other, end["vnfInstance"]["vnfdId"])
        self.assertNotEqual(other, start["vnfInstance"]["vnfdId"])

    def test_no_script_runs_for_an_instance_that_is_not_instantiated(
        self,
    ) -> None:
        instance_id = self.instance(self.recording())
        op_occ = self.vnfm.modify(instance_id, RENAME)
        self.assertEqual("COMPLETED", op_occ["operationState"])
        self.assertFalse(self.inputs_path.exists())

    def modify_failing(self, up: str, body: Any) -> Any:
        op_occ = self.vnfm.modify(up, body)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"], str(op_occ))
        self.assertNotIn("changedInfo", op_occ)
        self.assertIn("modify_information_end", op_occ["error"]["detail"])
        return op_occ

    def test_a_rollback_restores_the_instance(self) -> None:
        up = self.create_running(self.recording(FAILS))
        before = self.vnfm.instance(up)
        other = self.vnfm.onboard(self.useFixture(Csar()))
        op_occ = self.modify_failing(up, RENAME | {"vnfdId": other})
        self.assertEqual(before, self.vnfm.instance(up))
        self.assertEqual({"retry", "rollback", "fail"}, self.tasks(op_occ))
        end = self.vnfm.decide(op_occ["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], str(end))
        self.assertNotIn("changedInfo", end)
        self.assertEqual(before, self.vnfm.instance(up))
        operations = [one["operation"] for one in self.read_script_inputs()]
        self.assertEqual(list(self.hooks), operations)
        self.assertEqual(
            before["vnfdId"],
            self.read_script_inputs()[-1]["vnfInstance"]["vnfdId"],
        )
        # no former state is recorded any more
        self.delete_package(other)

    def test_a_retry_starts_again(self) -> None:
        runs = f"Path({str(self.inputs_path)!r}).read_text().count('information_end')"
        once = f"self.write(script_input); {END} and {runs} == 1 and exit(1)"
        up = self.create_running(self.recording(once))
        op_occ = self.modify_failing(up, RENAME)
        end = self.vnfm.decide(op_occ["id"], "retry")
        self.assertEqual("COMPLETED", end["operationState"], str(end))
        self.assertEqual(RENAME, end["changedInfo"])
        self.assertEqual("renamed", self.vnfm.instance(up)["vnfInstanceName"])

    def test_fail_restores_and_releases_the_instance(self) -> None:
        up = self.create_running(self.recording(FAILS))
        before = self.vnfm.instance(up)
        other = self.vnfm.onboard(self.useFixture(Csar()))
        op_occ = self.modify_failing(up, {"vnfdId": other})
        response = self.package(other, "DELETE")
        self.assertEqual(409, response.status, "an operation needs it")
        self.vnfm.decide(op_occ["id"], "fail")
        self.assertEqual(before, self.vnfm.instance(up))
        self.delete_package(other)
        op_occ = self.vnfm.run(
            up, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.assertEqual("COMPLETED", op_occ["operationState"])

    def tasks(self, op_occ: Any) -> set[str]:
        return set(op_occ["_links"]) - {"self", "vnfInstance"}

    def package(self, vnfd_id: str, method: str) -> Any:
        path = f"{PACKAGES}?filter=(eq,vnfdId,{vnfd_id})"
        (package,) = self.vnfm.call("GET", path).json
        path = f"{PACKAGES}/{package['id']}"
        self.vnfm.call("PATCH", path, {"operationalState": "DISABLED"})
        return self.vnfm.call(method, path)

    def delete_package(self, vnfd_id: str) -> None:
        self.assertEqual(204, self.package(vnfd_id, "DELETE").status)
