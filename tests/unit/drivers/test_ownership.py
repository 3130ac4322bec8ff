"""Who owns the fields of an object before it is applied."""

from typing import Any

import testtools

from tacker_cnf.drivers.kubernetes import managed_fields


def entry(operation: str, manager: str = "tacker_cnf", **more: Any) -> Any:
    return {
        "manager": manager,
        "operation": operation,
        "fieldsV1": {"f:data": {f"f:{operation}": {}}},
        **more,
    }


def found(*entries: Any) -> Any:
    return {"metadata": {"managedFields": list(entries)}}


class TestAsApplied(testtools.TestCase):
    def test_what_was_created_is_handed_over(self) -> None:
        other = entry("Update", "kubectl")
        owners = managed_fields.entries_for_apply(
            found(entry("Update"), other)
        )
        both = [other, entry("Apply", fieldsV1=entry("Update")["fieldsV1"])]
        self.assertEqual(both, owners)

    def test_what_was_patched_since_too(self) -> None:
        owners = managed_fields.entries_for_apply(
            found(entry("Apply"), entry("Update"))
        )
        assert owners is not None
        (one,) = owners
        self.assertEqual("Apply", one["operation"])
        self.assertEqual(
            {"f:data": {"f:Apply": {}, "f:Update": {}}}, one["fieldsV1"]
        )

    def test_nothing_to_hand_over(self) -> None:
        for entries in (
            (),
            (entry("Apply"),),
            (entry("Update", "kubectl"),),
            (entry("Apply"), entry("Update", subresource="scale")),
        ):
            self.assertIsNone(
                managed_fields.entries_for_apply(found(*entries))
            )
        self.assertIsNone(managed_fields.entries_for_apply({"metadata": {}}))
