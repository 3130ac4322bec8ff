"""Markers in every place that may have secrets: none of them leaves the
service, and none stays when the VNF instance is deleted.
"""

import json
import secrets
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from cryptography.fernet import InvalidToken

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.cmd import compose
from tacker_cnf.db import models
from tacker_cnf.db.types import VAULT
from tests.fixtures import waiting
from tests.fixtures.cluster import CORE, CnfService
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.vnfm import SAMPLES, ApiCase, Csar, Response, Vnfm
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)

INSTANCES: Final = "/vnflcm/v2/vnf_instances"
OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
TYPES: Final = "Definitions/five_kinds_types.yaml"
#: names of the issue, which do not look secret, and some that do
NAMES: Final = (
    "db_password1",
    "ansible_ssh_pass",
    "dockerconfigjson",
    "database_url",
    "ki",
    "opc",
    "password",
    "token",
    "vdu_params",
    "nfv",
)
#: what the VNFD declares: of the additionalParams size, of the extensions
#: site; of the metadata it marks ki
DECLARED: Final = """\
data_types:
  samples.Extensions:
    properties:
      site: {type: string}
      opc: {type: string, metadata: {sensitive: 'true'}}
  samples.Metadata:
    properties:
      ki: {type: string, metadata: {sensitive: 'true'}}
  samples.Modifiable:
    properties:
      extensions: {type: samples.Extensions}
      metadata: {type: samples.Metadata}
"""
SCRIPT_TEXT: Final = """\
    import json, os, sys
    script_input = json.load(sys.stdin)
    print(script_input, file=sys.stderr)
    print(json.dumps(script_input), file=sys.stderr)
    data = {"state": script_input["request"]["additionalParams"]["ki"]}
    print(json.dumps({"userScriptErrHandlingData": data, "memory": data}))
    sys.exit(os.path.exists(%r))
"""


class Markers:
    """Random values, each for one place."""

    def __init__(self) -> None:
        #: marker -> its place
        self._places: dict[str, str] = {}

    def new(self, place: str) -> str:
        """Return a marker for a place."""
        marker = f"marker-{secrets.token_hex(8)}"
        self._places[marker] = place
        return marker

    def values(self, place: str, names: tuple[str, ...] = NAMES) -> Any:
        """Return values with markers, simple ones and nested ones."""
        return {
            name: {"list": [self.new(f"{place}.{name}")]}
            if number % 3 == 1
            else self.new(f"{place}.{name}")
            for number, name in enumerate(names)
        }

    def found_in(self, text: str) -> list[str]:
        """Return the places of the markers that a text contains."""
        if "marker-" not in text:
            return []
        return [place for m, place in self._places.items() if m in text]


