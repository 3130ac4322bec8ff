"""Version 1 of the lifecycle API."""

from typing import Any

import webob

from tacker_cnf.drivers.fake import FakeCall
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.projects import OWNER, Projects
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Csar, Response, Vnfm
from tests.functional.test_request_checks import DriverBlock

ROOT = "/vnflcm/v1"
INSTANCES = f"{ROOT}/vnf_instances"
OP_OCCS = f"{ROOT}/vnf_lcm_op_occs"
SUBSCRIPTIONS = f"{ROOT}/subscriptions"
UNKNOWN_ID = "11111111-2222-4333-8444-555555555555"
VIM = {"id": "vim1", "vimType": "fake", "interfaceInfo": {"endpoint": "x"}}
INSTANTIATE = {"flavourId": "simple", "vimConnectionInfo": [VIM]}
SCALE_OUT = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
TERMINATE = {"terminationType": "FORCEFUL"}


class VersionCase(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())

    def create(self, **body: Any) -> Any:
        """Create a VNF instance; return it."""
        request = {"vnfdId": self.vnfm.onboard()} | body
        response = self.vnfm.call("POST", INSTANCES, request)
        self.assertEqual(201, response.status, str(response.content))
        location = response.headers["Location"]
        self.assertEqual(response.json["_links"]["self"]["href"], location)
        return response.json

    def task(self, instance_id: str, task: str, body: Any) -> Response:
        path = f"{INSTANCES}/{instance_id}/{task}"
        return self.vnfm.call("POST", path, body)

    def end(self, response: Response) -> Any:
        """Wait until an accepted operation has ended; return it."""
        self.assertEqual(202, response.status, str(response.content))
        self.assertEqual(b"", response.content)
        location = response.headers["Location"]
        self.assertIn(f"{OP_OCCS}/", location)
        return self.vnfm.wait_operation(location)

    def run_completed(self, instance_id: str, task: str, body: Any) -> Any:
        op_occ = self.end(self.task(instance_id, task, body))
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))
        return op_occ

    def show(self, instance_id: str) -> Any:
        response = self.vnfm.call("GET", f"{INSTANCES}/{instance_id}")
        self.assertEqual(200, response.status)
        return response.json

    def create_instantiated(self, **body: Any) -> str:
        instance_id = str(self.create()["id"])
        self.run_completed(instance_id, "instantiate", INSTANTIATE | body)
        return instance_id

    def vnfcs(self, instance_id: str, vdu: str = "web") -> list[str]:
        """Return the ids of the VNFCs of a VDU."""
        info = self.show(instance_id)["instantiatedVnfInfo"]
        found = info["vnfcResourceInfo"]
        return [vnfc["id"] for vnfc in found if vnfc["vduId"] == vdu]


class TestVersionHeader(VersionCase):
    def get_with_version(self, version: str | None) -> Response:
        request = webob.Request.blank(INSTANCES)
        if version is not None:
            request.headers["Version"] = version
        return Response(request.get_response(self.vnfm.app))

    def test_1_or_none(self) -> None:
        for version in (None, "1.3.0", "1.0.0", "1.25.7", "1.3.0-impl:x"):
            response = self.get_with_version(version)
            self.assertEqual(200, response.status, str(version))
            self.assertEqual("1.3.0", response.headers["Version"])

    def test_others_are_not_acceptable(self) -> None:
        for version in ("2.0.0", "1", "1.3", "", "v1.3.0", "11.0.0"):
            response = self.get_with_version(version)
            self.assert_problem(406, response, "only 1.x.y")
            self.assertEqual("1.3.0", response.headers["Version"])


