"""The lifecycle of containers: pull, start, crash, back-off, restart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kubernetes_sandbox import container_behavior, nodes, pod_status, pods
from kubernetes_sandbox.container_behavior import Behavior
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.objects import Obj, name_of, namespace_of, uid_of
from kubernetes_sandbox.pod_status import PodState

_INITIAL_BACK_OFF_S = 10
_MAX_BACK_OFF_S = 300
_CRASH_DELAY_S = 0.2
_PULL_BACK_OFF_DELAY_S = 0.8


@dataclass(slots=True)
class _State:
    """The state that the kubelet keeps for the containers of a pod."""

    timers: list[Callable[[], None]] = field(default_factory=list)
    crashes: dict[str, int] = field(default_factory=dict)
    initialized: int = 0
    reference_missing: bool = False


class ContainerLifecycle:
    """Runs the containers of the pods that are bound to a node."""

    def __init__(
        self, context: ControllerContext, start_delay: Callable[[], float]
    ) -> None:
        self._context = context
        self._store = context.store
        self._kind = context.kind(pods.KEY)
        self._start_delay = start_delay
        self._states: dict[str, _State] = {}

    def forget(self, uid: str) -> None:
        """Stop managing a pod."""
        state = self._states.pop(uid, None)
        for cancel in state.timers if state else ():
            cancel()

    def start(self, pod: Obj) -> None:
        """Start a pod: first its init containers, one after the other."""
        state = self._states.setdefault(uid_of(pod), _State())
        initial = pod["spec"].get("initContainers") or ()
        if state.initialized < len(initial):
            self._initialize(pod, state, initial)
        else:
            self._start_all(pod, state)

    def retry_missing_references(self, namespace: str) -> None:
        """Retry the pods that miss a ConfigMap or Secret of a namespace."""
        for uid, state in tuple(self._states.items()):
            entry = (
                self._store.of_uid(uid) if state.reference_missing else None
            )
            if entry is not None and namespace_of(entry.obj) == namespace:
                self._context.timers.soon(self._start_again, uid)

    def restart_changed(self, uid: str) -> None:
        """Restart the containers whose image differs from that of the spec."""
        pod = self._pod(uid)
        if pod is None:
            return
        statuses = [
            known
            if known["image"] == container["image"]
            else self._restarted(pod, container, known, 0)
            for container, known in self._both(pod)
            if known is not None
        ]
        self._report(pod, statuses)

    def crash(self, pod: Obj) -> None:
        """Make every running container of a pod exit with 1."""
        for container, known in self._both(pod):
            if known is not None and "running" in known["state"]:
                self._crash(uid_of(pod), container["name"], known=True)

    def report_ready(self, pod: Obj) -> None:
        """Report the running containers after the kubelet is back."""
        statuses = pod["status"].get("containerStatuses") or ()
        self._report(pod, list(statuses))

    def _pod(self, uid: str) -> Obj | None:
        entry = self._store.of_uid(uid)
        return entry.obj if entry is not None else None

    def _later(
        self,
        uid: str,
        seconds: float,
        work: Callable[..., None],
        *args: object,
    ) -> None:
        cancel = self._context.timers.later(seconds, work, *args)
        self._states.setdefault(uid, _State()).timers.append(cancel)

    @staticmethod
    def _both(pod: Obj) -> list[tuple[Obj, Obj | None]]:
        known = {
            one["name"]: one
            for one in pod["status"].get("containerStatuses") or ()
        }
        return [(c, known.get(c["name"])) for c in pod["spec"]["containers"]]

    def _find(self, pod: Obj, kind: str, name: str) -> Obj | None:
        return self._store.get(f"{kind}s.", namespace_of(pod), name)

    def _start_again(self, uid: str) -> None:
        pod = self._pod(uid)
        if pod is not None:
            self.start(pod)

    def _initialize(
        self, pod: Obj, state: _State, initial: Sequence[Obj]
    ) -> None:
        at = state.initialized
        statuses = []
        for index, container in enumerate(initial):
            if index < at:
                run = pod_status.running(pod, container, 0, {}, ready=False)
                statuses.append(
                    {
                        **pod_status.ended(run, 0, "Completed"),
                        "ready": True,
                    }
                )
            elif index == at:
                statuses.append(self._first_state(pod, container))
            else:
                statuses.append(
                    pod_status.waiting(container, "PodInitializing")
                )
        names = tuple(c["name"] for c in initial[at:])
        pod_state = PodState(initialized=False, ready=False, unready=names)
        waiting = [
            pod_status.waiting(c, "PodInitializing")
            for c in pod["spec"]["containers"]
        ]
        status = pod_status.of(
            pod, "Pending", pod_state, waiting, self._addresses(pod)
        )
        status["initContainerStatuses"] = statuses
        self._context.api.set_status(self._kind, pod, status)
        if "running" in statuses[at]["state"]:
            uid = uid_of(pod)
            self._later(uid, self._start_delay(), self._initialized, uid)

    def _first_state(self, pod: Obj, container: Obj) -> Obj:
        behavior = container_behavior.behavior_of(container, finite=True)
        if behavior is Behavior.PULL_FAILS:
            return self._unpulled(pod, container)
        run = pod_status.running(pod, container, 0, {}, ready=False)
        if behavior is Behavior.CRASHES:
            self._record_back_off(pod, container)
            status = pod_status.waiting(container, "CrashLoopBackOff")
            return {
                **status,
                "lastState": pod_status.terminated(
                    run, 1, "Error", named=True
                ),
                "restartCount": 1,
            }
        return run

    def _initialized(self, uid: str) -> None:
        pod = self._pod(uid)
        if pod is not None:
            self._states[uid].initialized += 1
            self.start(pod)

    def _start_all(self, pod: Obj, state: _State) -> None:
        state.reference_missing = False
        pod = self._with_initial_ended(pod)
        statuses = [
            self._started(pod, c, state) for c in pod["spec"]["containers"]
        ]
        self._report(pod, statuses)

    @staticmethod
    def _with_initial_ended(pod: Obj) -> Obj:
        initial = pod["status"].get("initContainerStatuses")
        if not initial:
            return pod
        ended = [
            {**pod_status.ended(one, 0, "Completed"), "ready": True}
            if "running" in one["state"]
            else one
            for one in initial
        ]
        status = {**pod["status"], "initContainerStatuses": ended}
        return {**pod, "status": status}

    def _started(self, pod: Obj, container: Obj, state: _State) -> Obj:
        uid, name = uid_of(pod), container["name"]
        finite = pod["spec"].get("restartPolicy", "Always") != "Always"
        behavior = container_behavior.behavior_of(container, finite=finite)
        if behavior is Behavior.PULL_FAILS:
            return self._unpulled(pod, container)
        missing = container_behavior.missing_reference(
            container, lambda kind, ref: self._find(pod, kind, ref)
        )
        if missing:
            state.reference_missing = True
            self._record(
                pod, container, "Failed", f"Error: {missing}", warning=True
            )
            return pod_status.waiting(
                container, "CreateContainerConfigError", missing
            )
        if behavior is Behavior.CRASHES:
            self._later(uid, _CRASH_DELAY_S, self._crash, uid, name)
            return pod_status.running(pod, container, 0, {}, ready=False)
        if behavior is Behavior.COMPLETES:
            self._later(uid, self._start_delay(), self._complete, uid, name)
        ready = not container_behavior.completes_immediately(container)
        return pod_status.running(pod, container, 0, {}, ready=ready)

    def _unpulled(self, pod: Obj, container: Obj) -> Obj:
        image, uid = container["image"], uid_of(pod)
        self._record(
            pod,
            container,
            "Failed",
            f'Failed to pull image "{image}": not found',
            warning=True,
        )
        self._record(
            pod, container, "Failed", "Error: ErrImagePull", warning=True
        )
        self._later(uid, _PULL_BACK_OFF_DELAY_S, self._back_off_pull, uid)
        return pod_status.waiting(
            container,
            "ErrImagePull",
            f'failed to pull and unpack image "{image}": not found',
        )

    def _back_off_pull(self, uid: str) -> None:
        pod = self._pod(uid)
        if pod is None:
            return
        for field_name in ("initContainerStatuses", "containerStatuses"):
            statuses = [
                self._backed_off(pod, one)
                for one in pod["status"].get(field_name) or ()
            ]
            if statuses:
                pod = {
                    **pod,
                    "status": {**pod["status"], field_name: statuses},
                }
        newest = self._pod(uid)
        assert newest is not None
        self._context.api.set_status(self._kind, newest, pod["status"])

    def _backed_off(self, pod: Obj, status: Obj) -> Obj:
        waiting = status["state"].get("waiting") or {}
        if waiting.get("reason") != "ErrImagePull":
            return status
        message = f'Back-off pulling image "{status["image"]}"'
        failed = "Error: ImagePullBackOff"
        self._record(pod, status, "Failed", failed, warning=True)
        self._record(pod, status, "BackOff", message, warning=True)
        state = {"reason": "ImagePullBackOff", "message": message}
        return {**status, "state": {"waiting": state}}

    def _crash(self, uid: str, name: str, *, known: bool = False) -> None:
        pod, state = self._pod(uid), self._states.get(uid)
        if pod is None or state is None:
            return
        policy = pod["spec"].get("restartPolicy", "Always")
        if policy == "Never":
            self._end(pod, name, 1, "Error")
            return
        count = state.crashes.get(name, 0)
        state.crashes[name] = count + 1
        seconds = min(_INITIAL_BACK_OFF_S * 2**count, _MAX_BACK_OFF_S)
        statuses = [
            self._crashed(pod, one, seconds) if one["name"] == name else one
            for one in pod["status"]["containerStatuses"]
        ]
        pod = self._report(pod, statuses)
        # The first restart of a running container has no back-off.
        wait = self._start_delay() if known and not count else seconds
        self._later(uid, wait, self._restart, uid, name)

    def _crashed(self, pod: Obj, status: Obj, seconds: int) -> Obj:
        self._record_back_off(pod, status)
        message = (
            f"back-off {_shown(seconds)} restarting failed"
            f" container={status['name']}"
            f" pod={name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
        )
        last = pod_status.terminated(status, 1, "Error", named=True)
        return {
            **status,
            "state": {
                "waiting": {"reason": "CrashLoopBackOff", "message": message}
            },
            "lastState": last,
            "ready": False,
            "started": False,
            "restartCount": status["restartCount"] + 1,
        }

    def _restart(self, uid: str, name: str) -> None:
        pod = self._pod(uid)
        if pod is None:
            return
        statuses = []
        for container, known in self._both(pod):
            if known is None:
                continue
            if container["name"] != name or "waiting" not in known["state"]:
                statuses.append(known)
                continue
            behavior = container_behavior.behavior_of(container, finite=False)
            runs = behavior is not Behavior.CRASHES
            count = known["restartCount"]
            statuses.append(
                pod_status.running(
                    pod, container, count, known["lastState"], ready=runs
                )
            )
            if not runs:
                self._later(uid, _CRASH_DELAY_S, self._crash, uid, name)
        self._report(pod, statuses)

    def _restarted(
        self, pod: Obj, container: Obj, known: Obj, exit_code: int
    ) -> Obj:
        behavior = container_behavior.behavior_of(container, finite=False)
        if behavior is Behavior.PULL_FAILS:
            return {**self._unpulled(pod, container), "lastState": {}}
        runs = behavior is Behavior.RUNS
        uid = uid_of(pod)
        if not runs:
            name = container["name"]
            self._later(uid, _CRASH_DELAY_S, self._crash, uid, name)
        last = pod_status.terminated(known, exit_code, "Completed")
        count = known["restartCount"] + 1
        return pod_status.running(pod, container, count, last, ready=runs)

    def _complete(self, uid: str, name: str) -> None:
        pod = self._pod(uid)
        if pod is not None:
            self._end(pod, name, 0, "Completed")

    def _end(self, pod: Obj, name: str, code: int, reason: str) -> None:
        statuses = [
            pod_status.ended(one, code, reason) if one["name"] == name else one
            for one in pod["status"]["containerStatuses"]
        ]
        ends = [one["state"].get("terminated") for one in statuses]
        if not all(ends):
            self._report(pod, statuses)
            return
        failed = any(end["exitCode"] for end in ends if end)
        phase = "Failed" if failed else "Succeeded"
        pod_state = PodState(started=False, ready=False, completed=True)
        status = pod_status.of(pod, phase, pod_state, statuses)
        self._context.api.set_status(self._kind, pod, status)

    def _report(self, pod: Obj, statuses: list[Obj]) -> Obj:
        newest = self._pod(uid_of(pod))
        if newest is None:
            return pod
        unready = tuple(s["name"] for s in statuses if not s["ready"])
        pod_state = PodState(ready=not unready, unready=unready)
        ran = any(s["imageID"] for s in statuses)
        phase = "Running" if ran else "Pending"
        addresses = self._addresses(pod) if ran else (self._host(pod), "")
        base = {**newest, "status": {**newest["status"], **_initial(pod)}}
        status = pod_status.of(base, phase, pod_state, statuses, addresses)
        return self._context.api.set_status(self._kind, newest, status)

    def _host(self, pod: Obj) -> str:
        node = self._store.get(nodes.KEY, "", pod["spec"]["nodeName"])
        return pod_status.host_address(node)

    def _addresses(self, pod: Obj) -> tuple[str, str]:
        host = self._host(pod)
        known = pod["status"].get("podIP")
        if known:
            return host, known
        if pod["spec"].get("hostNetwork"):
            return host, host
        return host, self._context.api.strategy.addresses.pod()

    def _record_back_off(self, pod: Obj, container: Obj) -> None:
        self._record(
            pod,
            container,
            "BackOff",
            f"Back-off restarting failed container {container['name']} in pod"
            f" {name_of(pod)}",
            warning=True,
        )

    def _record(
        self,
        pod: Obj,
        container: Obj,
        reason: str,
        message: str,
        *,
        warning: bool,
    ) -> None:
        self._context.events.record(
            pod,
            reason,
            message,
            "kubelet",
            warning=warning,
            host=pod["spec"]["nodeName"],
            container=container["name"],
        )


def _initial(pod: Obj) -> Obj:
    name = "initContainerStatuses"
    statuses = pod["status"].get(name)
    return {name: statuses} if statuses else {}


def _shown(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest}s" if minutes else f"{seconds}s"
