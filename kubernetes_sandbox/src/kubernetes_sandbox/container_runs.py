"""The containers of pods: pulled, started, crashed, backed off, restarted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kubernetes_sandbox import images, nodes, pod_status, pods
from kubernetes_sandbox.images import Fate
from kubernetes_sandbox.objects import Obj, name_of, namespace_of, uid_of
from kubernetes_sandbox.plane import Plane
from kubernetes_sandbox.pod_status import Verdict

_FIRST_BACK_OFF = 10
_LAST_BACK_OFF = 300
_CRASH_SECONDS = 0.2
_PULL_AGAIN_SECONDS = 0.8


@dataclass(slots=True)
class _State:
    """What the kubelet remembers of a pod's containers."""

    timers: list[Callable[[], None]] = field(default_factory=list)
    crashes: dict[str, int] = field(default_factory=dict)
    initialized: int = 0
    lacking: bool = False


class ContainerRuns:
    """Runs the containers of pods that are bound to a node."""

    def __init__(self, plane: Plane, pause: Callable[[], float]) -> None:
        self._plane = plane
        self._store = plane.store
        self._kind = plane.kind(pods.KEY)
        self._pause = pause
        self._states: dict[str, _State] = {}

    def forget(self, uid: str) -> None:
        """Look after a pod no longer."""
        state = self._states.pop(uid, None)
        for call_off in state.timers if state else ():
            call_off()

    def start(self, pod: Obj) -> None:
        """Start a pod: its init containers first, one after the other."""
        state = self._states.setdefault(uid_of(pod), _State())
        initial = pod["spec"].get("initContainers") or ()
        if state.initialized < len(initial):
            self._initialize(pod, state, initial)
        else:
            self._start_all(pod, state)

    def look_again(self, namespace: str) -> None:
        """Try the pods again that lacked a ConfigMap or Secret."""
        for uid, state in tuple(self._states.items()):
            entry = self._store.of_uid(uid) if state.lacking else None
            if entry is not None and namespace_of(entry.obj) == namespace:
                self._plane.timers.soon(self._start_again, uid)

    def restart_changed(self, uid: str) -> None:
        """Restart the containers that are of another image than they are to
        be; who sees an image change and change back does nothing.
        """
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
        """Let every running container of a pod exit with 1."""
        for container, known in self._both(pod):
            if known is not None and "running" in known["state"]:
                self._crash(uid_of(pod), container["name"], known=True)

    def report_ready(self, pod: Obj) -> None:
        """Report what runs, after a silence."""
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
        call_off = self._plane.timers.later(seconds, work, *args)
        self._states.setdefault(uid, _State()).timers.append(call_off)

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
        told = []
        for index, container in enumerate(initial):
            if index < at:
                run = pod_status.running(pod, container, 0, {}, ready=False)
                told.append(
                    {
                        **pod_status.ended(run, 0, "Completed"),
                        "ready": True,
                    }
                )
            elif index == at:
                told.append(self._first_state(pod, container))
            else:
                told.append(pod_status.waiting(container, "PodInitializing"))
        names = tuple(c["name"] for c in initial[at:])
        verdict = Verdict(initialized=False, ready=False, unready=names)
        waiting = [
            pod_status.waiting(c, "PodInitializing")
            for c in pod["spec"]["containers"]
        ]
        status = pod_status.of(
            pod, "Pending", verdict, waiting, self._addresses(pod)
        )
        status["initContainerStatuses"] = told
        self._plane.api.set_status(self._kind, pod, status)
        if "running" in told[at]["state"]:
            uid = uid_of(pod)
            self._later(uid, self._pause(), self._initialized, uid)

    def _first_state(self, pod: Obj, container: Obj) -> Obj:
        fate = images.fate_of(container, finite=True)
        if fate is Fate.CANNOT_PULL:
            return self._unpulled(pod, container)
        run = pod_status.running(pod, container, 0, {}, ready=False)
        if fate is Fate.CRASHES:
            self._tell_back_off(pod, container)
            told = pod_status.waiting(container, "CrashLoopBackOff")
            return {
                **told,
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
        state.lacking = False
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
        fate = images.fate_of(container, finite=finite)
        if fate is Fate.CANNOT_PULL:
            return self._unpulled(pod, container)
        lacking = images.missing_reference(
            container, lambda kind, ref: self._find(pod, kind, ref)
        )
        if lacking:
            state.lacking = True
            self._tell(pod, container, "Failed", f"Error: {lacking}", bad=True)
            return pod_status.waiting(
                container, "CreateContainerConfigError", lacking
            )
        if fate is Fate.CRASHES:
            self._later(uid, _CRASH_SECONDS, self._crash, uid, name)
            return pod_status.running(pod, container, 0, {}, ready=False)
        if fate is Fate.COMPLETES:
            self._later(uid, self._pause(), self._complete, uid, name)
        ready = not images.is_over_at_once(container)
        return pod_status.running(pod, container, 0, {}, ready=ready)

    def _unpulled(self, pod: Obj, container: Obj) -> Obj:
        image, uid = container["image"], uid_of(pod)
        self._tell(
            pod,
            container,
            "Failed",
            f'Failed to pull image "{image}": not found',
            bad=True,
        )
        self._tell(pod, container, "Failed", "Error: ErrImagePull", bad=True)
        self._later(uid, _PULL_AGAIN_SECONDS, self._back_off_pull, uid)
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
            told = [
                self._backed_off(pod, one)
                for one in pod["status"].get(field_name) or ()
            ]
            if told:
                pod = {**pod, "status": {**pod["status"], field_name: told}}
        newest = self._pod(uid)
        assert newest is not None
        self._plane.api.set_status(self._kind, newest, pod["status"])

    def _backed_off(self, pod: Obj, status: Obj) -> Obj:
        waiting = status["state"].get("waiting") or {}
        if waiting.get("reason") != "ErrImagePull":
            return status
        message = f'Back-off pulling image "{status["image"]}"'
        failed = "Error: ImagePullBackOff"
        self._tell(pod, status, "Failed", failed, bad=True)
        self._tell(pod, status, "BackOff", message, bad=True)
        told = {"reason": "ImagePullBackOff", "message": message}
        return {**status, "state": {"waiting": told}}

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
        seconds = min(_FIRST_BACK_OFF * 2**count, _LAST_BACK_OFF)
        statuses = [
            self._crashed(pod, one, seconds) if one["name"] == name else one
            for one in pod["status"]["containerStatuses"]
        ]
        pod = self._report(pod, statuses)
        # A container that was well gets its first restart at once.
        wait = self._pause() if known and not count else seconds
        self._later(uid, wait, self._restart, uid, name)

    def _crashed(self, pod: Obj, status: Obj, seconds: int) -> Obj:
        self._tell_back_off(pod, status)
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
            fate = images.fate_of(container, finite=False)
            well = fate is not Fate.CRASHES
            count = known["restartCount"]
            statuses.append(
                pod_status.running(
                    pod, container, count, known["lastState"], ready=well
                )
            )
            if not well:
                self._later(uid, _CRASH_SECONDS, self._crash, uid, name)
        self._report(pod, statuses)

    def _restarted(
        self, pod: Obj, container: Obj, known: Obj, exit_code: int
    ) -> Obj:
        fate = images.fate_of(container, finite=False)
        if fate is Fate.CANNOT_PULL:
            return {**self._unpulled(pod, container), "lastState": {}}
        well = fate is Fate.RUNS
        uid = uid_of(pod)
        if not well:
            name = container["name"]
            self._later(uid, _CRASH_SECONDS, self._crash, uid, name)
        last = pod_status.terminated(known, exit_code, "Completed")
        count = known["restartCount"] + 1
        return pod_status.running(pod, container, count, last, ready=well)

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
        verdict = Verdict(started=False, ready=False, completed=True)
        status = pod_status.of(pod, phase, verdict, statuses)
        self._plane.api.set_status(self._kind, pod, status)

    def _report(self, pod: Obj, statuses: list[Obj]) -> Obj:
        newest = self._pod(uid_of(pod))
        if newest is None:
            return pod
        unready = tuple(s["name"] for s in statuses if not s["ready"])
        verdict = Verdict(ready=not unready, unready=unready)
        ran = any(s["imageID"] for s in statuses)
        phase = "Running" if ran else "Pending"
        addresses = self._addresses(pod) if ran else (self._host(pod), "")
        base = {**newest, "status": {**newest["status"], **_initial(pod)}}
        status = pod_status.of(base, phase, verdict, statuses, addresses)
        return self._plane.api.set_status(self._kind, newest, status)

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
        return host, self._plane.api.strategy.addresses.pod()

    def _tell_back_off(self, pod: Obj, container: Obj) -> None:
        self._tell(
            pod,
            container,
            "BackOff",
            f"Back-off restarting failed container {container['name']} in pod"
            f" {name_of(pod)}",
            bad=True,
        )

    def _tell(
        self, pod: Obj, container: Obj, reason: str, message: str, *, bad: bool
    ) -> None:
        self._plane.events.tell(
            pod,
            reason,
            message,
            "kubelet",
            warning=bad,
            host=pod["spec"]["nodeName"],
            container=container["name"],
        )


def _initial(pod: Obj) -> Obj:
    name = "initContainerStatuses"
    told = pod["status"].get(name)
    return {name: told} if told else {}


def _shown(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest}s" if minutes else f"{seconds}s"
