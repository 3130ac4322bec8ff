"""One request followed through the logs, the audit trail, the VIM and the
metrics, which a real Prometheus reads.
"""

import json
import os
import re
import signal
import textwrap
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import fixtures
import sqlalchemy as sa
import testtools
from kubernetes_sandbox.authentication import Authenticator

from tests.fixtures import processes, waiting
from tests.fixtures.tcp_proxy import TcpProxy
from tests.fixtures.vnfm import Csar
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)
from tests.services import prometheus
from tests.services.backends import POSTGRESQL
from tests.services.client import INSTANCES, OP_OCCS, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment, Program
from tests.services.prometheus import Prometheus, promtool

HEADER: Final = "X-Openstack-Request-Id"
METRICS_PORT: Final = re.compile(
    r"Metrics served: address=127.0.0.1 port=(\d+)"
)
DASHBOARD: Final = Path(__file__).parents[2] / "etc/grafana/tacker_cnf.json"
SMALL: Final = "configmap secret deployment"
HOOKS: Final = """\
    import os
    import sys
    from tacker_cnf.mgmt_drivers.base import MgmtDriver

    class Driver(MgmtDriver):
        def instantiate_end(self, script_input):
            print("runs for", os.environ["TACKER_CNF_REQUEST_ID"], file=sys.stderr)
            if script_input.vnf_instance.vnf_instance_name == "unlucky":
                raise RuntimeError("no luck")

    Driver.main()
"""


def new_id() -> str:
    return f"req-{uuid.uuid4()}"


class MonitoringCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(
            Deployment(
                self,
                POSTGRESQL,
                DEFAULT={"use_json": True},
                api={"auth_strategy": "noauth", "port": 0, "workers": 2},
                metrics={
                    "api_port": 0,
                    "conductor_port": 0,
                    "vim_check_interval": 0.5,
                },
            )
        )

    def port(self, program: Program) -> int:
        return int(program.wait_for_output(METRICS_PORT))

    def read(self, program: Program, path: str = "/metrics") -> str:
        """Read a page of the port of the metrics, as a scraper does."""
        url = f"http://127.0.0.1:{self.port(program)}{path}"
        try:
            with urllib.request.urlopen(url, timeout=30) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            return str(error.read().decode())


class TestWorkers(MonitoringCase):
    def requests(self, api: Program) -> int:
        """Return how many requests for versions were counted."""
        found = re.search(
            "tacker_cnf_http_requests_total{.*api_versions.*} (.*)",
            self.read(api),
        )
        return int(float(found[1])) if found else 0

    def test_all_workers_are_one_also_after_one_was_killed(self) -> None:
        api = self.deployment.api()
        waiting.until(
            lambda: len(processes.children(api.pid)) == 2, "two workers"
        )
        before = set(processes.children(api.pid))
        for _ in range(20):
            api.client.call("GET", "/vnflcm/api_versions")
        for _ in range(5):
            self.assertEqual(20, self.requests(api))
        os.kill(before.pop(), signal.SIGKILL)
        waiting.until(
            lambda: len(set(processes.children(api.pid)) - before) == 1,
            "a new worker",
        )
        for _ in range(5):
            self.assertEqual(20, self.requests(api))


