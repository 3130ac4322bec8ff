"""The metrics of requests and operations."""

import uuid
from typing import Any, Final

import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from tacker_cnf import errors, metrics
from tacker_cnf.conductor.measurements import Measurements
from tacker_cnf.db import models
from tacker_cnf.metrics import API_METRICS, CONDUCTOR_METRICS, Registry
from tacker_cnf.notification.dispatcher import Dispatcher
from tests.fixtures.crashing_conductor import expire_leases
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Vnfm
from tests.functional.test_scripts import ScriptCase

INSTANCES: Final = "/vnflcm/v2/vnf_instances"
VIM: Final = {
    "name": "site",
    "type": "fake",
    "auth_url": "https://vim.example",
    "auth_cred": {"bearer_token": "token"},
}


def registry() -> Registry:
    """Count in this process what API servers and conductors count."""
    return Registry([*dict.fromkeys(API_METRICS + CONDUCTOR_METRICS)], "1")


class MetricsCase(ApiCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.registry = registry()

    def value(self, name: str, /, **labels: str) -> float | None:
        """Return the value of a series; None: there is none."""
        for family in text_string_to_metric_families(
            self.registry.text().decode()
        ):
            for sample in family.samples:
                if (sample.name, sample.labels) == (
                    f"tacker_cnf_{name}",
                    labels,
                ):
                    return sample.value
        return None


class TestRequests(MetricsCase):
    def count(self, method: str, route: str, status: int) -> float | None:
        return self.value(
            "http_requests_total",
            method=method,
            route=route,
            status=str(status),
        )

    def test_requests_are_counted_by_their_route(self) -> None:
        for _ in range(3):
            path = f"{INSTANCES}/{uuid.uuid4()}"
            self.assertEqual(404, self.vnfm.call("GET", path).status)
        self.assertEqual(3, self.count("GET", f"{INSTANCES}/{{id}}", 404))
        self.assertEqual(
            3,
            self.value(
                "http_request_seconds_count",
                method="GET",
                route=f"{INSTANCES}/{{id}}",
            ),
        )

    def test_paths_that_do_not_exist_are_one_series(self) -> None:
        self.request_unknown_paths(1)
        before = self.registry.text().count(b"\n")
        self.request_unknown_paths(20)
        self.assertEqual(42, self.count("unmatched", "unmatched", 404))
        self.assertEqual(before, self.registry.text().count(b"\n"))

    def request_unknown_paths(self, count: int) -> None:
        for number in range(count):
            self.vnfm.call("GET", f"/nowhere/{number}")
            self.vnfm.call("GET", f"{INSTANCES}/{number}/nothing")


class TestOperations(MetricsCase):
    def operations(self, state: str, vim: str = "unregistered") -> Any:
        return self.value(
            "operations_total", operation="INSTANTIATE", state=state, vim=vim
        )

    def test_states_durations_and_steps_of_an_operation(self) -> None:
        self.vnfm.create_instantiated()
        self.assertEqual(1, self.operations("PROCESSING"))
        self.assertEqual(1, self.operations("COMPLETED"))
        self.assertEqual(
            1,
            self.value(
                "operation_seconds_count",
                operation="INSTANTIATE",
                state="COMPLETED",
                vim="unregistered",
            ),
        )
        for step in ("GRANT", "INFRA"):
            self.assertEqual(
                1,
                self.value(
                    "step_seconds_count", step=step, outcome="completed"
                ),
            )

    def test_a_failure_and_its_rollback(self) -> None:
        def fail(_task: Any) -> None:
            raise errors.VimRejected("no")

        self.vnfm.driver.before["apply"] = fail
        instance_id = self.vnfm.create()
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        end = self.vnfm.run(instance_id, "instantiate", body)
        self.vnfm.decide(end["id"], "rollback")
        self.assertEqual(1, self.operations("FAILED_TEMP"))
        self.assertEqual(1, self.operations("ROLLED_BACK"))
        self.assertEqual(
            1,
            self.value("step_seconds_count", step="INFRA", outcome="failed"),
        )

    def test_a_lost_lease_is_counted(self) -> None:
        def lose(call: Any) -> None:
            expire_leases(self.vnfm.parts.store, call.task.operation_id)
            with self.vnfm.parts.store.writer() as session:
                session.execute(
                    sa.update(models.VnfLcmOpOcc).values(
                        fence=models.VnfLcmOpOcc.fence + 1, owner="another"
                    )
                )
            del self.vnfm.driver.before["apply"]

        self.vnfm.driver.before["apply"] = lose
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        self.vnfm.run(self.vnfm.create(), "instantiate", body)
        self.assertEqual(1, self.value("leases_lost_total"))


class TestScripts(ScriptCase):
    def test_runs_of_scripts_are_counted(self) -> None:
        found = registry()
        self.instantiate(
            self.instance(self.recording("self.write(script_input)"))
        )
        self.assertIn(
            b'tacker_cnf_script_seconds_count{outcome="succeeded"} 2.0',
            found.text(),
        )


class TestMeasurements(MetricsCase):
    def setUp(self) -> None:
        super().setUp()
        self.measurements = Measurements(
            self.vnfm.parts.store, self.vnfm.parts.drivers, 60.0
        )

    def register(self) -> str:
        response = self.vnfm.call("POST", "/v1.0/vims", {"vim": VIM})
        self.assertEqual(201, response.status)
        return str(response.json["vim"]["id"])

    def test_the_state_of_all_conductors(self) -> None:
        self.measurements.read_database()
        self.assertEqual(1, self.value("conductors"))
        self.assertEqual(0, self.value("operations_open", state="STARTING"))
        self.assertEqual(0, self.value("queue_age_seconds"))
        self.assertEqual(0, self.value("outbox_lag_seconds"))

    def test_a_waiting_operation_and_its_events_have_an_age(self) -> None:
        self.vnfm.conductor.stop()
        self.vnfm.dispatcher.stop()
        body = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
        self.vnfm.task(self.vnfm.create(), "instantiate", body)
        self.measurements.read_database()
        self.vnfm.dispatcher = Dispatcher(
            self.vnfm.conf, self.vnfm.parts.store
        )
        self.vnfm.dispatcher.start()
        self.assertEqual(0, self.value("conductors"))
        self.assertEqual(1, self.value("operations_open", state="STARTING"))
        for name in ("queue_age_seconds", "outbox_lag_seconds"):
            age = self.value(name)
            assert age is not None
            self.assertGreater(age, 0.0, name)
        self.assertNotEqual(0, self.value("outbox_pending", kind="event"))

    def test_a_vim_that_answers_and_one_that_does_not(self) -> None:
        vim_id = self.register()
        self.measurements.check_vims()
        self.assertEqual(1, self.value("vim_reachable", vim=vim_id))
        self.refuse(errors.VimUnreachable("no answer"))
        self.measurements.check_vims()
        self.assertEqual(0, self.value("vim_reachable", vim=vim_id))

    def refuse(self, error: Exception) -> None:
        def check(_connection: Any) -> None:
            raise error

        self.patch(self.vnfm.driver, "check_connection", check)

    def test_a_driver_that_fails_stops_no_other_check(self) -> None:
        vim_id = self.register()
        self.refuse(RuntimeError("of the driver"))
        self.measurements.check_vims()
        self.assertEqual(0, self.value("vim_reachable", vim=vim_id))

    def test_an_id_that_is_not_registered_is_no_label(self) -> None:
        vim_id = self.register()
        self.measurements.read_database()
        for ids, label in (
            (["any text", vim_id], vim_id),
            (["any text", None], metrics.UNREGISTERED),
            ([], metrics.UNREGISTERED),
        ):
            self.assertEqual(label, metrics.vim_label(ids))

    def test_the_series_of_a_deleted_vim_are_removed(self) -> None:
        vim_id = self.register()
        self.measurements.read_database()
        connections = {"vim1": {"vimType": "fake", "vimId": vim_id}}
        instance_id = self.vnfm.create_instantiated(
            vimConnectionInfo=connections
        )
        self.measurements.read_database()
        self.measurements.check_vims()
        self.assertEqual(
            1, self.value("vim_info", vim=vim_id, name="site", type="fake")
        )
        self.assertIn(vim_id.encode(), self.registry.text())
        self.vnfm.run(
            instance_id, "terminate", {"terminationType": "FORCEFUL"}
        )
        self.vnfm.call("DELETE", f"{INSTANCES}/{instance_id}")
        self.vnfm.call("DELETE", f"/v1.0/vims/{vim_id}")
        self.measurements.read_database()
        self.assertNotIn(vim_id.encode(), self.registry.text())
