"""Updates a VNF instance after its VIM has changed the VNF."""

from collections.abc import Mapping

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.conductor.orphans import OrphanCleaner
from tacker_cnf.db import instances
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import instantiated_info, scale_level_matching
from tacker_cnf.lcm.change import Change, current_state, flavour_of
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.services.vim_connections import VimConnections
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance

LOG = log.getLogger(__name__)


class InstanceSync:
    """Reads the resources of an instance from its VIM, and stores them."""

    def __init__(
        self,
        store: Store,
        catalogue: Packages,
        drivers: DriverRegistry,
        lease: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._vim_connections = VimConnections(drivers)
        self._cancel_token = CancelToken(clock=clock)
        self.orphans = OrphanCleaner(
            store, catalogue, drivers, self._cancel_token, lease
        )

    def stop(self) -> None:
        """Cancel all requests to VIMs."""
        reason = errors.Cancelled("The conductor is stopping.")
        self._cancel_token.cancel(reason, forceful=True)

    def sync_instance(self, instance_id: str) -> bool:
        """Synchronize one instance; return whether it had changed.

        Delete the objects of one that is not instantiated, or was deleted.

        :raises NotFound: the instance does not exist
        :raises OperationInProgress: an operation has the instance, or changed
            it meanwhile; or its objects are being deleted
        :raises InfraError: its VIM is unreachable, or rejects a request
        """
        try:
            instance, generation, resolved_connections = self._read(
                instance_id
            )
        except errors.NotFound:
            self._remove(instance_id)
            raise
        current = current_state(instance)
        before = instance.instantiated_vnf_info
        if current is None or before is None:
            self._remove(instance_id)
            return False
        package = self._catalogue.unpacked(
            instance.vnfd_id, instance.project_id
        )
        found = self._drivers.for_connections(resolved_connections).observe(
            InfraTask(
                instance=instance,
                change=Change.none(current),
                package=package,
                vim_connections=resolved_connections,
            ),
            TaskContext(
                deadline=Deadline.within(0), cancel_token=self._cancel_token
            ),
        )
        flavour = flavour_of(package.vnfd, current.flavour_id)
        info = scale_level_matching.build_observed_info(
            before, current, flavour, found, instance.metadata
        )
        if info == before:
            return False
        self._save(
            msgspec.structs.replace(instance, instantiated_vnf_info=info),
            generation,
        )
        LOG.info("VNF instance changed on its VIM: instance=%s", instance_id)
        if unmatched := instantiated_info.unmatched(info):
            LOG.warning(
                "VNFCs match no scale level: instance=%s vnfcs=%s",
                instance_id,
                unmatched,
            )
        return True

    def _remove(self, instance_id: str) -> None:
        if self.orphans.remove(instance_id):
            raise errors.OperationInProgress(
                f"The objects of VNF instance {instance_id} are being deleted."
            )

    @transaction
    def _read(
        self, instance_id: str
    ) -> tuple[VnfInstance, int, Mapping[str, VimConnectionInfo]]:
        with self._store.reader() as session:
            stored = instances.load(session, instance_id)
            if not stored.is_free:
                raise errors.OperationInProgress(
                    f"VNF instance {instance_id} is being changed."
                )
            return (
                stored.instance,
                stored.generation,
                self._vim_connections.complete(
                    session, stored.instance.vim_connection_info
                ),
            )

    @transaction
    def _save(self, instance: VnfInstance, generation: int) -> None:
        with self._store.writer() as session:
            if not instances.refresh(session, instance, generation):
                raise errors.OperationInProgress(
                    f"VNF instance {instance.id} was changed during the "
                    "synchronization."
                )