class TestLifecycle(VersionCase):
    def test_from_creation_to_deletion(self) -> None:
        created = self.create(vnfInstanceDescription="mine")
        instance_id = created["id"]
        self.assertEqual(f"vnf-{instance_id}", created["vnfInstanceName"])
        self.assertEqual("mine", created["vnfInstanceDescription"])
        packages = self.vnfm.call("GET", "/vnfpkgm/v1/vnf_packages").json
        self.assertEqual(packages[0]["id"], created["vnfPkgId"])
        self.assertNotIn("instantiatedVnfInfo", created)
        self.run_completed(
            instance_id,
            "instantiate",
            INSTANTIATE | {"additionalParams": {"namespace": "n"}},
        )
        shown = self.show(instance_id)
        self.assertEqual([shown], self.vnfm.call("GET", INSTANCES).json)
        self.assertEqual("vim1", shown["vimConnectionInfo"][0]["id"])
        info = shown["instantiatedVnfInfo"]
        self.assertEqual({"namespace": "n"}, info["additionalParams"])
        self.run_completed(instance_id, "scale", SCALE_OUT)
        self.assertEqual(2, len(self.vnfcs(instance_id)))
        self.end(self.update(instance_id, {"vnfInstanceName": "renamed"}))
        self.assertEqual("renamed", self.show(instance_id)["vnfInstanceName"])
        self.run_completed(instance_id, "terminate", TERMINATE)
        ended = self.show(instance_id)
        self.assertNotIn("vimConnectionInfo", ended)
        self.assertNotIn("instantiatedVnfInfo", ended)
        path = f"{INSTANCES}/{instance_id}"
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)
        self.assert_problem(404, self.vnfm.call("GET", path))

    def update(self, instance_id: str, body: Any) -> Response:
        kind = {"Content-Type": "application/merge-patch+json"}
        path = f"{INSTANCES}/{instance_id}"
        return self.vnfm.call("PATCH", path, body, kind)

    def test_a_timeout_of_zero_does_not_wait(self) -> None:
        instance_id = self.create_instantiated()
        body = {"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 0}
        done = self.run_completed(instance_id, "terminate", body)
        self.assertEqual(
            "FORCEFUL", done["operationParams"]["terminationType"]
        )

    def test_another_package(self) -> None:
        instance_id = self.create_instantiated()
        vnfd_id = self.vnfm.onboard()
        packages = self.vnfm.call("GET", "/vnfpkgm/v1/vnf_packages").json
        (other,) = (p["id"] for p in packages if p["vnfdId"] == vnfd_id)
        done = self.end(self.update(instance_id, {"vnfPkgId": other}))
        changed = done["changedInfo"]
        self.assertEqual(
            (vnfd_id, other), (changed["vnfdId"], changed["vnfPkgId"])
        )
        shown = self.show(instance_id)
        self.assertEqual(
            (vnfd_id, other), (shown["vnfdId"], shown["vnfPkgId"])
        )
        for attribute in ("vnfPkgId", "vnfdId"):
            response = self.update(instance_id, {attribute: UNKNOWN_ID})
            self.assert_problem(400, response, UNKNOWN_ID)

    def test_another_package_that_no_heal_would_apply(self) -> None:
        self.vnfm.driver.heals_storage = True
        instance_id = self.create_instantiated()
        present = self.show(instance_id)["vnfdId"]
        response = self.update(instance_id, {"vnfdId": self.vnfm.onboard()})
        self.assert_problem(409, response, "change_vnfpkg")
        self.end(self.update(instance_id, {"vnfdId": present}))
        self.assertEqual(present, self.show(instance_id)["vnfdId"])

    def test_vims_of_an_instance_that_is_not_instantiated(self) -> None:
        body = {"vimConnectionInfo": [{"id": "a", "vimId": "b"}]}
        response = self.update(self.create()["id"], body)
        self.assert_problem(400, response, "vimConnectionInfo")


class TestHeal(VersionCase):
    def test_ids_of_vnfcs(self) -> None:
        instance_id = self.create_instantiated()
        for form in (list, lambda ids: ids[0]):
            before = self.vnfcs(instance_id)
            body = {"vnfcInstanceId": form(before), "cause": "whim"}
            done = self.run_completed(instance_id, "heal", body)
            changes = done["resourceChanges"]["affectedVnfcs"]
            by_type = {c["changeType"]: c["id"] for c in changes}
            self.assertEqual(before[0], by_type["REMOVED"])
            self.assertEqual([by_type["ADDED"]], self.vnfcs(instance_id))
            self.assertEqual(
                {"vnfcInstanceId": before, "cause": "whim"},
                done["operationParams"],
            )
            response = self.task(instance_id, "heal", body)
            self.assert_problem(400, response, f"no VNFC {before[0]}; it has")
            self.assertIn(self.vnfcs(instance_id)[0], response.detail)

    def test_ids_of_version_2(self) -> None:
        instance_id = self.create_instantiated()
        info = self.vnfm.instance(instance_id)["instantiatedVnfInfo"]
        vnfc = next(v for v in info["vnfcInfo"] if v["vduId"] == "web")
        for name in ("id", "vnfcResourceInfoId"):
            before = self.vnfcs(instance_id)
            if name == "vnfcResourceInfoId":
                info = self.vnfm.instance(instance_id)["instantiatedVnfInfo"]
                vnfc = next(v for v in info["vnfcInfo"] if v["vduId"] == "web")
            body = {"vnfcInstanceId": vnfc[name]}
            self.run_completed(instance_id, "heal", body)
            self.assertNotEqual(before, self.vnfcs(instance_id))

    def test_the_whole_vnf(self) -> None:
        instance_id = self.create_instantiated()
        for body in ({}, {"vnfcInstanceId": None}):
            before = self.show(instance_id)["instantiatedVnfInfo"]
            done = self.run_completed(instance_id, "heal", body)
            self.assertEqual({}, done["operationParams"])
            after = self.show(instance_id)["instantiatedVnfInfo"]
            ids = [
                {vnfc["id"] for vnfc in info["vnfcResourceInfo"]}
                for info in (before, after)
            ]
            self.assertEqual(set(), ids[0] & ids[1])

    def test_the_state_is_checked_before_the_ids(self) -> None:
        instance_id = self.create()["id"]
        body = {"vnfcInstanceId": "x"}
        response = self.task(instance_id, "heal", body)
        self.assert_problem(409, response, "NOT_INSTANTIATED")

    def test_version_2_shows_the_array_it_requires(self) -> None:
        instance_id = self.create_instantiated()
        response = self.vnfm.task(
            instance_id, "heal", {"vnfcInstanceId": "web-1"}
        )
        self.assert_problem(400, response, 'use ["web-1"]')
        op_occ = self.vnfm.run(instance_id, "heal", {"vnfcInstanceId": None})
        self.assertEqual("COMPLETED", op_occ["operationState"])


class TestBothVersions(VersionCase):
    def test_an_instance_of_version_2(self) -> None:
        instance_id = self.vnfm.create_instantiated()
        shown = self.show(instance_id)
        self.assertEqual(f"vnf-{instance_id}", shown["vnfInstanceName"])
        self.assertNotIn("vnfInstanceName", self.vnfm.instance(instance_id))
        name = f"(eq,vnfInstanceName,vnf-{instance_id})"
        found = self.vnfm.call("GET", f"{INSTANCES}?filter={name}")
        self.assertEqual([shown], found.json)
        ids = self.vnfcs(instance_id)
        self.run_completed(instance_id, "heal", {"vnfcInstanceId": ids})
        self.run_completed(instance_id, "terminate", TERMINATE)

    def test_an_instance_of_version_1(self) -> None:
        instance_id = self.create_instantiated()
        shown = self.vnfm.instance(instance_id)
        self.assertEqual(f"vnf-{instance_id}", shown["vnfInstanceName"])
        self.assertEqual({"vim1"}, set(shown["vimConnectionInfo"]))
        self.assertIn("/vnflcm/v2/", shown["_links"]["self"]["href"])
        done = self.vnfm.run(instance_id, "scale", SCALE_OUT)
        of_v1 = self.vnfm.call("GET", f"{OP_OCCS}/{done['id']}").json
        self.assertEqual(
            SCALE_OUT | {"numberOfSteps": 1}, of_v1["operationParams"]
        )
        done = self.vnfm.run(instance_id, "terminate", TERMINATE)
        self.assertEqual("COMPLETED", done["operationState"])

    def test_operations_of_version_2_are_shown(self) -> None:
        instance_id = self.vnfm.create_instantiated()
        stop = {"changeStateTo": "STOPPED", "stopType": "FORCEFUL"}
        done = self.vnfm.run(instance_id, "operate", stop)
        shown = self.vnfm.call("GET", f"{OP_OCCS}/{done['id']}").json
        self.assertEqual("OPERATE", shown["operation"])
        self.assertEqual(
            "STOPPED",
            self.show(instance_id)["instantiatedVnfInfo"]["vnfState"],
        )


class TestErrors(VersionCase):
    def test_a_vnfd_that_is_unknown_or_disabled(self) -> None:
        body = {"vnfdId": UNKNOWN_ID}
        response = self.vnfm.call("POST", INSTANCES, body)
        self.assert_problem(404, response, UNKNOWN_ID)
        vnfd_id = self.vnfm.onboard()
        (package,) = self.vnfm.call("GET", "/vnfpkgm/v1/vnf_packages").json
        self.vnfm.call(
            "PATCH",
            f"/vnfpkgm/v1/vnf_packages/{package['id']}",
            {"operationalState": "DISABLED"},
        )
        response = self.vnfm.call("POST", INSTANCES, {"vnfdId": vnfd_id})
        self.assert_problem(422, response, "disabled")

    def test_requests_that_are_not_valid(self) -> None:
        idle = self.create()["id"]
        running = self.create_instantiated()
        for instance_id, task, body, message in (
            (idle, "instantiate", {}, "flavourId"),
            (idle, "instantiate", {"flavourId": "no"}, "no"),
            (
                idle,
                "instantiate",
                INSTANTIATE | {"vimConnectionInfo": [VIM, VIM]},
                "vimConnectionInfo",
            ),
            (
                idle,
                "instantiate",
                INSTANTIATE | {"vimConnectionInfo": FAKE_VIM},
                "vimConnectionInfo",
            ),
            (
                idle,
                "instantiate",
                INSTANTIATE
                | {
                    "vimConnectionInfo": [
                        {"id": "a", "vimId": UNKNOWN_ID, "vimType": "fake"}
                    ]
                },
                UNKNOWN_ID,
            ),
            (running, "scale", SCALE_OUT | {"aspectId": "no"}, "no"),
            (running, "scale", SCALE_OUT | {"numberOfSteps": 99}, "web"),
            (
                running,
                "scale",
                SCALE_OUT | {"additionalParams": {"is_reverse": "True"}},
                "is_reverse",
            ),
            (running, "heal", {"vnfcInstanceId": []}, "vnfcInstanceId"),
            (running, "heal", {"vnfcInstanceID": ["x"]}, "did you mean"),
            (running, "change_ext_conn", {}, "extVirtualLinks"),
            (running, "terminate", {}, "terminationType"),
        ):
            response = self.task(instance_id, task, body)
            self.assert_problem(400, response, message)

    def test_states_that_do_not_allow_a_request(self) -> None:
        idle = self.create()["id"]
        running = self.create_instantiated()
        self.assert_problem(
            409, self.task(running, "instantiate", INSTANTIATE)
        )
        for task, body in (
            ("scale", SCALE_OUT),
            ("heal", {}),
            ("terminate", TERMINATE),
        ):
            self.assert_problem(409, self.task(idle, task, body))
        response = self.vnfm.call("DELETE", f"{INSTANCES}/{running}")
        self.assert_problem(409, response)

    def test_a_vnf_without_aspects_cannot_be_scaled(self) -> None:
        csar = self.useFixture(Csar("vnf"))
        self.vnfm.onboard(csar)
        instance_id = self.create(vnfdId=csar.vnfd_id)["id"]
        self.run_completed(instance_id, "instantiate", INSTANTIATE)
        info = self.show(instance_id)["instantiatedVnfInfo"]
        expected = 400 if "scaleStatus" in info else 409
        response = self.task(
            instance_id, "scale", SCALE_OUT | {"aspectId": "none"}
        )
        self.assert_problem(expected, response)

    def test_tasks_of_version_2_do_not_exist(self) -> None:
        instance_id = self.create()["id"]
        for task in ("operate", "change_vnfpkg", "sync", "scale_to_level"):
            self.assert_problem(404, self.task(instance_id, task, {}))

    def test_unknown_ids(self) -> None:
        for method, path, body in (
            ("GET", f"{INSTANCES}/x", None),
            ("DELETE", f"{INSTANCES}/x", None),
            ("POST", f"{INSTANCES}/x/heal", {}),
            ("POST", f"{INSTANCES}/x/scale", SCALE_OUT),
            ("GET", f"{OP_OCCS}/x", None),
            ("POST", f"{OP_OCCS}/x/retry", None),
            ("GET", f"{SUBSCRIPTIONS}/x", None),
        ):
            self.assert_problem(404, self.vnfm.call(method, path, body))

    def test_the_query_of_the_list_of_instances(self) -> None:
        for name in ("fields", "all_fields", "exclude_default", "x"):
            response = self.vnfm.call("GET", f"{INSTANCES}?{name}=1")
            self.assert_problem(400, response, f"parameter {name} is unknown")
        response = self.vnfm.call("GET", f"{INSTANCES}?all_records=yes")
        self.assertEqual(200, response.status)


class TestOperations(VersionCase):
    def fail_heal(self) -> str:
        """Let a heal fail; return the operation."""

        def fail(_call: FakeCall) -> None:
            raise RuntimeError("broken")

        instance_id = self.create_instantiated()
        self.vnfm.driver.before["replace"] = fail
        op_occ = self.end(self.task(instance_id, "heal", {}))
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        return str(op_occ["id"])

    def test_decisions(self) -> None:
        op_occ_id = self.fail_heal()
        path = f"{OP_OCCS}/{op_occ_id}"
        response = self.vnfm.call("POST", f"{path}/rollback")
        self.assert_problem(409, response, "cannot be rolled back")
        response = self.vnfm.call("POST", f"{path}/retry")
        self.assertEqual((202, b""), (response.status, response.content))
        self.vnfm.wait_operation(path)
        failed = self.vnfm.call("POST", f"{path}/fail")
        self.assertEqual(200, failed.status)
        self.assertEqual("FAILED", failed.json["operationState"])
        self.assertIn("error", failed.json)
        for task in ("retry", "rollback", "fail"):
            self.assert_problem(409, self.vnfm.call("POST", f"{path}/{task}"))
        cancel = {"cancelMode": "GRACEFUL"}
        self.assert_problem(
            409, self.vnfm.call("POST", f"{path}/cancel", cancel)
        )

    def test_a_cancel_without_a_version(self) -> None:
        instance_id = self.create_instantiated()
        block = DriverBlock()
        self.addCleanup(block.open)
        self.vnfm.driver.before["replace"] = block
        location = self.task(instance_id, "heal", {}).headers["Location"]
        self.assertTrue(block.entered.wait(60.0))
        request = webob.Request.blank(f"{location}/cancel", method="POST")
        request.json = {"cancelMode": "GRACEFUL"}
        response = request.get_response(self.vnfm.app)
        self.assertEqual(202, response.status_int, response.text)
        block.open()
        op_occ = self.vnfm.wait_operation(location)
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])

    def test_lists(self) -> None:
        instance_id = self.create_instantiated()
        self.run_completed(instance_id, "terminate", TERMINATE)
        listed = self.vnfm.call("GET", OP_OCCS).json
        self.assertEqual(
            ["INSTANTIATE", "TERMINATE"], [o["operation"] for o in listed]
        )
        self.assertNotIn("operationParams", listed[0])
        query = "filter=(eq,operation,TERMINATE)&fields=operationParams"
        (found,) = self.vnfm.call("GET", f"{OP_OCCS}?{query}").json
        self.assertEqual(TERMINATE, found["operationParams"])
        # the openstack command excludes its columns by their titles
        for name in ("Operation", "Operation,operationParams"):
            query = f"exclude-fields={name}"
            response = self.vnfm.call("GET", f"{OP_OCCS}?{query}")
            self.assertEqual(200, response.status)
            self.assertNotIn("operationParams", response.json[0])
        path = f"{OP_OCCS}/{found['id']}"
        self.assertIn(path, found["_links"]["self"]["href"])


