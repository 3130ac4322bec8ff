"""The versions of the lifecycle API."""

import enum


class LcmVersion(enum.StrEnum):
    """A major version of the lifecycle API."""

    #: SOL003 v2.6.1
    V1 = "1"
    #: SOL003 v3.3.1
    V2 = "2"

    @property
    def number(self) -> str:
        """The version in headers and in the list of versions."""
        return {self.V1: "1.3.0", self.V2: "2.0.0"}[self]

    @property
    def root(self) -> str:
        """The start of the paths of its resources."""
        return f"/vnflcm/v{self}"
