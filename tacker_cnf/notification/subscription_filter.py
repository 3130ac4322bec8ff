"""Match events with subscription filters (SOL003 5.5.3.12, 4.4.1.5, 10.5.3.4).

A filter restricts only the attributes that it names; all of these have to
match.
"""

from collections.abc import Collection
from typing import Any

from tacker_cnf.lcm.announcement import Announcement, PackageEvent, Subject
from tacker_cnf.sol.package_subscription import PkgmNotificationsFilter
from tacker_cnf.sol.subscription import (
    LifecycleChangeNotificationsFilter,
    VnfInstanceSubscriptionFilter,
    VnfProduct,
    VnfProductsFromProvider,
)


def matches(
    filter_: LifecycleChangeNotificationsFilter | None,
    announcement: Announcement,
) -> bool:
    """Check whether a filter matches an event of a VNF instance."""
    if filter_ is None:
        return True
    op_occ = announcement.op_occ
    return (
        _matches_any(filter_.notification_types, announcement.type)
        and (
            op_occ is None
            or _matches_any(filter_.operation_types, op_occ.operation)
        )
        and (
            op_occ is None
            or _matches_any(filter_.operation_states, op_occ.operation_state)
        )
        and _matches_instance(
            filter_.vnf_instance_subscription_filter, announcement.subject
        )
    )


def matches_package(
    filter_: PkgmNotificationsFilter | None,
    subject: Subject,
    event: PackageEvent,
) -> bool:
    """Check whether a filter matches an event of a package; no package has
    vnfmInfo.
    """
    if filter_ is None:
        return True
    return (
        not filter_.vnfm_info
        and _matches_any(filter_.notification_types, event.type)
        and _matches_any(filter_.vnf_pkg_id, subject.id)
        and _matches_any(filter_.vnfd_id, subject.vnfd_id)
        and _matches_any(filter_.operational_state, event.operational_state)
        and _matches_any(filter_.usage_state, event.usage_state)
        and _matches_providers(filter_.vnf_products_from_providers, subject)
    )


def _matches_any(names: Collection[Any], actual: Any) -> bool:
    return not names or actual in names


def _matches_instance(
    filter_: VnfInstanceSubscriptionFilter | None, subject: Subject
) -> bool:
    if filter_ is None:
        return True
    return (
        _matches_any(filter_.vnfd_ids, subject.vnfd_id)
        and _matches_any(filter_.vnf_instance_ids, subject.id)
        # an instance without a name matches no name
        and _matches_any(filter_.vnf_instance_names, subject.vnf_instance_name)
        and _matches_providers(filter_.vnf_products_from_providers, subject)
    )


def _matches_providers(
    filters: Collection[VnfProductsFromProvider], subject: Subject
) -> bool:
    return not filters or any(_matches_provider(f, subject) for f in filters)


def _matches_provider(
    filter_: VnfProductsFromProvider, subject: Subject
) -> bool:
    products = filter_.vnf_products
    return filter_.vnf_provider == subject.vnf_provider and (
        not products or any(_matches_product(p, subject) for p in products)
    )


def _matches_product(filter_: VnfProduct, subject: Subject) -> bool:
    return filter_.vnf_product_name == subject.vnf_product_name and (
        not filter_.versions
        or any(
            version.vnf_software_version == subject.vnf_software_version
            and _matches_any(version.vnfd_versions, subject.vnfd_version)
            for version in filter_.versions
        )
    )
