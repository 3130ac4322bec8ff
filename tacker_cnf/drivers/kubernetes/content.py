"""The content of ConfigMaps and Secrets."""

import base64
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.pod_references import SECRET

#: the fields that have the content
CONTENT_FIELDS: Final = ("data", "binaryData")


def content_of(body: Object) -> dict[str, Object]:
    """Return the content of a ConfigMap or Secret as the API server stores it:
    ``data`` (of a Secret with its stringData) and ``binaryData``.
    """
    found = {
        name: {key: text or "" for key, text in _map(body, name).items()}
        for name in CONTENT_FIELDS
    }
    if body["kind"] == SECRET:
        found["data"] |= {
            name: base64.b64encode(str(text or "").encode()).decode()
            for name, text in _map(body, "stringData").items()
        }
    return found


def is_same_content(first: Object, second: Object) -> bool:
    """Return whether two ConfigMaps or Secrets have the same content; the
    formatting of Base64 is ignored.
    """
    return _decoded(first) == _decoded(second)


def _decoded(body: Object) -> dict[str, Object]:
    found = content_of(body)
    name = "data" if body["kind"] == SECRET else "binaryData"
    found[name] = {key: _bytes(text) for key, text in found[name].items()}
    return found


def _bytes(text: Any) -> Any:
    """Decode Base64; other values are kept, for the cluster to reject."""
    try:
        return base64.b64decode("".join(str(text).split()), validate=True)
    except ValueError:
        return text


def _map(body: Object, name: str) -> Object:
    """Return a field that is a map; {} if it is none, the cluster rejects it."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
