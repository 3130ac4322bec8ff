"""What a cluster's refusals are told as."""

import msgspec
import testtools

from tacker_cnf.drivers.kubernetes import refusals

UNAUTHORIZED = "The credentials of the VIM do not suffice (403): "
NOT_FOR_ANYBODY = "The cluster refused (403): "
#: what the cluster says -> what is said before it
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
        NOT_FOR_ANYBODY,
    ),
    (
        (
            'pods "probe" is forbidden: violates PodSecurity "restricted:latest":'
            " allowPrivilegeEscalation != false"
        ),
        NOT_FOR_ANYBODY,
    ),
    (
        (
            'admission webhook "calm.example" denied the request: pods cannot '
            "come here"
        ),
        NOT_FOR_ANYBODY,
    ),
)


class TestForbidden(testtools.TestCase):
    def test_who_may_not_and_what_may_not_be(self) -> None:
        for message, told in FORBIDDEN:
            body = msgspec.json.encode({"message": message})
            error = refusals.of_status(403, body, "Forbidden")
            self.assertIsInstance(error, refusals.Forbidden)
            self.assertEqual(told + message, str(error))
