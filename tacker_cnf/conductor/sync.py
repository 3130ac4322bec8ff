"""Keeps what is known of a VNF true when its VIM changed it by itself."""

from collections import Counter
from collections.abc import Mapping

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.drivers.base import Deadline, InfraTask
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.lcm import outcome, target
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vims import connection
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour

LOG = log.getLogger(__name__)


class Sync:
    """Looks at the VIM, and writes down what is there."""

    def __init__(
        self, store: Store, catalogue: Packages, drivers: Registry
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers

    def once(self, instance_id: str) -> bool:
        """Synchronize one instance; tell whether anything had changed.

        An instance that an operation holds, or takes meanwhile, is left to
        that operation.

        :raises NotFound: there is no such instance
        :raises InfraError: its VIM could not tell
        """
        instance, generation, reached_by = self._look(instance_id)
        current = target.of_instance(instance)
        before = instance.instantiated_vnf_info
        if current is None or before is None:
            return False
        package = self._catalogue.tree(instance.vnfd_id)
        found = self._drivers.of(reached_by).observe(
            InfraTask(
                instance=instance,
                package=package,
                vim_connections=reached_by,
                current=current,
                target=current,
                parameters={},
                deadline=Deadline.within(0),
            )
        )
        flavour = target.flavour_of(package.vnfd, current.flavour_id)
        now = levelled(instance_id, current, flavour, found)
        info = outcome.running(before, now, flavour, found)
        if info == before:
            return False
        LOG.info("VNF instance %s changed on its VIM", instance_id)
        after = msgspec.structs.replace(instance, instantiated_vnf_info=info)
        return self._keep(after, generation)

    @transaction
    def _look(
        self, instance_id: str
    ) -> tuple[VnfInstance, int, Mapping[str, VimConnectionInfo]]:
        with self._store.reader() as session:
            instance = instances.get(session, instance_id)
            return (
                instance,
                instances.generation(session, instance_id),
                connection.complete(session, instance.vim_connection_info),
            )

    @transaction
    def _keep(self, instance: VnfInstance, generation: int) -> bool:
        with self._store.writer() as session:
            return instances.refresh(session, instance, generation)


def _moved(
    flavour: Flavour, aspect: str, current: Target, counts: Counter[str]
) -> bool:
    """Tell whether a VDU of an aspect has another size than was known."""
    known = flavour.aspects.get(aspect)
    vdus = known.deltas if known else ()
    return any(counts[vdu] != current.counts.get(vdu, 0) for vdu in vdus)


def levelled(
    instance_id: str, current: Target, flavour: Flavour, found: InfraResult
) -> Target:
    """Let the scale levels follow the counted VNFCs, where they divide."""
    counts = Counter(vnfc.vdu_id for vnfc in found.vnfc_resource_info)
    levels = dict(current.scale_levels)
    for aspect in levels:
        if not _moved(flavour, aspect, current, counts):
            continue
        try:
            level = scaling.level_of(flavour, aspect, counts)
        except errors.UnknownAspect:
            continue  # of a package that was changed
        if level is None:
            LOG.warning(
                "VNF instance %s: its VNFCs %s are of no scale level of %s",
                instance_id,
                dict(counts),
                aspect,
            )
        else:
            levels[aspect] = level
    return msgspec.structs.replace(current, scale_levels=levels, counts=counts)
