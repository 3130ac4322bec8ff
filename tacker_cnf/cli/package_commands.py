"""Commands for VNF packages."""

import argparse
import contextlib
import logging
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final

from tacker_cnf.cli import commands
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.commands import (
    ClientCommand,
    Lines,
    ListCommand,
    ShowCommand,
)
from tacker_cnf.cli.failures import (
    CommandFailed,
    NotFound,
    RequestRejected,
    UsageError,
)
from tacker_cnf.cli.references import find_package, resource_path
from tacker_cnf.cli.rest_client import PACKAGES, RestClient
from tacker_cnf.cli.vnf_types import VnfPackage

LOG = logging.getLogger(__name__)
_LIST_COLUMNS: Final = (
    "id",
    "vnfdId",
    "vnfProductName",
    "vnfSoftwareVersion",
    "onboardingState",
    "operationalState",
    "usageState",
)
_SHOW_COLUMNS: Final = (
    "id",
    "vnfdId",
    "vnfProvider",
    "vnfProductName",
    "vnfSoftwareVersion",
    "vnfdVersion",
    "onboardingState",
    "operationalState",
    "usageState",
    "userDefinedData",
)


class ListPackages(ListCommand):
    """List VNF packages."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        commands.add_filter(parser, "(eq,onboardingState,ONBOARDED)")
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        query = {"filter": args.filter} if args.filter else None
        found = self.client.list_all(PACKAGES, query)
        return commands.table(_LIST_COLUMNS, found)


class ShowPackage(ShowCommand):
    """Show a VNF package."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_reference(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        found = find_package(self.client, args.package)
        return _columns(self.client.get(resource_path(PACKAGES, found.id)))


class UploadPackage(ShowCommand):
    """Onboard a VNF package."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_source(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> Any:
        with _open(args.source) as content:
            return _columns(_onboard(self.client, content))


class CheckPackage(ClientCommand):
    """Print what the server says about a VNF package, and keep nothing.

    The package is onboarded, and deleted again. Until then other clients can
    see it, and subscribers receive the notifications of its onboarding and of
    its deletion. A VNFD that another package has already is an error, as it
    would be for an upload.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_source(parser)
        return parser

    def take_action(self, args: argparse.Namespace) -> None:
        with _open(args.source) as content:
            package = convert(_onboard(self.client, content), VnfPackage)
        _remove(self.client, package.id)
        for warning in package.warnings:
            self.app.stdout.write(f"warning: {warning}\n")
        number = len(package.warnings) or "no"
        self.app.stdout.write(
            f"{args.source} can be onboarded, with {number} warnings.\n"
        )


class _StateCommand(ClientCommand):
    """A command that sets the operational state of VNF packages."""

    state: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_reference(parser, nargs="+")
        return parser

    def take_action(self, args: argparse.Namespace) -> None:
        # all names are checked before the first one is changed
        found = [find_package(self.client, name) for name in args.package]
        for package in found:
            if package.operational_state != self.state:
                _set_state(self.client, package.id, self.state)


class EnablePackages(_StateCommand):
    """Enable VNF packages: VNF instances can be created from them."""

    state = "ENABLED"


class DisablePackages(_StateCommand):
    """Disable VNF packages: no VNF instance can be created from them."""

    state = "DISABLED"


