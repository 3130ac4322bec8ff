"""VNF instances: create, read, synchronize, delete."""

import contextlib
import datetime
import itertools
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

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
from tacker_cnf.drivers.base import InfraDriver
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import merge, redaction
from tacker_cnf.lcm.shown_names import ADDITIONAL_PARAMS, ShownNames
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


#: entries of a list whose details are read at a time
BATCH_SIZE: Final = 25


class InstanceDetails(NamedTuple):
    """An instance, and what only version 1 of the API shows of it."""

    instance: VnfInstance
    #: the package of its VNFD
    package_id: str | None
    #: additionalParams of the request that instantiated it
    additional_params: Mapping[str, Any]


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
        self._drivers = drivers
        self._vim_connections = VimConnections(drivers)
        self._rpc = rpc

    def create(
        self,
        context: RequestContext,
        request: CreateVnfRequest,
        preconditions: Preconditions,
        *,
        named_by_id: bool = False,
    ) -> VnfInstance:
        """Create an instance of an enabled package.

        :param named_by_id: whether it gets a name of its id if the request
            has none
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
            if named_by_id and not instance.vnf_instance_name:
                instance = msgspec.structs.replace(
                    instance, vnf_instance_name=default_name(instance.id)
                )
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

    def get_tag(self, context: RequestContext, instance_id: str) -> str:
        """Return the entity tag of an instance.

        :raises NotFound: the instance does not exist
        """
        return self._store.read(context, instances.etag, instance_id)

    def get_details(
        self, context: RequestContext, instance_id: str
    ) -> tuple[InstanceDetails, str]:
        """Return an instance with its details, and its entity tag.

        :raises NotFound: the instance does not exist
        """
        return self._store.read(
            context, _get_details, self._vim_connections, instance_id
        )

    @contextlib.contextmanager
    def find(
        self, context: RequestContext, query: ListQuery
    ) -> Iterator[Iterator[tuple[Position, VnfInstance]]]:
        """List instances, oldest first, with their positions."""
        with self._store.reader(context) as session:
            yield (
                (position, instance)
                for position, instance, _ in self._find(session, query)
            )

    @contextlib.contextmanager
    def find_details(
        self, context: RequestContext, query: ListQuery
    ) -> Iterator[Iterator[tuple[Position, InstanceDetails]]]:
        """List instances with their details, oldest first, with their
        positions.
        """
        with self._store.reader(context) as session:
            yield _with_details(session, self._find(session, query))

    def _find(
        self, session: Session, query: ListQuery
    ) -> Iterator[tuple[Position, VnfInstance, ShownNames]]:
        # a list leaves them out unless the client requests them
        includes_vims = "vim_connection_info" in query.attributes
        vims_of = _list_vims(session) if includes_vims else {}
        named = shown_names.with_names(
            session,
            instances.find(session, query),
            lambda entry: entry[1].id,
            are_used=not FREE_FORM.isdisjoint(query.attributes),
        )
        for (position, instance), names in named:
            provided = self._vim_connections.provided(
                vims_of.get(instance.id, ())
            )
            yield position, _shown(instance, provided, names), names

    def driver_of(self, instance: VnfInstance) -> InfraDriver[Any, Any] | None:
        """Return the driver of the VIM of an instance; None: it is not
        instantiated.

        :raises InvalidVimConnection: no driver supports the VIM
        """
        # the VIMs that an instance provides come last
        for connection in instance.vim_connection_info.values():
            if connection.vim_type:
                return self._drivers.for_type(connection.vim_type)
        return None

    def get_vnfd_id(self, context: RequestContext, package_id: str) -> str:
        """Return the VNFD of a package that the client may use.

        :raises UnknownVnfd: there is no such package, or it has no VNFD
        """
        vnfd_id = self._store.read(context, packages.find_vnfd_id, package_id)
        if vnfd_id is None:
            raise errors.UnknownVnfd(
                f"vnfPkgId: there is no onboarded VNF package {package_id}."
            )
        return vnfd_id

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


def default_name(instance_id: str) -> str:
    """Return the name that an instance has in version 1 of the API if no
    client has set one.
    """
    return f"vnf-{instance_id}"


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


def _get_details(
    session: Session, vim_connections: VimConnections, instance_id: str
) -> tuple[InstanceDetails, str]:
    stored = instances.load(session, instance_id)
    names = shown_names.of_package(session, stored.package_id)
    provided = vim_connections.provided(stored.vims)
    (details,) = _details_of(
        session,
        [(_shown(stored.instance, provided, names), names)],
        {instance_id: stored.package_id},
    )
    return details, stored.etag


def _with_details(
    session: Session,
    found: Iterator[tuple[Position, VnfInstance, ShownNames]],
) -> Iterator[tuple[Position, InstanceDetails]]:
    while batch := list(itertools.islice(found, BATCH_SIZE)):
        positions = [position for position, *_ in batch]
        package_ids = instances.package_ids(
            session, [instance.id for _, instance, _ in batch]
        )
        details = _details_of(
            session, [entry[1:] for entry in batch], package_ids
        )
        yield from zip(positions, details, strict=True)


def _details_of(
    session: Session,
    found: Sequence[tuple[VnfInstance, ShownNames]],
    package_ids: Mapping[str, str],
) -> list[InstanceDetails]:
    ids = [instance.id for instance, _ in found]
    params = op_occs.list_instantiation_params(session, ids)
    return [
        InstanceDetails(
            instance,
            package_ids.get(instance.id),
            redaction.masked(
                params.get(instance.id, {}), ADDITIONAL_PARAMS, names
            ),
        )
        for instance, names in found
    ]


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
    """Add the VIMs that an instance provides, after its own, and hide what is
    not shown.
    """
    own = instance.vim_connection_info
    complete = msgspec.structs.replace(
        instance, vim_connection_info={**own, **provided, **own}
    )
    return redaction.instance(complete, names)