class MarkerCase(ApiCase):
    """Collects all that leaves the service."""

    vnfm: Vnfm

    def collect(self, vnfm: Vnfm) -> None:
        """Record the responses of a service."""
        self.markers = Markers()
        self.responses: list[tuple[str, str]] = []
        call = vnfm.call

        def recording(method: str, path: str, *args: Any) -> Response:
            response = call(method, path, *args)
            self.responses.append((path, response.content.decode()))
            return response

        vnfm.call = recording  # type: ignore[method-assign, assignment]
        self.vnfm = vnfm

    def read_all(self, *more: str) -> None:
        """Read all resources, in all ways."""
        params = "operationParams/additionalParams"
        for path in (
            f"{INSTANCES}?fields=extensions/opc,vimConnectionInfo",
            f"{INSTANCES}?exclude_fields=vnfInstanceName",
            f"{OP_OCCS}?fields={params}/ki,{params}/opc,error,scriptLog",
            f"{OP_OCCS}?exclude_fields=cancelMode",
        ):
            self.assertEqual(200, self.vnfm.call("GET", path).status, path)
        for path in (INSTANCES, OP_OCCS, "/v1.0/vims", *more):
            response = self.vnfm.call("GET", path)
            if path in {INSTANCES, OP_OCCS}:
                self.vnfm.call("GET", f"{path}?all_fields")
                for found in response.json:
                    self.vnfm.call("GET", f"{path}/{found['id']}")
                    if path == OP_OCCS:
                        self._read_plan(f"{path}/{found['id']}/plan")

    def _read_plan(self, path: str) -> None:
        for accept in ("application/json", "text/plain"):
            self.vnfm.call("GET", path, None, {"Accept": accept})

    def check_nothing_left(self, *receivers: HttpReceiver) -> None:
        """Check that no marker has left the service."""
        for path, content in self.responses:
            self.assertEqual([], self.markers.found_in(content), path)
        for receiver in receivers:
            for request in receiver.requests:
                found = self.markers.found_in(request.body.decode())
                self.assertEqual([], found, "notification")
        # of all levels, also of libraries
        for line in self.vnfm.logger.output.splitlines():
            self.assertEqual([], self.markers.found_in(line), line[:500])

    def stored_places(self) -> list[str]:
        """Return the places of the markers in the database, decrypted."""
        return sorted(
            {
                f"{table}.{column}: {place}"
                for table, column, text in self._cells()
                for place in self.markers.found_in(text)
            }
        )

    def _cells(self) -> Iterator[tuple[str, str, str]]:
        with self.vnfm.parts.store.engine.connect() as connection:
            for table in models.Base.metadata.sorted_tables:
                query = f"SELECT * FROM {table}"  # noqa: S608  # as stored
                rows = connection.execute(sa.text(query))
                for row in rows.mappings():
                    for column, value in row.items():
                        yield str(table), column, decrypted(str(value))

    def check_files(self) -> None:
        """Check that no file of the service has a marker in plain text."""
        for path in Path(self.vnfm.state_path).rglob("*"):
            if path.is_file() and not path.name.endswith(".csar"):
                text = path.read_bytes().decode(errors="replace")
                self.assertEqual([], self.markers.found_in(text), str(path))


def decrypted(value: str) -> str:
    """Return a value, decrypted if it is encrypted."""
    try:
        return VAULT.fernet.decrypt(value).decode()
    except (InvalidToken, TypeError, ValueError):
        return value


def types_with_declarations() -> str:
    """Return the types of the sample, with declarations."""
    text = (SAMPLES / "cnf" / TYPES).read_text()
    return (
        text.replace("node_types:", f"{DECLARED}\nnode_types:")
        .replace(
            "    interfaces:\n",
            "      modifiable_attributes: {type: samples.Modifiable}\n"
            "    interfaces:\n",
        )
        .replace(
            "        type: tosca.interfaces.nfv.Vnflcm\n",
            "        type: tosca.interfaces.nfv.Vnflcm\n"
            "        inputs: {size: {type: string}}\n",
        )
    )


