"""Read the management scripts of the Vnflcm interface."""

import difflib
from pathlib import Path
from typing import Final

from tacker_cnf.vnfd import definitions, script_source
from tacker_cnf.vnfd.topology import ArtifactDefinition, NodeTemplate
from tacker_cnf.vnfd.values import Value, Warnings

INTERFACE: Final = "Vnflcm"
INTERFACE_TYPE: Final = "tosca.interfaces.nfv.Vnflcm"
NON_OPERATION_KEYS: Final = frozenset(
    {"type", "description", "inputs", "operations", "notifications"},
)
#: the operations of SOL001 6.7, and around a rollback. This VNFM does not run
#: all of them; a package may be made for other VNFMs, too.
OPERATIONS: Final = tuple(
    f"{operation}{phase}"
    for operation in (
        "instantiate",
        "scale",
        "heal",
        "terminate",
        "modify_information",
        "change_current_package",
        "scale_to_level",
        "change_flavour",
        "operate",
        "change_external_connectivity",
        "create_snapshot",
        "revert_to_snapshot",
    )
    for phase in ("_start", "_end", "_rollback_start", "_rollback_end", "")
)


def scripts_of(
    vnf: NodeTemplate, tree: Path
) -> tuple[dict[str, str], Warnings]:
    """Return operation -> path of its script.

    :raises InvalidPackage: an artifact or its file is missing, or there is
        no such operation
    """
    artifacts = vnf.artifacts()
    found: dict[str, str | None] = {}
    warnings: Warnings = ()
    for holder in (vnf.value, *vnf.type_definitions()):
        for name, interface in holder.get("interfaces").entries().items():
            if not is_lifecycle(vnf, name, interface):
                continue
            for operation, value in operations(interface).items():
                if operation not in found:
                    found[operation], more = _script(value, artifacts, tree)
                    warnings += more
                if path := found[operation]:
                    _check_name(operation, value)
                    _check_entry(value, tree, path)
    scripts = {name: path for name, path in found.items() if path is not None}
    return scripts, warnings


def _check_name(operation: str, value: Value) -> None:
    """Reject a name that no VNFM runs."""
    if operation in OPERATIONS:
        return
    near = difflib.get_close_matches(operation[:100], OPERATIONS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise value.fault(
        f"{operation!r:.100} is not an operation of Vnflcm; its script"
        f" would never run{hint}"
    )


def _check_entry(operation: Value, tree: Path, path: str) -> None:
    """Reject a script that only defines functions and classes."""
    source = script_source.parse(tree / path)
    if not script_source.does_nothing(source):
        return
    class_names = sorted(script_source.classes(source))
    end = f"{class_names[0]}.main()" if class_names else "main()"
    imports = ", ".join(script_source.reference_imports(source))
    origin = f"; Tacker would call it, as it imports {imports:.300}"
    raise operation.fault(
        f"{path:.200} defines {', '.join(class_names)[:200] or 'functions'} and "
        "never calls anything, so that the script would do nothing: it has to "
        f"end with a call such as {end:.80}{origin if imports else ''}"
    )


def is_lifecycle(vnf: NodeTemplate, name: str, interface: Value) -> bool:
    """Check whether an interface is the lifecycle interface (Vnflcm)."""
    if name == INTERFACE:
        return True
    if not isinstance(interface.raw, dict):
        return False
    kind = interface.get("type").text_or_none()
    return kind is not None and vnf.definitions.is_a(
        "interface_types",
        kind,
        INTERFACE_TYPE,
    )


def operations(interface: Value) -> dict[str, Value]:
    """Return the operations: direct entries (TOSCA 1.2), or nested (1.3)."""
    direct = {
        name: value
        for name, value in interface.entries().items()
        if name not in NON_OPERATION_KEYS
    }
    return direct | interface.get("operations").entries()


def _script(
    operation: Value,
    artifacts: dict[str, ArtifactDefinition],
    tree: Path,
) -> tuple[str | None, Warnings]:
    implementation = operation
    if isinstance(operation.raw, dict):
        implementation = operation.get("implementation")
    if isinstance(implementation.raw, dict):
        implementation = implementation.get("primary")
    if isinstance(implementation.raw, dict):
        return ArtifactDefinition("", implementation.get("file")).path(tree)
    if implementation.absent or implementation.raw == []:
        return None, ()
    name = implementation.text()
    if name in artifacts:
        return artifacts[name].path(tree)
    path, warnings = definitions.find_file(tree, implementation)
    if path is None:
        wanted = definitions.path_of(implementation)
        raise implementation.fault(
            f"the node has no artifact {name!r:.100}, and the package has no"
            f" file {wanted:.200}"
        )
    return path, warnings
