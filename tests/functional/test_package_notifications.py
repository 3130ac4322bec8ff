"""Notifications of VNF packages, and subscriptions to them."""

from typing import Any, ClassVar

from tacker_cnf.db.quotas import Resource
from tests.fixtures import waiting
from tests.fixtures.http_receiver import HttpReceiver, ReceivedRequest
from tests.fixtures.nfvo import NfvoServer
from tests.fixtures.projects import OWNER, UNTRUSTED, Projects
from tests.fixtures.vnfm import Csar, Response, Vnfm
from tests.functional.test_notifications import LIST, NotificationTest

PATH = "/vnfpkgm/v1/subscriptions"
PATH_V2 = "/vnfpkgm/v2/subscriptions"
LIFECYCLE = "/vnflcm/v2/subscriptions"
PACKAGES = "/vnfpkgm/v1/vnf_packages"
ONBOARDING = "VnfPackageOnboardingNotification"
CHANGE = "VnfPackageChangeNotification"
FILTER = {
    "notificationTypes": [CHANGE],
    "vnfProductsFromProviders": [
        {
            "vnfProvider": "a vendor",
            "vnfProducts": [{"vnfProductName": "a product"}],
        }
    ],
    "vnfdId": ["a-vnfd"],
    "vnfPkgId": ["an-id"],
    "operationalState": ["DISABLED"],
    "usageState": ["NOT_IN_USE"],
    "vnfmInfo": ["a-vnfm"],
}


class PackageSubscriptionCase(NotificationTest):
    """A service and a subscriber to packages."""

    path = PATH

    def request_subscription(self, **body: Any) -> Response:
        request = {"callbackUri": self.receiver.url} | body
        return self.vnfm.call("POST", PATH, request)

    def onboard(self) -> str:
        """Onboard a package; return its path."""
        vnfd_id = self.vnfm.onboard()
        query = f"{PACKAGES}?filter=(eq,vnfdId,{vnfd_id})"
        (package,) = self.vnfm.call("GET", query).json
        return f"{PACKAGES}/{package['id']}"

    def set_state(self, path: str, state: str) -> None:
        body = {"operationalState": state}
        self.assertEqual(200, self.vnfm.call("PATCH", path, body).status)

    def delete(self, path: str) -> None:
        self.set_state(path, "DISABLED")
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)


def summarize(request: ReceivedRequest) -> tuple[str, ...]:
    """Return what has changed: (operationalState) or (changeType, ...)."""
    body = request.json
    names = ("changeType", "operationalState")
    return tuple(body[n] for n in names if n in body) or (
        body["notificationType"],
    )


ONBOARDED = (ONBOARDING,)
DISABLED = ("OP_STATE_CHANGE", "DISABLED")
ENABLED = ("OP_STATE_CHANGE", "ENABLED")
DELETED = ("PKG_DELETE",)


