"""What a request and an operation cost: database requests and processor time.

API and conductor are in this process, without a server; the cluster is that of
the sandbox, a process of its own. Prints a table of the statements and of the
processor time of this process, of both the share of the conductor, and of the
transactions (each is a BEGIN and a COMMIT or ROLLBACK more): medians of several
rounds after one that is not counted. --places adds the functions that send the
statements, and --idle what a conductor sends without work.

    .venv/bin/python bench/cost.py [--database URL] [--queue URL] [--rounds 20]
"""

import argparse
import collections
import contextlib
import inspect
import json
import statistics
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lcm
import package
import sqlalchemy as sa
import webob

from tacker_cnf import conf as configuration
from tacker_cnf import rpc
from tacker_cnf.cmd import compose
from tacker_cnf.cmd.compose import Parts
from tacker_cnf.db import keys, schema

CONF = """\
[DEFAULT]
state_path = {folder}
transport_url = {queue}
default_log_levels = tacker_cnf=ERROR
[database]
{connection}
[api]
auth_strategy = noauth
[vims]
allow_loopback = true
[conductor]
sync_interval = 0
[quotas]
vnf_instances = -1
operations = -1
"""
PACKAGES = "/vnfpkgm/v1/vnf_packages"
INSTANCES = "/vnflcm/v2/vnf_instances"
OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
PARAMETERS = {
    "lcm-kubernetes-def-files": [package.DEF_FILE],
    "namespace": "default",
}
#: seconds for what follows an operation, such as a wake-up of others
REST_S = 0.2
SRC = str(Path(rpc.__file__).parent)


class Counter:
    """Counts what an engine sends; the main thread is the API, and all others
    are the conductor.
    """

    def __init__(self, engine: sa.Engine, *, places: bool) -> None:
        self._lock = threading.Lock()
        self._places = places
        self.reset()
        sa.event.listen(engine, "before_cursor_execute", self._statement)
        for end in ("commit", "rollback"):
            sa.event.listen(engine, end, self._end)

    def reset(self) -> None:
        self.statements = self.of_api = self.transactions = 0
        self.places = collections.Counter[str]()
        self._begin = time.process_time(), time.thread_time()
        self._left_out = 0.0

    @contextlib.contextmanager
    def leave_out(self) -> Iterator[None]:
        """Leave out the processor time of the main thread."""
        begin = time.thread_time()
        yield
        self._left_out += time.thread_time() - begin

    def cpu_ms(self) -> tuple[float, float]:
        """Return the processor time, and the share of the conductor."""
        process = time.process_time() - self._begin[0]
        main = time.thread_time() - self._begin[1]
        of_conductor = max(process - main, 0.0)  # two clocks
        return (process - self._left_out) * 1000, of_conductor * 1000

    def _statement(self, *_: Any) -> None:
        place = _place() if self._places else ""
        is_of_api = threading.current_thread() is threading.main_thread()
        with self._lock:
            self.statements += 1
            self.of_api += is_of_api
            self.places[place] += 1

    def _end(self, connection: sa.Connection) -> None:
        if not connection.get_execution_options().get("reader"):
            with self._lock:
                self.transactions += 1


def _place() -> str:
    """Return the function outside of db that sends a statement, and the one
    of db that it calls.
    """
    frame, inner = inspect.currentframe(), ""
    while frame:
        file = frame.f_code.co_filename
        if file.startswith(SRC) and "/db/session.py" not in file:
            name = f"{file[len(SRC) + 1 : -3]}.{frame.f_code.co_name}"
            if not name.startswith("db/"):
                return f"{name} ({inner})"
            inner = inner or name
        frame = frame.f_back
    return inner


def open_parts(path: Path, text: str) -> Parts:
    """Build the components of a configuration, on a new database.

    :param path: where to write the configuration
    """
    path.write_text(text)
    conf = configuration.load([f"--config-file={path}"])
    keys.create(keys.key_file_path(conf))
    parts = compose.parts(conf)
    schema.upgrade(parts.store)
    return parts


