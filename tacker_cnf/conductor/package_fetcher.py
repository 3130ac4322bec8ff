"""Fetches packages from elsewhere, one conductor each."""

import threading
import time
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.uploads import Stopped, Uploads
from tacker_cnf.conductor.lease_set import LeaseSet
from tacker_cnf.db.session import DATABASE_DOWN
from tacker_cnf.runtime.work_queue import WorkQueue

LOG = log.getLogger(__name__)

#: packages that one conductor fetches at once
MAX_CONCURRENT_FETCHES: Final = 2
#: seconds that a fetch has to see that all is to end
STOP_TIMEOUT_S: Final = 1.0
#: seconds between two looks for files that lost uploads left
TIDY_INTERVAL_S: Final = 600.0


class PackageFetcher:
    """Fetches what is to be fetched and nobody fetches.

    A lease says who fetches a package. When its conductor dies, the lease
    runs out, and another begins again.
    """

    def __init__(self, uploads: Uploads, lease_set: LeaseSet) -> None:
        self._uploads = uploads
        self._lease_set = lease_set
        #: packages
        self.queue = WorkQueue(self._fetch, MAX_CONCURRENT_FETCHES, "upload")
        self._stopped = threading.Event()
        self._next_tidy_at = time.monotonic()

    def stop(self) -> bool:
        """Fetch no more; tell whether all has ended here."""
        self._stopped.set()
        self.queue.close()
        return self.queue.join(STOP_TIMEOUT_S)

    def sweep(self) -> None:
        """Look for what a lost message or a lost conductor left."""
        if time.monotonic() > self._next_tidy_at:
            self._next_tidy_at = time.monotonic() + TIDY_INTERVAL_S
            self._uploads.remove_stale_files()
        for package_id in self._uploads.pending():
            self.queue.put(package_id)

    def _fetch(self, package_id: str) -> None:
        lease_name = f"upload {package_id}"
        try:
            if self._lease_set.acquire(lease_name):
                try:
                    self._uploads.fetch(package_id, self._stopped)
                finally:
                    self._lease_set.release(lease_name)
        except Stopped:
            LOG.info("VNF package %s is left to others", package_id)
        except DATABASE_DOWN:
            LOG.debug("VNF package %s waits for the sweep", package_id)
        except errors.VnfmError as error:
            LOG.warning("VNF package %s: %s", package_id, error)
        except Exception:
            LOG.exception("VNF package %s was not fetched", package_id)
