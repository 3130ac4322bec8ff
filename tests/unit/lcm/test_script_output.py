"""The changes that management scripts make to an instance."""

from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm import script_output
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.script_output import InfoChanges, InstanceChanges
from tests.factories import a_running_instance, a_vnfc, an_info, an_instance

OLD, NEW = a_vnfc("web-1"), a_vnfc("web-2")
INFO = an_info(OLD, metadata={"a": 1})


def changes(**info: Any) -> InstanceChanges:
    return InstanceChanges(instantiated_vnf_info=InfoChanges(**info))


class TestInstance(testtools.TestCase):
    def test_only_named_attributes_are_replaced(self) -> None:
        instance = a_running_instance(
            info=INFO, extensions={"a": 1}, metadata={"b": 1}
        )
        for made in (
            InstanceChanges(extensions={"c": 2}),
            # those of its resources come with the result of the driver
            InstanceChanges(
                extensions={"c": 2},
                instantiated_vnf_info=InfoChanges(metadata={"d": 3}),
            ),
        ):
            expected = msgspec.structs.replace(instance, extensions={"c": 2})
            found = script_output.apply_to_instance(instance, made)
            self.assertEqual(expected, found)

    def test_attributes(self) -> None:
        made = InstanceChanges(
            metadata={"a": 1}, instantiated_vnf_info=InfoChanges()
        )
        self.assertEqual(
            InstanceChanges(metadata={"a": 1}), script_output.attributes(made)
        )

    def test_the_second_of_two_scripts_takes_precedence(self) -> None:
        first = InstanceChanges(metadata={"a": 1}, extensions={"b": 1})
        second = InstanceChanges(metadata={"a": 2})
        self.assertEqual(
            InstanceChanges(metadata={"a": 2}, extensions={"b": 1}),
            script_output.merge(first, second),
        )


class TestResult(testtools.TestCase):
    def apply(
        self,
        made: InstanceChanges,
        result: Observed | None,
        instance: Any = None,
    ) -> Observed | None:
        return script_output.apply_to_result(
            instance or a_running_instance(info=INFO), result, made, ["web"]
        )

    def test_changes_apply_to_what_the_driver_found(self) -> None:
        result = Observed(vnfc_resource_info=(OLD,), metadata={"b": 2})
        found = self.apply(changes(vnfc_resource_info=(NEW,)), result)
        self.assertEqual(
            Observed(vnfc_resource_info=(NEW,), metadata={"b": 2}), found
        )

    def test_or_to_the_instance(self) -> None:
        found = self.apply(changes(vnfc_resource_info=(NEW,)), None)
        self.assertEqual(
            Observed(vnfc_resource_info=(NEW,), metadata={"a": 1}), found
        )

    def test_no_resources(self) -> None:
        made = changes(vnfc_resource_info=(NEW,))
        self.assertIsNone(self.apply(made, None, an_instance()))
        result = Observed(vnfc_resource_info=(OLD,))
        found = self.apply(made, result, an_instance())
        self.assertEqual(Observed(vnfc_resource_info=(NEW,)), found)

    def test_no_changes_of_resources(self) -> None:
        result = Observed(vnfc_resource_info=(OLD,))
        for made in (InstanceChanges(), InstanceChanges(metadata={"a": 1})):
            self.assertEqual(result, self.apply(made, result))
            self.assertIsNone(self.apply(made, None))
        self.assertEqual(result, self.apply(changes(), result))

    def test_invalid_vnfcs_are_rejected(self) -> None:
        other, more = a_vnfc("a-1", "db"), a_vnfc("b-1", "ap")
        for vnfcs, message in (
            ((OLD, NEW, OLD), "its answer names VNFC web-1 twice"),
            (
                (OLD, OLD, NEW, NEW, NEW),
                "its answer names VNFC web-1, web-2 twice",
            ),
            (
                (OLD, other, more),
                "its answer names VDU ap, db, which the VNFD does not have",
            ),
        ):
            error = self.assertRaises(
                errors.ScriptFailed,
                self.apply,
                changes(vnfc_resource_info=vnfcs),
                None,
            )
            self.assertEqual(message, str(error))