class TestLife(MarkerCase):
    """A VNF with scripts, on the fake VIM, which fails with its secrets."""

    def setUp(self) -> None:
        super().setUp()
        self.receiver = self.useFixture(HttpReceiver())
        self.collect(
            self.useFixture(Vnfm(notification={"retry_interval": 0.02}))
        )
        password = self.markers.new("the subscriber's password")
        response = self.vnfm.call(
            "POST",
            "/vnflcm/v2/subscriptions",
            {
                "callbackUri": self.receiver.url,
                "authentication": {
                    "authType": ["BASIC"],
                    "paramsBasic": {
                        "userName": "u",
                        "password": password,
                    },
                },
            },
        )
        self.assertEqual(201, response.status, str(response.content))
        self.broken = Path(self.vnfm.state_path) / "broken"
        csar = self.useFixture(
            Csar(
                files={
                    TYPES: types_with_declarations(),
                    FLAVOUR: flavour_with_scripts(
                        "instantiate_end", "terminate_start"
                    ),
                    SCRIPT: textwrap.dedent(SCRIPT_TEXT % str(self.broken)),
                }
            )
        )
        self.vnf = self.vnfm.create(self.vnfm.onboard(csar))
        self.request = {
            "flavourId": "small",
            "additionalParams": self.markers.values("additionalParams")
            | {"size": "large", "namespace": "shown"},
            "extensions": self.markers.values("extensions")
            | {"site": "hall-1"},
            "vnfConfigurableProperties": self.markers.values("properties")
            | {"isAutohealEnabled": True},
            "vimConnectionInfo": {"vim1": self.vim()},
        }

    def vim(self) -> dict[str, Any]:
        values = self.markers.values
        return {
            "vimType": "fake",
            "interfaceInfo": {"endpoint": "http://vim"} | values("interface"),
            "accessInfo": {"username": "u"} | values("access"),
            "extra": {"region": "r"} | values("extra"),
        }

    def fail_with_secrets(self, verb: str) -> None:
        """Have the VIM fail, with all that it was sent in its error."""

        def fail(call: Any) -> None:
            call.context.report_progress(f"Sent {call.task.change.parameters}")
            connections = call.task.vim_connections
            raise errors.VimRejected(
                f"invalid: {call.task.change.parameters} {connections}"
            )

        self.vnfm.driver.before[verb] = fail

    def modify(self) -> None:
        vnfc = self.vnfm.instance(self.vnf)["instantiatedVnfInfo"]["vnfcInfo"]
        self.vnfm.modify(
            self.vnf,
            {
                "extensions": {"opc": self.markers.new("PATCH extensions")},
                "metadata": {
                    "owner": "shown",
                    "ki": self.markers.new("PATCH metadata"),
                },
                "vnfcInfoModifications": [
                    {
                        "id": vnfc[0]["id"],
                        "vnfcConfigurableProperties": self.markers.values(
                            "PATCH vnfc"
                        ),
                    }
                ],
                "vimConnectionInfo": {"vim1": self.vim()},
            },
        )

    def live(self) -> str:
        """Run a life of the VNF; return the ID of its instantiation."""
        self.fail_with_secrets("apply")
        failed = self.vnfm.run(self.vnf, "instantiate", self.request)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self.read_all()
        del self.vnfm.driver.before["apply"]
        self.broken.touch()
        again = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("FAILED_TEMP", again["operationState"], again)
        self.assertIn("scriptLog", again)
        self.read_all()
        self.vnfm.decide(failed["id"], "rollback")
        self.broken.unlink()
        done = self.vnfm.run(self.vnf, "instantiate", self.request)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.modify()
        self.fail_with_secrets("replace")
        heal = {"additionalParams": self.markers.values("heal", NAMES[:7])}
        failed = self.vnfm.run(self.vnf, "heal", heal)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self.vnfm.decide(failed["id"], "fail")
        dry_run = f"{INSTANCES}/{self.vnf}/heal?dry_run=true"
        self.vnfm.call("POST", dry_run, heal)
        self.read_all()
        return str(done["id"])

    def end(self) -> None:
        terminated = self.vnfm.run(
            self.vnf,
            "terminate",
            {
                "terminationType": "FORCEFUL",
                "additionalParams": self.markers.values("terminate"),
            },
        )
        self.assertEqual("COMPLETED", terminated["operationState"])
        self.read_all()

    def test_nothing_leaves_the_service(self) -> None:
        op_occ_id = self.live()
        params = self.vnfm.call("GET", f"{OP_OCCS}/{op_occ_id}").json[
            "operationParams"
        ]
        self.assertEqual(
            dict.fromkeys(NAMES, "***")
            | {"size": "large", "namespace": "shown"},
            params["additionalParams"],
        )
        found = self.vnfm.instance(self.vnf)
        self.assertEqual(
            dict.fromkeys(NAMES, "***") | {"site": "hall-1"},
            found["extensions"],
        )
        self.assertEqual({"owner": "shown", "ki": "***"}, found["metadata"])
        self.end()
        waiting.until(
            lambda: len(self.receiver.requests) >= 10, "notifications"
        )
        self.check_nothing_left(self.receiver)
        self.check_files()

    def test_nothing_is_left_of_a_deleted_instance(self) -> None:
        op_occ_id = self.live()
        self.assertNotEqual([], self.stored_places())
        self.end()
        response = self.vnfm.call("DELETE", f"{INSTANCES}/{self.vnf}")
        self.assertEqual(204, response.status, str(response.content))
        self.assertEqual(
            ["lccn_subscriptions.authentication: the subscriber's password"],
            self.stored_places(),
        )
        kept = self.vnfm.call("GET", f"{OP_OCCS}/{op_occ_id}").json
        self.assertEqual("COMPLETED", kept["operationState"])
        self.assertEqual(
            {"flavourId": "small", "additionalParams": {"namespace": "shown"}},
            kept["operationParams"],
        )
        (subscription,) = self.vnfm.call(
            "GET", "/vnflcm/v2/subscriptions"
        ).json
        path = f"/vnflcm/v2/subscriptions/{subscription['id']}"
        self.vnfm.call("DELETE", path)
        self.assertEqual([], self.stored_places())
        self.read_all()
        self.check_nothing_left(self.receiver)

    def test_no_filter_is_an_oracle(self) -> None:
        self.live()
        for path, place in (
            (OP_OCCS, "operationParams/additionalParams"),
            (INSTANCES, "extensions"),
            (INSTANCES, "vnfConfigurableProperties"),
            (INSTANCES, "instantiatedVnfInfo/metadata"),
        ):
            for op, value in (
                ("eq", "***"),
                ("neq", "x"),
                ("cont", "marker"),
                ("ncont", "x"),
                ("gt", "a"),
                ("lt", "z"),
            ):
                text = f"({op},{place}/opc,{value})"
                found = self.vnfm.call("GET", f"{path}?filter={text}")
                if found.status == 200:
                    self.assertEqual([], found.json, text)
        for text, count in (
            ("(eq,extensions/site,hall-1)", 1),
            ("(eq,extensions/site,hall-2)", 0),
            ("(eq,metadata/owner,shown)", 1),
            ("(neq,metadata/ki,shown)", 0),
        ):
            found = self.vnfm.call("GET", f"{INSTANCES}?filter={text}")
            self.assertEqual(count, len(found.json), text)
        for place in ("password", "ki", "username"):
            name = f"vimConnectionInfo/vim1/accessInfo/{place}"
            for path, prefix in (
                (INSTANCES, ""),
                (OP_OCCS, "operationParams/"),
            ):
                found = self.vnfm.call(
                    "GET", f"{path}?filter=(neq,{prefix}{name},x)"
                )
                self.assert_problem(400, found, "may contain a secret")