class TestSubscriptions(PackageSubscriptionCase):
    def test_its_representation(self) -> None:
        response = self.request_subscription(filter=FILTER)
        self.assertEqual(201, response.status, str(response.json))
        created = response.json
        location = response.headers["Location"]
        self.assertEqual(f"http://localhost{PATH}/{created['id']}", location)
        self.assertEqual(
            {
                "id": created["id"],
                "filter": FILTER,
                "callbackUri": self.receiver.url,
                "projectId": "noauth",
                "_links": {"self": {"href": location}},
            },
            created,
        )
        self.assertEqual(created, self.vnfm.call("GET", location).json)
        self.assertEqual([created], self.vnfm.call("GET", PATH).json)
        for value, expected in ((self.receiver.url, [created]), ("x", [])):
            query = f"{PATH}?filter=(eq,callbackUri,'{value}')"
            self.assertEqual(expected, self.vnfm.call("GET", query).json)
        self.assertEqual(204, self.vnfm.call("DELETE", location).status)
        for method in ("GET", "DELETE"):
            self.assert_problem(
                404,
                self.vnfm.call(method, location),
                "There is no subscription",
            )

    def test_an_equal_request_is_redirected_and_may_be_repeated(self) -> None:
        first = self.request_subscription(filter=FILTER)
        again = self.request_subscription(filter=FILTER)
        location = first.headers["Location"]
        self.assertEqual((303, b""), (again.status, again.content))
        self.assertEqual(location, again.headers["Location"])
        body = {"callbackUri": self.receiver.url}
        equal = self.vnfm.call("POST", location, body | {"filter": FILTER})
        self.assertEqual((200, first.json), (equal.status, equal.json))
        other = self.vnfm.call("POST", location, body)
        self.assert_problem(409, other, "was created by another request")

    def test_each_api_shows_its_own_subscriptions(self) -> None:
        of_packages = self.subscribe()
        body = {"callbackUri": self.receiver.url}
        of_vnfs = self.vnfm.call("POST", LIFECYCLE, body).json["id"]
        for path, own, other in (
            (PATH, of_packages, of_vnfs),
            (LIFECYCLE, of_vnfs, of_packages),
        ):
            found = self.vnfm.call("GET", path).json
            self.assertEqual([own], [s["id"] for s in found])
            for method in ("GET", "DELETE"):
                response = self.vnfm.call(method, f"{path}/{other}")
                self.assert_problem(404, response)
            response = self.vnfm.call("POST", f"{path}/{other}", body)
            self.assert_problem(404, response)

    def test_invalid_filters_are_refused(self) -> None:
        for invalid, message in (
            ({"notificationTypes": ["?"]}, "$.filter.notificationTypes"),
            (
                {"notificationTypes": ["VnfIdentifierCreationNotification"]},
                ONBOARDING,
            ),
            ({"operationalState": ["ON"]}, "ENABLED"),
            ({"vnfdIds": ["a-vnfd"]}, "did you mean"),
            (
                {"notificationTypes": [ONBOARDING], "usageState": ["IN_USE"]},
                f"require notificationTypes {CHANGE}",
            ),
        ):
            response = self.request_subscription(filter=invalid)
            self.assert_problem(400, response, message)

    def test_the_callback_is_tested(self) -> None:
        self.receiver.status = 500
        self.assert_problem(422, self.request_subscription(), "500")
        self.assertEqual("1.2.0", self.receiver.requests[0].headers["Version"])

    def test_both_kinds_count_for_the_quota(self) -> None:
        self.vnfm.parts.store.quotas = {Resource.SUBSCRIPTIONS: 1}
        self.subscribe()
        body = {"callbackUri": self.receiver.url}
        for path in (PATH, LIFECYCLE):
            other: dict[str, Any] = body | {"filter": {}}
            response = self.vnfm.call("POST", path, other)
            self.assert_problem(403, response, "subscriptions")


