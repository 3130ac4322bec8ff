"""Build the components of a process, for all programs."""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from tacker_cnf import errors, rpc
from tacker_cnf.audit import AuditTrail
from tacker_cnf.catalogue.download_policy import DownloadPolicy
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.catalogue.unpacked import PackageSource
from tacker_cnf.db import keys, session
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import VAULT
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.http_client import clients
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.nfvo.client import NfvoClient
from tacker_cnf.nfvo.http import HttpNfvo
from tacker_cnf.nfvo.local import LocalNfvo
from tacker_cnf.nfvo.packages import NfvoPackages, OnboardedPackages
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.sol import base, uri

if TYPE_CHECKING:
    from tacker_cnf.api.middleware import Wsgi
    from tacker_cnf.conductor.service import Conductor
    from tacker_cnf.services.slots import Slots


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parts:
    """The components that API servers and conductors have in common."""

    conf: cfg.ConfigOpts
    store: Store
    catalogue: Packages
    drivers: DriverRegistry
    transport: Any
    audit: AuditTrail
    clock: Clock


def parts(
    conf: cfg.ConfigOpts,
    queue: str | None = None,
    *,
    connect: bool = True,
    clock: Clock = SYSTEM_CLOCK,
) -> Parts:
    """Open the store, the keys, the packages and the queue.

    :param queue: the URL of the queue; default: that of the configuration
    :param connect: whether to connect to the database now
    :param clock: the clock of the process

    :raises VnfmError: there is no key file, an entry of [vims]
        allowed_networks is not a network, or a URL has a password
    """
    SsrfPolicy.of_vims(conf)  # an invalid network is an error at the start
    _check_urls(conf)
    VAULT.open(keys.load(keys.key_file_path(conf)))
    store = session.open_store(conf, connect=connect)
    store.public_names = frozenset(conf.secrets.public_names)
    store.quotas = dict(conf.quotas)
    return Parts(
        conf=conf,
        store=store,
        catalogue=Packages(store, conf),
        drivers=DriverRegistry(conf),
        transport=rpc.open_transport(conf, queue),
        audit=AuditTrail(conf, queue),
        clock=clock,
    )


def _check_urls(conf: cfg.ConfigOpts) -> None:
    """Check that no URL of a peer has a user or a password.

    :raises VnfmError: one has
    """
    options = (
        ("[api] endpoint", conf.api.endpoint),
        ("[nfvo] endpoint", conf.nfvo.endpoint),
        ("[nfvo] token_endpoint", conf.nfvo.token_endpoint),
    )
    for name, value in options:
        try:
            uri.check_no_user(name, value or "")
        except ValueError as error:
            raise errors.VnfmError(f"{error}.") from None


def application(
    shared: Parts, *, wakeup_timeout_s: float = rpc.WAKEUP_TIMEOUT_S
) -> "Wsgi":
    """Build the WSGI application of the API.

    :param wakeup_timeout_s: seconds that the sweep of conductors leaves an
        operation to the wake-up message; 0 if no message reaches them
    """
    # imported here: a conductor needs a quarter less memory without them
    from tacker_cnf.api import app
    from tacker_cnf.db.subscription_types import LIFECYCLE, PACKAGES
    from tacker_cnf.notification.webhook_client import CallbackTester
    from tacker_cnf.services import readiness, slots
    from tacker_cnf.services.event_streams import EventStreams
    from tacker_cnf.services.operations import OperationService
    from tacker_cnf.services.packages import PackageService
    from tacker_cnf.services.plans import PlanService
    from tacker_cnf.services.state_waits import StateWaits
    from tacker_cnf.services.subscriptions import SubscriptionService
    from tacker_cnf.services.vims import VimService
    from tacker_cnf.services.vnf_instances import VnfInstanceService

    base.precompile_types()
    conductors = rpc.ConductorClient(shared.transport)
    peer_slots = slots.for_peers(shared.conf)
    packages = _packages_of(shared, peer_slots)
    onboarded: PackageSource = shared.catalogue
    if shared.conf.nfvo.endpoint:
        onboarded = OnboardedPackages(shared.catalogue)
    operations = OperationService(
        shared.store,
        packages,
        shared.drivers,
        conductors,
        vim_from_grant=bool(shared.conf.nfvo.endpoint),
        wakeup_timeout_s=wakeup_timeout_s,
    )
    tester = CallbackTester(
        clients.options_from_conf(shared.conf),
        SsrfPolicy.of_callbacks(shared.conf),
        is_on=shared.conf.notification.test_callback,
    )
    return _app_builder(shared)(
        shared.conf,
        app.Services(
            packages=PackageService(
                shared.store,
                shared.catalogue,
                DownloadPolicy(
                    shared.conf.catalogue.upload_hosts,
                    shared.conf.catalogue.upload_schemes,
                ),
                conductors,
                slots.for_uploads(shared.conf),
            ),
            instances=VnfInstanceService(
                shared.store, packages, shared.drivers, conductors
            ),
            operations=operations,
            plans=PlanService(
                shared.conf,
                shared.store,
                onboarded,
                shared.drivers,
                OperationService(
                    shared.store, onboarded, shared.drivers, conductors
                ),
                LocalNfvo(shared.conf.nfvo.zones),
                peer_slots,
            ),
            state_waits=StateWaits(shared.store, slots.for_waits(shared.conf)),
            event_streams=EventStreams(
                shared.store,
                slots.for_event_streams(shared.conf),
                shared.conf.notification.event_retention,
                shared.conf.api.event_stream_time,
                shared.clock,
            ),
            vims=VimService(shared.store, shared.drivers, peer_slots),
            subscriptions=SubscriptionService(
                LIFECYCLE, shared.store, tester, peer_slots
            ),
            package_subscriptions=SubscriptionService(
                PACKAGES, shared.store, tester, peer_slots
            ),
            readiness=readiness.of_service(
                shared.store, conductors, shared.clock
            ),
        ),
        shared.audit,
    )


def _app_builder(shared: Parts) -> Callable[..., "Wsgi"]:
    """Return what builds the application: with the web page, or without."""
    from tacker_cnf.api import app

    if not shared.conf.api.web_page:
        return app.build
    # imported here: it reads all templates
    from tacker_cnf.web import app as web_app

    return functools.partial(web_app.build, VAULT.fernet)


def conductor(shared: Parts, nfvo: Nfvo | None = None) -> "Conductor":
    """Build a conductor."""
    # imported here: an API server needs less memory without it
    from tacker_cnf.conductor.service import Conductor

    base.precompile_types()
    return Conductor(
        shared.conf,
        shared.store,
        shared.catalogue,
        shared.drivers,
        nfvo or nfvo_of(shared.conf),
        shared.audit,
        shared.clock,
    )


def _packages_of(shared: Parts, peer_slots: "Slots") -> PackageSource:
    """Return the source of the packages of VNF instances: the NFVO if one is
    configured, else the catalogue.

    :raises VnfmError: an option of [nfvo] is missing
    """
    conf = shared.conf
    if not conf.nfvo.endpoint:
        return shared.catalogue
    return NfvoPackages(
        conf, NfvoClient(conf), shared.catalogue, peer_slots.take
    )


def nfvo_of(conf: cfg.ConfigOpts) -> Nfvo:
    """Return the NFVO that grants operations: the configured one, or this
    service itself.

    :raises VnfmError: an option of [nfvo] is missing
    """
    if conf.nfvo.endpoint:
        return HttpNfvo(conf, NfvoClient(conf))
    return LocalNfvo(conf.nfvo.zones)
