"""The required attributes of each type in the tables of the standard."""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import msgspec
import testtools

from tacker_cnf import sol
from tacker_cnf.sol.base import SolType

COMMON = "id notificationType subscriptionId timeStamp vnfInstanceId _links"
COMMON_OF_PACKAGES = (
    "id notificationType subscriptionId timeStamp vnfPkgId vnfdId _links"
)
REQUIRED = {
    "AddressRange": "minAddress maxAddress",
    "AffectedExtLinkPort": "id changeType extCpInstanceId resourceHandle",
    "AffectedVirtualLink": "id vnfVirtualLinkDescId changeType networkResource",
    "AffectedVirtualStorage": "id virtualStorageDescId changeType"
    " storageResource",
    "AffectedVnfc": "id vduId changeType computeResource",
    "ApiVersion": "version",
    "ApiVersionInformation": "uriPrefix apiVersions",
    "CancelMode": "cancelMode",
    "CertificateRef": "type value",
    "ChangeCurrentVnfPkgRequest": "vnfdId",
    "ChangeExtVnfConnectivityRequest": "extVirtualLinks",
    "Checksum": "algorithm hash",
    "ConstraintResourceRef": "idType resourceId",
    "CpProtocolData": "layerProtocol",
    "CpProtocolInfo": "layerProtocol",
    "CreateVnfPkgInfoRequest": "",
    "ChangeVnfFlavourRequest": "newFlavourId",
    "CreateVnfRequest": "vnfdId",
    "EventsMissed": "lastEventId",
    "ExtLinkPortData": "id resourceHandle",
    "ExtLinkPortInfo": "id resourceHandle",
    "ExtManagedVirtualLinkData": "id vnfVirtualLinkDescId resourceId",
    "ExtManagedVirtualLinkInfo": "id vnfVirtualLinkDescId networkResource",
    "ExtVirtualLinkData": "id resourceId extCps",
    "ExtVirtualLinkInfo": "id resourceHandle currentVnfExtCpData",
    "Grant": "id vnfInstanceId vnfLcmOpOccId _links",
    "GrantInfo": "resourceDefinitionId",
    "GrantLinks": "self vnfLcmOpOcc vnfInstance",
    "GrantRequest": "vnfInstanceId vnfLcmOpOccId vnfdId operation"
    " isAutomaticInvocation _links",
    "GrantRequestLinks": "vnfLcmOpOcc vnfInstance",
    "HealVnfRequest": "",
    "InstantiateVnfRequest": "flavourId",
    "InstantiatedVnfInfo": "flavourId vnfState",
    "IpAddresses": "type",
    "IpAddressesInfo": "type",
    "IpOverEthernetAddressData": "",
    "IpOverEthernetAddressInfo": "",
    "LccnLinks": "vnfInstance subscription",
    "LccnSubscription": "id callbackUri verbosity",
    "LccnSubscriptionLinks": "self",
    "LccnSubscriptionRequest": "callbackUri",
    "LifecycleChangeNotificationsFilter": "",
    "Link": "href",
    "ModificationsTriggeredByVnfPkgChange": "",
    "MonitoringParameter": "id performanceMetric",
    "NetAttDefResourceData": "netAttDefResourceId resourceHandle",
    "Notification": COMMON,
    "PackageNotification": COMMON_OF_PACKAGES,
    "ParamsBasic": "userName password",
    "ParamsOauth2ClientCert": "clientId certificateRef tokenEndpoint",
    "ParamsOauth2ClientCredentials": "clientId clientPassword tokenEndpoint",
    "PkgmLinks": "vnfPackage subscription",
    "PkgmNotificationsFilter": "",
    "PkgmSubscription": "id callbackUri",
    "PkgmSubscriptionLinks": "self",
    "PkgmSubscriptionRequest": "callbackUri",
    "PlacementConstraint": "affinityOrAntiAffinity scope resource",
    "OperateVnfRequest": "changeStateTo",
    "OperationProgress": "vnfInstanceId vnfLcmOpOccId operation"
    " operationState",
    "ProblemDetails": "status detail",
    "ResourceChanges": "",
    "ResourceDefinition": "id type resourceTemplateId",
    "ResourceHandle": "resourceId",
    "ScaleInfo": "aspectId scaleLevel",
    "ScaleVnfRequest": "type aspectId",
    "ScaleVnfToLevelRequest": "",
    "SnapshotResourceDefinition": "vnfSnapshotId",
    "SubscriptionAuthentication": "authType",
    "TerminateVnfRequest": "terminationType",
    "TimelineResource": "kind name status startTime",
    "TimelineStep": "step attempt startTime",
    "UploadVnfPackageFromUriRequest": "addressInformation",
    "Version": "vnfSoftwareVersion",
    "VimAssets": "",
    "VimComputeResourceFlavour": "vnfdVirtualComputeDescId vimFlavourId",
    "VimConnectionInfo": "",
    "VimConnectionInfoModification": "",
    "VimConstraint": "resource",
    "VimSnapshotResource": "vnfSnapshotId vnfcSnapshotId vimSnapshotResourceId",
    "VimSoftwareImage": "vnfdSoftwareImageId vimSoftwareImageId",
    "VirtualStorageResourceInfo": "id virtualStorageDescId storageResource",
    "VnfExtCpConfig": "",
    "VnfExtCpData": "cpdId cpConfig",
    "VnfExtCpInfo": "id cpdId cpConfigId cpProtocolInfo",
    "VnfIdentifierCreationNotification": COMMON,
    "VnfIdentifierDeletionNotification": COMMON,
    "VnfInfoModificationRequest": "",
    "VnfInfoModifications": "",
    "VnfInstance": "id vnfdId vnfProvider vnfProductName vnfSoftwareVersion"
    " vnfdVersion instantiationState",
    "VnfInstanceLinks": "self",
    "VnfInstanceSubscriptionFilter": "",
    "VnfLcmOpOcc": "id operationState stateEnteredTime startTime vnfInstanceId"
    " operation isAutomaticInvocation isCancelPending",
    "VnfLcmOpOccLinks": "self vnfInstance",
    "VnfLcmOperationOccurrenceNotification": COMMON
    + " notificationStatus operationState operation"
    " isAutomaticInvocation verbosity vnfLcmOpOccId",
    "VnfLinkPortData": "vnfLinkPortId resourceHandle",
    "VnfLinkPortInfo": "id resourceHandle",
    "VnfPackageArtifactInfo": "checksum isEncrypted",
    "VnfPackageChangeNotification": f"{COMMON_OF_PACKAGES} changeType",
    "VnfPackageOnboardingNotification": COMMON_OF_PACKAGES,
    "VnfPackageSoftwareImageInfo": "id name provider version checksum"
    " isEncrypted containerFormat diskFormat createdAt minDisk minRam size",
    "VnfPkgInfo": "id onboardingState operationalState usageState",
    "VnfPkgInfoLinks": "self packageContent",
    "VnfPkgInfoModifications": "",
    "VnfProduct": "vnfProductName",
    "VnfProductsFromProvider": "vnfProvider",
    "VnfVirtualLinkResourceInfo": "id vnfVirtualLinkDescId networkResource",
    "VnfcCpInfo": "id cpdId",
    "VnfcInfo": "id vduId vnfcState",
    "VnfcInfoModifications": "id vnfcConfigurableProperties",
    "VnfcResourceInfo": "id vduId computeResource",
    "ZoneGroupInfo": "zoneId",
    "ZoneInfo": "id zoneId",
}
OURS = {
    "EventsMissed",
    "OperationProgress",
    "TimelineResource",
    "TimelineStep",
    "VimConnectionInfoModification",
}


