"""Whether a subscription wants to know (SOL003 5.5.3.12, 4.4.1.5).

What a filter does not name, it does not ask about; what it names has to match
all at once.
"""

from collections.abc import Collection
from typing import Any

from tacker_cnf.lcm.announcement import Announcement, Subject
from tacker_cnf.sol.subscription import (
    LifecycleChangeNotificationsFilter,
    VnfInstanceSubscriptionFilter,
    VnfProduct,
    VnfProductsFromProvider,
)


def wants(
    given: LifecycleChangeNotificationsFilter | None, happened: Announcement
) -> bool:
    """Tell whether a subscriber with this filter is told of an event."""
    if given is None:
        return True
    op_occ = happened.op_occ
    return (
        _named(given.notification_types, happened.type)
        and (op_occ is None or _named(given.operation_types, op_occ.operation))
        and (
            op_occ is None
            or _named(given.operation_states, op_occ.operation_state)
        )
        and _is_meant(given.vnf_instance_subscription_filter, happened.subject)
    )


def _named(names: Collection[Any], actual: Any) -> bool:
    return not names or actual in names


def _is_meant(
    given: VnfInstanceSubscriptionFilter | None, subject: Subject
) -> bool:
    if given is None:
        return True
    providers = given.vnf_products_from_providers
    return (
        _named(given.vnfd_ids, subject.vnfd_id)
        and _named(given.vnf_instance_ids, subject.id)
        # an instance without a name is of none of the names
        and _named(given.vnf_instance_names, subject.vnf_instance_name)
        and (not providers or any(_provides(p, subject) for p in providers))
    )


def _provides(given: VnfProductsFromProvider, subject: Subject) -> bool:
    products = given.vnf_products
    return given.vnf_provider == subject.vnf_provider and (
        not products or any(_is_product(p, subject) for p in products)
    )


def _is_product(given: VnfProduct, subject: Subject) -> bool:
    return given.vnf_product_name == subject.vnf_product_name and (
        not given.versions
        or any(
            version.vnf_software_version == subject.vnf_software_version
            and _named(version.vnfd_versions, subject.vnfd_version)
            for version in given.versions
        )
    )
