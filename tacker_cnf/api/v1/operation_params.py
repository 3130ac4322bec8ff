"""Convert the request in a VnfLcmOpOcc back to version 1."""

from collections.abc import Mapping
from typing import Any

from tacker_cnf.api.v1.requests import ALL, INCLUDE_STORAGE
from tacker_cnf.sol.v1.conversion import vnfc_id
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType, VnfLcmOpOcc

Json = Mapping[str, Any]


def convert(op_occ: VnfLcmOpOcc) -> dict[str, Any] | None:
    """Return the operationParams of version 1."""
    if op_occ.operation_params is None:
        return None
    params = dict(op_occ.operation_params)
    if vims := params.get("vimConnectionInfo"):
        params["vimConnectionInfo"] = [
            {"id": key, **(vim or {})} for key, vim in vims.items()
        ]
    if links := params.get("extVirtualLinks"):
        params["extVirtualLinks"] = [_link(link) for link in links]
    if op_occ.operation is LcmOperationType.HEAL:
        _convert_heal(params, op_occ.vnf_instance_id)
    return params


def _link(link: Json) -> Json:
    return {**link, "extCps": [_point(point) for point in link["extCps"]]}


def _point(point: Json) -> Json:
    configs = [
        ({} if key == point["cpdId"] else {"cpInstanceId": key})
        | (config or {})
        for key, config in point["cpConfig"].items()
    ]
    return {**point, "cpConfig": configs}


def _convert_heal(params: dict[str, Any], instance_id: str) -> None:
    names = params.get("vnfcInstanceId", ())
    additional = dict(params.get("additionalParams", {}))
    if additional.pop(ALL, None) is False and names:
        additional[INCLUDE_STORAGE] = False
    params.pop("additionalParams", None)
    if names:
        params["vnfcInstanceId"] = [vnfc_id(instance_id, n) for n in names]
    if additional:
        params["additionalParams"] = additional
