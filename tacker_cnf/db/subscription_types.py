"""The types of subscriptions, which all are rows of one table."""

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import listing, models
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.package_subscription import (
    PkgmSubscription,
    PkgmSubscriptionRequest,
)
from tacker_cnf.sol.subscription import (
    LccnSubscription,
    LccnSubscriptionRequest,
)

Row = models.LccnSubscription
AnySubscription = LccnSubscription | PkgmSubscription
S = TypeVar("S", bound=AnySubscription)
R = TypeVar("R", bound=LccnSubscriptionRequest | PkgmSubscriptionRequest)


class SubscriptionType(Generic[S, R]):
    """A type of subscriptions, and the columns of its attributes.

    :param apis: those by which they are created; all of them show all
    """

    def __init__(
        self,
        apis: frozenset[Api],
        subscription: type[S],
        request: type[R],
        filter_column: orm.InstrumentedAttribute[Any],
    ) -> None:
        self.apis = apis
        self._subscription = subscription
        self._request = request
        self._filter_column = filter_column
        self.columns = {
            name: self._column(name)
            for name in subscription.__struct_fields__
            if name != "links"
        }
        #: attributes that the database can compare
        self.comparable = listing.comparable(self.columns)

    def _column(self, name: str) -> orm.InstrumentedAttribute[Any]:
        found: orm.InstrumentedAttribute[Any] = getattr(Row, name)
        return self._filter_column if name == "filter" else found

    @property
    def condition(self) -> sa.ColumnElement[bool]:
        """The condition for rows of the type."""
        return Row.api.in_(self.apis)

    def build(self, **values: Any) -> S:
        """Build a subscription from its attributes."""
        return self._subscription(**values)

    def create(self, request: R, subscription_id: str, project_id: str) -> S:
        """Build the subscription of a new request."""
        names = set(self.columns).intersection(request.__struct_fields__)
        values = {name: getattr(request, name) for name in names}
        return self.build(id=subscription_id, project_id=project_id, **values)

    def from_row(self, row: Row) -> S:
        """Build a subscription from its row."""
        return self.build(**self._read(row, self.columns))

    def request_of(self, row: Row) -> R:
        """Return the request that created a subscription."""
        names = self._request.__struct_fields__
        return self._request(**self._read(row, names))

    def _read(self, row: Row, names: Iterable[str]) -> dict[str, Any]:
        return {name: getattr(row, self._column(name).key) for name in names}

    def to_row(self, subscription: S) -> dict[str, Any]:
        """Return the values of the columns of a subscription."""
        return {
            column.key: getattr(subscription, name)
            for name, column in self.columns.items()
        }


LIFECYCLE: Final = SubscriptionType(
    frozenset({Api.LCM_V1, Api.LCM_V2}),
    LccnSubscription,
    LccnSubscriptionRequest,
    Row.filter,
)
PACKAGES: Final = SubscriptionType(
    frozenset({Api.PACKAGES_V1, Api.PACKAGES_V2}),
    PkgmSubscription,
    PkgmSubscriptionRequest,
    Row.package_filter,
)
#: API -> the type of the subscriptions that it creates
TYPES: Final = {
    api: kind for kind in (LIFECYCLE, PACKAGES) for api in kind.apis
}
