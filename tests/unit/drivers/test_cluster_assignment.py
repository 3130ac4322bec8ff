import testtools

from tacker_cnf.drivers.kubernetes import cluster_assignment


class TestAssign(testtools.TestCase):
    def test_requested_clusters_else_the_first(self) -> None:
        assignment = cluster_assignment.assign(
            ["first", "second", "lost"],
            {"second": "b", "lost": "removed", "unknown": "b"},
            ["a", "b"],
        )
        self.assertEqual(
            {"first": "a", "second": "b", "lost": "a"}, assignment
        )
