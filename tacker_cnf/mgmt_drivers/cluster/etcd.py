"""The etcd of the cluster, through etcdctl on one of its masters."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import haproxy
from tacker_cnf.mgmt_drivers.remote import Host
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy

PKI_DIR: Final = "/etc/kubernetes/pki/etcd"
PORT: Final = 2379
#: endpoint of a master's own member, on that master
LOCAL_ENDPOINT: Final = f"https://127.0.0.1:{PORT}"
#: directory of the snapshots on a master, and how many of them to keep
SNAPSHOT_DIR: Final = "/var/backups/etcd"
MAX_SNAPSHOTS: Final = 3
#: seconds for one response of etcd
COMMAND_TIMEOUT_S: Final = 5
#: seconds for the election of a leader, and between two polls
LEADER_TIMEOUT_S: Final = 30.0
POLL_INTERVAL_S: Final = 0.2
#: etcd's error for a change of members while one of them is not connected
UNHEALTHY: Final = "etcdserver: unhealthy cluster"


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the etcd cluster."""

    #: hexadecimal, as etcdctl expects it
    id: str
    #: host of its peer URL, which is the node's address
    address: str
    #: whether it replicates without a vote
    is_learner: bool = False


class _MemberEntry(msgspec.Struct, frozen=True):
    id: int = msgspec.field(name="ID")
    peers: tuple[str, ...] = msgspec.field(name="peerURLs", default=())
    is_learner: bool = msgspec.field(name="isLearner", default=False)


class _Members(msgspec.Struct, frozen=True):
    members: tuple[_MemberEntry, ...] = ()


class _EndpointStatus(msgspec.Struct, frozen=True):
    #: etcd omits it while there is no leader
    leader: int = 0


class _Status(msgspec.Struct, frozen=True):
    status: _EndpointStatus = msgspec.field(name="Status")


class _Health(msgspec.Struct, frozen=True):
    endpoint: str
    health: bool = False


class Etcd:
    """A client of one master's etcd member.

    :param timeout: seconds for each command
    """

    def __init__(self, host: Host, timeout: float) -> None:
        self._host = host
        self._timeout = timeout

    def members(self) -> list[Member]:
        """List the members.

        :raises InfraError: etcd does not respond
        """
        output = self._run("member", "list", "--write-out=json")
        try:
            found = msgspec.json.decode(output, type=_Members)
        except msgspec.DecodeError as error:
            raise errors.InfraError(
                f"{self._host}: the output of 'etcdctl member list' cannot be "
                f"parsed: {error}"
            ) from None
        return [
            Member(
                id=f"{entry.id:x}",
                address=_address(entry.peers),
                is_learner=entry.is_learner,
            )
            for entry in found.members
        ]

    def healthy(self, addresses: Iterable[str]) -> frozenset[str]:
        """Return the addresses of the members that commit a proposal."""
        endpoints = ",".join(
            endpoint(address) for address in sorted(addresses)
        )
        result = self._host.run(
            self._command(
                "endpoint", "health", "--write-out=json", endpoints=endpoints
            ),
            as_root=True,
            timeout=self._timeout,
        )
        try:
            found = msgspec.json.decode(result.stdout, type=list[_Health])
        except msgspec.DecodeError:
            return frozenset()
        return frozenset(
            _address((entry.endpoint,)) for entry in found if entry.health
        )

    def save_snapshot(self, name: str) -> None:
        """Save and verify a snapshot on the master; delete the oldest ones.

        :raises InfraError: the snapshot could not be saved or verified
        """
        path = snapshot(name)
        # without a timeout of etcdctl: the time depends on the database's size
        save = self._command("snapshot", "save", path, limit=None)
        verify = self._command("snapshot", "status", path, limit=None)
        prune = f"ls -1t {SNAPSHOT_DIR}/*.db | tail -n +{MAX_SNAPSHOTS + 1} | xargs -r rm -f"
        self._host.check(
            f"umask 077; mkdir -p {SNAPSHOT_DIR} && {save} && {verify} && {prune}",
            as_root=True,
            timeout=self._timeout,
        )

    def remove(self, member: Member, deadline: Deadline) -> None:
        """Remove a member from the cluster. Retry while etcd rejects every
        change because a member has just joined: by default it has to be
        connected for five seconds (--strict-reconfig-check).

        :raises InfraError: etcd rejects the removal
        """
        end = deadline.limited(LEADER_TIMEOUT_S)
        while True:
            try:
                self._run("member", "remove", member.id)
            except errors.RemoteFailed as error:
                if UNHEALTHY not in str(error) or end.passed:
                    raise
                deadline.clock.sleep(POLL_INTERVAL_S)
            else:
                return

    def remove_dead(self, address: str, deadline: Deadline) -> bool:
        """Remove the member of an address if it does not serve: a learner
        that was never started, or a member that has lost its data. kubeadm
        joins no master while there is such a member.

        :return: whether a member was removed
        :raises InfraError: etcd rejects the removal
        """
        dead = [m for m in self.members() if m.address == address]
        if not dead or address in self.healthy([address]):
            return False
        for member in dead:
            self.remove(member, deadline)
        self.wait_healthy(deadline)
        return True

    def move_leader(self, leader: Member, successor: Member) -> None:
        """Transfer leadership to another member, without an election.

        :raises InfraError: etcd rejects the transfer
        """
        self._run(
            "move-leader", successor.id, endpoints=endpoint(leader.address)
        )

    def leader(self) -> str:
        """Return the id of the leader; "0" if there is none.

        :raises InfraError: etcd does not respond
        """
        output = self._run("endpoint", "status", "--write-out=json")
        try:
            (found,) = msgspec.json.decode(output, type=tuple[_Status])
        except msgspec.DecodeError as error:
            raise errors.InfraError(
                f"{self._host}: the output of 'etcdctl endpoint status' cannot "
                f"be parsed: {error}"
            ) from None
        return f"{found.status.leader:x}"

    def wait_healthy(self, deadline: Deadline) -> None:
        """Wait until a member commits proposals, so that there is a leader.

        :raises InfraError: no member did so in time
        """
        RetryPolicy(
            deadline,
            contact_timeout=LEADER_TIMEOUT_S,
            delays=[POLL_INTERVAL_S],
        ).call(self._check_healthy, errors.NotReady)

    def _check_healthy(self) -> None:
        if not self.healthy(m.address for m in self.members()):
            raise errors.NotReady(
                f"{self._host}: etcd has elected no leader within "
                f"{LEADER_TIMEOUT_S:.0f} s."
            )

    def _run(self, *arguments: str, endpoints: str = LOCAL_ENDPOINT) -> bytes:
        return self._host.check(
            self._command(*arguments, endpoints=endpoints),
            as_root=True,
            timeout=self._timeout,
        ).stdout

    def _command(
        self,
        *arguments: str,
        endpoints: str = LOCAL_ENDPOINT,
        limit: int | None = COMMAND_TIMEOUT_S,
    ) -> str:
        limit_option = [f"--command-timeout={limit}s"] if limit else []
        return "ETCDCTL_API=3 " + shlex.join(
            (
                "etcdctl",
                f"--endpoints={endpoints}",
                f"--cacert={PKI_DIR}/ca.crt",
                f"--cert={PKI_DIR}/server.crt",
                f"--key={PKI_DIR}/server.key",
                *limit_option,
                *arguments,
            )
        )


