"""Grants of an NFVO over HTTP (SOL003 clause 9)."""

import datetime
import email.utils
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import fixtures
import testtools
from oslo_config import cfg
from trustme import CA

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.cmd import compose
from tacker_cnf.drivers.fake import FakeCall
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tests.factories import a_grant_request
from tests.fixtures import waiting
from tests.fixtures.clock import SteppingClock
from tests.fixtures.http_receiver import ReceivedRequest, Response
from tests.fixtures.nfvo import NfvoServer, json_response, problem_response
from tests.fixtures.vnfm import FAKE_VIM, Vnfm

API_ENDPOINT = "https://vnfm.example"
INSTANTIATE = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}


def hang(_: ReceivedRequest) -> Response:
    """Never respond; the thread ends with the process."""
    threading.Event().wait()
    raise AssertionError("unreachable")


def always_respond(
    response: Response,
) -> Callable[[ReceivedRequest], Response]:
    return lambda _: response


def die(_: ReceivedRequest) -> Response:
    raise ConnectionResetError


def options(nfvo: NfvoServer, **more: Any) -> dict[str, dict[str, Any]]:
    """Return the configuration of a service with an NFVO: group -> options."""
    own = {"endpoint": nfvo.url, "poll_interval": 0.05, "grant_timeout": 600.0}
    return {"api": {"endpoint": API_ENDPOINT}, "nfvo": own | more}


class NfvoTest(testtools.TestCase):
    """A service and its NFVO."""

    #: configuration of [nfvo]
    more: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.nfvo = self.useFixture(NfvoServer())
        self.vnfm = self.useFixture(
            Vnfm(
                **options(self.nfvo, **self.more),
                outgoing={"max_response_bytes": 16777216},
            )
        )
        self.instance_id = self.vnfm.create()

    def run_task(self, task: str, **body: Any) -> Any:
        return self.vnfm.run(self.instance_id, task, body)

    def instantiate(self, **body: Any) -> Any:
        return self.run_task("instantiate", **INSTANTIATE | body)

    def assert_rolled_back(self, end: Any, status: int, message: str) -> None:
        """Check that nothing was changed, and that the instance is free."""
        self.assertEqual("ROLLED_BACK", end["operationState"], end)
        self.assertEqual(status, end["error"]["status"])
        self.assertIn(message, end["error"]["detail"])
        self.assertNotIn("grantId", end)
        self.assertEqual({}, self.vnfm.driver.vnfcs)
        self.assertEqual("COMPLETED", self.instantiate()["operationState"])