class TestOutages(MonitoringCase):
    def test_what_does_not_work_is_named_until_it_works_again(self) -> None:
        url = sa.make_url(self.deployment.database.url)
        proxy = self.useFixture(TcpProxy(url.port or 5432))
        through = url.set(host="127.0.0.1", port=proxy.port)
        conf = self.deployment.configure(
            "proxied.conf",
            database={
                "connection": through.render_as_string(hide_password=False)
            },
        )
        self.api = self.deployment.api(conf)
        self.wait_not_ready("conductors")
        conductor = self.deployment.conductor(conf)
        self.wait_ready(conductor)
        proxy.close()
        self.wait_not_ready("database", conductor)
        self.assertEqual(200, self.api.client.call("GET", "/healthz").status)
        self.assertIn("ok", self.read(conductor, "/healthz"))
        self.assertIn("tacker_cnf_workers ", self.read(conductor))
        proxy.open()
        self.wait_ready(conductor)

    def wait_ready(self, conductor: Program) -> None:
        def is_ready() -> bool:
            response = self.api.client.call("GET", "/readyz")
            return response.status == 200 and "ready" in self.read(
                conductor, "/readyz"
            )

        waiting.until(is_ready, "readiness")

    def wait_not_ready(
        self, name: str, conductor: Program | None = None
    ) -> None:
        """Wait until all name what does not work, and nothing else."""

        def is_named() -> bool:
            response = self.api.client.call("GET", "/readyz")
            bodies = [response.content.decode()]
            if conductor:
                bodies.append(self.read(conductor, "/readyz"))
            return all(f"Not ready: {name}." in body for body in bodies)

        waiting.until(is_named, f"{name} to be named")


class TestAlerts(testtools.TestCase):
    def test_each_alert_fires_when_it_should(self) -> None:
        prometheus.require(self)
        cases = Path(__file__).with_name("alerts.yaml")
        promtool("test", "rules", str(cases))
        rules = prometheus.RULES.read_text()
        for name in re.findall(r"- alert: (\w+)", rules):
            self.assertIn(f'alertname="{name}"', cases.read_text())


