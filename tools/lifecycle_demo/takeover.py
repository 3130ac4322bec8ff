"""A conductor that is killed in the middle of an operation."""

import datetime
from typing import Any

from tools.lifecycle_demo import pods
from tools.lifecycle_demo.pods import Pods
from tools.lifecycle_demo.rest import DemoFailed
from tools.lifecycle_demo.screen import GREEN, RED, Screen
from tools.lifecycle_demo.service import Claim, Service
from tools.lifecycle_demo.vnf import DemoVnf, Operation


class Takeover:
    """Kills the conductor of an operation, and checks how it ended.

    :param vnf: whose pods the operation creates
    """

    def __init__(self, vnf: DemoVnf, service: Service, screen: Screen) -> None:
        self._vnf = vnf
        self._service = service
        self._screen = screen
        self._before = vnf.pods()
        self._at_kill: Pods = frozenset()
        self._killed: Claim | None = None
        self._killed_at = datetime.datetime.now(datetime.UTC)

    def watch(self, op_occ_id: str, timeline: Any) -> None:
        """Kill the conductor when it has created a pod.

        :raises DemoFailed: no conductor has claimed the operation
        """
        if self._killed or not any(step.get("outcome") for step in timeline):
            return
        self._vnf.wait_for_new_pod(self._before)
        claim = self._service.claim(op_occ_id)
        if claim is None:
            raise DemoFailed(f"No conductor has claimed {op_occ_id}")
        others = set(self._service.pids) - {claim.pid}
        self._service.kill(claim.pid)
        self._killed = claim
        self._killed_at = datetime.datetime.now(datetime.UTC)
        self._at_kill = self._vnf.pods()
        self._screen.detail(
            "claim",
            f"conductor {claim.pid} has the operation, claim {claim.number}; "
            f"idle: {', '.join(map(str, others))}",
        )
        self._screen.detail(
            "SIGKILL",
            f"conductor {claim.pid}, while these pods are new: "
            f"{', '.join(pods.names(self._at_kill - self._before))}; its "
            f"lease ends in {claim.lease_left:.1f} s",
            RED,
        )
        self._screen.live("The operation waits until the lease ends ...")

    def check(self, done: Operation) -> None:
        """Show how the operation ended.

        :raises DemoFailed: the killed conductor did not have it, or a pod was
            created twice
        """
        resumed = done.op_occ["timeline"][-1]
        claims = self._service.claims(done.op_occ["id"])
        if self._killed is None or len(claims) != 2:
            raise DemoFailed(f"No conductor was replaced: {claims}")
        began = datetime.datetime.fromisoformat(resumed["startTime"])
        seconds = (began - self._killed_at).total_seconds()
        self._screen.detail(
            "takeover", f"conductor {claims[1]} after {seconds:.1f} s", GREEN
        )
        if again := self._at_kill - done.after:
            raise DemoFailed(f"Created twice: {', '.join(pods.names(again))}")
        new = self._at_kill - self._before
        self._screen.detail(
            "kept",
            f"{', '.join(pods.names(new))}: not created again",
            GREEN,
        )
