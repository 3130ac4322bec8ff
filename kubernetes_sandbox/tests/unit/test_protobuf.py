"""Decoding of the bodies that kubectl v1.36.2 was recorded to send."""

import base64

import testtools

from kubernetes_sandbox import protobuf
from kubernetes_sandbox.errors import ApiError

#: kubectl create deployment web --image=nginx --replicas=2
_DEPLOYMENT = base64.b64decode(
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErYBCioKA3dlYhIAGgtyZWMta3Vi"
    "ZWN0bCIAKgAyADgAQgBaCgoDYXBwEgN3ZWISeggCEgwKCgoDYXBwEgN3ZWIaYAoc"
    "CgASABoAIgAqADIAOABCAFoKCgNhcHASA3dlYhJAEiIKBW5naW54EgVuZ2lueCoA"
    "QgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACIC"
    "CgAoADgAGgwIABAAGAAgACgAOAAaACIA"
)
#: kubectl create quota q --hard=pods=20,count/configmaps=20
_QUOTA = base64.b64decode(
    "azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRJKChwKAXESABoLcmVjLWt1YmVjdGwi"
    "ACoAMgA4AEIAEigKGAoQY291bnQvY29uZmlnbWFwcxIECgIyMAoMCgRwb2RzEgQK"
    "AjIwGgAaACIA"
)


def _message(*fields: tuple[int, bytes]) -> bytes:
    """Encode a message of short byte fields."""
    return b"".join(
        bytes([number << 3 | 2, len(value)]) + value
        for number, value in fields
    )


def _envelope(kind: str, content: bytes) -> bytes:
    head = _message((1, b"v1"), (2, kind.encode()))
    return b"k8s\x00" + _message((1, head), (2, content))


class TestDecode(testtools.TestCase):
    def test_recorded_deployment(self) -> None:
        labels = {"app": "web"}
        container = {"name": "nginx", "image": "nginx"}
        self.assertEqual(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {
                    "name": "web",
                    "namespace": "rec-kubectl",
                    "labels": labels,
                },
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [container]},
                    },
                },
            },
            protobuf.decode(_DEPLOYMENT),
        )

    def test_recorded_quota(self) -> None:
        hard = {"count/configmaps": "20", "pods": "20"}
        found = protobuf.decode(_QUOTA)
        self.assertEqual({"hard": hard}, found["spec"])

    def test_a_pointer_to_an_empty_value_is_kept(self) -> None:
        volume = _message((1, b"scratch"), (2, _message((2, b""))))
        pod = _message((2, _message((1, volume))))
        found = protobuf.decode(_envelope("Pod", pod))
        wanted = {"name": "scratch", "emptyDir": {}}
        self.assertEqual([wanted], found["spec"]["volumes"])

    def test_what_cannot_be_decoded_is_refused(self) -> None:
        for body in (
            b"",
            b"{}",
            _envelope("Gadget", b""),
            _envelope("ConfigMap", b"\x0a\x7f"),
            _envelope("ConfigMap", _message((15, b"x"))),
        ):
            error = self.assertRaises(ApiError, protobuf.decode, body)
            self.assertEqual(415, error.code)
        self.assertIn("field 15 of ConfigMap", error.message)
