"""The ID of a request in all that is done for it."""

import re
import uuid
from typing import Any, Final

from tacker_cnf import errors
from tests.fixtures import waiting
from tests.fixtures.json_log import JsonLog
from tests.fixtures.projects import OWNER, Projects
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Vnfm
from tests.functional.test_scripts import ScriptCase

HEADER: Final = "X-Openstack-Request-Id"
INSTANCES: Final = "/vnflcm/v2/vnf_instances"
OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
INSTANTIATION: Final = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
PRINTING: Final = """\
    import os
    import sys
    from tacker_cnf.mgmt_drivers.base import MgmtDriver

    class Driver(MgmtDriver):
        def instantiate_start(self, script_input):
            print("for", os.environ["TACKER_CNF_REQUEST_ID"], file=sys.stderr)

    Driver.main()
"""


def new_id() -> str:
    return f"req-{uuid.uuid4()}"


class TestOperation(ScriptCase):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(JsonLog())

    def start(self, instance_id: str, request_id: str) -> Any:
        response = self.vnfm.call(
            "POST",
            f"{INSTANCES}/{instance_id}/instantiate",
            INSTANTIATION,
            {HEADER: request_id},
        )
        self.assertEqual(request_id, response.headers[HEADER])
        return self.wait(response.headers["Location"], request_id)

    def wait(self, location: str, request_id: str) -> Any:
        """Wait until an attempt has ended and the request for it has all its
        lines, of which the event of the end is the last.
        """
        end = self.vnfm.wait_operation(location)
        waiting.until(
            lambda: len(self.audited(request_id)) == 2, "the last event"
        )
        return end

    def test_one_id_is_in_all_logs_of_an_instantiation(self) -> None:
        instance_id = self.instance(PRINTING, "instantiate_start")
        request_id = new_id()
        end = self.start(instance_id, request_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(request_id, end["requestId"])
        self.assertEqual("noauth", end["userId"])
        self.assertIn(f"for {request_id}", end["scriptLog"])
        messages = self.log.messages(request_id)
        script = r"script=Scripts/hooks\.py hook=instantiate_start"
        number, op_occ = r"\d+\.\d+", f"operation={end['id']}"
        path = f"path={INSTANCES}/{instance_id}/instantiate"
        instance = f"vnf_instance_id={instance_id}"
        for expected in (
            f"Request: method=POST {path} status=202 seconds={number} .*",
            f"Operation started: {op_occ} type=INSTANTIATE .*{instance}",
            f"Step started: {op_occ} step=PREAMBLE",
            f"Script started: {script}",
            f"Script ended: {script} exit_code=0 seconds={number}",
            f"Step completed: {op_occ} step=INFRA seconds={number}",
            f"Event recorded: {op_occ} state=COMPLETED event=DONE",
        ):
            self.assertTrue(
                any(re.fullmatch(expected, line) for line in messages),
                f"{expected}\n{messages}",
            )
        self.assertEqual(
            [
                ("update/instantiate", "success", "202"),
                ("update/instantiate", "success", "COMPLETED"),
            ],
            self.audited(request_id),
        )

    def audited(self, request_id: str) -> list[tuple[str, str, str]]:
        return [
            (event["action"], event["outcome"], event["reason"]["reasonCode"])
            for event in self.log.audit_events()
            if event["initiator"]["request_id"] == request_id
        ]

    def test_a_rollback_has_the_id_of_its_own_request(self) -> None:
        def fail(_task: Any) -> None:
            raise errors.VimRejected("quota exceeded")

        self.vnfm.driver.before["apply"] = fail
        first, second = new_id(), new_id()
        end = self.start(self.instance(PRINTING, "scale_start"), first)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        path = f"{OP_OCCS}/{end['id']}"
        self.vnfm.call("POST", f"{path}/rollback", headers={HEADER: second})
        end = self.wait(path, second)
        self.assertEqual("ROLLED_BACK", end["operationState"], end)
        self.assertEqual(second, end["requestId"])
        self.assertIn(
            f"Step failed: operation={end['id']} step=INFRA "
            "error=quota exceeded",
            self.log.messages(first),
        )
        self.assertIn(
            f"Step started: operation={end['id']} step=RESTORE",
            self.log.messages(second),
        )
        self.assertEqual(
            [
                ("update/instantiate", "success", "202"),
                ("update/instantiate", "failure", "FAILED_TEMP"),
            ],
            self.audited(first),
        )
        self.assertEqual(
            [
                ("update/rollback", "success", "202"),
                ("update/instantiate", "success", "ROLLED_BACK"),
            ],
            self.audited(second),
        )


class TestUsers(ApiCase):
    def test_an_event_names_the_user_of_its_request(self) -> None:
        def fail(_task: Any) -> None:
            raise errors.VimRejected("no")

        vnfm = self.useFixture(Projects())
        log = self.useFixture(JsonLog())
        vnfm.driver.before["apply"] = fail
        end = vnfm.run(vnfm.create(), "instantiate", INSTANTIATION)
        vnfm.become(OWNER, user="another-user")
        end = vnfm.decide(end["id"], "rollback")
        self.assertEqual("a-user", end["userId"])
        self.assertEqual(
            [
                ("update/instantiate", "FAILED_TEMP", "a-user"),
                ("update/rollback", "202", "another-user"),
                ("update/instantiate", "ROLLED_BACK", "another-user"),
            ],
            [
                (
                    event["action"],
                    event["reason"]["reasonCode"],
                    event["initiator"]["id"],
                )
                for event in log.audit_events()[-3:]
            ],
        )
        for line in log.of(end["requestId"]):
            self.assertIn(
                line["context"]["user"],
                # the first lines are before the token is checked
                {None, "another-user"},
            )


class TestRequest(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.log = self.useFixture(JsonLog())

    def test_a_malformed_id_is_replaced_and_not_logged(self) -> None:
        good = new_id()
        for given in (
            "",
            "req-1",
            good.removeprefix("req-"),
            f"{good} ",
            f"{good},{good}",
            f"{good}\nRequest: method=GET",
            f"{good}\r\nX-Other: 1",
            good.replace("-", "\N{HYPHEN}").encode().decode("latin-1"),
            "req-" + "f" * 10_000,
        ):
            environ = {"HTTP_X_OPENSTACK_REQUEST_ID": given}
            answered = self.request("/vnflcm/api_versions", environ)
            self.assertRegex(answered, r"\Areq-[0-9a-f-]{36}\Z")
            self.assertNotEqual(good, answered)
            (line,) = self.log.messages(answered)
            self.assertNotIn("\n", line)

    def request(self, path: str, environ: dict[str, str]) -> str:
        """Send a request with values that a client library would not send;
        return the ID in the response.
        """
        found: list[str] = []

        def start(_status: str, headers: list[tuple[str, str]]) -> None:
            found.append(dict(headers)[HEADER])

        basic = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "localhost",
            "HTTP_HOST": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
        }
        list(self.vnfm.app({**basic, **environ}, start))
        return found[0]

    def test_a_path_stays_on_its_line(self) -> None:
        answered = self.request("/x\nRequest: method=GET\x1b[31m", {})
        (line,) = self.log.messages(answered)
        self.assertIn(
            " path=/x%0ARequest:%20method=GET%1B%5B31m status=404 ", line
        )

    def test_reads_and_dry_runs_are_not_audited(self) -> None:
        instance_id = self.vnfm.create()
        before = len(self.log.audit_events())
        self.vnfm.call("GET", f"{INSTANCES}/{instance_id}")
        response = self.vnfm.task(
            instance_id, "instantiate?dry_run=true", INSTANTIATION
        )
        self.assertEqual(200, response.status)
        self.assertEqual(before, len(self.log.audit_events()))

    def test_a_query_that_resembles_a_dry_run_is_audited(self) -> None:
        for query in ("x=dry_run=true", "not_dry_run=true"):
            path = f"{INSTANCES}/{self.vnfm.create()}?{query}"
            before = len(self.log.audit_events())
            self.assertEqual(204, self.vnfm.call("DELETE", path).status)
            self.assertEqual(before + 1, len(self.log.audit_events()))

    def test_each_change_is_audited_with_client_and_target(self) -> None:
        request_id = new_id()
        instance_id = self.vnfm.create()
        path = f"{INSTANCES}/{instance_id}"
        self.vnfm.call("DELETE", path, headers={HEADER: request_id})
        self.vnfm.call("DELETE", path)
        created, deleted, missing = self.log.audit_events()[-3:]
        self.assertEqual("create", created["action"])
        self.assertEqual(instance_id, created["target"]["id"])
        del deleted["id"], deleted["eventTime"]
        self.assertEqual(
            {
                "typeURI": "http://schemas.dmtf.org/cloud/audit/1.0/event",
                "eventType": "activity",
                "action": "delete",
                "outcome": "success",
                "initiator": {
                    "id": "noauth",
                    "typeURI": "service/security/account/user",
                    "project_id": "noauth",
                    "request_id": request_id,
                },
                "target": {
                    "id": instance_id,
                    "typeURI": "service/nfv-orchestration/vnf_instances",
                },
                "observer": {
                    "id": "tacker_cnf",
                    "typeURI": "service/nfv-orchestration",
                },
                "reason": {"reasonType": "HTTP", "reasonCode": "204"},
                "requestPath": path,
            },
            deleted,
        )
        self.assertEqual("failure", missing["outcome"])
        self.assertEqual("404", missing["reason"]["reasonCode"])

    def test_health_checks_are_logged_at_debug_only(self) -> None:
        answered = self.request("/healthcheck", {})
        (line,) = self.log.of(answered)
        self.assertEqual("DEBUG", line["levelname"])
