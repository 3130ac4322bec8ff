from typing import Any

import testtools

from tacker_cnf.drivers.kubernetes import budgets
from tests.unit.drivers.pods import a_pod


def a_budget(selector: Any, **status: int) -> Any:
    return {
        "metadata": {"name": "web"},
        "spec": {"selector": selector},
        "status": status,
    }


def expression(operator: str, key: str, *values: str) -> Any:
    term = {"operator": operator, "key": key}
    return {
        "matchExpressions": [term | ({"values": values} if values else {})]
    }


LABELS = {"app": "web", "tier": "front"}
COVERED: tuple[tuple[Any, bool], ...] = (
    ({}, True),
    (None, False),
    ({"matchLabels": {"app": "web"}}, True),
    ({"matchLabels": {"app": "web", "tier": "back"}}, False),
    ({"matchLabels": {"other": "web"}}, False),
    (expression("In", "app", "web", "api"), True),
    (expression("In", "app", "api"), False),
    (expression("In", "other", "web"), False),
    (expression("NotIn", "app", "api"), True),
    (expression("NotIn", "other", "api"), True),
    (expression("NotIn", "app", "web"), False),
    (expression("Exists", "app"), True),
    (expression("Exists", "other"), False),
    (expression("DoesNotExist", "other"), True),
    (expression("DoesNotExist", "app"), False),
    ({"matchLabels": {"app": "web"}, **expression("Exists", "x")}, False),
)
#: allowed, healthy, desired, whether all are ready -> eviction allowed
ALLOWED = (
    (1, 3, 2, True, True),
    (0, 2, 2, True, False),
    (0, 2, 2, False, True),
    (0, 1, 2, False, False),
    (0, 0, 0, False, False),
)


class TestBudgets(testtools.TestCase):
    def test_which_pods_a_budget_covers(self) -> None:
        pod = a_pod(meta={"labels": LABELS})
        for selector, expected in COVERED:
            found = budgets.covers(a_budget(selector), pod)
            self.assertEqual(expected, found, str(selector))

    def test_when_a_budget_allows_an_eviction(self) -> None:
        for allowed, healthy, desired, ready, expected in ALLOWED:
            budget = a_budget(
                {},
                disruptionsAllowed=allowed,
                currentHealthy=healthy,
                desiredHealthy=desired,
            )
            found = budgets.allows(budget, are_ready=ready)
            self.assertEqual(expected, found, str(budget))

    def test_a_new_budget_has_no_status(self) -> None:
        budget = {"metadata": {"name": "web"}, "spec": {"selector": {}}}
        self.assertFalse(budgets.allows(budget, are_ready=False))
