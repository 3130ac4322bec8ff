"""Deletion of the parameters of the operations of a deleted instance."""

from typing import Any

import sqlalchemy as sa

from tacker_cnf.db import leftovers, op_occs, plans
from tacker_cnf.db.op_occs import Row
from tacker_cnf.lcm.script_output import InstanceChanges
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import VnfInfoModifications
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tests.factories import NOW, a_grant_request, a_stored_instance, an_op_occ
from tests.unit.db.test_op_occs import OpOccTest
from tests.unit.lcm.test_granted import a_grant
from tests.unit.lcm.test_plan_outcome import a_plan

SECRET: dict[str, Any] = {"ki": "a-secret"}
REGISTERED = VimConnectionInfo(
    vim_id="a-vim", vim_type="fake", access_info=SECRET
)
INLINE = VimConnectionInfo(vim_type="fake", access_info=SECRET)


class TestForgetParameters(OpOccTest):
    def add_ended(
        self, name: str, op: Op, instance: str = "deleted", **params: Any
    ) -> None:
        op_occ = an_op_occ(
            op,
            id=name,
            vnf_instance_id=instance,
            operation_state=S.FAILED,
            operation_params=params | {"additionalParams": SECRET},
        )
        vims = {"one": REGISTERED, "two": INLINE}
        with self.store.writer() as session:
            op_occs.add(session, op_occ, a_stored_instance(), vims, NOW, 1)
            plans.save(session, name, a_plan())
            session.execute(
                sa.update(Row)
                .where(Row.id == name)
                .values(
                    error=ProblemDetails(
                        status=500,
                        detail="it broke",
                        user_script_err_handling_data=SECRET,
                    ),
                    changed_info=VnfInfoModifications(extensions=SECRET),
                    grant_request=a_grant_request(),
                    grant=a_grant(),
                    checkpoint=SECRET,
                    script_changes=InstanceChanges(extensions=SECRET),
                    script_log="a-secret",
                )
            )

    def forget(self) -> None:
        with self.store.writer() as session:
            op_occs.forget_parameters(session, "deleted")

    def columns(self, name: str) -> dict[str, Any]:
        with self.store.reader() as session:
            row = session.get_one(Row, name)
            return {c.key: getattr(row, c.key) for c in Row.__mapper__.attrs}

    def has_plan(self, name: str) -> bool:
        with self.store.reader() as session:
            return plans.get(session, name) is not None

    def test_an_operation_keeps_its_history(self) -> None:
        self.add_ended("out", Op.SCALE, type="SCALE_OUT")
        self.forget()
        found = self.columns("out")
        self.assertNotIn("a-secret", str(found))
        self.assertEqual(
            (S.FAILED, Op.SCALE, {}, "it broke", None, {}),
            (
                found["operation_state"],
                found["operation"],
                found["operation_params"],
                found["error"].detail,
                found["grant_request"],
                found["vim_connections"],
            ),
        )
        self.assertFalse(self.has_plan("out"))

    def test_the_entity_tag_changes(self) -> None:
        self.add_ended("out", Op.SCALE, type="SCALE_OUT")
        with self.store.writer() as session:
            session.get_one(Row, "out").script_log = None
        before = self.store.read(None, op_occs.etag, "out")
        self.forget()
        after = self.store.read(None, op_occs.etag, "out")
        self.assertNotEqual(before, after)

    def test_an_instantiation_keeps_where_its_objects_are(self) -> None:
        self.add_ended("up", Op.INSTANTIATE, flavourId="simple")
        with self.store.writer() as session:
            params = {"ki": "a-secret", "namespace": "core"}
            session.get_one(Row, "up").operation_params = {
                "flavourId": "simple",
                "additionalParams": params,
            }
        self.forget()
        self.assertNotIn("a-secret", str(self.columns("up")))
        with self.store.reader() as session:
            record = leftovers.get_last_instantiation(session, "deleted")
        assert record is not None
        self.assertEqual({"namespace": "core"}, record.parameters)
        self.assertEqual(
            {"one": VimConnectionInfo(vim_id="a-vim", vim_type="fake")},
            record.vim_connections,
        )
        self.forget()  # once more

    def test_other_instances_keep_theirs(self) -> None:
        self.add_ended("other", Op.SCALE, "another", type="SCALE_OUT")
        before = self.columns("other")
        self.forget()
        self.assertEqual(before, self.columns("other"))
        self.assertTrue(self.has_plan("other"))