class TestNotifications(PackageSubscriptionCase):
    def test_the_life_of_a_package(self) -> None:
        self.subscribe()
        path = self.onboard()
        self.set_state(path, "DISABLED")
        self.set_state(path, "ENABLED")
        self.delete(path)
        received = self.receiver.wait(5)
        self.assertEqual(
            [ONBOARDED, DISABLED, ENABLED, DISABLED, DELETED],
            [summarize(r) for r in received],
        )
        self.assertEqual(5, len({r.json["id"] for r in received}))

    def test_the_content_and_its_links(self) -> None:
        subscription_id = self.subscribe()
        path = self.onboard()
        package = self.vnfm.call("GET", path).json
        (request,) = self.receiver.wait(1)
        for name, value in (
            ("Content-Type", "application/json"),
            ("Version", "1.2.0"),
        ):
            self.assertEqual(value, request.headers[name])
        body = request.json
        base = "http://localhost"
        self.assertEqual(
            {
                "id": body["id"],
                "notificationType": ONBOARDING,
                "subscriptionId": subscription_id,
                "timeStamp": body["timeStamp"],
                "vnfPkgId": package["id"],
                "vnfdId": package["vnfdId"],
                "_links": {
                    "vnfPackage": {"href": base + path},
                    "subscription": {
                        "href": f"{base}{PATH}/{subscription_id}"
                    },
                },
            },
            body,
        )
        for link in body["_links"].values():
            self.assertEqual(200, self.vnfm.call("GET", link["href"]).status)

    def test_a_package_without_content_sends_nothing(self) -> None:
        self.subscribe()
        created = self.vnfm.call("POST", PACKAGES, {}).json
        path = f"{PACKAGES}/{created['id']}"
        self.vnfm.call("PATCH", path, {"userDefinedData": {"a": "b"}})
        self.vnfm.call("DELETE", path)
        self.onboard()
        self.assertEqual(
            [ONBOARDED], [summarize(r) for r in self.receiver.wait(1)]
        )

    def test_other_changes_and_refused_requests_send_nothing(self) -> None:
        self.subscribe()
        path = self.onboard()
        self.vnfm.call("PATCH", path, {"userDefinedData": {"a": "b"}})
        self.vnfm.call("PATCH", path, {"isPublic": True})
        response = self.vnfm.call(
            "PATCH", path, {"operationalState": "ENABLED"}
        )
        self.assert_problem(409, response)
        self.assert_problem(409, self.vnfm.call("DELETE", path))
        self.set_state(path, "DISABLED")
        self.assertEqual(
            [ONBOARDED, DISABLED],
            [summarize(r) for r in self.receiver.wait(2)],
        )

    def test_a_package_in_use_is_not_deleted(self) -> None:
        self.subscribe()
        path = self.onboard()
        self.vnfm.create(self.vnfm.call("GET", path).json["vnfdId"])
        self.set_state(path, "DISABLED")
        self.assert_problem(409, self.vnfm.call("DELETE", path))
        self.set_state(path, "ENABLED")
        self.assertEqual(
            [ONBOARDED, DISABLED, ENABLED],
            [summarize(r) for r in self.receiver.wait(3)],
        )

    def test_only_subscribed_notifications_are_sent(self) -> None:
        unsubscribed = self.useFixture(HttpReceiver())
        path = self.onboard()
        package_id = path.rpartition("/")[2]
        self.subscribe(
            filter={
                "notificationTypes": [CHANGE],
                "vnfPkgId": [package_id],
                "operationalState": ["ENABLED"],
            }
        )
        self.subscribe(unsubscribed, filter={"vnfmInfo": ["a-vnfm"]})
        self.onboard()
        self.set_state(path, "DISABLED")
        self.set_state(path, "ENABLED")
        self.assertEqual(
            [ENABLED], [summarize(r) for r in self.receiver.wait(1)]
        )
        self.assertEqual([], unsubscribed.received)

    def test_vnfs_and_packages_have_subscribers_of_their_own(self) -> None:
        of_vnfs = self.useFixture(HttpReceiver())
        self.subscribe()
        self.vnfm.call("POST", LIFECYCLE, {"callbackUri": of_vnfs.url})
        self.vnfm.create()
        of_vnfs.wait(1)
        self.receiver.wait(1)
        for receiver, attribute in (
            (of_vnfs, "vnfInstanceId"),
            (self.receiver, "vnfPkgId"),
        ):
            self.assertEqual(
                [True], [attribute in r.json for r in receiver.received]
            )


class TestVersion2(PackageSubscriptionCase):
    path = PATH_V2

    def test_links_and_notifications_have_the_version(self) -> None:
        subscription_id = self.subscribe()
        path = self.onboard().replace("v1", "v2")
        package = self.vnfm.call("GET", path).json
        (request,) = self.receiver.wait(1)
        self.assertEqual("2.1.0", request.headers["Version"])
        base = "http://localhost"
        links = request.json["_links"]
        subscription = f"{base}{PATH_V2}/{subscription_id}"
        self.assertEqual({"href": base + path}, links["vnfPackage"])
        self.assertEqual({"href": subscription}, links["subscription"])
        self.assertEqual({"href": base + path}, package["_links"]["self"])
        for link in links.values():
            self.assertEqual(200, self.vnfm.call("GET", link["href"]).status)
        for method, location in (("GET", f"{path}0"), ("GET", PATH_V2)):
            response = self.vnfm.call(method, location, None)
            self.assertEqual("2.1.0", response.headers["Version"])

    def test_a_package_is_created_under_version_2(self) -> None:
        created = self.vnfm.call("POST", PACKAGES.replace("v1", "v2"), {})
        location = created.headers["Location"]
        self.assertIn("/vnfpkgm/v2/vnf_packages/", location)
        self.assertEqual(204, self.vnfm.call("DELETE", location).status)

    def test_both_versions_show_all_subscriptions(self) -> None:
        subscription_id = self.subscribe()
        (found,) = self.vnfm.call("GET", PATH).json
        self.assertEqual(subscription_id, found["id"])
        # a subscription by version 1 has other notifications
        self.assertEqual(201, self.request_subscription().status)