def send(
    app: Any, method: str, path: str, body: Any = None, **headers: str
) -> webob.Response:
    """Send a request to an application in this process."""
    request = webob.Request.blank(path, method=method)
    request.headers.update({"Version": "2.0.0", **headers})
    if body is not None:
        is_zip = isinstance(body, bytes)
        request.body = body if is_zip else json.dumps(body).encode()
        request.content_type = f"application/{'zip' if is_zip else 'json'}"
    response = request.get_response(app)
    if response.status_int >= 300:
        raise SystemExit(f"{method} {path}: {response.text}")
    return response


class Service:
    """The API and a conductor."""

    def __init__(
        self, folder: str, database: str, queue: str, *, places: bool = False
    ) -> None:
        connection = f"connection = {database}" if database else ""
        text = CONF.format(folder=folder, connection=connection, queue=queue)
        self.conf_file = Path(folder) / "bench.conf"
        self.parts = open_parts(self.conf_file, text)
        engine = self.parts.store.engine
        self.counter = Counter(engine, places=places)
        #: another one, which is not counted
        self._observer = sa.create_engine(engine.url)
        self._app = compose.application(self.parts)
        self.conductor = compose.conductor(self.parts)
        self.conductor.start(self.parts.transport)

    def call(self, method: str, path: str, body: Any = None) -> webob.Response:
        return send(self._app, method, path, body)

    def onboard(self) -> tuple[str, str]:
        """Onboard a package; return its path, and its VNFD."""
        vnfd_id = str(uuid.uuid4())
        path = f"{PACKAGES}/{self.call('POST', PACKAGES, {}).json['id']}"
        csar = package.csar(vnfd_id, "bench", 1)
        self.call("PUT", f"{path}/package_content", csar)
        return path, vnfd_id

    def operate(self, path: str, body: Any) -> None:
        """Run an operation; look for its end without a request, whose time is
        not counted.
        """
        response = self.call("POST", path, body)
        with self.counter.leave_out():
            self._wait(path, response)
        time.sleep(REST_S)

    def _wait(self, path: str, response: webob.Response) -> None:
        op_occ = response.headers["Location"].rpartition("/")[2]
        query = sa.text(
            "SELECT operation_state FROM vnf_lcm_op_occs WHERE id = :id"
        )
        with self._observer.connect() as connection:
            while True:
                state = connection.scalar(query, {"id": op_occ})
                connection.rollback()
                if state == "COMPLETED":
                    break
                if state not in lcm.ACTIVE:
                    raise SystemExit(f"{path}: {state}")
                time.sleep(0.02)


@contextlib.contextmanager
def running(
    database: str, queue: str, *, places: bool = False
) -> Iterator[Service]:
    """Start the service, and a cluster that is its default VIM."""
    with (
        tempfile.TemporaryDirectory() as folder,
        lcm.cluster(Path(folder)) as cluster,
    ):
        service = Service(folder, database, queue, places=places)
        vim = lcm.kubeconfig.vim(lcm.kubeconfig.read(cluster), cluster.parent)
        service.call("POST", "/v1.0/vims", lcm.vim_body(vim))
        yield service
        service.conductor.stop()


def instance_of(service: Service, vnfd_id: str) -> str:
    made = service.call("POST", INSTANCES, {"vnfdId": vnfd_id}).json
    return f"{INSTANCES}/{made['id']}"


def operations(
    service: Service, vnfd_id: str
) -> Mapping[str, Callable[[], None]]:
    """Return the operations of one VNF, in their order."""
    path = instance_of(service, vnfd_id)
    scale = {"aspectId": "pods", "numberOfSteps": 1}

    def heal_one() -> None:
        info = service.call("GET", path).json["instantiatedVnfInfo"]
        vnfc = info["vnfcInfo"][0]["id"]
        service.counter.reset()
        service.operate(f"{path}/heal", {"vnfcInstanceId": [vnfc]})

    def run(task: str, body: Any) -> Callable[[], None]:
        return lambda: service.operate(f"{path}/{task}", body)

    return {
        "instantiate": run(
            "instantiate",
            {"flavourId": "simple", "additionalParams": PARAMETERS},
        ),
        "scale out": run("scale", {"type": "SCALE_OUT", **scale}),
        "scale in": run("scale", {"type": "SCALE_IN", **scale}),
        "heal one VNFC": heal_one,
        "heal the whole": run("heal", {}),
        "terminate": run("terminate", {"terminationType": "FORCEFUL"}),
    }


