"""The HTTP client: authentication, trusted certificates, and failures."""

import asyncio
import base64
import functools
import hashlib
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fixtures
import httpx
import msgspec
import testtools
from trustme import CA

from tacker_cnf import errors
from tacker_cnf.http_client import authorization, clients
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.notification.webhook_client import (
    DeliveryResult,
    WebhookClient,
)
from tacker_cnf.sol.authentication import SubscriptionAuthentication
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)

BASIC = {
    "authType": ["BASIC"],
    "paramsBasic": {"userName": "nfvo", "password": "Ünlösbar"},
}


LOOPBACK_ALLOWED = SsrfPolicy(allow_loopback=True)


def oauth2(receiver: HttpReceiver, **more: str) -> dict[str, Any]:
    params = {
        "clientId": "vnfm",
        "clientPassword": "s3cret",
        "tokenEndpoint": f"{receiver.url}/token",
    }
    return {
        "authType": ["OAUTH2_CLIENT_CREDENTIALS"],
        "paramsOauth2ClientCredentials": params | more,
    }


def read(auth: dict[str, Any]) -> SubscriptionAuthentication:
    return msgspec.convert(auth, SubscriptionAuthentication)


def _response(body: bytes, _: ReceivedRequest) -> Response:
    return 200, {}, body


