"""Label and field selectors: parsing and matching."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubernetes_sandbox import errors
from kubernetes_sandbox.name_validation import label_value_error
from kubernetes_sandbox.objects import Obj, labels_of

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]

_TOKEN = re.compile(r"\s*(==|=|!=|!|\(|\)|,|>|<|[^\s=!(),<>]+)")
_OPERATORS = frozenset({"=", "==", "!=", "in", "notin", ">", "<"})
_SIGNS = frozenset({"=", "==", "!=", "!", "(", ")", ",", ">", "<"})


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _reject(found: str, expected: str) -> Exception:
    return errors.bad_request(
        f"unable to parse requirement: found '{found}', expected: {expected}"
    )


class _Reader:
    """The parser of a label selector."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._at += 1
        return token

    def word(self) -> str:
        token = self.take()
        if token in _SIGNS:
            raise _reject(token, "identifier")
        return token

    def value(self) -> str:
        if self.peek() in {"", ","}:
            return ""
        return self.word()

    def values(self) -> frozenset[str]:
        if (token := self.take()) != "(":
            raise _reject(token, "'('")
        found = {"" if self.peek() == ")" else self.value()}
        while self.peek() == ",":
            self.take()
            found.add(self.value())
        if (token := self.take()) != ")":
            raise _reject(token, "',' or ')'")
        return frozenset(found)


def _compare(key: str, operator: str, reader: _Reader) -> Test:
    if operator in {"in", "notin"}:
        values = reader.values()
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    value = reader.value()
    if failure := label_value_error(value):
        raise errors.bad_request(
            f"unable to parse requirement: values[0][{key}]: Invalid value:"
            f' "{value}": {failure}'
        )
    if operator in {"=", "=="}:
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return _ordered(key, operator, value)


def _ordered(key: str, operator: str, value: str) -> Test:
    try:
        limit = int(value)
    except ValueError:
        raise _reject(value, "an integer") from None

    def test(labels: Labels) -> bool:
        try:
            found = int(labels[key])
        except (KeyError, ValueError):
            return False
        return found > limit if operator == ">" else found < limit

    return test


def _requirement(reader: _Reader) -> Test:
    if reader.peek() == "!":
        reader.take()
        absent = reader.word()
        return lambda labels: absent not in labels
    key = reader.word()
    if reader.peek() in {"", ","}:
        return lambda labels: key in labels
    operator = reader.take()
    if operator not in _OPERATORS:
        raise _reject(operator, "in, notin, =, ==, !=, gt, lt")
    return _compare(key, operator, reader)


def parse_labels(text: str) -> Test | None:
    """Parse a labelSelector; None matches everything.

    :raises ApiError: 400, it is not valid
    """
    if not text.strip():
        return None
    reader = _Reader(text)
    if reader.peek() in _SIGNS - {"!"}:
        raise errors.bad_request(
            f"found '{reader.peek()}', expected: !, identifier, or 'end of"
            " string'"
        )
    tests = [_requirement(reader)]
    while reader.peek():
        if (token := reader.take()) != ",":
            raise _reject(token, "',' or 'end of string'")
        if not reader.peek():
            raise errors.bad_request(
                "found '', expected: identifier after ','"
            )
        tests.append(_requirement(reader))
    return lambda labels: all(test(labels) for test in tests)


def _as_number(value: str | None) -> int:
    return int(value) if value and value.lstrip("-").isdigit() else 0


_OPERATORS_OF_RULES: Mapping[
    str, Callable[[str | None, Sequence[str]], bool]
] = {
    "In": lambda found, values: found in values,
    "NotIn": lambda found, values: found not in values,
    "Exists": lambda found, _: found is not None,
    "DoesNotExist": lambda found, _: found is None,
    "Gt": lambda found, values: (
        found is not None and _as_number(found) > _as_number(values[0])
    ),
    "Lt": lambda found, values: (
        found is not None and _as_number(found) < _as_number(values[0])
    ),
}


def _expression(rule: Obj, labels: Labels) -> bool:
    matches = _OPERATORS_OF_RULES.get(rule["operator"])
    values = rule.get("values") or ()
    return matches is not None and matches(labels.get(rule["key"]), values)


def expressions_match(rules: Sequence[Obj], labels: Labels) -> bool:
    """Return whether labels match matchExpressions."""
    return all(_expression(rule, labels) for rule in rules)


def matches(selector: Obj | None, labels: Labels) -> bool:
    """Return whether labels match a LabelSelector; None matches nothing."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return expressions_match(selector.get("matchExpressions") or (), labels)


def as_text(selector: Obj | None) -> str:
    """Format a LabelSelector as in status.selector of a Scale."""
    selector = selector or {}
    requirements = [
        f"{key}={value}"
        for key, value in sorted((selector.get("matchLabels") or {}).items())
    ]
    for rule in selector.get("matchExpressions") or ():
        values = ",".join(sorted(rule.get("values") or ()))
        match rule["operator"]:
            case "In":
                requirements.append(f"{rule['key']} in ({values})")
            case "NotIn":
                requirements.append(f"{rule['key']} notin ({values})")
            case "Exists":
                requirements.append(rule["key"])
            case "DoesNotExist":
                requirements.append(f"!{rule['key']}")
    return ",".join(requirements)


def field_at(obj: Obj, path: str) -> str:
    """Return the field of a fieldSelector; empty if absent."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


#: Selectable fields in addition to metadata.name and .namespace.
FIELDS: Mapping[str, frozenset[str]] = {
    "pods.": frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        }
    ),
    "events.": frozenset(
        {
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
    "secrets.": frozenset({"type"}),
    "services.": frozenset({"spec.clusterIP", "spec.type"}),
    "namespaces.": frozenset({"status.phase"}),
    "nodes.": frozenset({"spec.unschedulable"}),
    "replicasets.apps": frozenset({"status.replicas"}),
    "jobs.batch": frozenset({"status.successful"}),
}
_COMMON = frozenset({"metadata.name", "metadata.namespace"})


def _field_test(key: str, term: str) -> Callable[[Obj], bool]:
    path, sign, value = re.split(r"(!=|==|=)", term, maxsplit=1)
    if path not in _COMMON and path not in FIELDS.get(key, frozenset()):
        if key in FIELDS:
            raise errors.bad_request(f"field label not supported: {path}")
        raise errors.bad_request(
            f'"{path}" is not a known field selector: only "metadata.name",'
            ' "metadata.namespace"'
        )
    if sign == "!=":
        return lambda obj: field_at(obj, path) != value
    return lambda obj: field_at(obj, path) == value


def parse_fields(text: str, key: str) -> Callable[[Obj], bool] | None:
    """Parse a fieldSelector for the kind ``key``; None matches everything.

    :raises ApiError: 400, it is not valid or the field is not selectable
    """
    terms = [term.strip() for term in text.split(",") if term.strip()]
    if not terms:
        return None
    for term in terms:
        if "=" not in term:
            raise errors.bad_request(
                f"invalid selector: '{text}'; can't understand '{term}'"
            )
    tests = [_field_test(key, term) for term in terms]
    return lambda obj: all(test(obj) for test in tests)


def selection(
    label_selector: str, field_selector: str, key: str
) -> Callable[[Obj], bool] | None:
    """Combine the selectors of a request; None matches everything."""
    labels = parse_labels(label_selector)
    fields = parse_fields(field_selector, key)
    if labels is None:
        return fields
    by_labels = labels
    if fields is None:
        return lambda obj: by_labels(labels_of(obj))
    by_fields = fields
    return lambda obj: by_fields(obj) and by_labels(labels_of(obj))