class TestPlans(MarkerCase):
    """Plans of a VNF on a cluster, whose objects have secrets everywhere."""

    def test_plans_show_no_secret(self) -> None:
        self.collect(self.useFixture(CnfService()))
        assert isinstance(self.vnfm, CnfService)
        new = self.markers.new
        text = (SAMPLES / "cnf/Files/kubernetes/deployment.yaml").read_text()
        container = (
            f"          args: [--key, {new('args')}]\n"
            f"          command: [run, {new('command')}]\n"
        )
        vnf = self.vnfm.create_with_files(
            deployment=text.replace(
                "          ports:\n", f"{container}          ports:\n"
            )
            .replace(
                "          env:\n",
                f"          env:\n            - name: A\n"
                f"              value: {new('env')}\n",
            )
            .replace("nginx:1.27", "registry/invalid:1"),
            configmap=(
                "apiVersion: v1\nkind: ConfigMap\n"
                "metadata: {name: web-config}\n"
                f"data: {{GREETING: {new('ConfigMap')}, index.html: a, "
                f"image: {new('ConfigMap image')}}}\n"
            ),
            secret=(
                "apiVersion: v1\nkind: Secret\nmetadata: {name: web-secret}\n"
                f"stringData: {{TOKEN: {new('Secret')}}}\n"
            ),
        )
        failed = self.vnfm.run(vnf, "instantiate", self.vnfm.deployment_only())
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self._change_objects()
        path = f"{OP_OCCS}/{failed['id']}"
        for accept in ("application/json", "text/plain"):
            for task in ("retry", "rollback"):
                planned = self.vnfm.call(
                    "POST",
                    f"{path}/{task}?dry_run=true",
                    None,
                    {"Accept": accept},
                )
                self.assertEqual(200, planned.status, str(planned.content))
        shown = json.dumps([content for _, content in self.responses])
        for field in ("data.image", "data.TOKEN", "args", "env[A].value"):
            self.assertIn(field, shown)
        self.read_all(f"{path}/plan")
        self.vnfm.decide(failed["id"], "retry")
        self.vnfm.decide(failed["id"], "rollback")
        self.read_all(f"{path}/plan")
        self.check_nothing_left()

    def _change_objects(self) -> None:
        """Change the objects in the cluster, to other secrets."""
        assert isinstance(self.vnfm, CnfService)
        place = f"namespaces/{self.vnfm.namespace}"
        for kind, name in (
            ("configmaps", "web-config"),
            ("secrets", "web-secret"),
        ):
            path = f"{CORE}/{place}/{kind}/{name}"
            body = self.vnfm.cluster.call("GET", path)
            body["data"] = dict.fromkeys(body["data"], "b3RoZXI=")
            self.vnfm.cluster.call("PUT", path, body)
        path = f"/apis/apps/v1/{place}/deployments/web"
        body = self.vnfm.cluster.call("GET", path)
        container = body["spec"]["template"]["spec"]["containers"][0]
        container["args"] = ["other"]
        container["command"] = ["other"]
        container["env"][0]["value"] = "other"
        self.vnfm.cluster.call("PUT", path, body)


