import testtools

from tacker_cnf import context
from tacker_cnf.mgmt_drivers.remote.parallel import at_once


class TestAtOnce(testtools.TestCase):
    def test_it_works_for_the_request_of_this_thread(self) -> None:
        self.addCleanup(context.enter_request, None)
        context.enter_request("req-of-this-thread")
        found = at_once([1, 2], lambda _: context.current_request_id())
        self.assertEqual(("req-of-this-thread",) * 2, found)
