"""Validation of manifests before a running VNF is changed.

A cluster rejects a malformed manifest only when it is sent; by then, other
objects have been changed. Only the fields that this driver reads are checked:
workloads, and the ConfigMaps and Secrets that pods refer to.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes.manifests import (
    POD_TEMPLATE_KINDS,
    VDU_KINDS,
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.pod_references import CONFIG_MAP, SECRET

#: API groups of the Kubernetes kinds that are checked
_GROUPS: Final = frozenset({"", "apps", "batch", "extensions"})


class _Schema(msgspec.Struct, rename="camel"):
    """Part of an object; other fields may have any value."""


class _NameRef(_Schema):
    name: str | None = None


class _SecretNameRef(_Schema):
    secret_name: str | None = None


class _SecretRef(_Schema):
    secret_ref: _NameRef | None = None


class _Csi(_Schema):
    node_publish_secret_ref: _NameRef | None = None


class _Source(_Schema):
    config_map: _NameRef | None = None
    secret: _NameRef | None = None


class _Projected(_Schema):
    sources: list[_Source] | None = None


class _Volume(_Schema):
    name: str
    config_map: _NameRef | None = None
    secret: _SecretNameRef | None = None
    projected: _Projected | None = None
    azure_file: _SecretNameRef | None = None
    cephfs: _SecretRef | None = None
    cinder: _SecretRef | None = None
    csi: _Csi | None = None
    flex_volume: _SecretRef | None = None
    iscsi: _SecretRef | None = None
    rbd: _SecretRef | None = None
    scale_io: _SecretRef | None = msgspec.field(name="scaleIO", default=None)
    storageos: _SecretRef | None = None


class _EnvFrom(_Schema):
    config_map_ref: _NameRef | None = None
    secret_ref: _NameRef | None = None


class _ValueFrom(_Schema):
    config_map_key_ref: _NameRef | None = None
    secret_key_ref: _NameRef | None = None


class _Env(_Schema):
    name: str
    value_from: _ValueFrom | None = None


class _Mount(_Schema):
    name: str


class _Container(_Schema):
    name: str
    image: str | None = None
    env: list[_Env] | None = None
    env_from: list[_EnvFrom] | None = None
    volume_mounts: list[_Mount] | None = None


class _PodSpec(_Schema):
    containers: Annotated[list[_Container], msgspec.Meta(min_length=1)]
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    image_pull_secrets: list[_NameRef] | None = None
    service_account_name: str | None = None


class _Metadata(_Schema):
    annotations: dict[str, str | None] | None = None


class _Object(_Schema):
    metadata: _Metadata


class _Pod(_Object):
    spec: _PodSpec


class _Template(_Schema):
    spec: _PodSpec
    metadata: _Metadata | None = None


class _WorkloadSpec(_Schema):
    template: _Template


class _Workload(_Object):
    spec: _WorkloadSpec


class _JobTemplate(_Schema):
    spec: _WorkloadSpec


class _CronJobSpec(_Schema):
    job_template: _JobTemplate


class _CronJob(_Object):
    spec: _CronJobSpec


class _Config(_Object):
    data: dict[str, str | None] | None = None
    binary_data: dict[str, str | None] | None = None
    string_data: dict[str, str | None] | None = None
    immutable: bool | None = None


_SCHEMAS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(VDU_KINDS | POD_TEMPLATE_KINDS, _Workload),
    "Pod": _Pod,
    "CronJob": _CronJob,
    CONFIG_MAP: _Config,
    SECRET: _Config,
}


def check(*all_rendered: Rendered) -> None:
    """Check the workloads, ConfigMaps and Secrets among some manifests.

    :raises InvalidParameters: a field is missing or malformed; names the path
    """
    for rendered in all_rendered:
        for manifest in rendered.objects:
            _check(manifest)


def _check(manifest: Manifest) -> None:
    schema = _SCHEMAS.get(manifest.kind)
    group, kind, _ = manifest.key
    # a custom kind named like a VDU kind is treated as a workload
    if schema is None or (group not in _GROUPS and kind not in VDU_KINDS):
        return
    try:
        msgspec.convert(manifest.body, schema)
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(
            f"The manifest {manifest.file}: {manifest}: {error}."
        ) from None
