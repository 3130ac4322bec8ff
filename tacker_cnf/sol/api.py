"""The APIs of this service that have versions and subscriptions."""

import enum
from typing import Final


class Api(enum.StrEnum):
    """A major version of an API."""

    #: lifecycle management, SOL003 v2.6.1
    LCM_V1 = "1"
    #: lifecycle management, SOL003 v3.3.1
    LCM_V2 = "2"
    #: VNF packages, SOL003 and SOL005 v2.6.1
    PACKAGES_V1 = "vnfpkgm"
    #: VNF packages, SOL003 and SOL005 v3.3.1
    PACKAGES_V2 = "vnfpkgm2"

    @property
    def prefix(self) -> str:
        """The start of its paths in all major versions."""
        return _PREFIXES[self]

    @property
    def number(self) -> str:
        """The version in headers and in the list of versions."""
        return _NUMBERS[self]

    @property
    def root(self) -> str:
        """The start of the paths of its resources."""
        return f"{self.prefix}/v{self.number[0]}"


_PREFIXES: Final = {
    Api.LCM_V1: "/vnflcm",
    Api.LCM_V2: "/vnflcm",
    Api.PACKAGES_V1: "/vnfpkgm",
    Api.PACKAGES_V2: "/vnfpkgm",
}
#: Those of packages are in ETSI's OpenAPI documents of SOL003 v3.3.1 (2.1.0);
#: that of v2.6.1 (1.2.0) is not compared with the text of the standard.
_NUMBERS: Final = {
    Api.LCM_V1: "1.3.0",
    Api.LCM_V2: "2.0.0",
    Api.PACKAGES_V1: "1.2.0",
    Api.PACKAGES_V2: "2.1.0",
}
