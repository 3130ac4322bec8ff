import datetime
from typing import Any

import msgspec
import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.api.vnf_instances import EXCLUDED_BY_DEFAULT
from tacker_cnf.db import instances, models, packages, vims
from tacker_cnf.db.session import ReferenceError  # noqa: A004
from tacker_cnf.list_query import ListQuery
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_package import OperationalState
from tests.factories import (
    NOW,
    a_running_instance,
    a_vnfc,
    an_info,
    an_instance,
)
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_package, a_vim

DEFAULT_LIST = ListQuery(
    attributes=instances.COLUMNS.keys() - EXCLUDED_BY_DEFAULT
)
FULL = a_running_instance(
    info=an_info(a_vnfc(uid="1"), levels={"web_aspect": 1}),
    vnf_instance_name="ein Name",
    vnf_instance_description="ü",
    metadata={"a": {"b": [1]}},
    extensions={"c": None},
    vnf_configurable_properties={"d": 1.5},
    vim_connection_info={
        "vim1": VimConnectionInfo(
            vim_type="fake", access_info={"password": "hunter2"}
        )
    },
)


class InstanceTest(StoreTest):
    def setUp(self) -> None:
        super().setUp()
        with self.store.writer() as session:
            packages.add(session, a_package(vnfd_id="a-vnfd"))

    def add(
        self, instance: Any, seconds: int = 0, package_id: str = "a-package"
    ) -> None:
        when = NOW + datetime.timedelta(seconds=seconds)
        with self.store.writer() as session:
            instances.add(session, instance, package_id, when)

    def write(self, function: Any, *args: Any) -> None:
        with self.store.writer() as session:
            function(session, *args)

    def release(self, result: VnfInstance | None = None) -> None:
        with self.store.writer() as session:
            stored = instances.load(session, "an-instance")
            instances.release(session, stored, result)

    def get(self, instance_id: str = "an-instance") -> Any:
        with self.store.reader() as session:
            return instances.get(session, instance_id)


class TestReading(InstanceTest):
    def test_an_instance_is_returned_as_stored(self) -> None:
        for name in ("bare", "full"):
            bare = {"bare": an_instance(), "full": FULL}[name]
            instance = msgspec.structs.replace(bare, id=name)
            self.add(instance)
            self.assertEqual(instance, self.get(name))

    def test_an_update_replaces_all_attributes(self) -> None:
        self.add(an_instance())
        self.release(FULL)
        self.assertEqual(FULL, self.get())
        self.release(an_instance())
        self.assertEqual(an_instance(), self.get())

    def test_a_list_has_default_attributes_in_creation_order(self) -> None:
        for number, name in enumerate("bca"):
            self.add(an_instance(id=name, metadata={"a": 1}), number)
        with self.store.reader() as session:
            found = list(instances.find(session, DEFAULT_LIST))
        self.assertEqual(
            [an_instance(id=name) for name in "bca"], [i for _, i in found]
        )

    def test_an_unknown_instance_is_not_found(self) -> None:
        error = self.assertRaises(errors.NotFound, self.get, "none")
        self.assertEqual("There is no VNF instance none.", str(error))

    def test_the_package_of_an_instance_has_to_exist(self) -> None:
        self.assertRaises(
            ReferenceError, self.add, an_instance(), package_id="unknown"
        )


