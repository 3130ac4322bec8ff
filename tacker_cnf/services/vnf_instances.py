"""VNF instances: create, read, synchronize, delete."""

import contextlib
import datetime
import uuid
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import PackageSource
from tacker_cnf.context import RequestContext
from tacker_cnf.db import (
    idempotency,
    instances,
    leftovers,
    listing,
    op_occs,
    packages,
    quotas,
    shown_names,
    vims,
)
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Session,
    Store,
)
from tacker_cnf.db.vims import ProvidedVimRecord
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import merge, redaction
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.rpc import ConductorClient
from tacker_cnf.services.idempotency import run_once
from tacker_cnf.services.vim_connections import VimConnections
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import CreateVnfRequest
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.vnfd.model import Vnfd

#: attributes that the database can compare
COMPARABLE: Final = listing.comparable(instances.COLUMNS)
#: attributes of which the VNFD decides what is shown
FREE_FORM: Final = frozenset(
    {
        "extensions",
        "instantiated_vnf_info",
        "metadata",
        "vim_connection_info",
        "vnf_configurable_properties",
    }
)


class VnfInstanceService:
    """Creates, reads, synchronizes and deletes VNF instances.

    The instances that it returns include the VIMs that they provide, and
    show no secrets.
    """

    def __init__(
        self,
        store: Store,
        catalogue: PackageSource,
        drivers: DriverRegistry,
        rpc: ConductorClient,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._vim_connections = VimConnections(drivers)
        self._rpc = rpc

    def create(
        self,
        context: RequestContext,
        request: CreateVnfRequest,
        preconditions: Preconditions,
    ) -> VnfInstance:
        """Create an instance of an enabled package.

        :raises VnfdNotUsable: no enabled package has the requested VNFD
        :raises QuotaExceeded: the project may have no more instances, or
            packages, if its package comes from the NFVO
        :raises PeerFailed: the NFVO did not send the package
        :raises DuplicateRequest: another request with this key is in progress
        """

        def create() -> str:
            project_id = context.owner.project_id
            package = self._catalogue.unpacked(request.vnfd_id, project_id)
            instance = new_instance(request, package.vnfd, project_id)
            try:
                self._store.write(
                    context, _add, instance, preconditions, context.user_id
                )
            except ReferenceError:
                raise errors.VnfdNotUsable(
                    f"The VNF package of VNFD {instance.vnfd_id} was just "
                    "deleted."
                ) from None
            return instance.id

        instance_id = run_once(self._store, context, preconditions, create)
        return self.get(context, instance_id)[0]

    def get(
        self, context: RequestContext, instance_id: str
    ) -> tuple[VnfInstance, str]:
        """Return an instance, and its entity tag.

        :raises NotFound: the instance does not exist
        """
        return self._store.read(
            context, _get, self._vim_connections, instance_id
        )

    @contextlib.contextmanager
    def find(
        self, context: RequestContext, query: ListQuery
    ) -> Iterator[Iterator[tuple[Position, VnfInstance]]]:
        """List instances, oldest first, with their positions."""
        with self._store.reader(context) as session:
            provided = self._vim_connections.provided
            # a list leaves them out unless the client requests them
            includes_vims = "vim_connection_info" in query.attributes
            vims_of = _list_vims(session) if includes_vims else {}
            named = shown_names.with_names(
                session,
                instances.find(session, query),
                lambda entry: entry[1].id,
                are_used=not FREE_FORM.isdisjoint(query.attributes),
            )
            yield (
                (
                    position,
                    _shown(
                        instance, provided(vims_of.get(instance.id, ())), names
                    ),
                )
                for (position, instance), names in named
            )

    def delete(
        self,
        context: RequestContext,
        instance_id: str,
        preconditions: Preconditions,
    ) -> None:
        """Delete an instance that is not instantiated.

        :raises NotFound: the instance does not exist
        :raises WrongState: the instance is instantiated
        :raises OperationInProgress: an operation has the instance
        :raises Leftovers: objects of a failed instantiation are on the VIM
        :raises PreconditionFailed: the instance has another entity tag
        """
        with cleanup_on_leftovers(self._rpc, instance_id):
            self._store.write(context, _delete, instance_id, preconditions)

    def sync(
        self,
        context: RequestContext,
        instance_id: str,
        preconditions: Preconditions,
    ) -> None:
        """Send a request to synchronize an instance with its VIM, or to
        delete the objects that a failed instantiation left there.

        :raises NotFound: the instance does not exist
        :raises WrongState: the instance has no objects on a VIM
        :raises OperationInProgress: an operation has the instance
        :raises PreconditionFailed: the instance has another entity tag
        :raises Unavailable: the message broker is unreachable
        """
        self._store.read(context, _check_sync, instance_id, preconditions)
        self._rpc.sync(instance_id)


@contextlib.contextmanager
def cleanup_on_leftovers(
    rpc: ConductorClient, instance_id: str
) -> Iterator[None]:
    """Request a cleanup if the block raises Leftovers."""
    try:
        yield
    except errors.Leftovers:
        # without a broker, the next periodic synchronization deletes them
        with contextlib.suppress(errors.Unavailable):
            rpc.sync(instance_id)
        raise


def _add(
    session: Session,
    instance: VnfInstance,
    preconditions: Preconditions,
    user_id: str | None,
) -> None:
    quotas.reserve(session, instance.project_id, Resource.VNF_INSTANCES)
    idempotency.record(session, preconditions, instance.id)
    package_id = packages.get_usable(
        session, instance.vnfd_id, instance.project_id
    )
    now = datetime.datetime.now(datetime.UTC)
    instances.add(session, instance, package_id, now, user_id)


def _get(
    session: Session, vim_connections: VimConnections, instance_id: str
) -> tuple[VnfInstance, str]:
    stored = instances.load(session, instance_id)
    provided = vim_connections.provided(stored.vims)
    names = shown_names.of_package(session, stored.package_id)
    return _shown(stored.instance, provided, names), stored.etag


def _list_vims(session: Session) -> Mapping[str, list[ProvidedVimRecord]]:
    """List the VIMs that VNF instances provide, by instance."""
    found: dict[str, list[ProvidedVimRecord]] = {}
    for vim in vims.list_provided(session):
        found.setdefault(vim.vnf_instance_id, []).append(vim)
    return found


def _delete(
    session: Session, instance_id: str, preconditions: Preconditions
) -> None:
    instance = instances.get(session, instance_id)
    instances.check_not_busy(session, instance_id)
    if instance.instantiation_state == InstantiationState.INSTANTIATED:
        raise errors.WrongState(
            f"VNF instance {instance_id} is INSTANTIATED; terminate it first."
        )
    leftovers.check(session, instance_id)
    instances.delete(session, instance_id, preconditions)
    op_occs.forget_parameters(session, instance_id)


def _check_sync(
    session: Session, instance_id: str, preconditions: Preconditions
) -> None:
    stored = instances.load(session, instance_id)
    state = stored.instance.instantiation_state
    left = leftovers.get(session, instance_id)
    if state != InstantiationState.INSTANTIATED and left is None:
        raise errors.WrongState(
            f"VNF instance {instance_id} is {state}; it has no objects on a "
            "VIM."
        )
    instances.check_not_busy(session, instance_id)
    preconditions.check(stored.etag)


def new_instance(
    request: CreateVnfRequest, vnfd: Vnfd, project_id: str
) -> VnfInstance:
    """Build an instance with the properties and defaults of its VNFD."""
    return VnfInstance(
        id=str(uuid.uuid4()),
        vnf_instance_name=request.vnf_instance_name,
        vnf_instance_description=request.vnf_instance_description,
        vnfd_id=vnfd.id,
        vnf_provider=vnfd.provider,
        vnf_product_name=vnfd.product_name,
        vnf_software_version=vnfd.software_version,
        vnfd_version=vnfd.descriptor_version,
        instantiation_state=InstantiationState.NOT_INSTANTIATED,
        vnf_configurable_properties=vnfd.configurable_properties,
        extensions=vnfd.extensions,
        metadata=merge.patched(vnfd.metadata, request.metadata),
        project_id=project_id,
    )


def _shown(
    instance: VnfInstance,
    provided: Mapping[str, VimConnectionInfo],
    names: ShownNames,
) -> VnfInstance:
    """Add the VIMs that an instance provides, and hide what is not shown."""
    connections = {**provided, **instance.vim_connection_info}
    complete = msgspec.structs.replace(
        instance, vim_connection_info=connections
    )
    return redaction.instance(complete, names)
