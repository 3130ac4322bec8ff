"""The deliberate differences between the sandbox and a real control plane.

The replay of a recording expects the listed steps to differ from the
recording, and all others to be equal to it. The README has the same list.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Difference:
    """A feature that the sandbox leaves out, and why."""

    feature: str
    reason: str
    #: Recording -> its steps that differ, as in "3,10-12".
    steps: Mapping[str, str] = field(default_factory=dict)
    #: Recording -> its steps that cannot be replayed.
    skipped: Mapping[str, str] = field(default_factory=dict)


def _numbers(steps: str) -> Iterator[int]:
    for part in filter(None, steps.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def steps_of(recording: str) -> Mapping[int, Difference]:
    """Return the steps of a recording that differ."""
    return {
        number: difference
        for difference in DIFFERENCES
        for number in _numbers(difference.steps.get(recording, ""))
    }


def skipped_steps(recording: str) -> frozenset[int]:
    """Return the steps of a recording that cannot be replayed."""
    return frozenset(
        number
        for difference in DIFFERENCES
        for number in _numbers(difference.skipped.get(recording, ""))
    )


def as_text() -> str:
    """Return the list for the README."""
    return "\n".join(f"* {one.feature}: {one.reason}." for one in DIFFERENCES)


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "Schemas of custom resources",
        "custom objects are stored as they are: no validation, CEL "
        "rules, pruning, defaults or selectable fields; tests of a "
        "client need the requests, not the schema language",
        steps={
            "crd": (
                "3-4,6,9-19,21,23-33,35-40,43-45,47,49-52,55-56,59-61,63-66,68"
            ),
        },
    ),
    Difference(
        "Pod Security Admission",
        "the labels of a namespace have no effect, as no container is run",
        steps={
            "admission": "1-6,10-12,15",
        },
    ),
    Difference(
        "Validation of LimitRanges and of the resource names of quotas",
        "an invalid one is accepted and then enforced as it is; tests of "
        "a client need valid ones",
        steps={
            "admission": "39,49-50",
        },
    ),
    Difference(
        "The delay of the quota controller",
        "usage is counted at once after a deletion, so that tests "
        "need not wait",
        steps={
            "admission": "28-29",
        },
    ),
    Difference(
        "An unenforced quota",
        "the recorded quota was not yet enforced; in the sandbox it "
        "is at once",
        skipped={
            "failures": "4",
        },
    ),
    Difference(
        "Fields that only a real node has",
        "such as podCIDR and labels of the cloud; nothing reads them",
        steps={
            "admission": "53",
        },
    ),
    Difference(
        "RBAC escalation checks, impersonation and the reasons of reviews",
        "roles decide on access and nothing else, which is what a client "
        "with too few rights meets",
        steps={
            "rbac": "18,28,48-49,58,60-62",
        },
        skipped={
            "rbac": "29",
        },
    ),
    Difference(
        "Details of apply",
        "a changed kind is not rejected, and ConfigMaps do not keep "
        "a generation; clients read neither",
        steps={
            "dryrun-apply": "49,55",
        },
    ),
    Difference(
        "Compaction by time",
        "a version expires by the length of the history, not after "
        "five minutes, so that a test can make it expire",
        steps={
            "expired": "2",
        },
        skipped={
            "expired": "18-20",
        },
    ),
    Difference(
        "The /api/v1/watch paths and the cadence of bookmarks",
        "clients have used the watch parameter for years, and "
        "bookmarks come when they come",
        steps={
            "lists": "51,62",
        },
    ),
    Difference(
        "Size limits of metadata and data",
        "the recordings do not contain the large bodies",
        skipped={
            "names": "47,49-50",
        },
    ),
    Difference(
        "Some validation of pods and delete options",
        "probes with two handlers and unknown kinds of options are "
        "accepted; clients send neither",
        steps={
            "names": "69,106",
        },
    ),
    Difference(
        "Conditions of terminating namespaces",
        "the namespace says that it is terminating, not what is left; "
        "clients wait for its end",
        steps={
            "names": "115,118,120-121",
        },
    ),
    Difference(
        "Revision history of ReplicaSets",
        "deployment.kubernetes.io/revision-history is not written; only "
        "people read it",
        steps={
            "rollout": "15",
        },
    ),
    Difference(
        "Generations of ReplicaSets",
        "they count the steps of a rollout, and how many there are "
        "depends on when each pod becomes ready",
        skipped={
            "rollout": "56,58",
        },
    ),
    Difference(
        "Validation and defaults of kinds without a controller",
        "CronJob, HorizontalPodAutoscaler, Ingress, NetworkPolicy, "
        "EndpointSlice, PodTemplate and ReplicationController are "
        "stored as they are; autoscaling/v1 and v2 are not "
        "converted, as nothing in the sandbox acts on these kinds",
        steps={
            "kinds": (
                "3-4,7,9-10,13,15-16,27-28,33-35,42-43,62-67,69-80,83-84"
            ),
        },
    ),
    Difference(
        "Details of Services and Secrets",
        "ranges and conflicts of addresses and node ports, changes "
        "of the type, and the content of typed Secrets are not "
        "checked; there are no Endpoints, as there is no traffic",
        steps={
            "kinds": "89-91,93-94,96-98,100-103,105-107,119",
        },
    ),
    Difference(
        "Details of Jobs",
        "deadlines, TTL, suspension and failure conditions; a Job "
        "completes or fails by its pods, which is what clients wait for",
        steps={
            "kinds": "2,29,50-55,58-59,120",
        },
    ),
    Difference(
        "Resizing and annotations of claims",
        "claims are bound at once by a provisioner of the sandbox, as "
        "there is no storage",
        steps={
            "kinds": "26,114-115,117",
        },
    ),
    Difference(
        "Details of Tables",
        "columns have no descriptions or types, includeObject has "
        "no effect, and rarely printed kinds have the columns Name "
        "and Age; only people read them",
        steps={
            "kubectl": "13,15-27",
            "negotiation": "2-3,5-21,23,25",
        },
    ),
    Difference(
        "YAML, protobuf and aggregated discovery in responses",
        "all clients accept JSON",
        steps={
            "kubectl": "6-7",
            "negotiation": "24,27-29,32,38-39,41,50-51,53",
        },
    ),
    Difference(
        "The exact error of a body that cannot be decoded",
        "the status is that of a real server for JSON; the text is that "
        "of another decoder",
        steps={
            "negotiation": "63-67,71-72,79-80",
        },
    ),
    Difference(
        "HEAD requests, unknown methods and the documents /healthz?verbose and /openapi/v3",
        "nothing but a browser asks for them",
        steps={
            "negotiation": "81-82,88-89,107,109",
        },
    ),
    Difference(
        "Other build information",
        "/version names the release, not the recorded build; clients read "
        "the release",
        steps={
            "kubectl": "114",
            "kubectl-older": "0-1,3,5,7,11,17,20",
        },
    ),
    Difference(
        "Node leases and five minutes of waiting",
        "the sandbox reports a lost node at once, and the default "
        "toleration is not waited for, so that tests need not wait",
        steps={
            "nodelost": "8",
        },
        skipped={
            "nodelost": "21-26",
        },
    ),
    Difference(
        "DisruptionTarget conditions, and conditions of lost nodes other than Ready",
        "clients decide by the deletionTimestamp and by Ready",
        steps={
            "nodelost": "7,10,14-16",
        },
    ),
    Difference(
        "The delay of controllers",
        "they act within milliseconds, so that tests need not wait; "
        "counters are ahead of the recorded ones",
        steps={
            "dryrun-apply": "19-20,46-47",
            "kubectl": "102",
        },
    ),
    Difference(
        "Aggregated discovery and other columns of old clients",
        "clients fall back to the documents of each group",
        steps={
            "kubectl-older": "8-10,24",
        },
    ),
    Difference(
        "ETags of discovery and OpenAPI documents",
        "the sandbox sends a document again instead of 304, which "
        "is only slower for a client that has cached it",
        steps={
            "kubectl": "33,35,44,47,88-89,92",
        },
    ),
    Difference(
        "Container logs",
        "no container runs, so a log has one line that the sandbox makes up",
        steps={
            "kubectl": "83",
        },
    ),
    Difference(
        "Watches that kubectl ends",
        "a recording of them has no end to compare",
        skipped={
            "kubectl": "12,53,70,81,99,103",
            "kubectl-older": "23",
        },
    ),
)
