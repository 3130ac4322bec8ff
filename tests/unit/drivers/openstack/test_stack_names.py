"""The names of stacks."""

import testtools

from tacker_cnf.drivers.openstack import stack_names
from tacker_cnf.drivers.openstack.stacks import Stack
from tests.factories import a_running_instance, an_info, an_instance

ID = "6b1d2f0c-8a35-4e9b-bd17-0c4f7e2a9d51"
OTHER = "0c4f7e2a-8a35-4e9b-bd17-6b1d2f0c9d51"


def a_stack(name: str = "a", *tags: str, stack_id: str = "s") -> Stack:
    return Stack(
        id=stack_id, name=name, status="CREATE_COMPLETE", tags=tags or None
    )


class TestRequested(testtools.TestCase):
    def test_a_name_that_heat_accepts(self) -> None:
        for name in ("a", "my-vnf_1.x", "A" * 255):
            instance = an_instance(id=ID, vnf_instance_name=name)
            self.assertEqual(name, stack_names.requested_name(instance))

    def test_other_names(self) -> None:
        for name in (None, "", "my vnf", "1a", "ä", "A" * 256, "a\n"):
            instance = an_instance(id=ID, vnf_instance_name=name)
            self.assertEqual(f"vnf-{ID}", stack_names.requested_name(instance))

    def test_the_default_name_of_another_instance(self) -> None:
        instance = an_instance(id=ID, vnf_instance_name=f"vnf-{OTHER}")
        self.assertEqual(f"vnf-{ID}", stack_names.requested_name(instance))


class TestRecorded(testtools.TestCase):
    def test_before_the_instantiation(self) -> None:
        instance = an_instance(instantiated_vnf_info=an_info())
        self.assertIsNone(stack_names.recorded_name(instance))

    def test_after_the_instantiation(self) -> None:
        for metadata, expected in (
            ({"stack_name": "a"}, "a"),
            ({}, f"vnf-{ID}"),  # of an earlier release
        ):
            instance = a_running_instance(
                id=ID, info=an_info(metadata=metadata), vnf_instance_name="b"
            )
            self.assertEqual(expected, stack_names.recorded_name(instance))


class TestOwner(testtools.TestCase):
    def test_the_instance_of_a_stack(self) -> None:
        for stack, expected in (
            (a_stack(f"vnf-{ID}"), ID),
            (a_stack("a", "x", f"vnf-{ID}"), ID),
            (a_stack(f"vnf-{OTHER}", f"vnf-{ID}"), ID),
            (a_stack("a", "x"), None),
            (a_stack("vnf-a"), None),
        ):
            self.assertEqual(expected, stack_names.instance_of(stack))

    def test_the_stack_of_an_instance(self) -> None:
        instance = a_running_instance(
            id=ID, info=an_info(metadata={"stack_id": "mine"})
        )
        for stack, expected in (
            (a_stack(f"vnf-{ID}"), True),
            (a_stack("a", f"vnf-{ID}"), True),
            (a_stack("a", stack_id="mine"), True),
            (a_stack("a", f"vnf-{OTHER}"), False),
            (a_stack("a"), False),
        ):
            self.assertIs(expected, stack_names.is_of(stack, instance))
