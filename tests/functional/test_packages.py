"""VNF packages over HTTP: onboarding, refusals, reading, deletion."""

import errno
import io
import random
import shutil
import threading
import urllib.parse
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import fixtures
import msgspec
import webob

from tacker_cnf.api.vnf_packages import _descriptive_files
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.db import packages
from tacker_cnf.services.packages import PackageService
from tests.fixtures import waiting
from tests.fixtures.vnfm import ApiCase, Csar, Response, Vnfm

PACKAGES = "/vnfpkgm/v1/vnf_packages"
INSTANCES = "/vnflcm/v2/vnf_instances"
ZIP = {"Content-Type": "application/zip"}
TOP = "Definitions/five_kinds.vnfd.yaml"
FLAVOURS = (
    "Definitions/five_kinds_df_simple.yaml",
    "Definitions/five_kinds_df_small.yaml",
)
META = "TOSCA-Metadata/TOSCA.meta"
POD = "Files/kubernetes/pod.yaml"
MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


def zip_files(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def build_zip(files: Mapping[str, bytes | None]) -> bytes:
    """Build a ZIP: name -> content; a file without content is left out."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            if data is not None:
                archive.writestr(name, data)
    return written.getvalue()


def build_zip_with_symlink(files: Mapping[str, bytes]) -> bytes:
    """Build a ZIP that contains a symbolic link."""
    written = io.BytesIO(build_zip(files))
    with zipfile.ZipFile(written, "a") as archive:
        entry = zipfile.ZipInfo("Files/link")
        entry.create_system = 3
        entry.external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
    return written.getvalue()


class PackageTest(ApiCase):
    #: configuration, as {group: {option: value}}
    options: ClassVar[dict[str, dict[str, Any]]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.vnfm = self.useFixture(Vnfm(**self.options))
        self.call = self.vnfm.call
        self.csar = self.useFixture(Csar())
        self.good = self.csar.read()
        self.files = zip_files(self.good)

    def create_package(self) -> str:
        """Create an empty package; return its path."""
        return f"{PACKAGES}/{self.call('POST', PACKAGES, {}).json['id']}"

    def upload(self, path: str, content: bytes) -> Response:
        return self.call("PUT", f"{path}/package_content", content, ZIP)

    def onboard_content(self, content: bytes | None = None) -> str:
        path = self.create_package()
        response = self.upload(path, content or self.good)
        assert response.status == 202, response.content
        return path

    def list_contents(self) -> set[str]:
        """Return the stored contents; fail if there are other files."""
        root = Path(self.vnfm.state_path) / "packages"
        if not root.exists():
            return set()
        # an upload is onboarded shortly before it has cleaned up
        waiting.until(
            lambda: not list(root.glob("incoming/*")), "the end of uploads"
        )
        return {p.name for p in root.iterdir()} - {"incoming", "lock"}

    def modify(self, path: str, **body: Any) -> Response:
        return self.call("PATCH", path, body, MERGE_PATCH)

    def disable(self, path: str) -> None:
        response = self.modify(path, operationalState="DISABLED")
        self.assertEqual(200, response.status)


class TestLifecycle(PackageTest):
    def test_from_creation_to_deletion(self) -> None:
        data = {"userDefinedData": {"owner": "me"}}
        created = self.call("POST", PACKAGES, data)
        self.assertEqual(201, created.status)
        path = f"{PACKAGES}/{created.json['id']}"
        self.assertEqual(
            f"http://localhost{path}", created.headers["Location"]
        )
        self.assertEqual(created.json, self.call("GET", path).json)
        self.assertEqual("CREATED", created.json["onboardingState"])
        self.assertEqual("DISABLED", created.json["operationalState"])
        self.assertEqual("NOT_IN_USE", created.json["usageState"])
        self.assertEqual(b"", self.upload(path, self.good).content)
        shown = self.call("GET", path).json
        self.assertEqual("ONBOARDED", shown["onboardingState"])
        self.assertEqual("ENABLED", shown["operationalState"])
        self.assertEqual(self.csar.vnfd_id, shown["vnfdId"])
        self.assertEqual("Five Kinds", shown["vnfProductName"])
        self.assertEqual({"owner": "me"}, shown["userDefinedData"])
        self.assertEqual("SHA-256", shown["checksum"]["algorithm"])
        self.assertEqual({shown["checksum"]["hash"]}, self.list_contents())
        self.disable(path)
        self.assertEqual(204, self.call("DELETE", path).status)
        self.assertEqual(404, self.call("GET", path).status)
        self.assertEqual([], self.call("GET", PACKAGES).json)
        self.assertEqual(set(), self.list_contents())

    def test_a_list_is_short_and_the_oldest_is_first(self) -> None:
        paths = [self.onboard_content(), self.create_package()]
        listed = self.call("GET", PACKAGES).json
        self.assertEqual(
            paths, [f"{PACKAGES}/{package['id']}" for package in listed]
        )
        shown = self.call("GET", paths[0]).json
        for omitted in ("checksum", "additionalArtifacts"):
            self.assertIn(omitted, shown)
            self.assertNotIn(omitted, listed[0])
        self.assertEqual(shown["vnfdId"], listed[0]["vnfdId"])

    def test_listed_files_are_shown_with_their_digests(self) -> None:
        artifacts = self.call("GET", self.onboard_content()).json[
            "additionalArtifacts"
        ]
        paths = {a["artifactPath"] for a in artifacts}
        self.assertEqual(
            {name for name in self.files if name.startswith("Files/")}, paths
        )

    def test_states_change_by_patch(self) -> None:
        path = self.create_package()
        self.assert_problem(
            409, self.modify(path, operationalState="ENABLED"), "not ONBOARDED"
        )
        self.upload(path, self.good)
        response = self.modify(path, operationalState="ENABLED")
        self.assert_problem(409, response, "is ENABLED already")
        response = self.modify(path, operationalState="DISABLED")
        self.assertEqual({"operationalState": "DISABLED"}, response.json)
        response = self.modify(path, operationalState="DISABLED")
        self.assert_problem(409, response, "is DISABLED already")
        response = self.modify(path, operationalState="ENABLED")
        self.assertEqual(200, response.status)

    def test_data_of_the_user_are_merged(self) -> None:
        path = self.create_package()
        for patch, expected in (
            ({"a": 1, "b": 2}, {"a": 1, "b": 2}),
            ({"a": None, "c": 3}, {"b": 2, "c": 3}),
            ({}, {"b": 2, "c": 3}),
            ({"b": [None]}, {"b": [None], "c": 3}),
        ):
            self.assertEqual(
                200, self.modify(path, userDefinedData=patch).status
            )
            shown = self.call("GET", path).json
            self.assertEqual(expected, shown["userDefinedData"])

    def test_a_refused_patch_changes_nothing(self) -> None:
        path = self.create_package()
        response = self.modify(
            path, operationalState="ENABLED", userDefinedData={"a": 1}
        )
        self.assertEqual(409, response.status)
        self.assertNotIn("userDefinedData", self.call("GET", path).json)

    def test_invalid_patches(self) -> None:
        path = self.create_package()
        for body, message in (
            ({}, "operationalState, userDefinedData or both"),
            ({"operationalState": "ODD"}, "$.operationalState"),
            ({"userDefinedData": [1]}, "$.userDefinedData"),
        ):
            self.assert_problem(400, self.modify(path, **body), message)

    def test_usage_follows_the_instances(self) -> None:
        path = self.onboard_content()
        instance_id = self.vnfm.create(self.csar.vnfd_id)
        self.assertEqual("IN_USE", self.call("GET", path).json["usageState"])
        (listed,) = self.call("GET", PACKAGES).json
        self.assertEqual("IN_USE", listed["usageState"])
        self.call("DELETE", f"{INSTANCES}/{instance_id}")
        shown = self.call("GET", path).json
        self.assertEqual("NOT_IN_USE", shown["usageState"])


class TestDelete(PackageTest):
    def test_an_enabled_package_cannot_be_deleted(self) -> None:
        path = self.onboard_content()
        response = self.call("DELETE", path)
        self.assert_problem(409, response, "is ENABLED; disable it first")
        self.assertEqual(200, self.call("GET", path).status)

    def test_a_package_with_instances_cannot_be_deleted(self) -> None:
        path = self.onboard_content()
        instance_id = self.vnfm.create(self.csar.vnfd_id)
        self.disable(path)
        response = self.call("DELETE", path)
        self.assert_problem(409, response, "has VNF instances")
        self.assertEqual(1, len(self.list_contents()))
        content = self.call("GET", f"{path}/package_content")
        self.assertEqual(self.good, content.content)
        self.call("DELETE", f"{INSTANCES}/{instance_id}")
        self.assertEqual(204, self.call("DELETE", path).status)
        self.assertEqual(set(), self.list_contents())

    def test_an_empty_package_can_be_deleted(self) -> None:
        self.assertEqual(
            204, self.call("DELETE", self.create_package()).status
        )

    def test_content_that_cannot_be_deleted_is_deleted_later(self) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        path = self.onboard_content()
        self.disable(path)
        with fixtures.MonkeyPatch("pathlib.Path.rename", full):
            self.assertEqual(204, self.call("DELETE", path).status)
        self.assertEqual(404, self.call("GET", path).status)
        self.assertEqual(1, len(self.list_contents()))
        self.vnfm.parts.catalogue.sweep()
        self.assertEqual(set(), self.list_contents())

    def test_its_vnfd_can_be_onboarded_again(self) -> None:
        for _ in range(2):
            path = self.onboard_content()
            self.vnfm.create(self.csar.vnfd_id)
            self.disable(path)
            (instance,) = self.call("GET", INSTANCES).json
            self.call("DELETE", f"{INSTANCES}/{instance['id']}")
            self.assertEqual(204, self.call("DELETE", path).status)

    def test_a_changed_vnfd_is_read_again(self) -> None:
        path = self.onboard_content()
        first = self.vnfm.instance(self.vnfm.create(self.csar.vnfd_id))
        self.call("DELETE", f"{INSTANCES}/{first['id']}")
        self.disable(path)
        self.call("DELETE", path)
        top = self.files[TOP].replace(b"Five Kinds", b"Six Kinds")
        self.onboard_content(build_zip(self.files | {TOP: top}))
        second = self.vnfm.instance(self.vnfm.create(self.csar.vnfd_id))
        self.assertEqual("Five Kinds", first["vnfProductName"])
        self.assertEqual("Six Kinds", second["vnfProductName"])

    def test_an_unknown_package(self) -> None:
        for method, path in (
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/package_content"),
            ("GET", "/vnfd"),
            ("GET", "/artifacts/a"),
        ):
            response = self.call(method, f"{PACKAGES}/none{path}")
            self.assert_problem(404, response, "There is no VNF package none")
        self.assert_problem(
            404,
            self.upload(f"{PACKAGES}/none", self.good),
            "There is no VNF package none",
        )
        response = self.modify(f"{PACKAGES}/none", userDefinedData={})
        self.assert_problem(404, response, "There is no VNF package none")


class TestLeftovers(PackageTest):
    def test_content_without_a_package_is_deleted(self) -> None:
        """The process was killed after it stored the content."""
        path = self.onboard_content()
        content = self.vnfm.parts.catalogue.content
        with content.incoming() as staged, content.lock() as locked:
            (staged / "tree").mkdir()
            locked.store_content(staged, "f" * 64)
        self.assertEqual(2, len(self.list_contents()))
        self.vnfm.parts.catalogue.sweep()
        shown = self.call("GET", path).json
        self.assertEqual({shown["checksum"]["hash"]}, self.list_contents())


class TestBadContent(PackageTest):
    def bad_contents(self) -> dict[str, tuple[bytes, str]]:
        """Return refused contents: name -> (content, text of the error)."""
        files = self.files
        top = files[TOP]
        for name in FLAVOURS:
            top = top.replace(f"  - {Path(name).name}\n".encode(), b"")
        no_flavour = {TOP: top, **dict.fromkeys(FLAVOURS)}
        broken_top = files[TOP].replace(b"provider:", b"provider: [")
        meta = files[META].replace(TOP.encode(), b"Definitions/no.yaml")
        return {
            "no zip": (b"PK\x03\x04 something", "cannot be read as zip"),
            "half a zip": (self.good[:-200], "cannot be read as zip"),
            "a bomb": (
                build_zip(files | {"zeros": bytes(3 * 10**6)}),
                "zeros",
            ),
            "a way out": (build_zip(files | {"../evil": b"x"}), "../evil"),
            "the root": (build_zip(files | {"/etc/evil": b"x"}), "/etc/evil"),
            "a link": (build_zip_with_symlink(files), "Files/link"),
            "bad yaml": (
                build_zip(files | {TOP: broken_top}),
                f"{TOP}, line ",
            ),
            "a digest": (build_zip(files | {POD: b"kind: Pod\n"}), POD),
            "a lost file": (build_zip(files | {POD: None}), POD),
            "no flavour": (build_zip(files | no_flavour), "flavour"),
            "no entry": (
                build_zip(files | {META: meta}),
                "Definitions/no.yaml",
            ),
            "no meta": (build_zip(files | {META: None}), META),
            "nothing": (build_zip({}), META),
        }

    def test_it_is_refused_and_leaves_nothing(self) -> None:
        path = self.create_package()
        before = self.call("GET", path).json
        for name, (content, message) in self.bad_contents().items():
            response = self.upload(path, content)
            self.assert_problem(400, response, message)
            self.assertNotIn(str(self.vnfm.state_path), response.detail, name)
            self.assertEqual(before, self.call("GET", path).json)
            self.assertEqual(set(), self.list_contents(), name)
        self.assertEqual(202, self.upload(path, self.good).status)

    def put(self, path: str, body: bytes, length: int | None) -> Response:
        """Send a body with this Content-Length."""
        request = webob.Request.blank(f"{path}/package_content", method="PUT")
        request.content_type = "application/zip"
        request.environ["wsgi.input"] = io.BytesIO(body)
        request.content_length = length
        request.environ["wsgi.input_terminated"] = length is None
        return Response(request.get_response(self.vnfm.app))

    def test_a_body_that_ends_early(self) -> None:
        path = self.create_package()
        half = self.good[:1000]
        for body, length, message in (
            (b"", 0, "The upload is empty"),
            (b"", None, "The upload is empty"),
            (half, len(self.good), f"after 1000 of {len(self.good)} bytes"),
        ):
            self.assert_problem(400, self.put(path, body, length), message)
            self.assertEqual(set(), self.list_contents())
        self.assertEqual(202, self.put(path, self.good, None).status)

    def test_other_paths_are_refused_before_the_upload(self) -> None:
        path = self.create_package()
        for part in ("package_content", "vnfd", "artifacts/a"):
            response = self.call("GET", f"{path}/{part}")
            self.assert_problem(409, response, "has no content yet")


class TestTooLarge(PackageTest):
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "catalogue": {"max_package_bytes": 20_000, "max_files": 20}
    }

    def test_it_is_refused_and_leaves_nothing(self) -> None:
        path = self.create_package()
        many = {f"Files/{number}": b"" for number in range(30)}
        for content, status in (
            (b"x" * 20_001, 413),
            (build_zip(self.files | many), 400),
        ):
            response = self.upload(path, content)
            self.assert_problem(status, response, "20")
            self.assertEqual(set(), self.list_contents())
        self.assertEqual(202, self.upload(path, self.good).status)


class TestDuplicates(PackageTest):
    def test_content_can_be_uploaded_once(self) -> None:
        path = self.onboard_content()
        other = self.useFixture(Csar()).read()
        for content in (self.good, other):
            response = self.upload(path, content)
            self.assert_problem(409, response, "already has its content")
        self.assertEqual(1, len(self.list_contents()))

    def test_a_vnfd_can_be_onboarded_once(self) -> None:
        first = self.onboard_content().rpartition("/")[2]
        path = self.create_package()
        response = self.upload(path, self.good)
        message = f"VNF package {first} contains the VNFD {self.csar.vnfd_id}"
        self.assert_problem(409, response, message)
        self.assertEqual(
            "CREATED", self.call("GET", path).json["onboardingState"]
        )
        self.assertEqual(1, len(self.list_contents()))
        other = self.useFixture(Csar()).read()
        self.assertEqual(202, self.upload(path, other).status)

    def test_shared_content_stays_for_the_other_package(self) -> None:
        path = self.onboard_content()
        refused = self.create_package()
        self.assertEqual(409, self.upload(refused, self.good).status)
        self.assertEqual(204, self.call("DELETE", refused).status)
        content = self.call("GET", f"{path}/package_content")
        self.assertEqual(self.good, content.content)

    def together(self, uploads: list[tuple[str, bytes]]) -> list[int]:
        barrier = threading.Barrier(len(uploads))
        statuses: list[int] = []

        def send(path: str, content: bytes) -> None:
            barrier.wait(60)
            statuses.append(self.upload(path, content).status)

        threads = [threading.Thread(target=send, args=u) for u in uploads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return sorted(statuses)

    def test_of_two_concurrent_uploads_of_a_package_one_is_accepted(
        self,
    ) -> None:
        path = self.create_package()
        uploads = [(path, self.good)] * 3
        self.assertEqual([202, 409, 409], self.together(uploads))
        self.assertEqual(1, len(self.list_contents()))

    def test_of_two_concurrent_uploads_of_a_vnfd_one_is_accepted(self) -> None:
        uploads = [(self.create_package(), self.good) for _ in range(3)]
        self.assertEqual([202, 409, 409], self.together(uploads))
        states = [
            p["onboardingState"] for p in self.call("GET", PACKAGES).json
        ]
        self.assertEqual(["CREATED", "CREATED", "ONBOARDED"], sorted(states))

    def test_concurrent_uploads_of_different_packages(self) -> None:
        uploads = [
            (self.create_package(), self.useFixture(Csar()).read())
            for _ in range(4)
        ]
        self.assertEqual([202] * 4, self.together(uploads))
        self.assertEqual(4, len(self.list_contents()))


class TestReading(PackageTest):
    def test_the_content_is_unchanged(self) -> None:
        response = self.call(
            "GET", f"{self.onboard_content()}/package_content"
        )
        self.assertEqual("application/zip", response.type)
        self.assertEqual(self.good, response.content)
        self.assertEqual(
            str(len(self.good)), response.headers["Content-Length"]
        )

    def test_a_package_that_is_deleted_during_the_request(self) -> None:
        """Each response is a 404, whenever the deletion happens."""
        path = self.onboard_content()
        catalogue = self.vnfm.parts.catalogue
        find = PackageService._content_and_vnfd_id

        def find_last(service: PackageService, *args: Any) -> tuple[str, str]:
            found = find(service, *args)
            with catalogue.content.lock() as locked:
                locked.remove(found[0])
            return found

        def find_then_delete(
            service: PackageService, *args: Any
        ) -> tuple[str, str]:
            found = find(service, *args)
            service.delete(*args)
            catalogue._vnfd.cache_clear()
            return found

        def list_last(package: UnpackedPackage) -> list[Path]:
            found = _descriptive_files(package)
            shutil.rmtree(package.path)
            return found

        def list_half(package: UnpackedPackage) -> list[Path]:
            shutil.rmtree(package.path)
            return []

        for listing in (list_last, list_half):
            self.useFixture(
                fixtures.MonkeyPatch(
                    "tacker_cnf.api.vnf_packages._descriptive_files", listing
                )
            )
            response = self.call("GET", f"{path}/vnfd")
            self.assert_problem(
                404, response, "was deleted during the request"
            )
            self.disable(path)
            self.call("DELETE", path)
            path = self.onboard_content()
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.api.vnf_packages._descriptive_files",
                _descriptive_files,
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.services.packages.PackageService"
                "._content_and_vnfd_id",
                find_last,
            )
        )
        for part in ("vnfd", "package_content"):
            response = self.call("GET", f"{path}/{part}")
            self.assert_problem(
                404, response, "was deleted during the request"
            )
        response = self.call("GET", f"{path}/artifacts/{POD}")
        self.assert_problem(404, response, "has no artifact")
        self.disable(path)
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.services.packages.PackageService"
                "._content_and_vnfd_id",
                find_then_delete,
            )
        )
        response = self.call("GET", f"{path}/vnfd")
        self.assert_problem(404, response, "was deleted during the request")

    def test_a_vnfd_of_several_files_is_a_zip(self) -> None:
        path = f"{self.onboard_content()}/vnfd"
        for accept in ("*/*", "application/zip", "text/plain, */*"):
            response = self.call("GET", path, headers={"Accept": accept})
            self.assertEqual("application/zip", response.type)
            self.assertEqual(
                {n: d for n, d in self.files.items() if "Files/" not in n},
                zip_files(response.content),
            )
        response = self.call("GET", path, headers={"Accept": "text/plain"})
        self.assert_problem(406, response, "application/zip")

    def test_a_vnfd_of_one_file_can_be_text(self) -> None:
        path = f"{self.onboard_content(self.single())}/vnfd"
        for accept, kind in (
            ("text/plain", "text/plain"),
            ("application/zip", "application/zip"),
            ("text/plain, application/zip;q=0.5", "text/plain"),
        ):
            response = self.call("GET", path, headers={"Accept": accept})
            self.assertEqual(kind, response.type)
        response = self.call("GET", path, headers={"Accept": "text/plain"})
        self.assertIn(b"the only file", response.content)
        for accept in ("text/html", "application/json"):
            response = self.call("GET", path, headers={"Accept": accept})
            self.assert_problem(406, response, "text/plain")

    def test_a_vnfd_can_be_in_any_folder(self) -> None:
        meta = (
            b"TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\n"
            b"Created-By: a vendor\nEntry-Definitions: VNFD/one.yaml\n"
        )
        (one,) = zip_files(self.single()).values()
        files = {META: meta, "VNFD/one.yaml": one}
        # these are not part of the VNFD
        other_files = {"values.yaml": b"a: 1\n", "VNFD/chart.yaml": b"b: 1\n"}
        path = self.onboard_content(build_zip(files | other_files))
        for accept, kind in (
            ("text/plain", "text/plain"),
            ("*/*", "application/zip"),
        ):
            response = self.call(
                "GET", f"{path}/vnfd", headers={"Accept": accept}
            )
            self.assertEqual(kind, response.type)
            if kind == "text/plain":
                self.assertEqual(one, response.content)
            else:
                self.assertEqual(files, zip_files(response.content))
        self.disable(path)
        self.call("DELETE", path)
        types = b"tosca_definitions_version: tosca_simple_yaml_1_2\n"
        files["VNFD/one.yaml"] = one + b"imports: [../types/more.yaml]\n"
        files["types/more.yaml"] = types
        path = f"{self.onboard_content(build_zip(files | other_files))}/vnfd"
        response = self.call("GET", path)
        self.assertEqual(files, zip_files(response.content))
        response = self.call("GET", path, headers={"Accept": "text/plain"})
        self.assert_problem(406, response, "application/zip")

    def test_a_vnfd_whose_files_were_not_recorded(self) -> None:
        """An earlier release onboarded it."""
        path = self.onboard_content(self.single())
        with self.vnfm.parts.store.writer() as session:
            row = packages.get(session, path.rpartition("/")[2])
            vnfd_json = msgspec.json.decode(row.vnfd or "")
            self.assertEqual(["one.yaml"], vnfd_json.pop("files"))
            row.vnfd = msgspec.json.encode(vnfd_json).decode()
        response = self.call(
            "GET", f"{path}/vnfd", headers={"Accept": "text/plain"}
        )
        self.assertIn(b"the only file", response.content)
        response = self.call("GET", f"{path}/vnfd")
        self.assertEqual({"one.yaml"}, set(zip_files(response.content)))

    def single(self) -> bytes:
        """Build a package whose VNFD is one file."""
        vnfd = """\
tosca_definitions_version: tosca_simple_yaml_1_2
description: the only file
topology_template:
  substitution_mappings:
    node_type: tosca.nodes.nfv.VNF
    properties: {flavour_id: simple}
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties:
        flavour_id: simple
        descriptor_id: 5c6bd0c9-0000-0000-0000-000000000001
        provider: a vendor
        product_name: One
        software_version: '1'
        descriptor_version: '1'
"""
        return build_zip({"one.yaml": vnfd.encode()})

    def test_artifacts_byte_by_byte(self) -> None:
        binary = random.Random(1).randbytes(10**6)  # noqa: S311
        files = self.files | {"Files/a b/ü.bin": binary}
        path = self.onboard_content(build_zip(files))
        for name, data in (
            (POD, self.files[POD]),
            (META, self.files[META]),
            ("Files/a b/ü.bin", binary),
            ("Files/../Files/kubernetes/pod.yaml", self.files[POD]),
        ):
            quoted = urllib.parse.quote(name)
            response = self.call("GET", f"{path}/artifacts/{quoted}")
            self.assertEqual(200, response.status, name)
            self.assertEqual("application/octet-stream", response.type)
            self.assertEqual(data, response.content)

    def test_an_unknown_artifact(self) -> None:
        path = f"{self.onboard_content()}/artifacts"
        key = Path(self.vnfm.state_path) / "secrets.key"
        ways = ("../" * n for n in range(8))
        for name in (
            "no",
            "Files",
            "Files/",
            "../package.csar",
            "..%2Fpackage.csar",
            "%2Fetc%2Fpasswd",
            "Files/kubernetes/../../../package.csar",
            *(f"{way}etc/passwd" for way in ways),
            "../../../secrets.key",
            f"%2F{key}",
        ):
            response = self.call("GET", f"{path}/{name}")
            self.assert_problem(404, response, "")
            self.assertNotIn(key.read_bytes(), response.content)
        for name in ("", "/", "/etc/passwd"):
            self.assertEqual(404, self.call("GET", f"{path}{name}").status)

    def test_content_and_artifacts_are_read_only(self) -> None:
        self.onboard_content()
        (name,) = self.list_contents()
        tree = Path(self.vnfm.state_path) / "packages" / name / "tree"
        for file in filter(Path.is_file, tree.rglob("*")):
            self.assertEqual(0o444, file.stat().st_mode & 0o777, str(file))