class TestReserve(InstanceTest):
    def test_only_a_free_instance_of_the_expected_generation_is_reserved(
        self,
    ) -> None:
        # reserving operation, generation, expected generation
        cases = [
            (None, 0, 0, None),
            (None, 1, 0, errors.Stale),
            ("other", 0, 0, errors.OperationInProgress),
            ("other", 1, 0, errors.OperationInProgress),
        ]
        for reserved_by, current, expected, refusal in cases:
            with self.store.writer() as session:
                session.execute(sa.delete(instances.Row))
            self.add(an_instance())
            with self.store.writer() as session:
                values = {"busy_with": reserved_by, "generation": current}
                session.execute(sa.update(instances.Row).values(**values))
            reserve_call = (instances.reserve, "an-instance", "me", expected)
            if refusal:
                self.assertRaises(refusal, self.write, *reserve_call)
            else:
                self.write(*reserve_call)

    def test_an_unknown_instance_is_not_reserved(self) -> None:
        self.assertRaises(
            errors.Stale, self.write, instances.reserve, "none", "me", 0
        )

    def test_the_reserving_operation_is_named(self) -> None:
        self.add(an_instance())
        self.write(instances.check_not_busy, "an-instance")
        self.write(instances.reserve, "an-instance", "op-1", 0)
        error = self.assertRaises(
            errors.OperationInProgress,
            self.write,
            instances.check_not_busy,
            "an-instance",
        )
        self.assertEqual(
            "VNF instance an-instance is reserved by the lifecycle operation "
            "op-1 (None, None). Wait for its end, or cancel it.",
            str(error),
        )

    def test_busy_instances_are_listed(self) -> None:
        for name in ("free", "busy", "other"):
            self.add(an_instance(id=name))
        with self.store.writer() as session:
            busy = instances.Row.id.in_(["busy", "other"])
            session.execute(
                sa.update(instances.Row).where(busy).values(busy_with="me")
            )
        with self.store.reader() as session:
            for instance_ids, expected in (
                (["free", "busy", "none"], ["busy"]),
                ([], []),
            ):
                self.assertEqual(
                    expected, instances.list_busy(session, instance_ids)
                )


class TestRelease(InstanceTest):
    def setUp(self) -> None:
        super().setUp()
        self.write(vims.add, a_vim())

    def uses(self) -> list[str]:
        with self.store.reader() as session:
            return list(session.scalars(sa.select(models.VimUse.vim_id)))

    def test_a_release_keeps_only_the_vims_of_the_instance(self) -> None:
        vim_connections = {
            "v": VimConnectionInfo(vim_id="a-vim", vim_type="fake")
        }
        with_vim = msgspec.structs.replace(
            FULL, vim_connection_info=vim_connections
        )
        for instance, expected in (
            (an_instance(), []),
            (FULL, []),
            (with_vim, ["a-vim"]),
        ):
            with self.store.writer() as session:
                session.execute(sa.delete(instances.Row))
            self.add(instance)
            self.write(instances.reserve, "an-instance", "op-1", 0)
            self.write(
                vims.record_use, "an-instance", ["a-vim", "not registered"]
            )
            self.assertEqual(["a-vim"], self.uses())
            self.release()
            self.assertEqual(expected, self.uses())

    def test_the_use_of_a_vim_is_recorded_once(self) -> None:
        self.add(an_instance())
        for used in (["a-vim"], [], ["a-vim", "not registered"]):
            self.write(vims.record_use, "an-instance", used)
            self.assertEqual(["a-vim"], self.uses())

    def test_a_release_ends_the_use_of_another_package(self) -> None:
        self.add(an_instance())
        package = a_package(
            id="new",
            vnfd_id="new-vnfd",
            operational_state=OperationalState.ENABLED,
        )
        self.write(packages.add, package)
        self.write(instances.reserve, "an-instance", "op-1", 0)
        self.write(packages.record_use, "an-instance", "new-vnfd", "a-project")
        self.assertEqual("IN_USE", self.usage())
        self.assertRaises(ReferenceError, self.write, packages.delete, package)
        self.release()
        self.assertEqual("NOT_IN_USE", self.usage())
        self.write(packages.delete, package)

    def usage(self) -> str:
        with self.store.reader() as session:
            found = packages.get_attributes(session, "new")
        return str(found["usage_state"])


class TestDelete(InstanceTest):
    def test_a_free_instance_that_is_not_instantiated_is_deleted(self) -> None:
        self.add(an_instance())
        self.write(instances.delete, "an-instance")
        self.assertRaises(errors.NotFound, self.get)

    def test_busy_or_instantiated_instances_are_not_deleted(self) -> None:
        self.add(FULL)
        self.add(an_instance(id="busy"))
        self.write(instances.reserve, "busy", "op-1", 0)
        for name, refusal in (
            ("an-instance", errors.OperationInProgress),
            ("busy", errors.OperationInProgress),
            ("none", errors.NotFound),
        ):
            self.assertRaises(refusal, self.write, instances.delete, name)
        self.assertEqual(FULL, self.get())
