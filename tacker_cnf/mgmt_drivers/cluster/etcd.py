"""The etcd of the cluster, as one of its masters tells it."""

import shlex
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import haproxy
from tacker_cnf.mgmt_drivers.remote import Host
from tacker_cnf.runtime.cancellation import Deadline

PKI_DIR: Final = "/etc/kubernetes/pki/etcd"
PORT: Final = 2379
#: where the member of a master serves, seen from there
LOCAL_ENDPOINT: Final = f"https://127.0.0.1:{PORT}"
#: where snapshots are kept on the master that made them, and how many
SNAPSHOT_DIR: Final = "/var/backups/etcd"
MAX_SNAPSHOTS: Final = 3
#: seconds that etcd has for one answer
COMMAND_TIMEOUT_S: Final = 5
#: seconds for a new leader, and between two looks
LEADER_TIMEOUT_S: Final = 30.0
POLL_INTERVAL_S: Final = 0.2
#: why etcd refuses to change its members until all are connected
UNHEALTHY: Final = "etcdserver: unhealthy cluster"


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the etcd cluster."""

    #: as etcdctl wants it: hexadecimal
    id: str
    #: of its peer address; the node's
    address: str
    #: whether it only listens yet: it has no vote
    is_learner: bool = False


class _MemberEntry(msgspec.Struct, frozen=True):
    id: int = msgspec.field(name="ID")
    peers: tuple[str, ...] = msgspec.field(name="peerURLs", default=())
    is_learner: bool = msgspec.field(name="isLearner", default=False)


class _Members(msgspec.Struct, frozen=True):
    members: tuple[_MemberEntry, ...] = ()


class _EndpointStatus(msgspec.Struct, frozen=True):
    #: etcd leaves it out while there is none
    leader: int = 0


class _Status(msgspec.Struct, frozen=True):
    status: _EndpointStatus = msgspec.field(name="Status")


class _Health(msgspec.Struct, frozen=True):
    endpoint: str
    health: bool = False


class Etcd:
    """Asks the etcd of one master, which knows all members.

    :param timeout: seconds for each command
    """

    def __init__(self, host: Host, timeout: float) -> None:
        self._host = host
        self._timeout = timeout

    def members(self) -> list[Member]:
        """List the members.

        :raises InfraError: etcd does not answer
        """
        output = self._run("member", "list", "--write-out=json")
        try:
            found = msgspec.json.decode(output, type=_Members)
        except msgspec.DecodeError as error:
            raise errors.InfraError(
                f"{self._host}: etcd's list of members cannot be read: {error}"
            ) from None
        return [
            Member(
                id=f"{one.id:x}",
                address=_address(one.peers),
                is_learner=one.is_learner,
            )
            for one in found.members
        ]

    def healthy(self, addresses: Iterable[str]) -> frozenset[str]:
        """Tell which members commit what they are told."""
        endpoints = ",".join(endpoint(one) for one in sorted(addresses))
        answer = self._host.run(
            self._command(
                "endpoint", "health", "--write-out=json", endpoints=endpoints
            ),
            as_root=True,
            timeout=self._timeout,
        )
        try:
            found = msgspec.json.decode(answer.stdout, type=list[_Health])
        except msgspec.DecodeError:
            return frozenset()
        return frozenset(
            _address((one.endpoint,)) for one in found if one.health
        )

    def save_snapshot(self, name: str) -> None:
        """Keep a snapshot on the master, and drop the oldest ones.

        :raises InfraError: there is none, or it cannot be read
        """
        path = snapshot(name)
        # it takes as long as the database is large
        save = self._command("snapshot", "save", path, limit=None)
        verify = self._command("snapshot", "status", path, limit=None)
        prune = f"ls -1t {SNAPSHOT_DIR}/*.db | tail -n +{MAX_SNAPSHOTS + 1} | xargs -r rm -f"
        self._host.check(
            f"umask 077; mkdir -p {SNAPSHOT_DIR} && {save} && {verify} && {prune}",
            as_root=True,
            timeout=self._timeout,
        )

    def remove(self, member: Member, deadline: Deadline) -> None:
        """Remove a member from the cluster, and wait as long as etcd refuses
        every change because one of its members has just joined: by default
        it has to be connected for five seconds (--strict-reconfig-check).

        :raises InfraError: etcd refuses
        """
        end = Deadline.within(min(LEADER_TIMEOUT_S, deadline.remaining))
        while True:
            try:
                self._run("member", "remove", member.id)
            except errors.RemoteFailed as error:
                if UNHEALTHY not in str(error) or end.passed:
                    raise
                time.sleep(POLL_INTERVAL_S)
            else:
                return

    def remove_dead(self, address: str, deadline: Deadline) -> bool:
        """Remove the member of an address if it does not serve: a learner
        that was never started, or a member that has lost its data. kubeadm
        lets no master join while there is one.

        :return: whether there was one
        :raises InfraError: etcd refuses
        """
        dead = [one for one in self.members() if one.address == address]
        if not dead or address in self.healthy([address]):
            return False
        for member in dead:
            self.remove(member, deadline)
        self.wait_healthy(deadline)
        return True

    def move_leader(self, leader: Member, successor: Member) -> None:
        """Have another member lead, without an election.

        :raises InfraError: etcd refuses
        """
        self._run(
            "move-leader", successor.id, endpoints=endpoint(leader.address)
        )

    def leader(self) -> str:
        """Tell the id of the member that leads; "0": none does.

        :raises InfraError: etcd does not answer
        """
        output = self._run("endpoint", "status", "--write-out=json")
        try:
            (found,) = msgspec.json.decode(output, type=tuple[_Status])
        except msgspec.DecodeError as error:
            raise errors.InfraError(
                f"{self._host}: etcd's status cannot be read: {error}"
            ) from None
        return f"{found.status.leader:x}"

    def wait_healthy(self, deadline: Deadline) -> None:
        """Wait until there is a leader again.

        :raises InfraError: there was none in time
        """
        end = Deadline.within(min(LEADER_TIMEOUT_S, deadline.remaining))
        while not self.healthy(m.address for m in self.members()):
            if end.passed:
                raise errors.InfraError(f"{self._host}: etcd has no leader.")
            time.sleep(POLL_INTERVAL_S)

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
    """Give the URL at which a member serves."""
    return f"https://{haproxy.url_host(address)}:{PORT}"


def snapshot(name: str) -> str:
    """Return the path of a snapshot on the master that has made it."""
    return f"{SNAPSHOT_DIR}/{name}.db"


def _address(urls: Sequence[str]) -> str:
    return next((urlsplit(url).hostname or "" for url in urls), "")


class RemovalPlan(msgspec.Struct, frozen=True):
    """Whom to take out, one after the other."""

    members: Sequence[Member]
    #: who serves and stays; None: nobody goes
    successor: Member | None = None


def plan_removal(
    members: Sequence[Member],
    healthy: Collection[str],
    leaving: Collection[str],
) -> RemovalPlan:
    """Tell whom to take out, those first that do not serve.

    A change needs more than half of those that are members then; so does
    all that comes afterwards.

    :param healthy: addresses of the members that serve
    :param leaving: addresses of those that are to go
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
    """Check that several members do not leave too few others: the cluster
    would live, but not bear the loss of one more.

    :raises InfraError: they do
    """
    voters = {m.address for m in members if not m.is_learner}
    to_remove = voters & set(leaving)
    remaining = (voters & set(healthy)) - to_remove
    if len(to_remove) > 1 and len(remaining) <= len(voters) // 2:
        raise errors.InfraError(
            f"Of {len(voters)} members of etcd only {len(remaining)} would "
            f"stay ({', '.join(sorted(remaining))}), and a majority is "
            f"{len(voters) // 2 + 1}. Nothing was changed. Heal the masters "
            f"{', '.join(sorted(to_remove))} one after the other, each by a "
            "request of its own."
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
        else "does not serve or goes"
        for m in members
    }
    summary = ", ".join(
        f"{address} {state}" for address, state in states.items()
    )
    raise errors.InfraError(
        f"etcd would have no quorum: of {count} members {serving} would serve, "
        f"and it takes {count // 2 + 1} ({summary}). Nothing was taken out. Heal "
        "fewer masters at once, or the whole VNF."
    )
