"""Subscriptions: creation, test, list, deletion and credentials."""

import json
import urllib.parse
from typing import Any

import sqlalchemy as sa
import testtools

from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.vnfm import Response, Vnfm

PATH = "/vnflcm/v2/subscriptions"
BASIC = {
    "authType": ["BASIC"],
    "paramsBasic": {"userName": "nfvo", "password": "hush-hush"},
}
FILTER = {
    "vnfInstanceSubscriptionFilter": {
        "vnfdIds": ["a-vnfd"],
        "vnfProductsFromProviders": [
            {
                "vnfProvider": "a vendor",
                "vnfProducts": [
                    {
                        "vnfProductName": "a product",
                        "versions": [
                            {
                                "vnfSoftwareVersion": "1",
                                "vnfdVersions": ["2"],
                            }
                        ],
                    }
                ],
            }
        ],
        "vnfInstanceIds": ["an-id"],
        "vnfInstanceNames": ["a name"],
    },
    "notificationTypes": ["VnfLcmOperationOccurrenceNotification"],
    "operationTypes": ["SCALE", "HEAL"],
    "operationStates": ["COMPLETED"],
}


class SubscriptionTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.receiver = self.useFixture(HttpReceiver())
        self.vnfm = self.useFixture(Vnfm())

    def subscribe(self, **body: Any) -> Response:
        request = {"callbackUri": self.receiver.url} | body
        return self.vnfm.call("POST", PATH, request)


class TestCreated(SubscriptionTest):
    def test_its_representation(self) -> None:
        response = self.subscribe(filter=FILTER, verbosity="SHORT")
        self.assertEqual(201, response.status, str(response.json))
        created = response.json
        location = response.headers["Location"]
        self.assertEqual(f"http://localhost{PATH}/{created['id']}", location)
        self.assertEqual(
            {
                "id": created["id"],
                "filter": FILTER,
                "callbackUri": self.receiver.url,
                "verbosity": "SHORT",
                "projectId": "noauth",
                "_links": {"self": {"href": location}},
            },
            created,
        )
        self.assertEqual(created, self.vnfm.call("GET", location).json)
        self.assertEqual([created], self.vnfm.call("GET", PATH).json)

    def test_all_notifications_in_full_are_the_default(self) -> None:
        created = self.subscribe().json
        self.assertEqual("FULL", created["verbosity"])
        self.assertNotIn("filter", created)

    def test_the_short_path(self) -> None:
        response = self.vnfm.call(
            "POST", "/v2/subscriptions", {"callbackUri": self.receiver.url}
        )
        self.assertEqual(201, response.status)
        path = f"/v2/subscriptions/{response.json['id']}"
        self.assertEqual(response.json, self.vnfm.call("GET", path).json)
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)

    def test_a_deleted_subscription_is_not_found(self) -> None:
        path = self.subscribe().headers["Location"]
        self.assertEqual(204, self.vnfm.call("DELETE", path).status)
        for method in ("GET", "DELETE"):
            response = self.vnfm.call(method, path)
            self.assertEqual(404, response.status)
            self.assertIn("There is no subscription", response.detail)

    def test_a_redirected_request_may_be_repeated(self) -> None:
        first = self.subscribe(filter=FILTER, authentication=BASIC)
        body = {"callbackUri": self.receiver.url, "filter": FILTER}
        path = self.subscribe(filter=FILTER, authentication=BASIC).headers[
            "Location"
        ]
        again = self.vnfm.call("POST", path, body | {"authentication": BASIC})
        self.assertEqual((200, first.json), (again.status, again.json))
        self.assertEqual([first.json], self.vnfm.call("GET", PATH).json)
        other = self.vnfm.call("POST", path, body)
        self.assertEqual(409, other.status)
        self.assertIn("was created by another request", other.detail)
        self.assertEqual(
            404, self.vnfm.call("POST", f"{PATH}/none", body).status
        )

    def test_a_duplicate_redirects_to_the_subscription(self) -> None:
        first = self.subscribe(filter=FILTER, authentication=BASIC)
        again = self.subscribe(filter=FILTER, authentication=BASIC)
        self.assertEqual((303, b""), (again.status, again.content))
        self.assertEqual(first.headers["Location"], again.headers["Location"])
        other_bodies: tuple[dict[str, Any], ...] = (
            {"authentication": BASIC},
            {"filter": FILTER},
            {"filter": FILTER, "verbosity": "SHORT"},
        )
        for body in other_bodies:
            self.assertEqual(201, self.subscribe(**body).status)

    def test_the_test_request_can_be_disabled(self) -> None:
        vnfm = self.useFixture(Vnfm(notification={"test_callback": False}))
        body = {"callbackUri": "http://127.0.0.1:1/"}
        self.assertEqual(201, vnfm.call("POST", PATH, body).status)