class TestGranted(NfvoTest):
    def test_the_grant_request(self) -> None:
        end = self.instantiate(
            instantiationLevelId=None,
            additionalParams={"namespace": "red", "ki": 1},
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        (request,) = self.nfvo.requests
        self.assertEqual("/grant/v1/grants", request.path)
        self.assertEqual("1.4.0", request.headers["Version"])
        self.assertEqual("application/json", request.headers["Content-Type"])
        self.assertEqual(end["id"], request.headers["Idempotency-Key"])
        grant_request = request.json
        self.assertEqual("INSTANTIATE", grant_request["operation"])
        self.assertEqual(
            {"namespace": "red"}, grant_request["additionalParams"]
        )
        lcm = f"{API_ENDPOINT}/vnflcm/v2"
        self.assertEqual(
            {
                "vnfLcmOpOcc": {"href": f"{lcm}/vnf_lcm_op_occs/{end['id']}"},
                "vnfInstance": {
                    "href": f"{lcm}/vnf_instances/{self.instance_id}"
                },
            },
            grant_request["_links"],
        )

    def test_each_operation_is_granted_on_its_own(self) -> None:
        self.instantiate()
        self.run_task("scale", type="SCALE_OUT", aspectId="web_aspect")
        self.run_task("heal")
        self.run_task("terminate", terminationType="FORCEFUL")
        self.assertEqual(
            ["INSTANTIATE", "SCALE", "HEAL", "TERMINATE"],
            [request["operation"] for request in self.nfvo.grant_requests],
        )

    def test_the_grant_is_recorded(self) -> None:
        self.nfvo.grant_attributes = {"id": "a-grant"}
        self.assertEqual("a-grant", self.instantiate()["grantId"])

    def test_the_grant_is_polled(self) -> None:
        self.nfvo.pending_polls = 3
        self.assertEqual("COMPLETED", self.instantiate()["operationState"])
        self.assertEqual(1, len(self.nfvo.grant_requests))
        # at the configured address, whatever host Location has
        (path,) = {r.path for r in self.nfvo.requests if r.method == "GET"}
        self.assertRegex(path, "^/grant/v1/grants/[0-9a-f-]{36}$")

    def test_retry_after_of_a_busy_nfvo(self) -> None:
        busy = {"Retry-After": "0"}
        self.nfvo.next_responses = [
            lambda _: problem_response(503, "come back", **busy),
            lambda _: problem_response(429, "not so fast", **busy),
        ]
        self.assertEqual("COMPLETED", self.instantiate()["operationState"])
        self.assertEqual(3, len(self.nfvo.grant_requests))


class TestRetryAfter(testtools.TestCase):
    """The waits for a pending grant, which take no time."""

    def total_wait(self, retry_after: str) -> float:
        """Return the seconds from the response 202 to the next request."""
        server = self.useFixture(NfvoServer())

        def respond(request: ReceivedRequest) -> Response:
            status, headers, body = server.respond_to_grant_request(
                request.json
            )
            return status, headers | {"Retry-After": retry_after}, body

        server.pending_polls = 1
        server.next_responses = [respond]
        clock = SteppingClock()
        compose.nfvo_of(configured(server, grant_timeout=600.0)).grant(
            a_grant_request(),
            CancelToken(clock=clock),
            Deadline.within(600, clock),
        )
        self.assertEqual(2, len(server.requests))
        return round(sum(clock.waits), 3)

    def test_seconds(self) -> None:
        self.assertEqual(30.0, self.total_wait("30"))

    def test_a_date(self) -> None:
        """A wait takes a minute at most."""
        now = datetime.datetime.now(datetime.UTC)
        retry_at = now + datetime.timedelta(hours=1)
        self.assertEqual(
            60.0, self.total_wait(email.utils.format_datetime(retry_at))
        )


class TestRefused(NfvoTest):
    def test_a_grant_rejected_at_once(self) -> None:
        self.nfvo.next_responses = [
            lambda _: problem_response(403, "no room in the cloud")
        ]
        self.assert_rolled_back(
            self.instantiate(),
            403,
            "The NFVO rejected the operation: no room in the cloud",
        )

    def test_a_grant_rejected_after_polling(self) -> None:
        self.nfvo.pending_polls = 1
        self.nfvo.next_responses = [
            lambda r: self.nfvo.respond_to_grant_request(r.json),
            lambda _: problem_response(403, "no room in the cloud"),
        ]
        end = self.instantiate()
        self.nfvo.pending_polls = 0
        self.assert_rolled_back(end, 403, "no room in the cloud")

    def test_a_partial_grant(self) -> None:
        self.nfvo.edit_grant = lambda grant: grant["addResources"].pop()
        end = self.instantiate()
        self.nfvo.edit_grant = lambda _: None
        self.assert_rolled_back(end, 403, "requested resources")

    def test_responses_that_are_no_grant(self) -> None:
        other = {"vnfLcmOpOccId": "other"}
        for response, message in (
            (
                problem_response(500, "I am on fire"),
                "responded 500 to the grant request",
            ),
            (
                problem_response(400, "what?"),
                "responded 400 to the grant request",
            ),
            (
                problem_response(401, "who?"),
                "responded 401 to the grant request",
            ),
            ((404, {}, b"<html>"), "no reason given"),
            ((307, {"Location": "http://x"}, b""), "responded 307"),
            ((202, {}, b""), "202 without a valid Location header"),
            (
                (202, {"Location": "http://x/.."}, b""),
                "without a valid Location",
            ),
            (
                (202, {"Location": "http://[x"}, b""),
                "without a valid Location",
            ),
            ((201, {}, b"garbage"), "The NFVO's grant is not valid"),
            ((201, {}, b"\xff"), "The NFVO's grant is not valid"),
            (json_response({"id": 5}, 201), "`str`, got `int` - at `$.id`"),
            (json_response([], 201), "The NFVO's grant is not valid"),
        ):
            self.nfvo.next_responses = [always_respond(response)]
            self.assert_rolled_back(self.instantiate(), 503, message)
            self.run_task("terminate", terminationType="FORCEFUL")
        self.nfvo.grant_attributes = other
        end = self.instantiate()
        self.nfvo.grant_attributes = {}
        self.assert_rolled_back(end, 503, "The NFVO's grant is for another")

    def test_a_pending_grant_is_not_found_later(self) -> None:
        self.nfvo.pending_polls = 1
        self.nfvo.next_responses = [
            lambda r: self.nfvo.respond_to_grant_request(r.json),
            lambda _: problem_response(404, "unknown grant"),
        ]
        end = self.instantiate()
        self.nfvo.pending_polls = 0
        self.assert_rolled_back(end, 503, "unknown grant")

    def test_a_grant_response_that_is_too_large(self) -> None:
        flood = b" " * (17 * 1024 * 1024)
        self.nfvo.next_responses = [lambda _: (201, {}, flood)]
        self.assert_rolled_back(
            self.instantiate(), 503, "is larger than 16777216 bytes"
        )

    def test_a_rejected_scale_changes_nothing(self) -> None:
        self.instantiate()
        before = self.vnfm.instance(self.instance_id)
        self.nfvo.next_responses = [lambda _: problem_response(403, "enough")]
        end = self.run_task("scale", type="SCALE_OUT", aspectId="web_aspect")
        self.assertEqual("ROLLED_BACK", end["operationState"])
        self.assertEqual(before, self.vnfm.instance(self.instance_id))


class TestUnreachable(NfvoTest):
    def test_a_lost_response(self) -> None:
        """The response is lost: the same request is sent again."""

        def lose_response(request: ReceivedRequest) -> Response:
            self.nfvo.respond_to_grant_request(request.json)
            raise ConnectionResetError

        self.nfvo.next_responses = [lose_response, die]
        self.assertEqual("COMPLETED", self.instantiate()["operationState"])
        self.assertEqual(3, len(self.nfvo.grant_requests))
        self.assertEqual(1, len({r.body for r in self.nfvo.requests}))
        keys = {r.headers["Idempotency-Key"] for r in self.nfvo.requests}
        self.assertEqual(1, len(keys))

    def test_a_lost_response_of_a_pending_grant(self) -> None:
        self.nfvo.pending_polls = 2
        self.nfvo.next_responses = [
            lambda r: self.nfvo.respond_to_grant_request(r.json),
            die,
            die,
        ]
        self.assertEqual("COMPLETED", self.instantiate()["operationState"])
        self.assertEqual(1, len(self.nfvo.grant_requests))

    def test_an_nfvo_that_is_restarted(self) -> None:
        self.nfvo.stop()
        response = self.vnfm.task(self.instance_id, "instantiate", INSTANTIATE)
        self.assertEqual(202, response.status)
        location = response.headers["Location"]
        waiting.until(
            lambda: "NFVO unreachable, retrying" in self.log.output,
            "the first attempt",
        )
        state = self.vnfm.call("GET", location).json["operationState"]
        self.assertEqual("STARTING", state)
        self.useFixture(NfvoServer(port=self.nfvo.port))
        end = self.vnfm.wait_operation(location)
        self.assertEqual("COMPLETED", end["operationState"], end)

    def test_a_retry_uses_the_same_grant(self) -> None:
        def fail(_: Any) -> None:
            raise errors.InfraError("quota exceeded")

        self.vnfm.driver.before["apply"] = fail
        failed = self.instantiate()
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        self.nfvo.stop()
        del self.vnfm.driver.before["apply"]
        end = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(failed["grantId"], end["grantId"])
        self.assertEqual(1, len(self.nfvo.grant_requests))


class TestNoResponse(NfvoTest):
    more: ClassVar[dict[str, Any]] = {"grant_timeout": 1.0}

    def test_an_nfvo_that_does_not_decide_in_time(self) -> None:
        self.nfvo.pending_polls = 1_000_000
        end = self.instantiate()
        self.nfvo.pending_polls = 0
        message = "The NFVO did not decide within 1 seconds."
        self.assert_rolled_back(end, 503, message)

    def test_an_nfvo_that_does_not_respond(self) -> None:
        self.nfvo.next_responses = [hang]
        message = "The NFVO did not decide within 1 seconds."
        self.assert_rolled_back(self.instantiate(), 503, message)


OTHER = {
    "vimType": "fake",
    "interfaceInfo": {"endpoint": "https://cloud.example"},
    "accessInfo": {"bearer_token": "t0ken"},
}


class TestGrantContent(NfvoTest):
    """The content of the grant is applied."""

    def setUp(self) -> None:
        super().setUp()
        self.calls: list[FakeCall] = []
        for verb in ("apply", "replace", "destroy"):
            self.vnfm.driver.before[verb] = self.calls.append

    def register(self, **more: Any) -> str:
        vim = {
            "name": "somewhere",
            "type": "fake",
            "auth_url": "https://vim.example",
            "auth_cred": {"password": "s3cret"},
        }
        response = self.vnfm.call("POST", "/v1.0/vims", {"vim": vim | more})
        self.assertEqual(201, response.status, str(response.content))
        return str(response.json["vim"]["id"])

    def instantiate_anywhere(self) -> Any:
        return self.run_task("instantiate", flavourId="simple")

    def vims(self) -> Any:
        return self.vnfm.instance(self.instance_id)["vimConnectionInfo"]

    def test_a_grant_specifies_the_vim(self) -> None:
        self.nfvo.grant_attributes = {"vimConnectionInfo": {"cloud": OTHER}}
        end = self.instantiate_anywhere()
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.nfvo.grant_attributes = {}
        self.run_task("scale", type="SCALE_OUT", aspectId="web_aspect")
        for call in self.calls:
            (vim,) = call.task.vim_connections.values()
            self.assertEqual({"bearer_token": "t0ken"}, vim.access_info)
        self.assertEqual(["cloud"], list(self.vims()))
        self.assertNotIn("t0ken", str(self.vims()))

    def test_a_grant_specifies_a_registered_vim(self) -> None:
        vim_id = self.register()
        path = f"/v1.0/vims/{vim_id}"
        self.nfvo.grant_attributes = {
            "vimConnectionInfo": {"v": {"vimId": vim_id}}
        }
        end = self.instantiate_anywhere()
        self.assertEqual("COMPLETED", end["operationState"], end)
        (vim,) = self.calls[0].task.vim_connections.values()
        self.assertEqual("fake", vim.vim_type)
        self.assertEqual({"password": "s3cret"}, vim.access_info)
        self.assertEqual(409, self.vnfm.call("DELETE", path).status)
        self.nfvo.grant_attributes = {}
        self.run_task("terminate", terminationType="FORCEFUL")
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)

    def test_registered_credentials_are_sent_to_no_other_address(self) -> None:
        vim_connection = {"vimId": self.register(), "vimType": "fake"}
        endpoint = {"interfaceInfo": {"endpoint": "https://else.example"}}
        self.nfvo.grant_attributes = {
            "vimConnectionInfo": {"v": vim_connection | endpoint}
        }
        self.instantiate_anywhere()
        (vim,) = self.calls[0].task.vim_connections.values()
        self.assertEqual({}, vim.access_info)

    def test_the_grant_overrides_the_request(self) -> None:
        self.nfvo.grant_attributes = {"vimConnectionInfo": {"vim1": OTHER}}
        end = self.instantiate(
            vimConnectionInfo={"vim1": OTHER | {"extra": {"a": 1}}} | FAKE_VIM
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        (vim,) = self.calls[0].task.vim_connections.values()
        self.assertEqual(
            "https://cloud.example", vim.interface_info["endpoint"]
        )

    def test_the_vim_of_the_grant_overrides_the_default_vim(self) -> None:
        self.register(is_default=True)
        self.nfvo.grant_attributes = {"vimConnectionInfo": {"cloud": OTHER}}
        self.instantiate_anywhere()
        self.assertEqual(["cloud"], list(self.vims()))

    def test_no_vim_is_named(self) -> None:
        end = self.instantiate_anywhere()
        self.assert_rolled_back(end, 400, "no VIM is named")

    def test_a_grant_specifies_an_unusable_vim(self) -> None:
        unknown_vim = OTHER | {"vimType": "moon"}
        for vim, message in (
            ({"vimId": "unknown"}, "no VIM unknown is registered"),
            ({"vimType": "fake"}, "set the vimId of a registered VIM"),
            (unknown_vim, "there is no driver for 'moon'"),
            (OTHER | {"vimType": "noop"}, "accept no VNFs"),
        ):
            self.nfvo.grant_attributes = {"vimConnectionInfo": {"v": vim}}
            end = self.instantiate_anywhere()
            self.nfvo.grant_attributes = {}
            self.assert_rolled_back(end, 400, message)
            self.run_task("terminate", terminationType="FORCEFUL")

    def test_credentials_of_the_request_are_sent_to_no_other_address(
        self,
    ) -> None:
        stored = {"accessInfo": {"bearer_token": "s3cret"}}
        moved = {key: OTHER[key] for key in ("vimType", "interfaceInfo")}
        self.nfvo.grant_attributes = {"vimConnectionInfo": {"vim1": moved}}
        end = self.run_task(
            "instantiate",
            flavourId="simple",
            vimConnectionInfo={"vim1": FAKE_VIM["vim1"] | stored},
        )
        self.assert_rolled_back(end, 400, "include accessInfo, too")

    def test_the_flavour_is_checked_before_the_grant(self) -> None:
        body = {"flavourId": "huge"}
        response = self.vnfm.task(self.instance_id, "instantiate", body)
        self.assertEqual(400, response.status)
        self.assertEqual([], self.nfvo.requests)

    def test_parameters_of_the_grant_are_applied(self) -> None:
        self.nfvo.grant_attributes = {"additionalParams": {"a": 2, "c": 4}}
        self.instantiate(additionalParams={"a": 1, "b": 3})
        (call,) = self.calls
        change = call.task.change
        self.assertEqual({"a": 2, "b": 3, "c": 4}, change.parameters)
        assert change.desired
        self.assertEqual(change.parameters, change.desired.parameters)

    def test_zones_and_assets_of_the_grant_are_applied(self) -> None:
        def place(grant: dict[str, Any]) -> None:
            grant["zones"] = [{"id": "here", "zoneId": "nova-1"}]
            for resource in grant["addResources"]:
                resource["zoneId"] = "here"

        images = [{"vnfdSoftwareImageId": "a", "vimSoftwareImageId": "b"}]
        self.nfvo.grant_attributes = {"vimAssets": {"softwareImages": images}}
        self.nfvo.edit_grant = place
        end = self.instantiate()
        info = self.vnfm.instance(self.instance_id)["instantiatedVnfInfo"]
        zones = {vnfc["zoneId"] for vnfc in info["vnfcResourceInfo"]}
        self.assertEqual({"nova-1"}, zones)
        for affected in end["resourceChanges"]["affectedVnfcs"]:
            self.assertEqual("nova-1", affected["zoneId"])
        (call,) = self.calls
        grant = call.task.grant
        assert grant
        assert grant.vim_assets
        (image,) = grant.vim_assets.software_images
        self.assertEqual("b", image.vim_software_image_id)

    def test_a_retry_applies_the_same_grant(self) -> None:
        def fail(_: Any) -> None:
            raise errors.InfraError("quota exceeded")

        vim_id = self.register()
        self.nfvo.grant_attributes = {
            "vimConnectionInfo": {"v": {"vimId": vim_id}},
            "additionalParams": {"a": 2},
        }
        self.vnfm.driver.before["apply"] = fail
        failed = self.instantiate_anywhere()
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self.nfvo.stop()
        self.vnfm.driver.before["apply"] = self.calls.append
        end = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("COMPLETED", end["operationState"], end)
        (call,) = self.calls
        self.assertEqual({"a": 2}, call.task.change.parameters)
        (vim,) = call.task.vim_connections.values()
        self.assertEqual({"password": "s3cret"}, vim.access_info)

    def test_a_rollback_uses_the_vim_of_the_grant(self) -> None:
        def fail(_: Any) -> None:
            raise errors.InfraError("quota exceeded")

        vim_id = self.register()
        self.nfvo.grant_attributes = {
            "vimConnectionInfo": {"v": {"vimId": vim_id}}
        }
        self.vnfm.driver.before["apply"] = fail
        failed = self.instantiate_anywhere()
        end = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], end)
        (vim,) = self.calls[0].task.vim_connections.values()
        self.assertEqual(vim_id, vim.vim_id)
        response = self.vnfm.call("DELETE", f"/v1.0/vims/{vim_id}")
        self.assertEqual(204, response.status)


