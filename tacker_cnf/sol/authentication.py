"""How this service authenticates to a peer (SOL013 8.3.4)."""

import enum
from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec

from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.uri import HttpUri, check_address


class AuthType(enum.StrEnum):
    """SOL013 8.3.4, inner type."""

    BASIC = "BASIC"
    OAUTH2_CLIENT_CREDENTIALS = "OAUTH2_CLIENT_CREDENTIALS"
    OAUTH2_CLIENT_CERT = "OAUTH2_CLIENT_CERT"
    TLS_CERT = "TLS_CERT"


class ParamsBasic(SolType):
    """SOL013 8.3.4, inner type (IETF RFC 7617)."""

    user_name: str
    password: str

    def __post_init__(self) -> None:
        if ":" in self.user_name:
            raise ValueError("userName must not contain a colon")


class ParamsOauth2ClientCredentials(SolType):
    """SOL013 8.3.4, inner type (IETF RFC 6749, 4.4)."""

    client_id: Identifier
    client_password: str
    token_endpoint: HttpUri

    def __post_init__(self) -> None:
        check_address("tokenEndpoint", self.token_endpoint)


class CertificateRef(SolType):
    """SOL013 8.3.4, inner type: the SHA-256 of a certificate, in base64url
    without padding (IETF RFC 7517, 4.9).
    """

    type: Literal["x5t#S256"]
    value: Identifier


class ParamsOauth2ClientCert(SolType):
    """SOL013 8.3.4, inner type (IETF RFC 8705, 2)."""

    client_id: Identifier
    certificate_ref: CertificateRef
    token_endpoint: HttpUri

    def __post_init__(self) -> None:
        check_address("tokenEndpoint", self.token_endpoint)


#: authType -> attribute with its parameters
PARAMS: Final[Mapping[AuthType, str]] = {
    AuthType.BASIC: "params_basic",
    AuthType.OAUTH2_CLIENT_CREDENTIALS: "params_oauth2_client_credentials",
    AuthType.OAUTH2_CLIENT_CERT: "params_oauth2_client_cert",
}


class SubscriptionAuthentication(SolType):
    """SOL013 8.3.4.

    The standard allows parameters to be agreed by other means; here each
    authType requires its parameters.
    """

    auth_type: Annotated[tuple[AuthType, ...], msgspec.Meta(min_length=1)]
    params_basic: ParamsBasic | None = None
    params_oauth2_client_credentials: ParamsOauth2ClientCredentials | None = (
        None
    )
    params_oauth2_client_cert: ParamsOauth2ClientCert | None = None

    def __post_init__(self) -> None:
        names = {
            field.name: field.encode_name
            for field in msgspec.structs.fields(self)
        }
        for auth_type, attribute in PARAMS.items():
            if (
                auth_type in self.auth_type
                and getattr(self, attribute) is None
            ):
                raise ValueError(
                    f"authType {auth_type} requires {names[attribute]}"
                )
