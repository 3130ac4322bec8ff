"""Errors of the API server, and the errors that they become."""

import msgspec
import testtools

from tacker_cnf.drivers.kubernetes import api_errors

UNAUTHORIZED = "The credentials of the VIM do not suffice (403): "
FORBIDDEN_TO_ALL = "The cluster refused (403): "
#: message of the API server -> text before it in the error
FORBIDDEN = (
    (
        (
            'pods is forbidden: User "viewer" cannot create resource "pods" in '
            'API group "" in the namespace "one"'
        ),
        UNAUTHORIZED,
    ),
    (
        'forbidden: User "system:anonymous" cannot get path "/api"',
        UNAUTHORIZED,
    ),
    (
        (
            'pods "probe" is forbidden: exceeded quota: q, requested: pods=1, '
            "used: pods=1, limited: pods=1"
        ),
        FORBIDDEN_TO_ALL,
    ),
    (
        (
            'pods "probe" is forbidden: violates PodSecurity "restricted:latest":'
            " allowPrivilegeEscalation != false"
        ),
        FORBIDDEN_TO_ALL,
    ),
    (
        (
            'admission webhook "calm.example" denied the request: pods cannot '
            "come here"
        ),
        FORBIDDEN_TO_ALL,
    ),
)


class TestInvalid(testtools.TestCase):
    def test_an_unknown_field_in_an_apply_is_not_an_outage(self) -> None:
        message = (
            "failed to create typed patch object (/web; apps/v1, "
            "Kind=Deployment): .spec.replicass: field not declared in schema"
        )
        body = msgspec.json.encode({"kind": "Status", "message": message})
        error = api_errors.error_from_status(500, body)
        self.assertIsInstance(error, api_errors.Invalid)
        self.assertIn(message, str(error))

    def test_a_patch_is_left_out_of_the_error(self) -> None:
        why = 'strict decoding error: unknown field "binaryData"'
        refusal = f'Invalid value: "map[data:map[k:c2VjcmV0]]": {why}'
        message = f' "" is invalid: patch: {refusal}'
        body = msgspec.json.encode({"kind": "Status", "message": message})
        error = api_errors.error_from_status(422, body)
        self.assertIsInstance(error, api_errors.Invalid)
        self.assertNotIn("c2VjcmV0", str(error))
        self.assertIn(f"patch: {why}", str(error))

    def test_an_object_is_left_out_of_the_error(self) -> None:
        for value in (
            '"{\\"kind\\":\\"Secret\\",\\"data\\":{\\"k\\":\\"c2VjcmV0\\"}}"',
            '"map[data:map[k:c2VjcmV0] kind:Secret]"',
            '"[{\\"op\\":\\"add\\",\\"value\\":\\"c2VjcmV0\\"}]"',
            '{"k":"c2VjcmV0"}',
            'core.Secret{Data:map[string][]uint8{"k":"c2VjcmV0"}}',
            '"{\\"a\\": Invalid value: \\"c2VjcmV0\\"}"',
        ):
            message = (
                f'Secret "s" is invalid: [data: Invalid value: {value}: '
                "field is immutable when `immutable` is set, type: Invalid "
                'value: "Opaque": field is immutable]'
            )
            body = msgspec.json.encode({"kind": "Status", "message": message})
            error = str(api_errors.error_from_status(422, body))
            self.assertNotIn("c2VjcmV0", error)
            self.assertIn("data: field is immutable", error)
            self.assertIn('type: Invalid value: "Opaque": field', error)

    def test_a_scalar_is_kept_in_the_error(self) -> None:
        message = "spec.replicas: Invalid value: -1: must be 0 or more"
        body = msgspec.json.encode({"kind": "Status", "message": message})
        error = api_errors.error_from_status(422, body)
        self.assertIn(message, str(error))


class TestForbidden(testtools.TestCase):
    def test_unauthorized_users_and_denied_objects(self) -> None:
        for message, text in FORBIDDEN:
            body = msgspec.json.encode({"kind": "Status", "message": message})
            error = api_errors.error_from_status(403, body)
            self.assertIsInstance(error, api_errors.Forbidden)
            self.assertEqual(text + message, str(error))
