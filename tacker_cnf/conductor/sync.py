"""Keeps what is known of a VNF true when its VIM changed it by itself."""

from collections.abc import Mapping

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.conductor.orphans import Orphans
from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.lcm import levelling, outcome, target
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vims import connection

LOG = log.getLogger(__name__)


class Sync:
    """Looks at the VIM, and writes down what is there."""

    def __init__(
        self,
        store: Store,
        catalogue: Packages,
        drivers: Registry,
        lease: float,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._halt = Halt()
        self.orphans = Orphans(store, catalogue, drivers, self._halt, lease)

    def stop(self) -> None:
        """Wait for no VIM any more."""
        ended = errors.Cancelled("The conductor is to end.")
        self._halt.call_off(ended, at_once=True)

    def once(self, instance_id: str) -> bool:
        """Synchronize one instance; tell whether anything had changed. What
        one has that is not instantiated, or was deleted, is removed.

        :raises NotFound: there is no such instance
        :raises OperationInProgress: an operation holds it, or has come in
            between, and knows better; or something of it is being deleted
        :raises InfraError: its VIM could not tell
        """
        try:
            instance, generation, reached_by = self._look(instance_id)
        except errors.NotFound:
            self._remove(instance_id)
            raise
        current = target.of_instance(instance)
        before = instance.instantiated_vnf_info
        if current is None or before is None:
            self._remove(instance_id)
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
                halt=self._halt,
            )
        )
        flavour = target.flavour_of(package.vnfd, current.flavour_id)
        info = levelling.observed(
            before, current, flavour, found, instance.metadata
        )
        if info == before:
            return False
        self._keep(
            msgspec.structs.replace(instance, instantiated_vnf_info=info),
            generation,
        )
        LOG.info("VNF instance %s changed on its VIM", instance_id)
        if unmatched := outcome.unmatched(info):
            LOG.warning(
                "VNF instance %s: these VNFCs are of no scale level: %s",
                instance_id,
                unmatched,
            )
        return True

    def _remove(self, instance_id: str) -> None:
        if self.orphans.remove(instance_id):
            raise errors.OperationInProgress(
                f"What VNF instance {instance_id} had is being deleted."
            )

    @transaction
    def _look(
        self, instance_id: str
    ) -> tuple[VnfInstance, int, Mapping[str, VimConnectionInfo]]:
        with self._store.reader() as session:
            instances.check_free(session, instance_id)
            # first: what comes in between must not go unnoticed
            seen = instances.generation(session, instance_id)
            instance = instances.get(session, instance_id)
            return (
                instance,
                seen,
                connection.complete(session, instance.vim_connection_info),
            )

    @transaction
    def _keep(self, instance: VnfInstance, generation: int) -> None:
        with self._store.writer() as session:
            if not instances.refresh(session, instance, generation):
                raise errors.OperationInProgress(
                    f"VNF instance {instance.id} was changed meanwhile."
                )