def requests(
    service: Service, vnfd_id: str, package_path: str
) -> Mapping[str, Callable[[], Any]]:
    """Return the requests."""
    path = instance_of(service, vnfd_id)
    (op_occ, *_) = service.call("GET", OP_OCCS).json
    op_occ_path = f"{OP_OCCS}/{op_occ['id']}"
    return {
        "GET VNF instance": lambda: service.call("GET", path),
        "GET page of 100": lambda: service.call("GET", INSTANCES),
        "GET operation": lambda: service.call("GET", op_occ_path),
        "GET VNF package": lambda: service.call("GET", package_path),
        "POST create": lambda: instance_of(service, vnfd_id),
    }


class Cost(NamedTuple):
    """What one call costs."""

    statements: float
    of_conductor: float
    transactions: float
    cpu_ms: float
    cpu_ms_of_conductor: float
    wall_ms: float


def measure(counter: Counter, act: Callable[[], Any]) -> Cost:
    """Return the cost of a call; the counter has its places."""
    counter.reset()
    begin = time.perf_counter()
    act()
    return Cost(
        counter.statements,
        counter.statements - counter.of_api,
        counter.transactions,
        *counter.cpu_ms(),
        (time.perf_counter() - begin) * 1000,
    )


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def memory() -> float:
    """Return the memory of this process, in MiB."""
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmRSS:") + 1]) / 1024


def report(
    name: str, costs: Sequence[Cost], places: collections.Counter[str]
) -> None:
    """Print the medians of several calls, and the places of one."""
    cost = median(costs)
    print(f"{name:20}{cost.statements:11.0f}{cost.of_conductor:10.0f}", end="")
    print(f"{cost.transactions:13.0f}", end="")
    print(f"{cost.cpu_ms:8.2f}{cost.cpu_ms_of_conductor:10.2f}")
    for place, count in places.most_common():
        if place:
            print(f"    {count:4} {place}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", default="", help="default: SQLite")
    parser.add_argument("--queue", default=rpc.EMBEDDED, help="URL")
    parser.add_argument("--rounds", type=int, default=20, help="default: 20")
    parser.add_argument(
        "--places", action="store_true", help="print what sends the statements"
    )
    parser.add_argument(
        "--idle", type=float, metavar="SECONDS", help="of a conductor, too"
    )
    arguments = parser.parse_args()
    with running(
        arguments.database, arguments.queue, places=arguments.places
    ) as service:
        package_path, vnfd_id = service.onboard()
        print(
            f"{'':20}{'statements':>11}{'conductor':>10}{'transactions':>13}"
            f"{'CPU ms':>8}{'conductor':>10}"
        )
        counter = service.counter
        costs: dict[str, list[Cost]] = collections.defaultdict(list)
        places = {}
        for number in range(arguments.rounds + 1):
            for name, act in operations(service, vnfd_id).items():
                cost = measure(counter, act)
                if number:
                    costs[name].append(cost)
                places[name] = counter.places
        for name, found in costs.items():
            report(name, found, places[name])
        for _ in range(100):
            instance_of(service, vnfd_id)
        for name, request in requests(service, vnfd_id, package_path).items():
            request()
            rounds = range(arguments.rounds)
            found = [measure(counter, request) for _ in rounds]
            report(name, found, counter.places)
        if arguments.idle:
            idle = arguments.idle
            found = [measure(counter, lambda: time.sleep(idle))]
            report("idle", found, counter.places)


if __name__ == "__main__":
    main()
