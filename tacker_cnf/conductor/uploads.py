"""Fetches packages from elsewhere, one conductor each."""

import threading
import time
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.uploads import Stopped, Uploads
from tacker_cnf.conductor.duties import Duties
from tacker_cnf.conductor.lines import Line
from tacker_cnf.db.session import DATABASE_DOWN

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
        #: packages
        self.line = Line(self._work, AT_ONCE, "upload")
        self._stopped = threading.Event()
        self._untidy_at = time.monotonic()

    def stop(self) -> bool:
        """Fetch no more; tell whether all has ended here."""
        self._stopped.set()
        self.line.close()
        return self.line.join(PATIENCE)

    def sweep(self) -> None:
        """Look for what a lost message or a lost conductor left."""
        if time.monotonic() > self._untidy_at:
            self._untidy_at = time.monotonic() + TIDY
            self._uploads.tidy()
        for package_id in self._uploads.waiting():
            self.line.put(package_id)

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
        except DATABASE_DOWN:
            LOG.debug("VNF package %s waits for the sweep", package_id)
        except errors.VnfmError as error:
            LOG.warning("VNF package %s: %s", package_id, error)
        except Exception:
            LOG.exception("VNF package %s was not fetched", package_id)
