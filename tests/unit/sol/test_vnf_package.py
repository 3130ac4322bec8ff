"""VNF packages, and the requests of clients."""

import datetime as dt
from typing import Any

import msgspec

from tacker_cnf.sol import vnf_package
from tacker_cnf.sol.base import SolType, decode, encode
from tests.unit.sol import base

CHECKSUM = {"algorithm": "SHA-256", "hash": "9f86d081884c7d65"}
IMAGE: dict[str, Any] = {
    "id": "VDU1-image",
    "name": "VDU1-image",
    "provider": "Company",
    "version": "0.5.2",
    "checksum": CHECKSUM,
    "isEncrypted": False,
    "containerFormat": "BARE",
    "diskFormat": "QCOW2",
    "createdAt": "2026-11-20T09:41:02Z",
    "minDisk": 0,
    "minRam": 0,
    "size": 1879048192,
    "userMetadata": {"a": 1},
    "imagePath": "Files/images/cirros-0.5.2-x86_64-disk.img",
}
ARTIFACT: dict[str, Any] = {
    "artifactPath": "Files/kubernetes/deployment.yaml",
    "checksum": CHECKSUM,
    "isEncrypted": False,
    "nonManoArtifactSetId": "set1",
    "artifactClassification": "TESTING",
    "metadata": {"a": 1},
}
CREATED: dict[str, Any] = {
    "id": "2e5e8537-e88c-4b46-9fa2-47a922560694",
    "onboardingState": "CREATED",
    "operationalState": "DISABLED",
    "usageState": "NOT_IN_USE",
}
ONBOARDED: dict[str, Any] = {
    **CREATED,
    "vnfdId": "b1bb0ce7-ebca-4fa7-95ed-4840d7000000",
    "vnfProvider": "Company",
    "vnfProductName": "Sample VNF",
    "vnfSoftwareVersion": "1.0",
    "vnfdVersion": "1.0",
    "compatibleSpecificationVersions": ["3.3.1"],
    "checksum": CHECKSUM,
    "packageSecurityOption": "OPTION_2",
    "signingCertificate": "Files/cert.pem",
    "softwareImages": [IMAGE],
    "additionalArtifacts": [ARTIFACT],
    "onboardingState": "ONBOARDED",
    "operationalState": "ENABLED",
    "usageState": "IN_USE",
    "vnfmInfo": ["Tacker"],
    "userDefinedData": {"key": "value"},
    "_links": {
        "self": {"href": "https://vnfm/vnfpkgm/v1/vnf_packages/1"},
        "vnfd": {"href": "https://vnfm/vnfpkgm/v1/vnf_packages/1/vnfd"},
        "packageContent": {
            "href": "https://vnfm/vnfpkgm/v1/vnf_packages/1/package_content"
        },
    },
}


def without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k != name}


class TestRoundTrips(base.TestCase):
    CASES: tuple[tuple[type[SolType], dict[str, Any]], ...] = (
        (vnf_package.VnfPkgInfo, CREATED),
        (vnf_package.VnfPkgInfo, ONBOARDED),
        (
            vnf_package.VnfPkgInfo,
            {
                **CREATED,
                "onboardingState": "ERROR",
                "onboardingFailureDetails": {
                    "status": 422,
                    "detail": "no TOSCA-Metadata",
                },
            },
        ),
        (vnf_package.CreateVnfPkgInfoRequest, {}),
        (
            vnf_package.CreateVnfPkgInfoRequest,
            {"userDefinedData": {"key": "value"}},
        ),
        (
            vnf_package.VnfPkgInfoModifications,
            {"operationalState": "DISABLED"},
        ),
        (vnf_package.VnfPkgInfoModifications, {"userDefinedData": {}}),
        (
            vnf_package.VnfPkgInfoModifications,
            {"userDefinedData": {"removed": None}},
        ),
        (
            vnf_package.UploadVnfPackageFromUriRequest,
            {
                "addressInformation": "https://example.com/p.zip",
                "userName": "user",
                "password": "secret",
            },
        ),
        (
            vnf_package.UploadVnfPackageFromUriRequest,
            {
                "addressInformation": "https://example.com/p.zip",
                "authType": "OAUTH2_CLIENT_CREDENTIALS",
                "paramsOauth2ClientCredentials": {
                    "clientId": "c",
                    "clientPassword": "p",
                    "tokenEndpoint": "https://example.com/token",
                },
            },
        ),
    )

    def test_round_trips_preserve_json(self) -> None:
        for kind, body in self.CASES:
            with self.subTest(str(body)):
                self.assert_same(kind, body)

    def test_files_outside_of_the_package_have_a_uri(self) -> None:
        uri = "https://example.com/x"
        self.assert_same(
            vnf_package.VnfPackageSoftwareImageInfo,
            {**without(IMAGE, "imagePath"), "imageUri": uri},
        )
        self.assert_same(
            vnf_package.VnfPackageArtifactInfo,
            {**without(ARTIFACT, "artifactPath"), "artifactURI": uri},
        )


class TestRules(base.TestCase):
    ONE_IMAGE = "exactly one of imagePath and imageUri is required"
    ONE_ARTIFACT = "exactly one of artifactPath and artifactURI is required"
    WRONG: tuple[tuple[type[SolType], dict[str, Any], str], ...] = (
        (
            vnf_package.VnfPackageSoftwareImageInfo,
            without(IMAGE, "imagePath"),
            ONE_IMAGE,
        ),
        (
            vnf_package.VnfPackageSoftwareImageInfo,
            {**IMAGE, "imageUri": "https://example.com/x"},
            ONE_IMAGE,
        ),
        (
            vnf_package.VnfPackageSoftwareImageInfo,
            {**IMAGE, "size": -1},
            "Expected `int` >= 0 - at `$.size`",
        ),
        (
            vnf_package.VnfPackageArtifactInfo,
            without(ARTIFACT, "artifactPath"),
            ONE_ARTIFACT,
        ),
        (
            vnf_package.VnfPackageArtifactInfo,
            {**ARTIFACT, "artifactURI": "https://example.com/x"},
            ONE_ARTIFACT,
        ),
        (
            vnf_package.VnfPkgInfoModifications,
            {},
            "operationalState, userDefinedData or both are required",
        ),
        (
            vnf_package.VnfPkgInfoModifications,
            {"operationalState": "enabled"},
            "Invalid enum value 'enabled' - at `$.operationalState`",
        ),
        (
            vnf_package.CreateVnfPkgInfoRequest,
            {"userDefinedData": []},
            "Expected `object`, got `array` - at `$.userDefinedData`",
        ),
    )

    def test_each_rule_has_its_message(self) -> None:
        for kind, body, message in self.WRONG:
            with self.subTest(message):
                self.assert_rejected(kind, body, message)

    def test_image_times_are_in_utc_and_whole_seconds(self) -> None:
        image = decode(
            msgspec.json.encode(IMAGE),
            vnf_package.VnfPackageSoftwareImageInfo,
        )
        rome = dt.timezone(dt.timedelta(hours=1))
        moment = dt.datetime(2026, 11, 20, 10, 41, 2, 7, tzinfo=rome)
        again = msgspec.structs.replace(image, created_at=moment)
        self.assertEqual(image, again)
        self.assertIn(b'"createdAt":"2026-11-20T09:41:02Z"', encode(again))
