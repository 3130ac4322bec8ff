"""Checks of the configuration files."""

import contextlib
import dataclasses
import difflib
import importlib.metadata
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from oslo_config import cfg

from tacker_cnf import rpc
from tacker_cnf.api import authentication
from tacker_cnf.cmd import start
from tacker_cnf.cmd.doctor.findings import Finding, error, ok, warning

SUBJECT: Final = "configuration"
TRACING: Final = "tracing"
#: where options of this service are declared; the sample file has them all
NAMESPACES: Final = (
    "tacker_cnf",
    "keystonemiddleware.auth_token",
    "oslo.log",
    "oslo.messaging",
    "oslo.policy",
)
#: the beginning of the groups of a library which some configurations do not use
UNUSED_GROUPS: Final = {
    "keystonemiddleware.auth_token": "keystone_authtoken",
    "oslo.messaging": "oslo_messaging_",
}
#: the bit in the mode of a file that every user may read
_READABLE_BY_ALL: Final = stat.S_IROTH


@dataclasses.dataclass(frozen=True)
class KnownOption:
    """An option by one of its names; an old name has its new one."""

    option: Any
    new_name: str | None = None


Known = dict[str, dict[str, KnownOption]]


def check_files(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the options in each configuration file, and who may read it."""
    files = list_files(conf)
    if not files:
        yield warning(
            SUBJECT,
            "There is no configuration file, all options have their defaults. "
            "Name it by --config-file, or create "
            "/etc/tacker_cnf/tacker_cnf.conf.",
        )
    _register_plugin(conf)
    _register_transport(conf)
    known, missing = known_options()
    for namespace, failure in missing.items():
        if _is_used(conf, namespace):
            yield error(
                SUBJECT,
                f"The options of {namespace} cannot be checked: "
                f"{start.error_summary(failure)}",
            )
    unchecked = tuple(UNUSED_GROUPS[namespace] for namespace in missing)
    for path in files:
        found = [*_check_file(conf, known, path, unchecked)]
        yield from found or [ok(SUBJECT, f"{path}")]


def check_tracing(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check that spans can be exported, if they are to be.

    :raises VnfmError: the packages are not installed
    """
    if conf.tracing.endpoint is None:
        yield ok(TRACING, "off ([tracing] endpoint is not set)")
        return
    start.load_span_exporter()
    yield ok(TRACING, "the packages that [tracing] endpoint needs exist")


def _is_used(conf: cfg.ConfigOpts, namespace: str) -> bool:
    """Return whether this configuration uses a library."""
    if namespace == "oslo.messaging":
        return not str(conf.transport_url).startswith(rpc.EMBEDDED)
    return bool(conf.api.auth_strategy != "noauth")


def _register_plugin(conf: cfg.ConfigOpts) -> None:
    """Register the options of the plug-in that [keystone_authtoken] auth_type
    names.
    """
    if conf.api.auth_strategy == "noauth":
        return
    # the check of Keystone reports what is wrong with it
    with contextlib.suppress(Exception):
        authentication.check_options(conf)
        authentication.check_tokens(_no_application, conf)


def _register_transport(conf: cfg.ConfigOpts) -> None:
    """Register the options of messages in [DEFAULT]."""
    # the check of the broker reports what is wrong with it
    with contextlib.suppress(Exception):
        rpc.ConductorClient(rpc.open_transport(conf))


def _no_application(*_: object) -> Iterable[bytes]:
    return ()


def list_files(conf: cfg.ConfigOpts) -> list[Path]:
    """List the configuration files, in the order in which they are read."""
    files = [Path(name) for name in conf.config_file or ()]
    for name in conf.config_dir or ():
        files += sorted(Path(name).glob("*.conf"))
    return files


def known_options() -> tuple[Known, dict[str, ImportError]]:
    """Return the options of this service and its libraries, by their names in
    each group; and the namespaces whose packages are not installed.
    """
    known: Known = {}
    missing: dict[str, ImportError] = {}
    for point in importlib.metadata.entry_points(group="oslo.config.opts"):
        if point.name not in NAMESPACES:
            continue
        try:
            declared = point.load()()
        except ImportError as failure:
            missing[point.name] = failure
            continue
        for group, options in declared:
            for option in options:
                _add(known, getattr(group, "name", group) or "DEFAULT", option)
    return known, missing


def _add(known: Known, group: str, option: Any) -> None:
    current = known.setdefault(group, {})
    for name in (option.name, option.dest):
        current[name] = KnownOption(option)
    for old in option.deprecated_opts:
        names = known.setdefault(old.group or group, {})
        new_name = f"[{group}] {option.dest}"
        names.setdefault(old.name, KnownOption(option, new_name))


def _check_file(
    conf: cfg.ConfigOpts, known: Known, path: Path, unchecked: tuple[str, ...]
) -> Iterator[Finding]:
    """Check a file.

    :param unchecked: the beginnings of the groups to leave out
    """
    sections: dict[str, dict[str, Any]] = {}
    cfg.ConfigParser(str(path), sections).parse()
    secrets = []
    for group, values in sections.items():
        for name in values:
            option = known.get(group, {}).get(name)
            if (option and option.option.secret) or "password" in name:
                secrets.append(f"[{group}] {name}")
            if not group.startswith(unchecked):
                place = f"{path}: [{group}]"
                yield from _check_option(conf, known, place, name)
    if secrets and path.stat().st_mode & _READABLE_BY_ALL:
        yield warning(
            SUBJECT,
            f"{path} contains {', '.join(secrets)}, and every user of this "
            f"machine can read it. Run `chmod o= {path}`, and make the user of "
            "the services its owner or group.",
        )


def _check_option(
    conf: cfg.ConfigOpts, known: Known, place: str, name: str
) -> Iterator[Finding]:
    group = place.rpartition("[")[2].rstrip("]")
    option = known.get(group, {}).get(name)
    if option is None:
        if not _is_registered(conf, group, name):
            yield error(SUBJECT, f"{place} {_unknown(known, group, name)}")
    elif option.new_name:
        yield warning(
            SUBJECT,
            f"{place} {name} is deprecated: use {option.new_name}.",
        )
    elif option.option.deprecated_for_removal:
        reason = option.option.deprecated_reason or ""
        yield warning(
            SUBJECT,
            f"{place} {name} is deprecated and will be removed. "
            f"{' '.join(reason.split())}".rstrip(),
        )


def _is_registered(conf: cfg.ConfigOpts, group: str, name: str) -> bool:
    """Return whether it is an option that this process has registered, as
    those of the plug-in that [keystone_authtoken] auth_type names.
    """
    name = name.replace("-", "_")
    if group == "DEFAULT":  # it has the other groups, too
        group_type = cfg.ConfigOpts.GroupAttr
        return name in conf and not isinstance(conf[name], group_type)
    return group in conf and name in conf[group]


def _unknown(known: Known, group: str, name: str) -> str:
    """Say that an option is unknown, and which one may be meant."""
    if group not in known:
        near = difflib.get_close_matches(group, known, 1)
        hint = f"; did you mean [{near[0]}]?" if near else "."
        return f"is no group of options of this service{hint}"
    near = difflib.get_close_matches(name, known[group], 1)
    others = [g for g, names in known.items() if name in names]
    if near:
        hint = f"; did you mean {near[0]}?"
    elif others:
        hint = f"; it is one of [{others[0]}]."
    else:
        hint = "; the service ignores it. Remove it."
    return f"{name} is no option of this group{hint}"
