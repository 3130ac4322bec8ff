"""Selectors, by tables."""

import testtools

from kubernetes_sandbox import selectors
from kubernetes_sandbox.errors import ApiError

_LABELS = {"app": "web", "tier": "1"}


class TestLabelSelectors(testtools.TestCase):
    def test_requirements(self) -> None:
        for text, wanted in (
            ("app=web", True),
            ("app==web", True),
            ("app!=web", False),
            ("absent!=web", True),
            ("app in (web, db)", True),
            ("app in (db)", False),
            ("app notin (db)", True),
            ("absent notin (db)", True),
            ("app", True),
            ("!app", False),
            ("!absent", True),
            ("tier>0", True),
            ("tier<1", False),
            ("app=web,tier=2", False),
            ("app in (web),tier=1,!absent", True),
            ("absent=", False),
        ):
            test = selectors.parse_labels(text)
            assert test is not None
            self.assertEqual(wanted, test(_LABELS), text)

    def test_nothing_selects_everything(self) -> None:
        self.assertIsNone(selectors.parse_labels("  "))

    def test_faults(self) -> None:
        for text in ("a===", "a in b", "a in (b", "=b", "a b", "a>x"):
            self.assertRaises(ApiError, selectors.parse_labels, text)

    def test_expressions(self) -> None:
        for operator, values, wanted in (
            ("In", ["web"], True),
            ("NotIn", ["web"], False),
            ("Exists", [], True),
            ("DoesNotExist", [], False),
        ):
            rule = {"key": "app", "operator": operator, "values": values}
            found = selectors.matches({"matchExpressions": [rule]}, _LABELS)
            self.assertEqual(wanted, found, operator)

    def test_absent_selector_matches_nothing_and_empty_all(self) -> None:
        self.assertFalse(selectors.matches(None, _LABELS))
        self.assertTrue(selectors.matches({}, _LABELS))

    def test_written_as_text(self) -> None:
        selector = {
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [
                {"key": "c", "operator": "In", "values": ["y", "x"]},
                {"key": "d", "operator": "Exists"},
            ],
        }
        self.assertEqual("a=1,b=2,c in (x,y),d", selectors.as_text(selector))


class TestFieldSelectors(testtools.TestCase):
    def test_terms(self) -> None:
        pod = {
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {"nodeName": "one"},
            "status": {"phase": "Running"},
        }
        for text, wanted in (
            ("metadata.name=p", True),
            ("metadata.name!=p", False),
            ("spec.nodeName==one,status.phase=Running", True),
            ("status.podIP=", True),
            ("status.phase!=Running", False),
        ):
            test = selectors.parse_fields(text, "pods.")
            assert test is not None
            self.assertEqual(wanted, test(pod), text)

    def test_field_that_is_not_offered(self) -> None:
        for text in ("spec.image=x", "nonsense"):
            self.assertRaises(ApiError, selectors.parse_fields, text, "pods.")
