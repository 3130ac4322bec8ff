"""Fetches packages from elsewhere, one conductor each."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.uploads import Stopped, Uploads
from tacker_cnf.conductor.duties import Duties

LOG = log.getLogger(__name__)

#: packages that one conductor fetches at once
AT_ONCE: Final = 2
#: seconds that a fetch has to see that all is to end
PATIENCE: Final = 1.0
#: seconds between two looks for files that lost uploads left
TIDY: Final = 600.0


class Fetching:
    """Fetches what is to be fetched and nobody fetches.

    A lease says who fetches a package. When its conductor dies, the lease
    runs out, and another begins again.
    """

    def __init__(self, uploads: Uploads, duties: Duties) -> None:
        self._uploads = uploads
        self._duties = duties
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="upload")
        #: ids of packages
        self._queued: set[str] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._untidy_at = time.monotonic()

    def stop(self) -> bool:
        """Fetch no more; tell whether all has ended here."""
        self._stopped.set()
        done = threading.Thread(
            target=self._pool.shutdown,
            kwargs={"wait": True, "cancel_futures": True},
            daemon=True,
        )
        done.start()
        done.join(PATIENCE)
        return not done.is_alive()

    def sweep(self) -> None:
        """Look for what a lost message or a lost conductor left."""
        if time.monotonic() > self._untidy_at:
            self._untidy_at = time.monotonic() + TIDY
            self._uploads.tidy()
        for package_id in self._uploads.waiting():
            self.fetch(package_id)

    def fetch(self, package_id: str) -> None:
        """Put a package in line, unless it is there."""
        with self._lock:
            if package_id in self._queued or self._stopped.is_set():
                return
            self._queued.add(package_id)
        self._pool.submit(self._work, package_id)

    def _work(self, package_id: str) -> None:
        duty = f"upload {package_id}"
        try:
            if self._duties.take(duty):
                try:
                    self._uploads.fetch(package_id, self._stopped)
                finally:
                    self._duties.drop(duty)
        except Stopped:
            LOG.info("VNF package %s is left to others", package_id)
        except errors.VnfmError as error:
            LOG.warning("VNF package %s: %s", package_id, error)
        except Exception:
            LOG.exception("VNF package %s was not fetched", package_id)
        finally:
            with self._lock:
                self._queued.discard(package_id)