class TestAuthentication(testtools.TestCase):
    def call(self, receiver: HttpReceiver, given: Any, times: int = 1) -> int:
        auth = authorization.flow(given and read(given))
        with clients.client(HttpClientOptions(), auth=auth) as client:
            for _ in range(times):
                response = client.get(receiver.url)
        return response.status_code

    def test_no_credentials_are_sent_unless_configured(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        self.assertEqual(204, self.call(receiver, None))
        self.assertNotIn("Authorization", receiver.requests[0].headers)

    def test_basic(self) -> None:
        receiver = self.useFixture(HttpReceiver(basic=("nfvo", "Ünlösbar")))
        self.assertEqual(401, self.call(receiver, None))
        self.assertEqual(204, self.call(receiver, BASIC))

    def test_a_token_is_fetched_once(self) -> None:
        receiver = self.useFixture(HttpReceiver(oauth2=("vnfm", "s3cret")))
        self.assertEqual(204, self.call(receiver, oauth2(receiver), 5))
        self.assertEqual(1, receiver.issued_tokens)

    def test_a_token_is_fetched_again_when_it_expires(self) -> None:
        receiver = self.useFixture(HttpReceiver(oauth2=("vnfm", "s3cret")))
        receiver.token_seconds = 5  # less than the margin
        self.assertEqual(204, self.call(receiver, oauth2(receiver), 3))
        self.assertEqual(3, receiver.issued_tokens)

    def test_a_token_that_is_refused_is_renewed_once(self) -> None:
        receiver = self.useFixture(HttpReceiver(oauth2=("vnfm", "s3cret")))
        auth = authorization.flow(read(oauth2(receiver)))
        with clients.client(HttpClientOptions(), auth=auth) as client:
            client.get(receiver.url)
            receiver.tokens.clear()
            self.assertEqual(204, client.get(receiver.url).status_code)
        self.assertEqual(2, receiver.issued_tokens)

    def test_an_unknown_client_gets_an_error(self) -> None:
        receiver = self.useFixture(HttpReceiver(oauth2=("vnfm", "s3cret")))
        invalid_options = oauth2(receiver, clientPassword="guessed")
        refused = self.assertRaises(
            errors.PeerFailed, self.call, receiver, invalid_options
        )
        self.assertIn("answered 401", str(refused))
        self.assertNotIn("guessed", str(refused))

    def test_an_invalid_token_is_not_used(self) -> None:
        receiver = self.useFixture(HttpReceiver(oauth2=("vnfm", "s3cret")))
        for body in (b"{}", b"x", b'{"access_token": "two\\nlines"}'):
            receiver.responder = functools.partial(_response, body)
            refused = self.assertRaises(
                errors.PeerFailed, self.call, receiver, oauth2(receiver)
            )
            self.assertIn("has no valid token", str(refused))

    def test_a_response_larger_than_a_token_is_not_read(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        long = b'{"access_token": "x", "scope": "' + b"x" * 2**20 + b'"}'
        receiver.responder = functools.partial(_response, long)
        auth = read(oauth2(receiver))

        async def deliver() -> DeliveryResult:
            webhook_client = WebhookClient(
                receiver.url, auth, HttpClientOptions(), LOOPBACK_ALLOWED
            )
            return await webhook_client.deliver(b"{}")

        problem = asyncio.run(deliver()).problem
        self.assertIn("more than 65536 bytes", str(problem))
        self.assertEqual(["/token"], [r.path for r in receiver.requests])

    def test_threads_share_one_token(self) -> None:
        receiver = self.useFixture(HttpReceiver(oauth2=("vnfm", "s3cret")))
        auth = authorization.flow(read(oauth2(receiver)))
        start = threading.Barrier(8)

        def call(client: httpx.Client) -> int:
            start.wait()
            return client.get(receiver.url).status_code

        with (
            clients.client(HttpClientOptions(), auth=auth) as client,
            ThreadPoolExecutor(8) as pool,
        ):
            statuses = set(pool.map(call, [client] * 8))
        self.assertEqual({204}, statuses)
        self.assertEqual(1, receiver.issued_tokens)

    def test_tasks_share_one_token(self) -> None:
        receiver = self.useFixture(HttpReceiver(oauth2=("vnfm", "s3cret")))

        async def call() -> set[int]:
            auth = authorization.flow(read(oauth2(receiver)))
            async with clients.async_client(
                HttpClientOptions(), LOOPBACK_ALLOWED, auth=auth
            ) as client:
                first = await asyncio.gather(
                    *(client.get(receiver.url) for _ in range(8))
                )
                receiver.tokens.clear()
                later_statuses = await asyncio.gather(
                    *(client.get(receiver.url) for _ in range(8))
                )
            return {
                response.status_code for response in (*first, *later_statuses)
            }

        self.assertEqual({204}, asyncio.run(call()))
        self.assertEqual(2, receiver.issued_tokens)

    def test_parameters_have_to_match_the_auth_type(self) -> None:
        for auth, message in (
            ({"authType": []}, "length"),
            ({"authType": ["BASIC"]}, "authType BASIC requires paramsBasic"),
            (
                {"authType": ["OAUTH2_CLIENT_CREDENTIALS"]},
                "requires paramsOauth2ClientCredentials",
            ),
            (
                {"authType": ["OAUTH2_CLIENT_CERT"]},
                "requires paramsOauth2ClientCert",
            ),
            (
                BASIC | {"paramsBasic": {"userName": "a:b", "password": ""}},
                "not contain a colon",
            ),
        ):
            refused = self.assertRaises(msgspec.ValidationError, read, auth)
            self.assertIn(message, str(refused))


class TestTls(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.authority = CA()
        self.ca = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(self.ca)
        self.client_certificate_pair = self.authority.issue_cert("vnfm")
        self.certificate = folder / "client.pem"
        self.client_certificate_pair.cert_chain_pems[0].write_to_path(
            self.certificate
        )
        self.key = folder / "client.key"
        self.client_certificate_pair.private_key_pem.write_to_path(self.key)
        self.client_options = HttpClientOptions(
            ca_file=str(self.ca),
            client_certificate=str(self.certificate),
            client_key=str(self.key),
        )

    def receiver(self, **options: Any) -> HttpReceiver:
        auth = {"authority": self.authority} | options
        return self.useFixture(HttpReceiver(**auth))

    def call(
        self,
        receiver: HttpReceiver,
        client_options: HttpClientOptions,
        given: Any = None,
    ) -> int:
        credentials = given and read(given)
        with (
            clients.translated_errors(receiver.url),
            clients.client(
                client_options,
                use_client_certificate=authorization.needs_client_certificate(
                    credentials
                ),
                auth=authorization.flow(credentials),
            ) as client,
        ):
            return client.get(receiver.url).status_code

    def test_an_untrusted_server_is_not_called(self) -> None:
        receiver = self.receiver()
        refused = self.assertRaises(
            errors.PeerUnreachable, self.call, receiver, HttpClientOptions()
        )
        self.assertIn("CERTIFICATE_VERIFY_FAILED", str(refused))
        self.assertEqual([], receiver.requests)
        self.assertEqual(204, self.call(receiver, self.client_options))
        self.assertEqual(
            204, self.call(receiver, HttpClientOptions(verify=False))
        )

    def test_the_client_certificate_is_sent_where_configured(self) -> None:
        receiver = self.receiver(wants_certificate=True)
        self.assertRaises(
            errors.PeerFailed, self.call, receiver, self.client_options
        )
        cert = {"authType": ["TLS_CERT"]}
        self.assertEqual(204, self.call(receiver, self.client_options, cert))

    def by_certificate(self, receiver: HttpReceiver, value: str) -> Any:
        return {
            "authType": ["OAUTH2_CLIENT_CERT"],
            "paramsOauth2ClientCert": {
                "clientId": "vnfm",
                "certificateRef": {"type": "x5t#S256", "value": value},
                "tokenEndpoint": f"{receiver.url}/token",
            },
        }

    def thumbprint(self) -> str:
        der = ssl.PEM_cert_to_DER_cert(self.certificate.read_text())
        digest = hashlib.sha256(der).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def test_a_token_for_a_certificate(self) -> None:
        receiver = self.receiver(wants_certificate=True)
        auth = self.by_certificate(receiver, self.thumbprint())
        authorization.check(read(auth), self.client_options)
        self.assertEqual(204, self.call(receiver, self.client_options, auth))
        request = receiver.requests[0]
        self.assertEqual("/token", request.path)
        self.assertEqual(
            b"grant_type=client_credentials&client_id=vnfm", request.body
        )
        self.assertEqual(1, receiver.issued_tokens)

    def test_a_client_certificate_that_is_not_configured(self) -> None:
        receiver = self.receiver()
        auth = self.by_certificate(receiver, "another")
        for client_options, message in (
            (self.client_options, "is not the thumbprint of"),
            (
                HttpClientOptions(),
                "no client certificate for OAUTH2_CLIENT_CERT",
            ),
        ):
            refused = self.assertRaises(
                errors.Unprocessable,
                authorization.check,
                read(auth),
                client_options,
            )
            self.assertIn(message, str(refused))

    def test_a_file_that_is_no_certificate_is_reported(self) -> None:
        for client_options in (
            HttpClientOptions(ca_file=str(self.key)),
            HttpClientOptions(ca_file="/nowhere"),
        ):
            self.assertRaises(
                errors.VnfmError, clients.ssl_context, client_options
            )
        invalid_options = HttpClientOptions(client_certificate=str(self.key))
        self.assertRaises(
            errors.VnfmError,
            clients.ssl_context,
            invalid_options,
            use_client_certificate=True,
        )


class TestCalls(testtools.TestCase):
    def call(self, url: str, **client_options: Any) -> httpx.Response:
        with (
            clients.translated_errors(url),
            clients.client(HttpClientOptions(**client_options)) as client,
        ):
            return client.get(url)

    def test_a_redirect_is_not_followed(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        receiver.status = 307
        receiver.headers = {"Location": f"{receiver.url}/elsewhere"}
        self.assertEqual(307, self.call(receiver.url).status_code)
        self.assertEqual(["/"], [r.path for r in receiver.requests])

    def test_proxies_of_the_environment_are_ignored(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        proxy = self.useFixture(HttpReceiver())
        for name in ("HTTP_PROXY", "ALL_PROXY"):
            self.useFixture(fixtures.EnvironmentVariable(name, proxy.url))
        self.assertEqual(204, self.call(receiver.url).status_code)
        self.assertEqual([], proxy.requests)

    def test_failures_are_reported(self) -> None:
        slow = self.useFixture(HttpReceiver())
        slow.delay = 600.0
        refused = self.assertRaises(
            errors.PeerUnreachable, self.call, slow.url, timeout=0.05
        )
        self.assertIn("did not answer in time", str(refused))
        stopped = self.useFixture(HttpReceiver())
        stopped.stop()
        refused = self.assertRaises(
            errors.PeerUnreachable, self.call, stopped.url
        )
        self.assertIn("cannot be reached", str(refused))
        error = self.assertRaises(
            errors.PeerFailed, self.call, "http://127.0.0.1:99999/"
        )
        self.assertEqual(503, error.status)