def types_of_the_package() -> Iterator[type[SolType]]:
    for module in pkgutil.iter_modules(sol.__path__, "tacker_cnf.sol."):
        members = vars(importlib.import_module(module.name)).values()
        for kind in members:
            if (
                isinstance(kind, type)
                and issubclass(kind, SolType)
                and kind.__module__ == module.name
                and kind is not SolType
            ):
                yield kind


class TestEveryType(testtools.TestCase):
    def test_required_attributes_are_those_of_the_standard(self) -> None:
        required = {
            kind.__name__: {
                field.encode_name
                for field in msgspec.structs.fields(kind)
                if field.required
            }
            for kind in types_of_the_package()
        }
        wanted = {name: set(text.split()) for name, text in REQUIRED.items()}
        self.assertEqual(wanted, required)

    def test_the_docstring_has_the_clause(self) -> None:
        for kind in types_of_the_package():
            if kind.__name__ not in OURS:
                with self.subTest(kind.__name__):
                    self.assertTrue(
                        re.match(r"SOL0\d\d (v4|\d+\.\d)", kind.__doc__ or "")
                    )

    def test_links_are_named_as_in_hal(self) -> None:
        for kind in types_of_the_package():
            names = {
                field.name: field.encode_name
                for field in msgspec.structs.fields(kind)
            }
            with self.subTest(kind.__name__):
                self.assertEqual("_links", names.get("links", "_links"))
                self.assertEqual("self", names.get("self_", "self"))
