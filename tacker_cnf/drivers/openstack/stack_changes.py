"""The changes of a stack's template, files and parameters.

Hidden parameters show nothing, those that the VNFD does not declare as public
and the sections of templates only their structure.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec
from oslo_utils import strutils

from tacker_cnf import errors
from tacker_cnf.drivers import field_changes
from tacker_cnf.drivers.field_changes import HIDES_ALL, Structure
from tacker_cnf.drivers.openstack import stack_fields
from tacker_cnf.drivers.openstack.stack_structure import STRUCTURE
from tacker_cnf.lcm.vnf_plan import FieldChange

#: how Heat shows the value of a hidden parameter
HIDDEN_PARAMETER: Final = "******"
#: the sections of a template that are compared
SECTIONS: Final = ("conditions", "outputs", "parameters", "resources")
PARAMETERS: Final = "parameters"
#: parameter with the values of the elements of a VNFD
NFV: Final = "nfv"
#: name of a parameter -> its schema
Schemas = Mapping[str, Any]


def compare_templates(
    before: str | None, after: str | None, path: str
) -> Iterator[FieldChange]:
    """List the sections of a template that differ. Of a file without them the
    text is hidden.

    :param before: the text; None: there was none
    """
    first, second = _sections(before), _sections(after)
    if not first and not second and before != after:
        yield field_changes.hidden(path, before, after)
    old, new = first.pop(PARAMETERS, {}), second.pop(PARAMETERS, {})
    yield from field_changes.compare(first, second, STRUCTURE, path)
    yield from field_changes.compare(
        old, new, HIDES_ALL, f"{path}.{PARAMETERS}"
    )


def compare_files(
    before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[FieldChange]:
    """List the changes of the files of a template."""
    for name in sorted({*before, *after}):
        path = f"files[{name}]"
        yield from compare_templates(before.get(name), after.get(name), path)


def compare_parameters(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    public_names: Collection[str],
    *templates: str,
) -> Iterator[FieldChange]:
    """List the parameters in an update that differ.

    :param before: those of the stack, as Heat returns them
    :param public_names: the parameters that are shown, unless they are hidden
        in Heat
    :param templates: the present template, and the new one if there is one
    """
    schemas = [_sections(text).get(PARAMETERS, {}) for text in templates]
    hidden = _hidden_names(*schemas) | {
        name for name, value in before.items() if value == HIDDEN_PARAMETER
    }
    types = {
        name: str(schema.get("type")).lower()
        for each in schemas
        for name, schema in each.items()
        if isinstance(schema, Mapping)
    }
    for name in sorted(after):
        kind = types.get(name, "")
        first, second = (
            None if values.get(name) is None else _decoded(values[name], kind)
            for values in (before, after)
        )
        path = f"{PARAMETERS}.{name}"
        structure = None
        if name not in hidden:
            structure = _structure_of(name, public_names)
        if structure:
            yield from field_changes.compare(
                first, second, structure, path, (name,)
            )
        elif first != second:
            yield field_changes.hidden(path, first, second)


def _structure_of(
    name: str, public_names: Collection[str]
) -> Structure | None:
    """Return what is shown of a parameter; None: nothing."""
    if name in public_names:
        names = frozenset({name})
        return Structure(fields=names, maps=names)
    if name == NFV:  # computed from the VNFD, the request and the grant
        return msgspec.structs.replace(
            STRUCTURE, parents=STRUCTURE.parents | {NFV}
        )
    return None


def _sections(text: str | None) -> dict[str, Any]:
    """Return the sections of a template that are maps; {}: it is none."""
    with contextlib.suppress(errors.InvalidPackage):
        read = stack_fields.read(text or "")
        return {
            name: read[name]
            for name in SECTIONS
            if isinstance(read.get(name), Mapping)
        }
    return {}


def _hidden_names(*schemas: Schemas) -> frozenset[str]:
    return frozenset(
        name
        for each in schemas
        for name, schema in each.items()
        if isinstance(schema, Mapping) and schema.get("hidden")
    )


def _decoded(value: Any, kind: str) -> Any:
    """Return the value of a parameter, which Heat returns as text.

    :param kind: the type of the parameter in lower case
    """
    if kind == "boolean":
        return strutils.bool_from_string(value)
    if kind in {"comma_delimited_list", "commadelimitedlist"}:
        entries = value.split(",") if isinstance(value, str) else value
        return [str(entry).strip() for entry in entries if entry != ""]
    if isinstance(value, str) and kind == "json":
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value)
    return value if isinstance(value, dict | list) else str(value)