class TestStopped(NfvoTest):
    """A conductor is stopped while it waits for the NFVO."""

    def test_another_conductor_requests_the_grant_again(self) -> None:
        self.nfvo.pending_polls = 1_000_000
        response = self.vnfm.task(self.instance_id, "instantiate", INSTANTIATE)
        location = response.headers["Location"]
        self.nfvo.wait_requests()
        self.assertTrue(self.vnfm.conductor.stop())
        state = self.vnfm.call("GET", location).json["operationState"]
        self.assertEqual("STARTING", state)
        self.nfvo.pending_polls = 0
        other = compose.conductor(self.vnfm.parts)
        other.start(self.vnfm.parts.transport)
        self.addCleanup(other.stop)
        end = self.vnfm.wait_operation(location)
        self.assertEqual("COMPLETED", end["operationState"], end)
        # by the same request
        posts = [r.body for r in self.nfvo.requests if r.method == "POST"]
        self.assertEqual(2, len(posts))
        self.assertEqual(1, len(set(posts)))


class TestCancelled(NfvoTest):
    """A client cancels an operation that waits for the NFVO."""

    def cancel(self, mode: str) -> None:
        response = self.vnfm.task(self.instance_id, "instantiate", INSTANTIATE)
        location = response.headers["Location"]
        self.nfvo.wait_requests()
        asked_to = {"cancelMode": mode}
        response = self.vnfm.call("POST", f"{location}/cancel", asked_to)
        self.assertEqual(202, response.status, str(response.content))
        end = self.vnfm.wait_operation(location, 5.0)
        self.nfvo.pending_polls = 0
        self.assert_rolled_back(end, 409, "cancelled")

    def test_cancelled_while_the_grant_is_pending(self) -> None:
        for mode in ("GRACEFUL", "FORCEFUL"):
            self.nfvo.pending_polls = 1_000_000
            self.nfvo.requests.clear()
            self.cancel(mode)
            self.run_task("terminate", terminationType="FORCEFUL")

    def test_cancelled_while_the_nfvo_does_not_respond(self) -> None:
        for mode in ("GRACEFUL", "FORCEFUL"):
            self.nfvo.next_responses = [hang]
            self.nfvo.requests.clear()
            self.cancel(mode)
            self.run_task("terminate", terminationType="FORCEFUL")


