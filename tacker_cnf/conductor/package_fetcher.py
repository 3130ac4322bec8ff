"""Fetches VNF packages from a URI or the NFVO."""

from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.uploads import Uploads
from tacker_cnf.db.lease_set import LeaseSet
from tacker_cnf.db.session import DATABASE_DOWN
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.runtime.work_queue import WorkQueue

LOG = log.getLogger(__name__)

#: packages that one conductor fetches at once
MAX_CONCURRENT_FETCHES: Final = 3
#: the same of one project
MAX_FETCHES_OF_PROJECT: Final = 2
#: seconds that a fetch has to end
STOP_TIMEOUT_S: Final = 1.0
#: seconds between two deletions of files of interrupted uploads
TIDY_INTERVAL_S: Final = 600.0


class PackageFetcher:
    """Fetches packages, each on one conductor.

    The conductor has a lease for each package. If it dies, the lease expires,
    and another conductor fetches the package again.
    """

    def __init__(
        self,
        uploads: Uploads,
        lease_set: LeaseSet,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._uploads = uploads
        self._lease_set = lease_set
        self._clock = clock
        #: IDs of packages; their projects take turns
        self.queue = WorkQueue(
            self._fetch,
            MAX_CONCURRENT_FETCHES,
            "upload",
            [MAX_FETCHES_OF_PROJECT],
        )
        self._cancel_token = CancelToken(clock=clock)
        self._tidy_due = Deadline.within(0.0, clock)

    def stop(self) -> bool:
        """Stop all fetches; return whether they have ended."""
        self._cancel_token.cancel(
            errors.Cancelled("The conductor stops."), forceful=True
        )
        self.queue.close()
        return self.queue.join(STOP_TIMEOUT_S)

    def sweep(self) -> None:
        """Queue the packages to fetch; delete files of interrupted uploads."""
        if self._tidy_due.passed:
            self._tidy_due = Deadline.within(TIDY_INTERVAL_S, self._clock)
            self._uploads.remove_stale_files()
        for package_id, project_id in self._uploads.pending():
            self.queue.put(package_id, project_id)

    def _fetch(self, package_id: str) -> None:
        lease_name = f"upload {package_id}"
        try:
            if self._lease_set.acquire(lease_name):
                try:
                    self._uploads.fetch(package_id, self._cancel_token)
                finally:
                    self._lease_set.release(lease_name)
        except errors.Cancelled:
            LOG.info("VNF package fetch interrupted: package=%s", package_id)
        except DATABASE_DOWN:
            LOG.debug(
                "VNF package fetch interrupted, database unreachable: package=%s",
                package_id,
            )
        except errors.VnfmError as error:
            LOG.warning(
                "VNF package fetch failed: package=%s error=%s",
                package_id,
                error,
            )
        except Exception:
            LOG.exception("VNF package fetch failed: package=%s", package_id)
