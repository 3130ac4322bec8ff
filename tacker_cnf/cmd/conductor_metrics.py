"""The metrics and the health of a conductor; imported if they are served."""

from oslo_config import cfg

from tacker_cnf import metrics, rpc
from tacker_cnf.cmd import metrics_server
from tacker_cnf.cmd.compose import Parts
from tacker_cnf.cmd.dispatcher_supervisor import DispatcherSupervisor
from tacker_cnf.conductor.measurements import Measurements
from tacker_cnf.conductor.service import Conductor
from tacker_cnf.conf.opts import VERSION
from tacker_cnf.metrics import CONDUCTOR_METRICS, Registry
from tacker_cnf.services import readiness


class ConductorMetrics:
    """Opens the port, and counts from now on.

    :raises OSError: the port is in use
    """

    def __init__(self, conf: cfg.ConfigOpts, port: int) -> None:
        self._listener = metrics_server.listen(conf, port)
        self._registry = Registry(CONDUCTOR_METRICS, VERSION)

    def start(
        self,
        shared: Parts,
        conductor: Conductor,
        dispatcher: DispatcherSupervisor,
    ) -> None:
        """Measure and serve until the process ends."""
        conf, queue = shared.conf, conductor.queue
        workers = conf.conductor.workers
        metrics.WORKERS.set(workers)
        metrics.WORKERS_BUSY.follow(lambda: workers - queue.free_workers)
        self._measurements = Measurements(
            shared.store,
            shared.drivers,
            conf.metrics.vim_check_interval,
            shared.clock,
        )
        self._measurements.start()
        ready = readiness.of_service(
            shared.store,
            rpc.ConductorClient(shared.transport),
            shared.clock,
            {"dispatcher": dispatcher.check},
        )
        metrics_server.start(
            conf,
            self._listener,
            self._registry,
            metrics_server.health_pages(ready),
        )

    def stop(self) -> None:
        """Stop measuring."""
        self._measurements.stop()
