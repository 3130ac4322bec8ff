"""Operations as the server describes them."""

from typing import Any

from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.op_types import OpOcc

START = "2026-11-25T18:00:00Z"
LATER = "2026-11-25T18:00:02.5Z"


def a_resource(status: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "Deployment",
        "name": "web",
        "vduId": "VDU1",
        "status": status,
        "startTime": START,
        **more,
    }


def a_step(name: str, *resources: Any, **more: Any) -> dict[str, Any]:
    return {
        "step": name,
        "attempt": 1,
        "startTime": START,
        "resources": list(resources),
        **more,
    }


def an_op_occ(state: str, *timeline: Any, **more: Any) -> OpOcc:
    value = {
        "id": "2b1b2db8-020d-4687-b328-31885edaf7c8",
        "operation": "SCALE",
        "operationState": state,
        "vnfInstanceId": "b152ad6d-ad2a-4e3e-a7b6-a1eaf728372c",
        "startTime": START,
        "stateEnteredTime": LATER,
        "timeline": list(timeline),
        **more,
    }
    return convert(value, OpOcc)
