import msgspec
import testtools

from tacker_cnf.lcm import instantiated_info
from tacker_cnf.lcm.change import STOPPED_COUNTS
from tacker_cnf.lcm.instantiated_info import UNMATCHED, Observed
from tacker_cnf.lcm.operations.instantiate import Instantiate
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    ScaleInfo,
    VnfOperationalState,
)
from tests.factories import (
    a_flavour,
    a_running_instance,
    a_state,
    a_vnfc,
    a_vnfd,
    an_info,
    an_instance,
)


def running(
    before: InstantiatedVnfInfo | None, found: Observed
) -> InstantiatedVnfInfo:
    return instantiated_info.build_running_info(
        before, a_state(), a_flavour(), found
    )


class TestRunning(testtools.TestCase):
    def test_info_is_built_from_state_and_driver_result(self) -> None:
        state = a_state(
            scale_levels={"web_aspect": 2}, localization_language="en"
        )
        vnfc = a_vnfc("web-1", uid="1")
        found = Observed(
            vnfc_resource_info=(vnfc,), metadata={"namespace": "here"}
        )
        self.assertEqual(
            an_info(
                vnfc,
                levels={"web_aspect": 2},
                max_scale_levels=(
                    ScaleInfo(aspect_id="web_aspect", scale_level=3),
                ),
                localization_language="en",
                metadata={"namespace": "here"},
            ),
            instantiated_info.build_running_info(
                None, state, a_flavour(), found
            ),
        )

    def test_a_vnfc_id_is_built_from_vdu_and_resource(self) -> None:
        found = Observed(vnfc_resource_info=(a_vnfc("web-7", "web"),))
        (vnfc,) = running(None, found).vnfc_info
        self.assertEqual("web-web-7", vnfc.id)
        self.assertEqual("web-7", vnfc.vnfc_resource_info_id)
        self.assertEqual(VnfOperationalState.STARTED, vnfc.vnfc_state)

    def test_properties_that_a_client_set_on_a_vnfc_stay(self) -> None:
        before = an_info(a_vnfc("web-1"), a_vnfc("web-2"))
        properties = {"colour": "red"}
        before = msgspec.structs.replace(
            before,
            vnfc_info=tuple(
                msgspec.structs.replace(
                    v, vnfc_configurable_properties=properties
                )
                for v in before.vnfc_info
            ),
        )
        found = Observed(vnfc_resource_info=(a_vnfc("web-2"), a_vnfc("web-3")))
        after = running(before, found)
        self.assertEqual(
            {"web-web-2": properties, "web-web-3": {}},
            {v.id: v.vnfc_configurable_properties for v in after.vnfc_info},
        )


class TestSetInstantiated(testtools.TestCase):
    def test_info_and_vim_connections_are_set(self) -> None:
        info = an_info(a_vnfc())
        vims = {"vim1": VimConnectionInfo(vim_type="fake")}
        instantiated = instantiated_info.set_instantiated(
            an_instance(metadata={"a": 1}), info, vims
        )
        self.assertEqual(
            a_running_instance(
                info=info, vim_connection_info=vims, metadata={"a": 1}
            ),
            instantiated,
        )


class TestSetNotInstantiated(testtools.TestCase):
    def test_an_instance_that_never_ran(self) -> None:
        self.assertEqual(
            an_instance(),
            instantiated_info.set_not_instantiated(an_instance()),
        )

    def test_resources_and_vim_connections_are_removed(self) -> None:
        ran = a_running_instance(
            info=an_info(
                a_vnfc(), levels={"web_aspect": 1}, metadata={"a": 1}
            ),
            vim_connection_info={"v": VimConnectionInfo(vim_type="fake")},
            vnf_instance_name="mine",
        )
        terminated = instantiated_info.set_not_instantiated(ran)
        self.assertEqual(
            InstantiationState.NOT_INSTANTIATED, terminated.instantiation_state
        )
        self.assertEqual({}, terminated.vim_connection_info)
        self.assertEqual("mine", terminated.vnf_instance_name)
        self.assertEqual(
            InstantiatedVnfInfo(
                flavour_id="simple", vnf_state=VnfOperationalState.STOPPED
            ),
            terminated.instantiated_vnf_info,
        )


class TestUnmatched(testtools.TestCase):
    """VNFC counts that match no scale level."""

    def info(self, *counted: str, web: int = 5) -> InstantiatedVnfInfo:
        unmatched = {aspect: {"web": web} for aspect in counted}
        metadata = {"a": 1} | ({UNMATCHED: unmatched} if counted else {})
        vnfcs = [a_vnfc(f"web-{number}") for number in range(web)]
        return an_info(*vnfcs, metadata=metadata)

    def test_they_are_kept_in_the_metadata(self) -> None:
        info = self.info("web_aspect")
        self.assertEqual(
            {"web_aspect": {"web": 5}}, instantiated_info.unmatched(info)
        )
        self.assertEqual({}, instantiated_info.unmatched(self.info()))
        self.assertEqual({}, instantiated_info.unmatched(None))
        for before in (info, self.info()):
            self.assertEqual(
                self.info(), instantiated_info.with_unmatched(before, {})
            )
            self.assertEqual(
                info,
                instantiated_info.with_unmatched(
                    before, {"web_aspect": {"web": 5}}
                ),
            )

    def test_an_operation_counts_again(self) -> None:
        before = self.info("web_aspect", "removed_aspect")
        # number of web servers, counts that match no level
        for web, expected in (
            (5, {"web_aspect": {"web": 5}}),
            (6, {"web_aspect": {"web": 6}}),
            (2, {}),
        ):
            vnfcs = self.info(web=web).vnfc_resource_info
            found = Observed(vnfc_resource_info=vnfcs)
            after = running(before, found)
            self.assertEqual(expected, instantiated_info.unmatched(after))
            after = running(None, found)
            self.assertEqual({}, instantiated_info.unmatched(after))

    def test_an_update_of_the_resources_keeps_them(self) -> None:
        before = self.info("web_aspect")
        vnfc = a_vnfc("web-9")
        found = Observed(vnfc_resource_info=(vnfc,), metadata={"b": 2})
        after = instantiated_info.update_resources(before, found, {})
        unmatched = {"web_aspect": {"web": 5}}
        self.assertEqual(
            an_info(vnfc, metadata={"b": 2, UNMATCHED: unmatched}), after
        )

    def test_an_update_of_the_resources_keeps_the_size_of_the_start(
        self,
    ) -> None:
        before = an_info(metadata={"a": 1, STOPPED_COUNTS: {"web": 5}})
        found = Observed(metadata={"b": 2})
        self.assertEqual(
            {"b": 2, STOPPED_COUNTS: {"web": 5}},
            instantiated_info.update_resources(before, found, {}).metadata,
        )


class TestApplyRequest(testtools.TestCase):
    def test_values_of_the_request_are_merged(self) -> None:
        instance = an_instance(
            extensions={"a": 1, "b": 2},
            vnf_configurable_properties={"c": 3},
            metadata={"d": 4},
        )
        request = InstantiateVnfRequest(
            flavour_id="simple",
            extensions={"a": None, "e": 5},
            vnf_configurable_properties={"c": 6},
        )
        self.assertEqual(
            an_instance(
                extensions={"b": 2, "e": 5},
                vnf_configurable_properties={"c": 6},
                metadata={"d": 4},
            ),
            Instantiate().finish(request, instance, a_vnfd(), {}),
        )
