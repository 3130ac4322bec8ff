import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.api_errors import Conflict, NotFound
from tacker_cnf.drivers.openstack.openstack_connection import Connection
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.sol.common import VimConnectionInfo
from tests.unit.drivers.openstack import stack_resources

PASSWORD = {
    "username": "nfv",
    "password": "s3cret",
    "project": "vnfs",
    "userDomain": "Default",
    "projectDomain": "Default",
    "region": "RegionOne",
}
APPLICATION = {
    "applicationCredentialId": "an-id",
    "applicationCredentialSecret": "s3cret",
}


def an_info(access: object, **interface: object) -> VimConnectionInfo:
    return VimConnectionInfo(
        vim_type="openstack",
        interface_info={"endpoint": "https://keystone.example/v3"} | interface,
        access_info=access,  # type: ignore[arg-type]
    )


class TestConnection(testtools.TestCase):
    def test_a_password(self) -> None:
        connection = Connection.from_info(an_info(PASSWORD))
        self.assertEqual("RegionOne", connection.region)
        self.assertEqual("vnfs", connection.credentials()["project_name"])
        self.assertFalse(connection.uses_application_credential)

    def test_an_application_credential(self) -> None:
        connection = Connection.from_info(an_info(APPLICATION))
        self.assertTrue(connection.uses_application_credential)
        self.assertEqual(
            {
                "application_credential_id": "an-id",
                "application_credential_secret": "s3cret",
            },
            connection.credentials(),
        )

    def test_a_missing_attribute_is_named(self) -> None:
        less = {k: v for k, v in PASSWORD.items() if k != "userDomain"}
        error = self.assertRaises(
            errors.InvalidVimConnection, Connection.from_info, an_info(less)
        )
        self.assertIn("userDomain is required", str(error))
        self.assertNotIn("s3cret", str(error))

    def test_an_endpoint_is_a_url(self) -> None:
        error = self.assertRaises(
            errors.InvalidVimConnection,
            Connection.from_info,
            an_info(PASSWORD, endpoint="keystone"),
        )
        self.assertIn("interfaceInfo.endpoint", str(error))

    def test_tls_is_verified_unless_disabled(self) -> None:
        plain = Connection.from_info(an_info(PASSWORD)).ssl_context()
        self.assertTrue(plain.check_hostname)
        open_ = an_info(PASSWORD, skipCertificateVerification=True)
        self.assertFalse(
            Connection.from_info(open_).ssl_context().check_hostname
        )

    def test_a_ca_certificate_that_is_not_pem_is_an_error(self) -> None:
        connection = Connection.from_info(
            an_info(PASSWORD, ssl_ca_cert="none")
        )
        self.assertRaises(errors.InvalidVimConnection, connection.ssl_context)


class TestErrorResponses(testtools.TestCase):
    def test_the_message_of_heat_is_quoted(self) -> None:
        body = b'{"error": {"message": "The Stack (x) already exists."}}'
        error = api_errors.heat_error(409, body)
        self.assertIsInstance(error, Conflict)
        self.assertEqual(
            "Heat answered 409: The Stack (x) already exists.", str(error)
        )

    def test_the_explanation_of_heat_without_a_message(self) -> None:
        body = (
            b'{"explanation": "The server has erred.",'
            b' "error": {"type": "RemoteError"}}'
        )
        self.assertEqual(
            "Heat answered 500: The server has erred. (RemoteError)",
            str(api_errors.heat_error(500, body)),
        )

    def test_the_status_selects_the_error(self) -> None:
        for status, kind in (
            (400, errors.VimRejected),
            (403, errors.VimRejected),
            (404, NotFound),
            (500, errors.VimUnavailable),
            (503, errors.VimUnavailable),
        ):
            self.assertIs(kind, type(api_errors.heat_error(status, b"x")))

    def test_an_html_error_of_a_proxy_is_shortened(self) -> None:
        page = b"<html>" + b"x" * 5000
        self.assertLess(len(str(api_errors.heat_error(502, page))), 600)

    def test_errors_of_keystone(self) -> None:
        wrong = api_errors.keystone_error(401, "Unauthorized")
        self.assertIsInstance(wrong, errors.VimRejected)
        self.assertIn("credentials", str(wrong))
        self.assertIsInstance(
            api_errors.keystone_error(503, "busy"), errors.VimUnavailable
        )


class TestStack(testtools.TestCase):
    def test_nfv_is_decoded_from_json(self) -> None:
        self.assertEqual(
            {"VDU": {"a": 1}}, stack_resources.a_stack(VDU={"a": 1}).nfv
        )

    def test_nfv_that_is_not_a_dictionary_is_empty(self) -> None:
        for text in ("", "no json", "[1]"):
            stack = Stack(
                id="1", name="n", status="X", parameters={"nfv": text}
            )
            self.assertEqual({}, stack.nfv)

    def test_status_is_parsed(self) -> None:
        for status, action, busy, failed in (
            ("CREATE_IN_PROGRESS", "CREATE", True, False),
            ("UPDATE_COMPLETE", "UPDATE", False, False),
            ("DELETE_FAILED", "DELETE", False, True),
        ):
            stack = Stack(id="1", name="n", status=status)
            self.assertEqual(
                (action, busy, failed),
                (stack.action, stack.is_busy, stack.has_failed),
            )
