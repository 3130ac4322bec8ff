"""The faults of a storm, by a seed: each loop breaks one part of the service,
repairs it, and repeats.
"""

import collections
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping

from tests.storm.service import LEASE_S, ApiSlot, ConductorSlot, Service

Act = Callable[[], None]
#: seconds for which a process is down, or frozen (longer than a lease)
DOWN_S = (0.2, 3.0)
FREEZE_S = (LEASE_S * 1.2, LEASE_S * 2.2)
#: seconds in which the proxy finds the process of a connection
TRACE_DELAY_S = 0.5
#: seconds for which the cluster fails
CLUSTER_FAULT_S = (1.0, 7.0)


class FaultLoop:
    """Faults of one part, one after the other.

    :param end: set when the storm is to end
    """

    #: seconds between two faults
    pause_s = (1.0, 6.0)

    def __init__(self, seed: str, end: threading.Event) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        self._end = end
        self.done: collections.Counter[str] = collections.Counter()
        self.log: list[str] = []
        self.errors: list[Exception] = []
        self.thread = threading.Thread(target=self._run)

    def faults(self) -> Mapping[str, Act]:
        """Return name -> function that injects and repairs a fault."""
        raise NotImplementedError

    def wait(self, seconds: tuple[float, float]) -> None:
        """Wait for some seconds, or until the storm is to end."""
        self._end.wait(self.rng.uniform(*seconds))

    def _run(self) -> None:
        faults = self.faults()
        self.wait(self.pause_s)
        while not self._end.is_set():
            name = self.rng.choice(sorted(faults))
            self.done[name] += 1
            start, part = time.time(), str(self)
            try:
                faults[name]()
            except Exception as error:  # noqa: BLE001
                self.errors.append(error)
            self.log.append(f"{start:.3f} to {time.time():.3f} {name} {part}")
            self.wait(self.pause_s)


class ConductorFaults(FaultLoop):
    def __init__(
        self, slot: ConductorSlot, seed: str, end: threading.Event
    ) -> None:
        super().__init__(seed, end)
        self._slot = slot

    def __str__(self) -> str:
        return str(self._slot.conductor.pid)

    def faults(self) -> Mapping[str, Act]:
        return {
            "conductor killed": self._kill,
            "conductor frozen": self._freeze,
            "database cut": self._cut,
            "database stalled": self._stall,
        }

    def _kill(self) -> None:
        # the proxy can still trace requests sent so far to this process
        os.killpg(self._slot.conductor.pid, signal.SIGSTOP)
        time.sleep(TRACE_DELAY_S)
        self._slot.conductor.kill()
        self.wait(DOWN_S)
        self._slot.start()

    def _freeze(self) -> None:
        os.killpg(self._slot.conductor.pid, signal.SIGSTOP)
        self.wait(FREEZE_S)
        os.killpg(self._slot.conductor.pid, signal.SIGCONT)

    def _cut(self) -> None:
        """Break its connections, and refuse new ones for a short time."""
        self._slot.database.close()
        self.wait(DOWN_S)
        self._slot.database.open()

    def _stall(self) -> None:
        self._slot.database.stall()
        self.wait(FREEZE_S)
        self._slot.database.resume()


class ApiFaults(FaultLoop):
    pause_s = (5.0, 20.0)

    def __init__(self, slot: ApiSlot, seed: str, end: threading.Event) -> None:
        super().__init__(seed, end)
        self._slot = slot

    def __str__(self) -> str:
        return str(self._slot.api.pid)

    def faults(self) -> Mapping[str, Act]:
        return {"API server killed": self._kill}

    def _kill(self) -> None:
        self._slot.api.kill()
        self.wait(DOWN_S)
        self._slot.start()


class ClusterFaults(FaultLoop):
    def __init__(
        self, service: Service, seed: str, end: threading.Event
    ) -> None:
        super().__init__(seed, end)
        self._cluster = service.cluster

    def __str__(self) -> str:
        return "cluster"

    def faults(self) -> Mapping[str, Act]:
        return {
            "cluster responds 5xx": self._errors,
            "cluster silent": lambda: self._set_fault_for(kind="silent"),
            "cluster resets": lambda: self._set_fault_for(
                kind="reset", share=0.5
            ),
            "responses lost": lambda: self._set_fault_for(
                kind="lose", share=0.3
            ),
            "cluster slow": lambda: self._set_fault_for(
                kind="slow", seconds=self.rng.uniform(0.2, 1.5)
            ),
            "cluster away": self._restart_api,
            "pods killed": self._kill_pods,
        }

    def _set_fault_for(self, **fault: object) -> None:
        self._cluster.set_fault(**fault)
        self.wait(CLUSTER_FAULT_S)
        self._cluster.set_fault()

    def _errors(self) -> None:
        status = self.rng.choice((500, 503, 504, 429))
        share = self.rng.choice((0.3, 1.0))
        self._set_fault_for(kind="error", status=status, share=share)

    def _restart_api(self) -> None:
        seconds = self.rng.uniform(0.5, 3.0)
        self._cluster.call(
            "POST", "/sandbox/stop-api-server", {"seconds": seconds}
        )
        self.wait((seconds, seconds))

    def _kill_pods(self) -> None:
        """Kill some pods of Deployments, which are then replaced."""
        found = sorted(
            (f"n-{instance}", name)
            for (instance, vdu), names in self._cluster.pods().items()
            for name in names
            if instance and vdu == "web"
        )
        for namespace, name in self.rng.sample(found, min(3, len(found))):
            body = {"namespace": namespace, "name": name}
            self._cluster.call("POST", "/sandbox/kill-pod", body)


class FaultInjector:
    """All faults, until the storm is to end."""

    def __init__(self, service: Service, seed: int) -> None:
        self._end = end = threading.Event()
        self._loops: list[FaultLoop] = [
            *(
                ConductorFaults(slot, f"{seed} conductor {n}", end)
                for n, slot in enumerate(service.conductor_slots)
            ),
            *(
                ApiFaults(slot, f"{seed} API {n}", end)
                for n, slot in enumerate(service.api_slots)
            ),
            ClusterFaults(service, f"{seed} cluster", end),
        ]

    def start(self) -> None:
        """Start the faults."""
        for loop in self._loops:
            loop.thread.start()

    def stop(self) -> None:
        """Stop the faults, and repair them."""
        self._end.set()
        for loop in self._loops:
            loop.thread.join()

    @property
    def done(self) -> collections.Counter[str]:
        """Fault -> how often it occurred."""
        done = (loop.done for loop in self._loops)
        return sum(done, collections.Counter())

    @property
    def log(self) -> list[str]:
        """The time of each fault."""
        return sorted(line for loop in self._loops for line in loop.log)

    @property
    def errors(self) -> list[Exception]:
        """Errors from injecting or repairing faults."""
        return [error for loop in self._loops for error in loop.errors]