def configured(nfvo: NfvoServer, **more: Any) -> cfg.ConfigOpts:
    conf = configuration.new()
    conf([], default_config_files=[], default_config_dirs=[])
    for group, values in options(nfvo, **more).items():
        for name, value in values.items():
            conf.set_override(name, value, group)
    return conf


class TestCancelledWait(testtools.TestCase):
    """A cancel, or a stop of the conductor, ends the waiting at once."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(NfvoServer())
        self.cancel_token = CancelToken()

    def start_wait(self, **more: Any) -> threading.Thread:
        nfvo = compose.nfvo_of(configured(self.server, **more))
        self.ends: list[errors.VnfmError] = []

        def wait() -> None:
            try:
                nfvo.grant(
                    a_grant_request(),
                    self.cancel_token,
                    Deadline.within(600),
                )
            except errors.VnfmError as error:
                self.ends.append(error)

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        return waiting

    def assert_ends(self, waiting: threading.Thread) -> None:
        waiting.join(120)
        self.assertFalse(waiting.is_alive())
        (end,) = self.ends
        self.assertIsInstance(end, errors.Cancelled)

    def cancel(self, *, forceful: bool) -> None:
        self.cancel_token.cancel(errors.Cancelled(), forceful=forceful)

    def test_cancel_while_the_grant_is_pending(self) -> None:
        self.server.pending_polls = 1_000_000
        waiting = self.start_wait(poll_interval=600.0)
        self.server.wait_requests()
        self.cancel(forceful=True)
        self.assert_ends(waiting)

    def test_cancelled_while_the_nfvo_does_not_respond(self) -> None:
        self.server.next_responses = [hang]
        waiting = self.start_wait()
        self.server.wait_requests()
        self.cancel(forceful=True)
        self.assert_ends(waiting)

    def test_cancelled_while_the_nfvo_is_unreachable(self) -> None:
        self.server.stop()
        waiting = self.start_wait(poll_interval=600.0)
        self.cancel(forceful=True)
        self.assert_ends(waiting)

    def test_a_graceful_cancel_ends_the_wait(self) -> None:
        """Nothing has started that a graceful cancel would wait for."""
        self.server.pending_polls = 1_000_000
        waiting = self.start_wait(poll_interval=600.0)
        self.server.wait_requests()
        self.cancel(forceful=False)
        self.assert_ends(waiting)

    def test_a_graceful_cancel_while_the_nfvo_does_not_respond(self) -> None:
        self.server.next_responses = [hang]
        waiting = self.start_wait()
        self.server.wait_requests()
        self.cancel(forceful=False)
        self.assert_ends(waiting)


class TestTimeout(testtools.TestCase):
    """The NFVO fails until the timeout; the waits take no time."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(NfvoServer())

    def request(self) -> str:
        """Return the error of a grant request."""
        clock = SteppingClock()
        nfvo = compose.nfvo_of(
            configured(self.server, grant_timeout=600.0, poll_interval=60.0)
        )
        error = self.assertRaises(
            errors.PeerUnreachable,
            nfvo.grant,
            a_grant_request(),
            CancelToken(clock=clock),
            Deadline.within(600, clock),
        )
        return str(error)

    def test_an_nfvo_that_stays_busy(self) -> None:
        busy = problem_response(503, "come back")
        self.server.next_responses = [always_respond(busy)] * 1000
        self.assertIn(
            "within 600 seconds. Last response 503: come back", self.request()
        )

    def test_an_nfvo_that_stays_unreachable(self) -> None:
        self.server.stop()
        message = self.request()
        self.assertIn("The NFVO did not decide within 600 seconds.", message)
        self.assertIn("cannot be reached", message)