class TestUrls(MarkerCase):
    """URLs with passwords are refused, and not echoed."""

    def test_no_url_may_have_a_user(self) -> None:
        self.collect(self.useFixture(Vnfm(catalogue={"upload_hosts": ["*"]})))
        url = f"https://user:{self.markers.new('URL')}@peer.example/"
        package = self.vnfm.call("POST", "/vnfpkgm/v1/vnf_packages", {}).json
        vnf = self.vnfm.create()
        vim = {"vimType": "fake", "interfaceInfo": {"endpoint": url}}
        registered = {
            "name": "a",
            "type": "fake",
            "auth_url": "https://vim.example/",
            "auth_cred": {},
        }
        made = self.vnfm.call("POST", "/v1.0/vims", {"vim": registered}).json
        token = {
            "authType": ["OAUTH2_CLIENT_CREDENTIALS"],
            "paramsOauth2ClientCredentials": {
                "clientId": "a",
                "clientPassword": "b",
                "tokenEndpoint": url,
            },
        }
        target = "https://receiver.example/"
        upload = f"/vnfpkgm/v1/vnf_packages/{package['id']}/package_content"
        subscriptions = "/vnflcm/v2/subscriptions"
        for method, path, body, name in (
            ("POST", subscriptions, {"callbackUri": url}, "callbackUri"),
            (
                "POST",
                subscriptions,
                {"callbackUri": target, "authentication": token},
                "tokenEndpoint",
            ),
            (
                "POST",
                f"{upload}/upload_from_uri",
                {"addressInformation": url},
                "addressInformation",
            ),
            (
                "POST",
                "/v1.0/vims",
                {"vim": registered | {"auth_url": url, "name": "b"}},
                "auth_url",
            ),
            (
                "PUT",
                f"/v1.0/vims/{made['vim']['id']}",
                {"vim": {"auth_url": url, "auth_cred": {"password": "x"}}},
                "auth_url",
            ),
            (
                "POST",
                f"{INSTANCES}/{vnf}/instantiate",
                {"flavourId": "simple", "vimConnectionInfo": {"vim1": vim}},
                "vimConnectionInfo.vim1.interfaceInfo.endpoint",
            ),
            (
                "POST",
                f"{INSTANCES}/{vnf}/instantiate?dry_run=true",
                {"flavourId": "simple", "vimConnectionInfo": {"vim1": vim}},
                "vimConnectionInfo.vim1.interfaceInfo.endpoint",
            ),
        ):
            response = self.vnfm.call(method, path, body)
            self.assertIn(response.status, {400, 422}, path)
            self.assertIn(name, response.content.decode())
        up = self.vnfm.create_instantiated()
        response = self.vnfm.patch(
            up, {"vimConnectionInfo": {"vim1": {"accessInfo": {}} | vim}}
        )
        self.assertIn(response.status, {400, 422})
        self.check_nothing_left()

    def test_no_option_may_have_a_user(self) -> None:
        secret = "a-password"
        url = f"https://user:{secret}@peer.example/"
        for group, option in (
            ("api", "endpoint"),
            ("nfvo", "endpoint"),
            ("nfvo", "token_endpoint"),
        ):
            conf = configuration.load([])
            conf.set_override(option, url, group)
            error = self.assertRaises(errors.VnfmError, compose.parts, conf)
            self.assertIn(f"[{group}] {option} contains a user", str(error))
            self.assertNotIn(secret, str(error))
