import testtools

from tacker_cnf.lcm import changes
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.sol.vnf_lcm_op_occ import ChangeType, ResourceChanges
from tests.factories import a_vnfc, an_info

ONE = a_vnfc("web-1", uid="1")
TWO = a_vnfc("web-2", uid="2")
ONE_AGAIN = a_vnfc("web-1", uid="3")


class TestBetween(testtools.TestCase):
    def test_what_went_and_what_came(self) -> None:
        # before, after, removed, added
        cases = [
            ((), (), (), ()),
            ((), (ONE, TWO), (), (ONE, TWO)),
            ((ONE, TWO), (), (ONE, TWO), ()),
            ((ONE,), (ONE, TWO), (), (TWO,)),
            ((ONE, TWO), (TWO,), (ONE,), ()),
            ((ONE, TWO), (TWO, ONE), (), ()),
            ((ONE,), (TWO,), (ONE,), (TWO,)),
            # a StatefulSet gives a new pod the old name
            ((ONE,), (ONE_AGAIN,), (ONE,), (ONE_AGAIN,)),
        ]
        for before, after, removed, added in cases:
            found = changes.between(
                an_info(*before), InfraResult(vnfc_resource_info=after)
            ).affected_vnfcs
            self.assertEqual(
                [
                    *((v, ChangeType.REMOVED) for v in removed),
                    *((v, ChangeType.ADDED) for v in added),
                ],
                [
                    (
                        a_vnfc(a.id, a.vdu_id, a.metadata["uid"]),
                        a.change_type,
                    )
                    for a in found
                ],
            )

    def test_a_vim_without_unchangeable_ids_goes_by_names(self) -> None:
        here = an_info(a_vnfc("web-1"))
        after = InfraResult(vnfc_resource_info=(a_vnfc("web-1"),))
        self.assertEqual(ResourceChanges(), changes.between(here, after))

    def test_nothing_known_before_and_nothing_found_after(self) -> None:
        self.assertEqual(ResourceChanges(), changes.between(None, None))

    def test_what_is_told_of_a_vnfc(self) -> None:
        (change,) = changes.between(
            None, InfraResult(vnfc_resource_info=(ONE,))
        ).affected_vnfcs
        self.assertEqual("web-1", change.id)
        self.assertEqual("web", change.vdu_id)
        self.assertEqual(ONE.compute_resource, change.compute_resource)
        self.assertEqual({"uid": "1"}, change.metadata)
