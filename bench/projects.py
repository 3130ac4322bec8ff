"""What the isolation of projects costs a request.

Sends each GET in turns as a member of a project, and as an administrator, whose
statements have no filter by project. Both clients are in this process, with the
application of the API and without a server, and the tokens of keystonemiddleware's
fixture; prints the medians of the processor time.

    .venv/bin/python bench/projects.py [--database URL] [--rounds 45]
"""

import argparse
import json
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import cost
import package
from keystonemiddleware import fixture

from tacker_cnf.cmd import compose

CONF = """\
[DEFAULT]
state_path = {folder}
transport_url = fake://
[database]
{connection}
[keystone_authtoken]
auth_type = none
www_authenticate_uri = http://keystone.example
"""
#: the clients, by their tokens
ROLES = {"member": ["member", "reader"], "administrator": ["admin"]}
REQUESTS = 100


class Api:
    """The application, and the statements that it sends."""

    def __init__(self, folder: str, database: str | None) -> None:
        connection = f"connection = {database}" if database else ""
        text = CONF.format(folder=folder, connection=connection)
        parts = cost.open_parts(Path(folder) / "bench.conf", text)
        self.counter = cost.Counter(parts.store.engine, places=False)
        self._app = compose.application(parts)

    def call(
        self, token: str, method: str, path: str, body: Any = None
    ) -> bytes:
        headers = {"X-Auth-Token": token}
        response = cost.send(self._app, method, path, body, **headers)
        return bytes(response.body)

    def make(self, path: str, body: Any) -> Any:
        return json.loads(self.call("member", "POST", path, body))


def make_resources(api: Api) -> dict[str, str]:
    """Create one resource of each kind; return their paths."""
    vnfd_id = str(uuid.uuid4())
    onboarded = f"{cost.PACKAGES}/{api.make(cost.PACKAGES, {})['id']}"
    csar = package.csar(vnfd_id, "bench", 1)
    api.call("member", "PUT", f"{onboarded}/package_content", csar)
    instance = f"{cost.INSTANCES}/{api.make(cost.INSTANCES, {'vnfdId': vnfd_id})['id']}"
    api.call("member", "PATCH", instance, {"vnfInstanceName": "bench"})
    op_occs = "/vnflcm/v2/vnf_lcm_op_occs"
    op_occ = json.loads(api.call("member", "GET", op_occs))[0]["id"]
    return {
        "VNF instance": instance,
        "list of VNF instances": cost.INSTANCES,
        "operation occurrence": f"{op_occs}/{op_occ}",
        "VNF package": onboarded,
    }


def measure(api: Api, token: str, path: str) -> float:
    """Return the processor time of a GET in ms."""
    begin = time.thread_time()
    for _ in range(REQUESTS):
        api.call(token, "GET", path)
    return (time.thread_time() - begin) / REQUESTS * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", help="URL; default: a SQLite file")
    parser.add_argument("--rounds", type=int, default=45)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        fixture.AuthTokenFixture() as tokens,
    ):
        api = Api(folder, arguments.database)
        for token, roles in ROLES.items():
            tokens.add_token_data(
                token, project_id="p", user_id="u", role_list=roles
            )
        paths = make_resources(api)
        print(
            f"{'GET':<24}{'statements':>11}{'ms':>8}{'no filter':>11}  ratio"
        )
        for name, path in paths.items():
            api.call("member", "GET", path)
            api.counter.reset()
            api.call("member", "GET", path)
            statements = api.counter.statements
            times: dict[str, list[float]] = {token: [] for token in ROLES}
            for _ in range(arguments.rounds):
                for token, measured in times.items():
                    measured.append(measure(api, token, path))
            own, free = (statistics.median(times[token]) for token in ROLES)
            print(
                f"{name:<24}{statements:11}{own:8.2f}{free:11.2f}"
                f"  x{own / free:.3f}"
            )


if __name__ == "__main__":
    main()