def endpoint(address: str) -> str:
    """Return the client URL of a member."""
    return f"https://{haproxy.url_host(address)}:{PORT}"


def snapshot(name: str) -> str:
    """Return the path of a snapshot on the master that has saved it."""
    return f"{SNAPSHOT_DIR}/{name}.db"


def _address(urls: Sequence[str]) -> str:
    return next((urlsplit(url).hostname or "" for url in urls), "")


class RemovalPlan(msgspec.Struct, frozen=True):
    """The members to remove, one after the other."""

    members: Sequence[Member]
    #: a member that serves and stays, to become leader; None: there is none
    successor: Member | None = None


def plan_removal(
    members: Sequence[Member],
    healthy: Collection[str],
    leaving: Collection[str],
) -> RemovalPlan:
    """Plan the removal of members, those first that do not serve.

    Each removal needs a majority of the voters before it, and all later
    writes need one of the voters after it.

    :param healthy: addresses of the members that serve
    :param leaving: addresses of the members to remove
    :raises InfraError: etcd would lose its quorum, or has none
    """
    to_remove = [m for m in members if m.address in leaving]
    to_remove.sort(key=lambda m: (not m.is_learner, m.address in healthy))
    voters = [m for m in members if not m.is_learner]
    serving = {m.address for m in voters} & set(healthy)
    voter_count = len(voters)
    for member in to_remove:
        _check_quorum(voter_count, len(serving), voters, serving)
        if not member.is_learner:
            voter_count -= 1
            serving.discard(member.address)
            _check_quorum(voter_count, len(serving), voters, serving)
    remaining = (m for m in voters if m.address in serving)
    return RemovalPlan(to_remove, next(remaining, None))


def check_redundancy(
    members: Sequence[Member],
    healthy: Collection[str],
    leaving: Collection[str],
) -> None:
    """Check that the removal of several members leaves a majority: with fewer
    the cluster would run, but not tolerate the loss of one more.

    :raises InfraError: no majority of the voters would stay
    """
    voters = {m.address for m in members if not m.is_learner}
    to_remove = voters & set(leaving)
    remaining = (voters & set(healthy)) - to_remove
    if len(to_remove) > 1 and len(remaining) <= len(voters) // 2:
        raise errors.InfraError(
            f"Of {len(voters)} members of etcd only {len(remaining)} would "
            f"stay ({', '.join(sorted(remaining))}); a majority is "
            f"{len(voters) // 2 + 1}. Nothing was changed. Heal the masters "
            f"{', '.join(sorted(to_remove))} one after the other, each in a "
            "separate request."
        )


def _check_quorum(
    count: int,
    serving: int,
    members: Sequence[Member],
    healthy: Collection[str],
) -> None:
    if serving > count // 2:
        return
    states: Mapping[str, Any] = {
        m.address: "serves"
        if m.address in healthy
        else "does not serve or is to be removed"
        for m in members
    }
    summary = ", ".join(
        f"{address} {state}" for address, state in states.items()
    )
    raise errors.InfraError(
        f"etcd would have no quorum: of {count} members {serving} would serve, "
        f"but {count // 2 + 1} are required ({summary}). No member was removed. "
        "Heal fewer masters at once, or the whole VNF."
    )