class TestSubscriptions(VersionCase):
    def setUp(self) -> None:
        super().setUp()
        self.receiver = self.useFixture(HttpReceiver())

    def subscribe(self, **body: Any) -> Response:
        request = {"callbackUri": self.receiver.url} | body
        return self.vnfm.call("POST", SUBSCRIPTIONS, request)

    def test_its_representation(self) -> None:
        response = self.subscribe()
        self.assertEqual(201, response.status)
        location = response.headers["Location"]
        self.assertEqual(
            {
                "id": response.json["id"],
                "callbackUri": self.receiver.url,
                "_links": {"self": {"href": location}},
            },
            response.json,
        )
        self.assertEqual(response.json, self.vnfm.call("GET", location).json)
        self.assertEqual(
            [response.json], self.vnfm.call("GET", SUBSCRIPTIONS).json
        )
        self.assertEqual(204, self.vnfm.call("DELETE", location).status)
        self.assert_problem(404, self.vnfm.call("GET", location))

    def test_an_equal_request(self) -> None:
        first = self.subscribe()
        again = self.subscribe()
        self.assertEqual((303, b""), (again.status, again.content))
        location = again.headers["Location"]
        self.assertEqual(first.headers["Location"], location)
        body = {"callbackUri": self.receiver.url}
        repeated = self.vnfm.call("POST", location, body)
        self.assertEqual((200, first.json), (repeated.status, repeated.json))
        other = self.vnfm.call(
            "POST", location, {"callbackUri": f"{self.receiver.url}/other"}
        )
        self.assert_problem(409, other, "another request")
        # notifications of version 2 differ
        path = "/vnflcm/v2/subscriptions"
        self.assertEqual(201, self.vnfm.call("POST", path, body).status)

    def test_a_callback_that_does_not_answer(self) -> None:
        response = self.subscribe(callbackUri="http://127.0.0.1:1")
        self.assert_problem(400, response, "callbackUri")

    def test_notifications(self) -> None:
        subscription_id = self.subscribe().json["id"]
        instance_id = self.create_instantiated()
        created, *_, last = self.receiver.wait(4)
        for notification in (created, last):
            self.assertEqual("1.3.0", notification.headers["Version"])
            self.assertEqual(
                "application/json", notification.headers["Content-Type"]
            )
            links = notification.json["_links"]
            for link in links.values():
                self.assertIn(f"{ROOT}/", link["href"])
                found = self.vnfm.call("GET", link["href"])
                self.assertEqual(200, found.status)
            self.assertEqual(
                subscription_id, notification.json["subscriptionId"]
            )
        self.assertEqual(
            {"vnfInstance", "subscription"}, set(created.json["_links"])
        )
        self.assertNotIn("verbosity", last.json)
        affected = [
            vnfc["id"]
            for vnfc in last.json["affectedVnfcs"]
            if vnfc["vduId"] == "web"
        ]
        self.assertEqual(self.vnfcs(instance_id), affected)


