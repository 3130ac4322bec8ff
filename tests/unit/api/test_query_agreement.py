"""Filters select the same rows in the database, the API and plain Python."""

import datetime
import random
from typing import Any

import msgspec
import sqlalchemy as sa
from testtools.content import text_content

from tacker_cnf.api import filters
from tacker_cnf.db import instances, models, op_occs, packages
from tacker_cnf.db.listing import comparable
from tacker_cnf.db.session import Store
from tacker_cnf.list_query import ListQuery
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    LcmOperationStateType,
    LcmOperationType,
    VnfLcmOpOcc,
)
from tests.factories import (
    NOW,
    a_stored_instance,
    a_vnfc,
    an_info,
    an_instance,
    an_op_occ,
)
from tests.unit.api.random_filters import (
    KEY,
    TEXTS,
    format_filter,
    matches,
    random_filter,
)
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_package

ROUNDS = 400

INSTANCE = {
    ("id",): "text",
    ("vnfInstanceName",): "text",
    ("vnfInstanceDescription",): "text",
    ("vnfdId",): "text",
    ("vnfProvider",): "text",
    ("instantiationState",): "text",
    ("metadata", "a"): "any",
    ("metadata", "x/y,~@"): "any",
    ("metadata", "deep", "a"): "any",
    ("metadata", KEY): "text",
    ("vimConnectionInfo", KEY): "text",
    ("vimConnectionInfo", "a", "vimType"): "text",
    ("instantiatedVnfInfo", "vnfState"): "text",
    ("instantiatedVnfInfo", "scaleStatus", "scaleLevel"): "number",
    ("instantiatedVnfInfo", "scaleStatus", "aspectId"): "text",
    ("instantiatedVnfInfo", "vnfcResourceInfo", "metadata", "uid"): "any",
    (
        "instantiatedVnfInfo",
        "vnfcResourceInfo",
        "computeResource",
        "resourceId",
    ): "text",
}
OP_OCC = {
    ("id",): "text",
    ("operation",): "text",
    ("operationState",): "text",
    ("vnfInstanceId",): "text",
    ("grantId",): "text",
    ("cancelMode",): "text",
    ("startTime",): "time",
    ("stateEnteredTime",): "time",
    ("isAutomaticInvocation",): "flag",
    ("isCancelPending",): "flag",
    ("operationParams", "a"): "any",
}
TABLES: tuple[tuple[Any, Any, Any], ...] = (
    (instances, VnfInstance, INSTANCE),
    (op_occs, VnfLcmOpOcc, OP_OCC),
)
#: characters of a text column: databases cannot store NUL
NAMES = [t for t in TEXTS if t]


def a_value(rng: random.Random) -> Any:
    """Build a random JSON value."""
    return rng.choice(
        [
            None,
            rng.choice(TEXTS),
            rng.choice([True, False]),
            rng.choice([0, 1, 5, -1, 1.5, 10]),
            [rng.choice(TEXTS), 5, {"a": rng.choice(TEXTS)}],
            {"a": rng.choice(TEXTS), "b": 1},
        ]
    )


def any_instance(rng: random.Random, number: int) -> VnfInstance:
    maybe = {
        "vnf_instance_name": rng.choice(TEXTS),
        "vnf_instance_description": rng.choice(TEXTS),
        "metadata": {
            key: a_value(rng)
            for key in rng.sample(["a", "x/y,~@", "deep", KEY, "b"], 3)
        },
        "vim_connection_info": {
            key: VimConnectionInfo(vim_type=rng.choice(NAMES))
            for key in rng.sample(["a", *NAMES], 2)
        },
        "instantiated_vnf_info": an_info(
            *(
                a_vnfc(name, uid=rng.choice([*TEXTS, None]))
                for name in rng.sample(NAMES, rng.randint(0, 3))
            ),
            levels={n: rng.randint(0, 2) for n in rng.sample(NAMES, 2)},
        ),
    }
    given = {k: v for k, v in maybe.items() if rng.random() < 0.8}
    return an_instance(
        id=f"{rng.choice(NAMES)[:30]}{number}",
        vnf_provider=rng.choice(TEXTS),
        instantiation_state=rng.choice(list(InstantiationState)),
        **given,
    )


def any_op_occ(
    rng: random.Random, number: int, instance_id: str
) -> VnfLcmOpOcc:
    pending = rng.choice([True, False])
    return an_op_occ(
        op=rng.choice(list(LcmOperationType)),
        id=f"{rng.choice(NAMES)[:30]}{number}",
        operation_state=rng.choice(list(LcmOperationStateType)),
        vnf_instance_id=instance_id,
        is_automatic_invocation=rng.choice([True, False]),
        is_cancel_pending=pending,
        cancel_mode=rng.choice(list(CancelModeType)) if pending else None,
        grant_id=rng.choice([None, *TEXTS]),
        operation_params={"a": a_value(rng)},
    )


class FilterComparison:
    """The resources of a store, and the filters on them."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self.store = store
        self.rng = rng

    def fill(self, count: int) -> None:
        rng = self.rng
        with self.store.writer() as session:
            packages.add(session, a_package(vnfd_id="a-vnfd"))
        with self.store.writer() as session:
            for number in range(count):
                moment = NOW + datetime.timedelta(
                    seconds=rng.randint(-2, 2),
                    microseconds=rng.choice([0, 1, 500_000, 999_999]),
                )
                instance = any_instance(rng, number)
                instances.add(session, instance, "a-package", moment)
                session.flush()
                op_occ = any_op_occ(rng, number, instance.id)
                op_occs.add(
                    session, op_occ, a_stored_instance(), {}, moment, 1
                )

    def compare(self, table: Any, kind: Any, names: Any, rounds: int) -> int:
        """Compare random filters; return the number of resources found."""
        everything = ListQuery(attributes=table.COLUMNS.keys())
        columns = comparable(table.COLUMNS)
        with self.store.reader() as session:
            resources = [
                msgspec.to_builtins(resource)
                for _, resource in table.find(session, everything)
            ]
            hits = 0
            for _ in range(rounds):
                simples = random_filter(self.rng, names)
                text = format_filter(self.rng, simples)
                expected = [r["id"] for r in resources if matches(r, simples)]
                parsed = filters.parse(text, kind)
                in_memory = [r["id"] for r in resources if parsed.matches(r)]
                assert in_memory == expected, f"in memory: {text}"
                comparisons, rest = parsed.split(columns)
                wanted = msgspec.structs.replace(
                    everything, comparisons=comparisons, batch=17
                )
                in_database = [
                    r.id
                    for _, r in table.find(session, wanted)
                    if rest.matches(msgspec.to_builtins(r))
                ]
                assert in_database == expected, f"by the database: {text}"
                hits += len(expected)
        return hits


class TestAgreement(StoreTest):
    def test_random_filters_find_the_same_resources(self) -> None:
        for seed in (1, random.SystemRandom().randrange(2**32)):
            self.addDetail("seed", text_content(str(seed)))
            with self.store.writer() as session:
                for table in reversed(models.Base.metadata.sorted_tables):
                    session.execute(sa.delete(table))
            rng = random.Random(seed)  # noqa: S311
            agreement = FilterComparison(self.store, rng)
            agreement.fill(60)
            for table, kind, names in TABLES:
                hits = agreement.compare(table, kind, names, ROUNDS)
                self.assertGreater(hits, ROUNDS)
