"""The names in free-form attributes that are shown."""

import itertools
from collections.abc import Iterator

import testtools
from msgspec import inspect

from tacker_cnf.drivers.kubernetes import driver as kubernetes
from tacker_cnf.drivers.openstack import request_validation
from tacker_cnf.lcm import shown_names
from tacker_cnf.lcm.shown_names import DRIVER_NAMES, ShownNames
from tacker_cnf.vnfd.model import PublicNames

#: the names that issue 15 lists, and others that no list of names had
SECRET_NAMES = (
    "password",
    "db_password1",
    "ansible_ssh_pass",
    "dockerconfigjson",
    "database_url",
    "ki",
    "opc",
    "",
    "__proto__",
)
ATTRIBUTES = sorted(
    shown_names.FREE_FORM - {shown_names.METADATA}
    | {shown_names.INFO_METADATA}
)
DECLARED = PublicNames(
    parameters=("size",),
    extensions=("ext",),
    properties=("prop",),
    sensitive_metadata=("pin",),
)


class TestShows(testtools.TestCase):
    def test_no_name_is_shown_that_nothing_declares(self) -> None:
        for attribute, name in itertools.product(ATTRIBUTES, SECRET_NAMES):
            for names in (ShownNames(), ShownNames(vnfd=DECLARED)):
                self.assertFalse(names.shows(attribute, name), name)

    def test_a_declaration_is_of_one_attribute(self) -> None:
        names = ShownNames(vnfd=DECLARED)
        shown = {
            name: [a for a in ATTRIBUTES if names.shows(a, name)]
            for name in ("size", "ext", "prop")
        }
        self.assertEqual(
            {
                "size": [
                    shown_names.ADDITIONAL_PARAMS,
                    shown_names.INFO_METADATA,
                    shown_names.SCRIPT_DATA,
                ],
                "ext": [shown_names.EXTENSIONS],
                "prop": [
                    shown_names.VNF_PROPERTIES,
                    shown_names.VNFC_PROPERTIES,
                ],
            },
            shown,
        )

    def test_the_operator_allows_names_of_all_attributes(self) -> None:
        names = ShownNames(operator=frozenset({"site"}))
        for attribute in ATTRIBUTES:
            self.assertTrue(names.shows(attribute, "site"))
            self.assertFalse(names.shows(attribute, "sites"))

    def test_metadata_are_shown_unless_the_vnfd_marks_them(self) -> None:
        names = ShownNames(vnfd=DECLARED, operator=frozenset({"pin"}))
        self.assertTrue(names.shows(shown_names.METADATA, "owner"))
        self.assertFalse(names.shows(shown_names.METADATA, "pin"))

    def test_properties_of_the_standard(self) -> None:
        self.assertTrue(
            ShownNames().shows(shown_names.VNF_PROPERTIES, "isAutohealEnabled")
        )

    def test_of_a_vim_only_listed_names_are_shown(self) -> None:
        for attribute, name, expected in (
            ("accessInfo", "username", True),
            ("accessInfo", "user_domain_name", True),
            ("accessInfo", "password", False),
            ("accessInfo", "otp", False),
            ("interfaceInfo", "endpoint", True),
            ("interfaceInfo", "username", False),
            ("extra", "region", True),
            ("extra", "key", False),
        ):
            found = shown_names.is_shown_of_vim(attribute, name)
            self.assertEqual(expected, found, name)


class TestDriverNames(testtools.TestCase):
    def test_a_name_is_listed_unless_its_type_has_room_for_secrets(
        self,
    ) -> None:
        types = (
            *request_validation.PARAMETERS.values(),
            *kubernetes.PARAMETERS.values(),
        )
        for kind in itertools.chain(*types):
            for field in inspect.type_info(kind).fields:  # type: ignore[attr-defined]
                self.assertEqual(
                    not any(map(is_free_form, parts(field.type))),
                    field.encode_name in DRIVER_NAMES,
                    field.encode_name,
                )


def parts(kind: inspect.Type) -> Iterator[inspect.Type]:
    """Return a type and all types in it."""
    yield kind
    inner = list(getattr(kind, "types", ()))
    inner += [field.type for field in getattr(kind, "fields", ())]
    names = ("key_type", "value_type", "item_type")
    inner += [getattr(kind, name) for name in names if hasattr(kind, name)]
    for each in inner:
        yield from parts(each)


def is_free_form(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.AnyType)