class TestClientAuthentication(testtools.TestCase):
    """Authentication of the service at the NFVO."""

    def grant(self, server: NfvoServer, **more: Any) -> None:
        conf = configured(server)
        for group, values in more.items():
            for name, value in values.items():
                conf.set_override(name, value, group)
        nfvo = compose.nfvo_of(conf)
        clock = SteppingClock()
        nfvo.grant(
            a_grant_request(),
            CancelToken(clock=clock),
            Deadline.within(600, clock),
        )

    def test_basic_authentication(self) -> None:
        server = self.useFixture(NfvoServer(basic=("vnfm", "s3cret")))
        error = self.assertRaises(errors.PeerFailed, self.grant, server)
        self.assertIn("responded 401", str(error))
        own = {"auth_type": "BASIC", "user_name": "vnfm"}
        self.grant(server, nfvo=own | {"password": "s3cret"})
        error = self.assertRaises(
            errors.PeerFailed, self.grant, server, nfvo=own | {"password": "x"}
        )
        self.assertNotIn("s3cret", str(error))

    def test_oauth2_authentication(self) -> None:
        server = self.useFixture(NfvoServer(oauth2=("vnfm", "s3cret")))
        own = {
            "auth_type": "OAUTH2_CLIENT_CREDENTIALS",
            "client_id": "vnfm",
            "client_password": "s3cret",
            "token_endpoint": f"{server.url}/token",
        }
        self.grant(server, nfvo=own)
        error = self.assertRaises(
            errors.PeerFailed,
            self.grant,
            server,
            nfvo=own | {"client_password": "wr0ng"},
        )
        self.assertIn("token endpoint", str(error))
        self.assertNotIn("wr0ng", str(error))

    def test_tls_authentication(self) -> None:
        authority = CA()
        folder = self.useFixture(fixtures.TempDir())
        client_pem, ca = folder.join("ours.pem"), folder.join("ca.pem")
        pair = authority.issue_cert("vnfm")
        pair.private_key_and_cert_chain_pem.write_to_path(client_pem)
        authority.cert_pem.write_to_path(ca)
        server = self.useFixture(
            NfvoServer(authority=authority, wants_certificate=True)
        )
        own = {"auth_type": "TLS_CERT"}
        shown = {"ca_file": ca, "client_certificate": client_pem}
        self.grant(server, nfvo=own, outgoing=shown)
        # without a certificate, and without a CA bundle
        short = {"grant_timeout": 0.5}
        for nfvo, outgoing in (
            (short, {"ca_file": ca}),
            (own | short, {"client_certificate": client_pem}),
        ):
            self.assertRaises(
                errors.PeerUnreachable,
                self.grant,
                server,
                nfvo=nfvo,
                outgoing=outgoing,
            )


class TestConfigured(testtools.TestCase):
    """Missing options are reported when the service starts."""

    def test_missing_options_are_reported(self) -> None:
        server = self.useFixture(NfvoServer())
        token = "OAUTH2_CLIENT_CREDENTIALS"
        for group, name, value, message in (
            (
                "api",
                "endpoint",
                None,
                "[nfvo] endpoint requires [api] endpoint",
            ),
            ("nfvo", "auth_type", "BASIC", "[nfvo] user_name is required"),
            ("nfvo", "auth_type", token, "[nfvo] client_id is required"),
            ("nfvo", "auth_type", "TLS_CERT", "no client certificate"),
        ):
            conf = configured(server)
            conf.set_override(name, value, group)
            error = self.assertRaises(errors.VnfmError, compose.nfvo_of, conf)
            self.assertIn(message, str(error))
