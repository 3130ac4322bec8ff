"""Decide which names in free-form attributes are shown.

An allow-list: the value of any other name does not leave the service.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tacker_cnf.vnfd.identity import STANDARD_PROPERTIES
from tacker_cnf.vnfd.model import PublicNames

#: stands for a value that is not shown
HIDDEN: Final = "***"

#: names of free-form attributes in the JSON of SOL003
ADDITIONAL_PARAMS: Final = "additionalParams"
EXTENSIONS: Final = "extensions"
VNF_PROPERTIES: Final = "vnfConfigurableProperties"
VNFC_PROPERTIES: Final = "vnfcConfigurableProperties"
METADATA: Final = "metadata"
SCRIPT_DATA: Final = "userScriptErrHandlingData"
#: the metadata of instantiatedVnfInfo, which drivers and scripts set
INFO_METADATA: Final = "instantiatedVnfInfo.metadata"
FREE_FORM: Final = frozenset(
    {
        ADDITIONAL_PARAMS,
        EXTENSIONS,
        VNF_PROPERTIES,
        VNFC_PROPERTIES,
        METADATA,
        SCRIPT_DATA,
    }
)

#: the additionalParams that the drivers of this service read, and the metadata
#: of instantiatedVnfInfo that the service sets, if their types leave no room
#: for secrets: neither vdu_params, nfv nor vdu_reses
DRIVER_NAMES: Final = frozenset(
    {
        "all",
        "lcm-kubernetes-def-files",
        "lcm-operation-coordinate-new-vnf",
        "lcm-operation-coordinate-old-vnf",
        "lcm-operation-user-data",
        "lcm-operation-user-data-class",
        "namespace",
        "object_kinds",
        "stack_id",
        "stack_name",
        "stopped_counts",
        "tenant",
        "unmatched_counts",
        "upgrade_type",
        "vdu_mapping",
        "vim_connections",
    }
)

#: attributes of a VIM connection -> their names that are shown, without case
#: and separators
VIM_NAMES: Final[Mapping[str, frozenset[str]]] = {
    "accessInfo": frozenset(
        {
            "username",
            "userid",
            "userdomain",
            "userdomainname",
            "userdomainid",
            "project",
            "projectname",
            "projectid",
            "projectdomain",
            "projectdomainname",
            "projectdomainid",
            "tenant",
            "domain",
            "region",
            "namespace",
            "sslcacert",
            "clientcert",
            "certverify",
        }
    ),
    "interfaceInfo": frozenset(
        {
            "endpoint",
            "sslcacert",
            "skipcertificatehostnamecheck",
            "skipcertificateverification",
            "trustedcertificates",
        }
    ),
    "extra": frozenset({"namespace", "policy", "region", "tenant"}),
    "vimProject": frozenset(
        {"id", "name", "projectdomainname", "projectdomainid"}
    ),
}
_SEPARATORS: Final = re.compile(r"[-_. ]")


def is_shown_of_vim(attribute: str, name: str) -> bool:
    """Check whether a name in an attribute of a VIM connection is shown."""
    return _SEPARATORS.sub("", name.lower()) in VIM_NAMES[attribute]


def is_credential(name: str) -> bool:
    """Check whether a name in an accessInfo is that of a credential."""
    return not is_shown_of_vim("accessInfo", name)


class ShownNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names in the free-form attributes of a VNF that are shown."""

    vnfd: PublicNames = PublicNames()
    #: [secrets] public_names
    operator: frozenset[str] = frozenset()

    def shows(self, attribute: str, name: str) -> bool:
        """Check whether a name in a free-form attribute is shown.

        Clients set metadata for clients: the VNF does not read them (SOL003
        5.5.2.2). They are shown unless the VNFD marks them.
        """
        if attribute == METADATA:
            return name not in self.vnfd.sensitive_metadata
        return name in self.operator or self._declares(attribute, name)

    def _declares(self, attribute: str, name: str) -> bool:
        declared = self.vnfd
        if attribute == EXTENSIONS:
            return name in declared.extensions
        if attribute in {VNF_PROPERTIES, VNFC_PROPERTIES}:
            standard = STANDARD_PROPERTIES.values()
            return name in declared.properties or name in standard
        return name in DRIVER_NAMES or name in declared.parameters


#: those of a VNF of which nothing is known
DEFAULT: Final = ShownNames()