class TestStory(MonitoringCase):
    def setUp(self) -> None:
        super().setUp()
        prometheus.require(self)
        self.record_vim_requests()
        self.api = self.deployment.api()
        self.client = self.api.client
        self.cluster = self.useFixture(Cluster())
        self.client.register(self.cluster.vim)
        # it reads the VIMs when it starts
        self.conductor = self.deployment.conductor()
        hooks = flavour_with_scripts("instantiate_end")
        files = {SCRIPT: textwrap.dedent(HOOKS), FLAVOUR: hooks}
        csar = self.useFixture(Csar(files=files))
        self.vnfd_id = csar.vnfd_id
        self.client.onboard(csar.read())
        ports = [self.port(p) for p in (self.api, self.conductor)]
        self.targets = [f"127.0.0.1:{port}" for port in ports]
        self.prometheus = self.useFixture(Prometheus(self, self.targets))

    def record_vim_requests(self) -> None:
        #: X-Openstack-Request-Id of requests to the cluster -> User-Agent
        self.seen: dict[str, str] = {}
        identify = Authenticator.identify

        def record(
            authenticator: Any, headers: Mapping[str, str], certificate: Any
        ) -> Any:
            if request_id := headers.get(HEADER):
                self.seen[request_id] = headers["User-Agent"]
            return identify(authenticator, headers, certificate)

        self.useFixture(
            fixtures.MonkeyPatch(
                "kubernetes_sandbox.authentication.Authenticator.identify",
                record,
            )
        )

    def instantiate(self, name: str, request_id: str) -> Any:
        """Instantiate a VNF; return the operation at its end."""
        created = self.client.call(
            "POST",
            INSTANCES,
            {"vnfdId": self.vnfd_id, "vnfInstanceName": name},
        )
        path = f"{INSTANCES}/{created.json['id']}/instantiate"
        namespace = self.cluster.add_namespace(name)
        return self.finish(path, request_id, instantiation(SMALL, namespace))

    def finish(self, path: str, request_id: str, body: Any = None) -> Any:
        headers = {HEADER: request_id}
        response = self.client.call("POST", path, body, headers=headers)
        self.assertEqual(202, response.status, response.content.decode())
        self.assertEqual(request_id, response.headers[HEADER])
        location = response.headers.get("Location", path.rpartition("/")[0])
        return self.client.wait_operation(location.rpartition("/")[2])

    def lines(self, program: Program) -> Iterator[Any]:
        """Return the lines of a log, each of which is JSON."""
        for line in program.output.splitlines():
            yield json.loads(line)

    def messages(self, program: Program, request_id: str) -> str:
        return "\n".join(
            line["message"]
            for line in self.lines(program)
            if line["context"].get("request_id") == request_id
        )

    def outcomes(self, program: Program, request_id: str) -> list[str]:
        """Return the outcomes in the audit trail."""
        events = [
            json.loads(line["message"])["payload"]
            for line in self.lines(program)
            if ".audit." in line["name"]
        ]
        return [
            event["outcome"]
            for event in events
            if event["initiator"]["request_id"] == request_id
        ]

    def count(self, state: str) -> float:
        """Return how many instantiations have entered a state."""
        selector = f'operation="INSTANTIATE",state="{state}",vim!=""'
        found = self.prometheus.query(
            f"sum(tacker_cnf_operations_total{{{selector}}})"
        )
        return float(found[0]["value"][1]) if found else 0.0

    def test_one_id_leads_through_logs_audit_vim_and_metrics(self) -> None:
        first, second, third = new_id(), new_id(), new_id()
        done = self.instantiate("lucky", first)
        self.assertEqual("COMPLETED", done["operationState"], done)
        failed = self.instantiate("unlucky", second)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        path = f"{OP_OCCS}/{failed['id']}"
        ended = self.finish(f"{path}/rollback", third)
        self.assertEqual("ROLLED_BACK", ended["operationState"], ended)

        self.check_logs(first, second, third)
        self.assertIn(f"runs for {first}", done["scriptLog"])
        self.assertIn(f"runs for {second}", failed["scriptLog"])
        self.assertEqual(third, ended["requestId"])
        for request_id in (first, second, third):
            self.assertTrue(self.seen[request_id].endswith(request_id))
        self.assertEqual(["success"], self.outcomes(self.api, first))
        self.assertEqual(["success"], self.outcomes(self.conductor, first))
        self.assertEqual(["failure"], self.outcomes(self.conductor, second))
        self.assertEqual(["success"], self.outcomes(self.conductor, third))
        self.prometheus.wait_scraped()
        for state, count in (
            ("COMPLETED", 1),
            ("FAILED_TEMP", 1),
            ("ROLLED_BACK", 1),
            ("PROCESSING", 2),
        ):
            waiting.until(
                lambda state=state, count=count: self.count(state) == count,  # type: ignore[misc]
                f"{count} operations to be {state}",
            )
        self.check_prometheus()

    def check_logs(self, first: str, second: str, third: str) -> None:
        self.assertRegex(
            self.messages(self.api, first),
            "Request: method=POST path=.*/instantiate status=202",
        )
        completed = self.messages(self.conductor, first)
        for step in ("GRANT", "INFRA", "POSTAMBLE"):
            self.assertIn(f"step={step}", completed)
        self.assertIn("Script ended: script=Scripts/hooks.py", completed)
        self.assertIn("state=COMPLETED", completed)
        self.assertIn(
            "no luck", self.messages(self.conductor, second), "the cause"
        )
        self.assertIn("step=RESTORE", self.messages(self.conductor, third))

    def check_prometheus(self) -> None:
        """Check the dashboard, the alert rules and what they refer to."""
        for program in (self.api, self.conductor):
            text = self.read(program).encode()
            promtool("check", "metrics", stdin=text)
        promtool("check", "rules", str(prometheus.RULES))
        panels = json.loads(DASHBOARD.read_text())["panels"]
        expressions = [t["expr"] for p in panels for t in p["targets"]]
        for expression in expressions:
            self.prometheus.query(expression)
        alerts = self.prometheus.alerts()
        for alert in alerts:
            self.assertEqual("ok", alert["health"], alert)
        expressions += [alert["query"] for alert in alerts]
        used = set(re.findall(r"\btacker_cnf_\w+", "\n".join(expressions)))
        waiting.until(
            lambda: all(self.prometheus.query(name) for name in used),
            f"series of each of {used}",
        )
        firing = [a["name"] for a in alerts if a["state"] == "firing"]
        self.assertEqual([], firing)