class TestPolicies(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Projects())
        self.instance_id = self.vnfm.create()

    def test_the_rules_are_those_of_version_2(self) -> None:
        self.vnfm.write_policy(
            vnf_instances__instantiate="role:starter",
            vims__inline="role:operator",
        )
        path = f"{INSTANCES}/{self.instance_id}/instantiate"
        response = self.vnfm.call("POST", path, INSTANTIATE)
        self.assert_problem(403, response, "vnf_instances:instantiate")
        self.vnfm.become(OWNER, "starter")
        response = self.vnfm.call("POST", path, INSTANTIATE)
        self.assert_problem(403, response, "vims:inline")
        self.vnfm.become(OWNER, "starter", "operator")
        response = self.vnfm.call("POST", path, INSTANTIATE)
        self.assertEqual(202, response.status)
        self.vnfm.become(OWNER)
        self.vnfm.wait_operation(response.headers["Location"])


class TestSecrets(VersionCase):
    def test_what_version_2_hides_is_hidden(self) -> None:
        secret = "hunter2"
        vim = VIM | {"accessInfo": {"username": "u", "password": secret}}
        instance_id = self.create()["id"]
        request = INSTANTIATE | {
            "vimConnectionInfo": [vim],
            "additionalParams": {"db_password1": secret, "namespace": "n"},
        }
        receiver = self.useFixture(HttpReceiver())
        self.vnfm.call("POST", SUBSCRIPTIONS, {"callbackUri": receiver.url})
        op_occ = self.run_completed(instance_id, "instantiate", request)
        shown = self.show(instance_id)
        self.assertEqual(
            {"username": "u"}, shown["vimConnectionInfo"][0]["accessInfo"]
        )
        self.assertEqual(
            {"db_password1": "***", "namespace": "n"},
            shown["instantiatedVnfInfo"]["additionalParams"],
        )
        (listed_op,) = self.vnfm.call("GET", f"{OP_OCCS}?all_fields").json
        (listed,) = self.vnfm.call("GET", INSTANCES).json
        notifications = [n.json for n in receiver.wait(3)]
        for value in (shown, listed, op_occ, listed_op, notifications):
            self.assertNotIn(secret, str(value))
        response = self.vnfm.call(
            "GET",
            f"{INSTANCES}?filter=(eq,vimConnectionInfo/accessInfo/password,x)",
        )
        self.assert_problem(400, response, "secret")
