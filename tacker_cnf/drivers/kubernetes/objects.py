"""The type of Kubernetes objects."""

from typing import Any

#: A Kubernetes object as JSON, or a part of one: ``apiVersion``, ``kind``,
#: ``metadata`` (``name``, ``namespace``, ``labels``, ...), and by its kind
#: ``spec``, ``status``, ``data`` or others.
Object = dict[str, Any]
