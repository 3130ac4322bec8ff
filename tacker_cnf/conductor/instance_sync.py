"""Keeps what is known of a VNF true when its VIM changed it by itself."""

from collections.abc import Mapping

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.conductor.orphans import OrphanCleaner
from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import instantiated_info, scale_level_matching, target
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vims import connection_info

LOG = log.getLogger(__name__)


class InstanceSync:
    """Looks at the VIM, and writes down what is there."""

    def __init__(
        self,
        store: Store,
        catalogue: Packages,
        drivers: DriverRegistry,
        lease: float,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._cancel_token = CancelToken()
        self.orphans = OrphanCleaner(
            store, catalogue, drivers, self._cancel_token, lease
        )

    def stop(self) -> None:
        """Wait for no VIM any more."""
        reason = errors.Cancelled("The conductor is to end.")
        self._cancel_token.cancel(reason, forceful=True)

    def sync_instance(self, instance_id: str) -> bool:
        """Synchronize one instance; tell whether anything had changed. What
        one has that is not instantiated, or was deleted, is removed.

        :raises NotFound: there is no such instance
        :raises OperationInProgress: an operation holds it, or has come in
            between, and knows better; or something of it is being deleted
        :raises InfraError: its VIM could not tell
        """
        try:
            instance, generation, resolved_connections = self._read(
                instance_id
            )
        except errors.NotFound:
            self._remove(instance_id)
            raise
        current = target.of_instance(instance)
        before = instance.instantiated_vnf_info
        if current is None or before is None:
            self._remove(instance_id)
            return False
        package = self._catalogue.unpacked(instance.vnfd_id)
        found = self._drivers.for_connections(resolved_connections).observe(
            InfraTask(
                instance=instance,
                package=package,
                vim_connections=resolved_connections,
                current=current,
                target=current,
                parameters={},
                deadline=Deadline.within(0),
                cancel_token=self._cancel_token,
            )
        )
        flavour = target.flavour_of(package.vnfd, current.flavour_id)
        info = scale_level_matching.build_observed_info(
            before, current, flavour, found, instance.metadata
        )
        if info == before:
            return False
        self._save(
            msgspec.structs.replace(instance, instantiated_vnf_info=info),
            generation,
        )
        LOG.info("VNF instance %s changed on its VIM", instance_id)
        if unmatched := instantiated_info.unmatched(info):
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
    def _read(
        self, instance_id: str
    ) -> tuple[VnfInstance, int, Mapping[str, VimConnectionInfo]]:
        with self._store.reader() as session:
            instances.check_not_busy(session, instance_id)
            # first: what comes in between must not go unnoticed
            generation = instances.generation(session, instance_id)
            instance = instances.get(session, instance_id)
            return (
                instance,
                generation,
                connection_info.complete(
                    session, instance.vim_connection_info
                ),
            )

    @transaction
    def _save(self, instance: VnfInstance, generation: int) -> None:
        with self._store.writer() as session:
            if not instances.refresh(session, instance, generation):
                raise errors.OperationInProgress(
                    f"VNF instance {instance.id} was changed meanwhile."
                )
