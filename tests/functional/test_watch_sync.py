"""Changes of a cluster by itself are recorded within seconds."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools

from tacker_cnf import errors
from tacker_cnf.cmd import compose
from tacker_cnf.conductor.instance_sync import InstanceSync
from tacker_cnf.conductor.service import Conductor
from tacker_cnf.db import models
from tacker_cnf.db.session import epoch
from tests.fixtures import waiting
from tests.fixtures.cluster import APPS, CORE, CnfService
from tests.fixtures.vnfm import Vnfm

WATCHING = {"sync_watch": True}


class Watched(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(CnfService(WATCHING))
        self.cluster = self.vnfm.cluster

    def list_recorded(self, vnf: str, vdu: str) -> set[str]:
        """Return the recorded pods of a VDU."""
        vnfcs = self.vnfm.vnfcs(vnf).values()
        return {v["id"] for v in vnfcs if v["vduId"] == vdu}

    def list_cluster_pods(self, name: str) -> set[str]:
        """Return the pods of a workload in the cluster."""
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/pods"
        return {
            pod["metadata"]["name"]
            for pod in self.cluster.call("GET", path)["items"]
            if pod["metadata"]["name"].startswith(f"{name}-")
            and "deletionTimestamp" not in pod["metadata"]
        }

    def set_replicas(self, name: str, count: int) -> None:
        path = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/{name}"
        scale = self.cluster.call("GET", f"{path}/scale")
        scale["spec"]["replicas"] = count
        self.cluster.call("PUT", f"{path}/scale", scale)


class TestWatch(Watched):
    def test_a_pod_that_was_replaced(self) -> None:
        vnf = self.vnfm.start_vnf()
        (old,) = self.list_recorded(vnf, "web")
        self.cluster.sandbox.kill_pod(self.vnfm.namespace, old)

        def new() -> set[str]:
            return self.list_recorded(vnf, "web") - {old}

        found = waiting.until(new, "the new pod")
        self.assertEqual(self.list_cluster_pods("web"), found)

    def test_a_deployment_that_was_scaled(self) -> None:
        vnf = self.vnfm.start_vnf()
        self.set_replicas("web", 3)
        waiting.until(
            lambda: len(self.list_recorded(vnf, "web")) == 3, "three pods"
        )
        info = self.vnfm.instance(vnf)["instantiatedVnfInfo"]
        levels = {s["aspectId"]: s["scaleLevel"] for s in info["scaleStatus"]}
        self.assertEqual(2, levels["web_aspect"])


class TestOwners(testtools.TestCase):
    """One of several conductors watches a VIM."""

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm(conductor=WATCHING))
        self.driver = self.vnfm.driver

    def conductor(self) -> Conductor:
        """Start another conductor."""
        made = compose.conductor(self.vnfm.parts, self.vnfm.nfvo)
        made.start(self.vnfm.parts.transport)
        self.addCleanup(made.stop)
        return made

    def wait_watched(self, count: int) -> None:
        waiting.until(lambda: len(self.driver.watches) == count, f"{count}")

    def list_vims_once(self, *conductors: Conductor) -> None:
        """Let each conductor list the VIMs in use once."""
        for conductor in conductors:
            conductor.synchronizer.watches.refresh()

    def test_one_watches_and_the_other_takes_over(self) -> None:
        both = [self.vnfm.conductor, self.conductor()]
        vnf = self.vnfm.create_instantiated()
        self.wait_watched(1)
        self.list_vims_once(*both)
        self.assertEqual(1, len(self.driver.watches))
        first = self.driver.watches[0]
        both.sort(key=lambda one: not one.synchronizer.watches._active)
        both[0].stop()
        self.list_vims_once(both[1])
        waiting.until(lambda: first not in self.driver.watches, "the end")
        self.wait_watched(1)
        self.driver.vnfcs[vnf] = ()
        self.driver.watches[0].on_change(vnf)
        waiting.until(lambda: not self.list_recorded(vnf), "the change")

    def list_recorded(self, vnf: str) -> Any:
        info = self.vnfm.instance(vnf)["instantiatedVnfInfo"]
        return info.get("vnfcResourceInfo", [])

    def test_a_lost_lease_ends_the_watch(self) -> None:
        vnf = self.vnfm.create_instantiated()
        self.wait_watched(1)
        with self.vnfm.parts.store.writer() as session:
            session.execute(
                sa.update(models.Lease).values(
                    owner="another", lease_until=epoch() + 3600
                )
            )
        self.vnfm.conductor.synchronizer.lease_set.renew()
        self.list_vims_once(self.vnfm.conductor)
        self.wait_watched(0)
        self.list_vims_once(self.vnfm.conductor)
        self.assertEqual([], self.driver.watches)
        self.assertTrue(self.list_recorded(vnf))

    def test_a_vim_that_is_no_longer_used(self) -> None:
        one, other = (
            self.vnfm.create_instantiated(),
            self.vnfm.create_instantiated(),
        )
        self.wait_watched(1)
        forceful = {"terminationType": "FORCEFUL"}
        self.vnfm.run(one, "terminate", forceful)
        self.vnfm.conductor.synchronizer.watches.refresh()
        self.assertEqual(1, len(self.driver.watches))
        self.vnfm.run(other, "terminate", forceful)
        self.wait_watched(0)

    def test_connections_to_a_vim(self) -> None:
        self.vnfm.create_instantiated()
        fake = {"vimType": "fake", "interfaceInfo": {"endpoint": "x"}}
        named_otherwise = {"there": {**fake, "vimId": "some-id"}}
        self.vnfm.create_instantiated(vimConnectionInfo=named_otherwise)
        self.wait_watched(1)
        self.vnfm.conductor.synchronizer.watches.refresh()
        self.assertEqual(1, len(self.driver.watches))
        with_password = {"there": {**fake, "accessInfo": {"password": "p"}}}
        self.vnfm.create_instantiated(vimConnectionInfo=with_password)
        self.wait_watched(2)

    def test_a_failed_watch_is_restarted(self) -> None:
        tries: list[Any] = []

        def fail_twice(task: Any) -> None:
            tries.append(task)
            if len(tries) < 3:
                raise errors.VimUnreachable

        self.driver.before["watch"] = fail_twice
        self.vnfm.create_instantiated()
        self.wait_watched(1)
        self.assertEqual(3, len(tries))

    def test_a_vim_that_stays_unreachable_is_left_to_others(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.conductor.watches.RETRY_DELAYS_S", (0.01, 0.01)
            )
        )

        def fail(_: Any) -> None:
            raise errors.VimUnreachable

        self.driver.before["watch"] = fail
        self.vnfm.create_instantiated()
        watches = self.vnfm.conductor.synchronizer.watches

        def is_given_up() -> bool:
            watches.refresh()
            return bool(watches._backoff_until)

        waiting.until(is_given_up, "the end of all tries")
        self.assertEqual([], self.leases())
        del self.driver.before["watch"]
        self.list_vims_once(self.vnfm.conductor)
        self.assertEqual([], self.driver.watches)
        self.conductor()
        self.wait_watched(1)

    def leases(self) -> list[str]:
        """Return the names of the leases of watches."""
        watches = models.Lease.name.startswith("watch ")
        with self.vnfm.parts.store.reader() as session:
            names = session.scalars(
                sa.select(models.Lease.name).where(watches)
            )
            return list(names)

    def test_changes_while_the_instance_is_reserved(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.conductor.synchronizer.BUSY_POLL_INTERVAL_S", 0.1
            )
        )
        vnf = self.vnfm.create_instantiated()
        self.wait_watched(1)

        def fail(_: Any) -> None:
            raise errors.InfraError

        self.driver.before["replace"] = fail
        op_occ = self.vnfm.run(vnf, "heal", {})
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.driver.vnfcs[vnf] = ()
        self.driver.watches[0].on_change(vnf)
        self.wait_busy(vnf)
        self.assertTrue(self.list_recorded(vnf))
        self.vnfm.decide(op_occ["id"], "fail")
        waiting.until(lambda: not self.list_recorded(vnf), "the change")

    def test_a_change_during_an_operation(self) -> None:
        vnf, another = (self.vnfm.create_instantiated() for _ in range(2))
        self.wait_watched(1)
        synchronized: list[str] = []
        sync_instance = InstanceSync.sync_instance

        def record(sync: InstanceSync, instance_id: str) -> bool:
            synchronized.append(instance_id)
            return sync_instance(sync, instance_id)

        name = f"{InstanceSync.__module__}.InstanceSync.sync_instance"
        self.useFixture(fixtures.MonkeyPatch(name, record))
        meanwhile: list[str] = []

        def change(_: Any) -> None:
            synchronized.clear()
            (watch,) = self.driver.watches
            watch.on_change(vnf)
            watch.on_change(another)
            waiting.until(lambda: another in synchronized, "the other one")
            meanwhile.extend(synchronized)

        self.driver.before["replace"] = change
        op_occ = self.vnfm.run(vnf, "heal", {})
        self.assertEqual("COMPLETED", op_occ["operationState"])
        self.assertEqual([another], meanwhile)
        waiting.until(lambda: vnf in synchronized, "the synchronization")

    def test_one_query_for_all_reserved_instances(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.conductor.synchronizer.BUSY_POLL_INTERVAL_S", 0.2
            )
        )
        vnfs = [self.vnfm.create_instantiated() for _ in range(5)]
        self.wait_watched(1)

        def fail(_: Any) -> None:
            raise errors.InfraError

        self.driver.before["replace"] = fail
        op_occs = [self.vnfm.run(vnf, "heal", {}) for vnf in vnfs]
        for vnf in vnfs:
            self.driver.vnfcs[vnf] = ()
            self.driver.watches[0].on_change(vnf)
        self.wait_busy(*vnfs)
        busy = self.vnfm.conductor.synchronizer._busy
        with self.record_queries() as queries:
            self.assertEqual([], busy.pop_freed())
        self.assertEqual(1, len(queries))
        for op_occ in op_occs:
            self.vnfm.decide(op_occ["id"], "fail")
        waiting.until(
            lambda: not any(map(self.list_recorded, vnfs)), "the changes"
        )
        # without one, the thread waits
        waiting.until(lambda: not busy._not_empty.is_set(), "no instance")

    def wait_busy(self, *vnfs: str) -> None:
        """Wait until the synchronization has found all of these reserved."""
        busy = self.vnfm.conductor.synchronizer._busy
        waiting.until(lambda: busy._ids.issuperset(vnfs), "reserved instances")

    @contextlib.contextmanager
    def record_queries(self) -> Iterator[list[str]]:
        """Record the queries of this thread for instances that operations
        reserve.
        """
        queries: list[str] = []
        thread = threading.get_ident()

        def note(_: Any, __: Any, statement: str, *___: Any) -> None:
            if (
                "busy_with IS NOT NULL" in statement
                and threading.get_ident() == thread
            ):
                queries.append(statement)

        engine = self.vnfm.parts.store.engine
        sa.event.listen(engine, "before_cursor_execute", note)
        try:
            yield queries
        finally:
            sa.event.remove(engine, "before_cursor_execute", note)

    def test_properties_that_a_client_set_on_a_vnfc_stay(self) -> None:
        self.vnfm.parts.store.public_names = frozenset({"leader"})
        vnf = self.vnfm.create_instantiated()
        self.wait_watched(1)
        info = self.vnfm.instance(vnf)["instantiatedVnfInfo"]
        stays, *_ = info["vnfcInfo"]
        set_now = {
            "id": stays["id"],
            "vnfcConfigurableProperties": {"leader": True},
        }
        self.vnfm.modify(vnf, {"vnfcInfoModifications": [set_now]})
        self.driver.vnfcs[vnf] = self.driver.vnfcs[vnf][:1]
        self.driver.watches[0].on_change(vnf)
        waiting.until(lambda: len(self.list_recorded(vnf)) == 1, "the change")
        info = self.vnfm.instance(vnf)["instantiatedVnfInfo"]
        self.assertEqual([{**stays, **set_now}], info["vnfcInfo"])

    def test_vnfs_of_other_vnfms(self) -> None:
        vnf = self.vnfm.create_instantiated()
        self.wait_watched(1)
        watch = self.driver.watches[0]
        watch.on_change("of-another-vnfm")
        self.driver.vnfcs[vnf] = ()
        watch.on_change(vnf)
        waiting.until(lambda: not self.list_recorded(vnf), "the change")

    def test_no_thread_runs_after_the_stop(self) -> None:
        self.vnfm.create_instantiated()
        self.wait_watched(1)
        self.assertTrue(self.vnfm.conductor.stop())
        self.wait_watched(0)
        self.assertEqual([], self.leases())


class TestPeriodicSync(testtools.TestCase):
    """Without a watch, every instance is synchronized periodically."""

    def setUp(self) -> None:
        super().setUp()
        turns = {"sync_watch": False, "sync_interval": 0.2, "lease": 9.0}
        self.vnfm = self.useFixture(Vnfm(conductor=turns))
        self.driver = self.vnfm.driver

    def list_recorded(self, vnf: str) -> int:
        info = self.vnfm.instance(vnf)["instantiatedVnfInfo"]
        return len(info.get("vnfcResourceInfo", ()))

    def test_more_instances_than_the_queue_holds(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.conductor.synchronizer.BATCH_SIZE", 2
            )
        )
        vnfs = [self.vnfm.create_instantiated() for _ in range(3)]
        self.assertEqual([], self.driver.watches)
        for vnf in vnfs:
            self.driver.vnfcs[vnf] = self.driver.vnfcs[vnf][:1]
        waiting.until(
            lambda: {*map(self.list_recorded, vnfs)} == {1}, "the changes"
        )

    def test_an_instance_that_cannot_be_synchronized(self) -> None:
        unreachable, found = (
            self.vnfm.create_instantiated(),
            self.vnfm.create_instantiated(),
        )

        def fail(call: Any) -> None:
            if call.task.instance.id == unreachable:
                raise errors.VimUnreachable

        self.driver.before["observe"] = fail
        for vnf in (unreachable, found):
            self.driver.vnfcs[vnf] = ()
        waiting.until(lambda: self.list_recorded(found) == 0, "the change")
        self.assertNotEqual(0, self.list_recorded(unreachable))

    def test_one_conductor_synchronizes(self) -> None:
        other = compose.conductor(self.vnfm.parts, self.vnfm.nfvo)
        other.start(self.vnfm.parts.transport)
        self.addCleanup(other.stop)
        both = [self.vnfm.conductor, other]

        def owners() -> list[Conductor]:
            return [c for c in both if c.synchronizer.lease_set.owns("sync")]

        (owner,) = waiting.until(owners, "an owner")
        vnf = self.vnfm.create_instantiated()
        self.assertEqual([owner], owners())
        owner.stop()
        self.driver.vnfcs[vnf] = ()
        waiting.until(lambda: self.list_recorded(vnf) == 0, "the other's turn")
        both.remove(owner)
        self.assertEqual(both, owners())