class TestFetched(PackageSubscriptionCase):
    def build_vnfm(self) -> Vnfm:
        self.nfvo = self.useFixture(NfvoServer())
        self.source = self.useFixture(HttpReceiver())
        return Vnfm(
            api={"endpoint": "http://vnfm.example"},
            catalogue={
                "upload_hosts": ["127.0.0.1"],
                "upload_schemes": ["http"],
            },
            nfvo={"endpoint": self.nfvo.url, "package_version": "2.1.0"},
        )

    def test_a_package_that_the_service_fetches(self) -> None:
        self.subscribe()
        content = self.useFixture(Csar()).read()
        self.source.responder = lambda _: (200, {}, content)
        created = self.vnfm.call("POST", PACKAGES, {}).json
        path = f"{PACKAGES}/{created['id']}/package_content/upload_from_uri"
        body = {"addressInformation": f"{self.source.url}/a.csar"}
        self.assertEqual(202, self.vnfm.call("POST", path, body).status)
        (received,) = self.receiver.wait(1)
        self.assertEqual(created["id"], received.json["vnfPkgId"])

    def test_a_package_of_the_nfvo(self) -> None:
        self.subscribe()
        vnfd_id = self.nfvo.add_package(self.useFixture(Csar()))
        self.vnfm.create(vnfd_id)
        (received,) = self.receiver.wait(1)
        self.assertEqual(vnfd_id, received.json["vnfdId"])


class TestParked(PackageSubscriptionCase):
    options: ClassVar[dict[str, Any]] = {
        "park_after": 0.3,
        "poll_interval": 0.1,
    }

    def test_parked_notifications_name_the_package(self) -> None:
        self.subscribe()
        self.receiver.status = 404
        path = self.onboard()
        self.delete(path)
        waiting.until(
            lambda: "3 parked" in self.manage(*LIST), "the parked deliveries"
        )
        package_id = path.rpartition("/")[2]
        listed = self.manage(*LIST)
        for name in (ONBOARDING, "OP_STATE_CHANGE", "PKG_DELETE"):
            self.assertIn(f"{name} of VNF package {package_id} to", listed)
        self.receiver.status = 204
        self.manage("notifications", "resend")
        received = self.receiver.wait(3)
        self.assertEqual(
            [ONBOARDED, DISABLED, DELETED], [summarize(r) for r in received]
        )
        self.wait_delivered()


class TestRestart(PackageSubscriptionCase):
    def test_events_outlive_the_dispatcher_and_the_package(self) -> None:
        self.subscribe()
        self.vnfm.dispatcher.stop()
        self.delete(self.onboard())
        self.assertEqual([], self.receiver.received)
        self.restart()
        received = self.receiver.wait(3)
        self.assertEqual(
            [ONBOARDED, DISABLED, DELETED], [summarize(r) for r in received]
        )
        self.wait_delivered()


class TestProjects(PackageSubscriptionCase):
    vnfm: Projects

    def build_vnfm(self) -> Projects:
        return Projects()

    def test_subscribers_receive_what_their_project_may_use(self) -> None:
        subscribers = (
            (OWNER, ("member",)),
            (UNTRUSTED, ("member",)),
            ("project-c", ("member",)),
            ("operators", ("service", "member")),
        )
        receivers = {}
        for project, roles in subscribers:
            receivers[project] = self.useFixture(HttpReceiver())
            self.vnfm.become(project, *roles)
            self.subscribe(receivers[project])
        self.vnfm.become(OWNER, "manager", "member")
        own, shared, public = (self.onboard() for _ in range(3))
        for path, sharing in (
            (shared, {"sharedWith": [UNTRUSTED]}),
            (public, {"isPublic": True}),
        ):
            self.assertEqual(
                200, self.vnfm.call("PATCH", path, sharing).status
            )
        for path in (own, shared, public):
            self.delete(path)
        everything = dict.fromkeys((own, shared, public), 3)
        for project, expected in (
            (OWNER, everything),
            (UNTRUSTED, {shared: 2, public: 2}),
            ("project-c", {public: 2}),
            ("operators", everything),
        ):
            receivers[project].wait(sum(expected.values()))
            found = [
                f"{PACKAGES}/{r.json['vnfPkgId']}"
                for r in receivers[project].received
            ]
            counts = {path: found.count(path) for path in set(found)}
            self.assertEqual(expected, counts, project)

    def test_a_reader_does_not_subscribe(self) -> None:
        self.vnfm.become(OWNER, "reader")
        response = self.request_subscription()
        self.assert_problem(403, response, "package_subscriptions:create")
        self.assertEqual([], self.vnfm.call("GET", PATH).json)
