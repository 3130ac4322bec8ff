"""Ownership of the fields of an object before it is applied."""

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


class TestEntriesForApply(testtools.TestCase):
    def test_created_fields_are_moved_to_apply(self) -> None:
        other = entry("Update", "kubectl")
        owners = managed_fields.entries_for_apply(
            found(entry("Update"), other)
        )
        both = [other, entry("Apply", fieldsV1=entry("Update")["fieldsV1"])]
        self.assertEqual(both, owners)

    def test_patched_fields_are_moved_to_apply(self) -> None:
        owners = managed_fields.entries_for_apply(
            found(entry("Apply"), entry("Update"))
        )
        assert owners is not None
        (merged,) = owners
        self.assertEqual("Apply", merged["operation"])
        self.assertEqual(
            {"f:data": {"f:Apply": {}, "f:Update": {}}}, merged["fieldsV1"]
        )

    def test_no_fields_to_move(self) -> None:
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