class TestRefused(SubscriptionTest):
    def test_invalid_values_are_reported_with_their_path(self) -> None:
        invalid: tuple[tuple[dict[str, Any], str], ...] = (
            ({"callbackUri": None}, "$.callbackUri"),
            ({"callbackUri": "ftp://host/"}, "$.callbackUri"),
            ({"callbackUri": "http://user:pw@host/"}, "$.callbackUri"),
            ({"callbackUri": "file:///etc/passwd"}, "$.callbackUri"),
            ({"callbackUri": "http://host/\n"}, "$.callbackUri"),
            ({"verbosity": "LONG"}, "$.verbosity"),
            ({"filter": {"operationTypes": ["?"]}}, "$.filter.operationTypes"),
            (
                {
                    "filter": {
                        "notificationTypes": [
                            "VnfIdentifierCreationNotification"
                        ],
                        "operationTypes": ["SCALE"],
                    }
                },
                "$.filter",
            ),
            (
                {"filter": {"vnfInstanceSubscriptionFilter": {"vnfdIds": 1}}},
                "$.filter.vnfInstanceSubscriptionFilter.vnfdIds",
            ),
            ({"authentication": {"authType": []}}, "$.authentication"),
            (
                {"authentication": {"authType": ["BASIC"]}},
                "$.authentication",
            ),
        )
        for body, path in invalid:
            response = self.subscribe(**body)
            self.assertEqual(400, response.status, str(body))
            self.assertIn(path, response.detail)
        self.assertEqual([], self.vnfm.call("GET", PATH).json)

    def test_a_subscriber_without_204_is_refused(self) -> None:
        for status in (200, 302, 404, 500):
            self.receiver.status = status
            response = self.subscribe()
            self.assertEqual(422, response.status)
            self.assertIn(str(status), response.detail)
        self.receiver.stop()
        response = self.subscribe()
        self.assertEqual(422, response.status)
        self.assertIn("cannot be reached", response.detail)
        self.assertEqual([], self.vnfm.call("GET", PATH).json)

    def test_a_slow_subscriber_is_refused(self) -> None:
        self.receiver.delay = 600.0
        vnfm = self.useFixture(Vnfm(outgoing={"timeout": 0.1}))
        body = {"callbackUri": self.receiver.url}
        response = vnfm.call("POST", PATH, body)
        self.assertEqual(422, response.status)
        self.assertIn("cannot be reached", response.detail)

    def test_the_error_does_not_reveal_internal_hosts(self) -> None:
        """A refused address, an unused one and one that is silent have the
        same error.
        """
        vnfm = self.useFixture(
            Vnfm(notification={"loopback_callbacks": False})
        )
        details = set()
        port = self.receiver.port
        for host in (
            "127.0.0.1",
            "localhost",
            "2130706433",
            "[::ffff:127.0.0.1]",
            "169.254.169.254",
            "unknown.invalid",
        ):
            body = {"callbackUri": f"http://{host}:{port}/"}
            response = vnfm.call("POST", PATH, body)
            self.assertEqual(422, response.status, host)
            details.add(response.detail)
        self.receiver.stop()
        details.add(self.subscribe().detail)
        self.assertEqual(1, len(details), str(details))
        self.assertEqual([], self.receiver.requests)

    def test_an_internal_token_endpoint_is_not_called(self) -> None:
        inside = self.useFixture(HttpReceiver())
        params = {
            "clientId": "vnfm",
            "clientPassword": "s3cret",
            "tokenEndpoint": f"{inside.url}/token",
        }
        vnfm = self.useFixture(
            Vnfm(notification={"loopback_callbacks": False})
        )
        body = {
            "callbackUri": "http://192.0.2.1/",
            "authentication": {
                "authType": ["OAUTH2_CLIENT_CREDENTIALS"],
                "paramsOauth2ClientCredentials": params,
            },
        }
        response = vnfm.call("POST", PATH, body)
        self.assertEqual(422, response.status)
        self.assertIn("cannot be reached", response.detail)
        self.assertEqual([], inside.requests)

    def test_a_client_certificate_is_sent_where_required(self) -> None:
        response = self.subscribe(authentication={"authType": ["TLS_CERT"]})
        self.assertEqual(422, response.status)
        self.assertIn("no client certificate", response.detail)