class DeletePackages(ClientCommand):
    """Delete VNF packages."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_reference(parser, nargs="+")
        parser.add_argument(
            "--disable",
            action="store_true",
            help="disable them before; the server deletes no package that is "
            "enabled",
        )
        return parser

    def take_action(self, args: argparse.Namespace) -> None:
        # all names are checked before the first one is deleted
        found = [find_package(self.client, name) for name in args.package]
        for package in found:
            is_enabled = package.operational_state == "ENABLED"
            if args.disable and is_enabled:
                _set_state(self.client, package.id, "DISABLED")
            self.client.delete(resource_path(PACKAGES, package.id))


def _onboard(client: RestClient, content: BinaryIO) -> dict[str, Any]:
    """Onboard a package, or leave nothing behind.

    :raises CommandFailed: it is rejected
    """
    _, created = client.post(PACKAGES, {})
    package_id = convert(created, VnfPackage).id
    path = resource_path(PACKAGES, package_id)
    try:
        client.put(f"{path}/package_content", content, "application/zip")
        value: dict[str, Any] = client.get(path)
        _check_onboarded(convert(value, VnfPackage))
    except BaseException:
        try:
            _remove(client, package_id)
        except CommandFailed as error:
            LOG.error("%s", error)  # noqa: TRY400  # the first one is raised
        raise
    return value


def _remove(client: RestClient, package_id: str) -> None:
    """Delete a package, whether or not it is onboarded.

    :raises CommandFailed: it remains
    """
    try:
        with contextlib.suppress(RequestRejected):  # it is not onboarded
            _set_state(client, package_id, "DISABLED")
        with contextlib.suppress(NotFound):
            client.delete(resource_path(PACKAGES, package_id))
    except CommandFailed as error:
        raise CommandFailed(
            f"VNF package {package_id} may remain: {error} Delete it:\n"
            f"  tacker-cnf package delete {package_id} --disable"
        ) from error


def _set_state(client: RestClient, package_id: str, state: str) -> None:
    path = resource_path(PACKAGES, package_id)
    client.patch(path, {"operationalState": state})


def _check_onboarded(package: VnfPackage) -> None:
    if package.onboarding_state != "ONBOARDED":
        problem = package.onboarding_failure_details
        raise CommandFailed(
            f"The package is {package.onboarding_state}. {problem.detail}"
        )


@contextlib.contextmanager
def _open(source: str) -> Iterator[BinaryIO]:
    """Open a CSAR, or pack the files of a directory as one.

    :raises UsageError: it cannot be read
    """
    try:
        path = Path(source)
        with contextlib.ExitStack() as stack:
            if path.is_dir():
                output = stack.enter_context(tempfile.TemporaryFile())
                yield pack(path, output)
            else:
                yield stack.enter_context(path.open("rb"))
    except OSError as error:
        raise UsageError(
            f"{source} cannot be read: {error.strerror}."
        ) from None


def pack(folder: Path, output: BinaryIO) -> BinaryIO:
    """Write the files of a directory to a ZIP; return it at its start.

    :raises UsageError: a symbolic link does not lead to one of the files
    """
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            _check_link(folder, path)
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    output.seek(0)
    return output


def _check_link(folder: Path, path: Path) -> None:
    if not path.is_symlink():
        return
    target = Path(os.path.realpath(path))
    if not (target.is_file() and target.is_relative_to(folder.resolve())):
        raise UsageError(
            f"{path} is a symbolic link to {target}, which is not a file in "
            f"{folder}; remove it, or replace it with a copy."
        )


def _columns(value: dict[str, Any]) -> tuple[list[str], list[Any]]:
    package = convert(value, VnfPackage)
    shown = commands.select(value, _SHOW_COLUMNS)
    shown["additionalArtifacts"] = Lines(
        value.get("additionalArtifacts", []),
        *(
            f.artifact_path or f.artifact_uri
            for f in package.additional_artifacts
        ),
    )
    shown["warnings"] = Lines(list(package.warnings), *package.warnings)
    if problem := value.get("onboardingFailureDetails"):
        detail = package.onboarding_failure_details.detail
        shown["onboardingFailureDetails"] = Lines(problem, detail)
    return list(shown), list(shown.values())


def _add_reference(
    parser: argparse.ArgumentParser, nargs: str | None = None
) -> None:
    parser.add_argument(
        "package",
        metavar="PACKAGE",
        nargs=nargs,
        help="id of a VNF package, or of its VNFD",
    )


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="FILE_OR_DIRECTORY",
        help="a CSAR, or a directory with the files of one",
    )
