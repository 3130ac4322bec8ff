"""What a VIM may make this service connect to: attacks with its addresses."""

import socket
from typing import Any, Final

import fixtures

from tests.fixtures import keystone
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.vnfm import ApiCase, Response, Vnfm
from tests.functional.test_provided_vims import provides
from tests.functional.test_script_memory import ScriptedHooksCase

VIMS: Final = "/v1.0/vims"
KINDS: Final = ("kubernetes", "openstack")
#: metadata services, and addresses at which no peer is
REFUSED: Final = (
    "https://169.254.169.254",
    "https://[::ffff:169.254.169.254]",
    "https://2852039166",
    "https://168.63.129.16",
    "https://100.100.100.200",
    "https://[fe80::1]",
    "https://[64:ff9b::a9fe:a9fe]",
    "https://[64:ff9b:1::7f00:1]",
    "https://[::7f00:1]",
    "https://[fec0::1]",
    "https://240.0.0.1",
    "https://255.255.255.255",
    "https://0.0.0.0",
)


def a_vim(kind: str, url: str) -> dict[str, Any]:
    cred: dict[str, Any] = {"bearer_token": "hunter2"}
    if kind == "openstack":
        cred = keystone.AUTH_CRED
    return {
        "vim": {
            "name": f"a {kind}",
            "type": kind,
            "auth_url": url,
            "auth_cred": cred,
            "vim_project": keystone.VIM_PROJECT,
        }
    }


class AddressCase(ApiCase):
    """A service, and a server that it must not call."""

    def setUp(self) -> None:
        super().setUp()
        self.victim = self.useFixture(HttpReceiver())

    def service(self, **options: Any) -> Vnfm:
        return self.useFixture(Vnfm(vims=options))

    def register(self, vnfm: Vnfm, kind: str, url: str) -> Response:
        return vnfm.call("POST", VIMS, a_vim(kind, url))

    def check_refused(
        self, vnfm: Vnfm, url: str, reason: str, status: int = 422
    ) -> None:
        """Check that no type of VIM is registered at a URL."""
        for kind in KINDS:
            response = self.register(vnfm, kind, url)
            self.assert_problem(status, response, reason)
        self.assertEqual([], self.victim.requests)


class TestRegistration(AddressCase):
    def test_the_loopback_interface(self) -> None:
        vnfm = self.service(allow_loopback=False)
        port = self.victim.url.rpartition(":")[2]
        for host in ("127.0.0.1", "localhost", "[::1]", "127.1"):
            url = f"http://{host}:{port}"
            self.check_refused(vnfm, url, "[vims] allow_loopback")

    def test_addresses_that_no_option_allows(self) -> None:
        networks = ["0.0.0.0/0", "::/0"]
        vnfm = self.service(allowed_networks=networks)
        for url in REFUSED:
            self.check_refused(vnfm, url, "which no option allows")

    def test_networks_that_are_not_allowed(self) -> None:
        vnfm = self.service(allowed_networks=["198.51.100.0/24"])
        for host in ("192.0.2.1", "[2001:db8::1]", "[64:ff9b::c633:6401]"):
            url = f"https://{host}:6443"
            self.check_refused(vnfm, url, "[vims] allowed_networks")

    def test_http(self) -> None:
        vnfm = self.service(schemes=["https"])
        self.check_refused(
            vnfm, self.victim.url, "by 'http': [vims] schemes allows https."
        )

    def test_a_name_is_resolved_once(self) -> None:
        """A DNS server may answer the next lookup with another address."""
        look_up = socket.getaddrinfo
        asked: list[str] = []

        def rebind(host: str, *args: Any, **options: Any) -> Any:
            if host != "rebind.example":
                return look_up(host, *args, **options)
            asked.append(host)
            return look_up(
                "127.0.0.1" if len(asked) == 1 else "169.254.169.254",
                *args,
                **options,
            )

        self.useFixture(fixtures.MonkeyPatch("socket.getaddrinfo", rebind))
        port = self.victim.url.rpartition(":")[2]
        self.victim.status = 418
        url = f"http://rebind.example:{port}"
        response = self.register(self.service(), "kubernetes", url)
        self.assert_problem(422, response, "418")
        self.assertEqual(1, len(asked))
        (request,) = self.victim.requests
        self.assertEqual(f"rebind.example:{port}", request.headers["Host"])


class TestCatalogue(AddressCase):
    def test_an_endpoint_of_the_catalogue(self) -> None:
        """A Keystone names the address of Heat."""
        vnfm = self.service(allowed_networks=["198.51.100.0/24"])
        for heat, reason in (
            ("http://169.254.169.254/v1/p", "which no option allows"),
            ("http://192.0.2.1:8004/v1/p", "[vims] allowed_networks"),
            ("ftp://127.0.0.1/v1/p", "[vims] schemes"),
        ):
            server = self.useFixture(HttpReceiver())
            server.responder = keystone.with_heat(heat)
            response = self.register(vnfm, "openstack", server.url)
            self.assert_problem(422, response, reason)


class TestInlineConnection(AddressCase):
    def test_a_request_is_rejected_before_it_starts(self) -> None:
        vnfm = self.service(allow_loopback=False, schemes=["https"])
        instance_id = vnfm.create()
        for url, option in (
            (self.victim.url, "[vims] schemes"),
            (self.victim.url.replace("http", "https"), "allow_loopback"),
            (REFUSED[0], "which no option allows"),
        ):
            info = {
                "vimType": "ETSINFV.KUBERNETES.V_1",
                "interfaceInfo": {"endpoint": url},
                "accessInfo": {"bearer_token": "hunter2"},
            }
            body = {"flavourId": "simple", "vimConnectionInfo": {"vim1": info}}
            response = vnfm.call(
                "POST",
                f"/vnflcm/v2/vnf_instances/{instance_id}/instantiate",
                body,
            )
            self.assert_problem(400, response, option)
            self.assertIn("vimConnectionInfo.vim1", response.detail)
        self.assertEqual([], self.victim.requests)


class TestProvidedVim(ScriptedHooksCase):
    def test_the_address_that_a_script_returns(self) -> None:
        line = provides(auth_url=REFUSED[0], type="kubernetes")
        self.set_action("instantiate_end", line)
        self.run_instantiate(self.create_scripted())
        self.set_action("instantiate_end", "")
        (vim,) = self.vnfm.call("GET", VIMS).json["vims"]
        instance_id = self.vnfm.create()
        connection = {"vimId": vim["id"]}
        end = self.vnfm.run(
            instance_id,
            "instantiate",
            {
                "flavourId": "small",
                "vimConnectionInfo": {"vim1": connection},
                "additionalParams": {
                    "lcm-kubernetes-def-files": [
                        f"Files/kubernetes/{name}.yaml"
                        for name in ("configmap", "secret", "deployment")
                    ]
                },
            },
        )
        self.assertIn("which no option allows", end["error"]["detail"])