class TestAuthentication(SubscriptionTest):
    def test_the_test_request_is_authenticated(self) -> None:
        self.receiver = self.useFixture(
            HttpReceiver(basic=("nfvo", "hush-hush"))
        )
        self.assertEqual(422, self.subscribe().status)
        self.assertEqual(201, self.subscribe(authentication=BASIC).status)

    def test_credentials_are_never_shown(self) -> None:
        created = self.subscribe(authentication=BASIC)
        path = created.headers["Location"]
        for response in (
            created,
            self.vnfm.call("GET", path),
            self.vnfm.call("GET", PATH),
            self.vnfm.call("GET", f"{PATH}?all_fields"),
        ):
            self.assertNotIn(b"hush", response.content)
            self.assertNotIn(b"uthentication", response.content)
        with self.vnfm.parts.store.reader() as session:
            rows = session.execute(sa.text("SELECT * FROM lccn_subscriptions"))
            self.assertNotIn("hush", str(rows.all()))


class TestListed(SubscriptionTest):
    def setUp(self) -> None:
        super().setUp()
        self.paths = [f"{self.receiver.url}/{n}" for n in range(3)]
        for uri in self.paths:
            self.subscribe(callbackUri=uri, filter=FILTER)

    def list(self, **query: str) -> list[str]:
        text = urllib.parse.urlencode(query)
        response = self.vnfm.call("GET", f"{PATH}?{text}")
        self.assertEqual(200, response.status, str(response.json))
        return [entry["callbackUri"] for entry in response.json]

    def test_the_oldest_first(self) -> None:
        self.assertEqual(self.paths, self.list())

    def test_filters(self) -> None:
        uri = self.paths[1]
        self.assertEqual([uri], self.list(filter=f"(eq,callbackUri,'{uri}')"))
        deep = "filter/vnfInstanceSubscriptionFilter/vnfdIds"
        for value, found in (("a-vnfd", 3), ("another", 0)):
            found_ids = self.list(filter=f"(eq,{deep},{value})")
            self.assertEqual(found, len(found_ids))
        secret = "(eq,authentication,x)"
        response = self.vnfm.call("GET", f"{PATH}?filter={secret}")
        self.assertEqual(400, response.status)

    def test_selectors_are_not_supported(self) -> None:
        self.assertEqual(self.paths, self.list(exclude_fields="nonsense"))

    def test_pages(self) -> None:
        vnfm = self.useFixture(Vnfm(api={"page_size": 2}))
        for uri in self.paths:
            vnfm.call("POST", PATH, {"callbackUri": uri})
        first = vnfm.call("GET", PATH)
        link = first.headers["Link"]
        next_page = vnfm.call("GET", link[1 : link.index(">")])
        self.assertNotIn("Link", next_page.headers)
        listed = json.loads(first.content) + json.loads(next_page.content)
        self.assertEqual(self.paths, [e["callbackUri"] for e in listed])
