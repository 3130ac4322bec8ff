"""A CNF whose package and cluster are provided by an NFVO."""

from typing import Any

import fixtures
import testtools

from tests.fixtures.cluster import DEF_FILES, Cluster
from tests.fixtures.nfvo import NfvoServer, problem_response
from tests.fixtures.vnfm import Csar, Vnfm


class TestNfvoManaged(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.cluster = self.useFixture(Cluster())
        self.namespace = self.cluster.namespace()
        self.empty = set(self.cluster.objects(self.namespace))
        self.nfvo = self.useFixture(NfvoServer())
        self.vnfm = self.useFixture(
            Vnfm(
                api={"endpoint": "http://vnfm.example"},
                nfvo={"endpoint": self.nfvo.url, "poll_interval": 0.05},
                kubernetes={"ready_timeout": 15.0},
            )
        )
        vnfd_id = self.nfvo.add_package(self.useFixture(Csar()))
        self.instance_id = self.vnfm.create(vnfd_id)
        self.assign_vim = {
            "vimConnectionInfo": self.cluster.vim(),
            "additionalParams": {
                "lcm-kubernetes-def-files": DEF_FILES,
                "namespace": self.namespace,
            },
        }

    def run_task(self, task: str, **body: Any) -> Any:
        return self.vnfm.run(self.instance_id, task, body)

    def assert_completed(self, task: str, **body: Any) -> None:
        end = self.run_task(task, **body)
        self.assertEqual("COMPLETED", end["operationState"], end)

    def test_the_lifecycle_of_a_cnf(self) -> None:
        self.nfvo.grant_attributes = self.assign_vim
        self.nfvo.pending_polls = 2
        self.assert_completed("instantiate", flavourId="simple")
        self.nfvo.grant_attributes = {}
        (grant_request,) = self.nfvo.grant_requests
        info = self.vnfm.instance(self.instance_id)["instantiatedVnfInfo"]
        self.assertEqual(
            {vnfc["vduId"] for vnfc in info["vnfcResourceInfo"]},
            {resource["vduId"] for resource in grant_request["addResources"]},
        )
        self.assert_completed("scale", type="SCALE_OUT", aspectId="web_aspect")
        vnfc = info["vnfcInfo"][0]["id"]
        self.assert_completed("heal", vnfcInstanceId=[vnfc])
        self.nfvo.next_responses = [
            lambda _: problem_response(403, "it is needed")
        ]
        end = self.run_task("terminate", terminationType="FORCEFUL")
        self.assertEqual("ROLLED_BACK", end["operationState"])
        info = self.vnfm.instance(self.instance_id)["instantiatedVnfInfo"]
        self.assertEqual("STARTED", info["vnfState"])
        self.assert_completed("terminate", terminationType="FORCEFUL")
        kept_kinds = {"persistentvolumeclaims"}
        remaining = set(self.cluster.objects(self.namespace)) - self.empty
        self.assertEqual(
            set(), {key for key in remaining if key[0] not in kept_kinds}
        )

    def test_the_parameters_of_the_grant_are_checked(self) -> None:
        parameters = self.assign_vim["additionalParams"] | {
            "lcm-kubernetes-def-files": ["moon.yaml"]
        }
        self.nfvo.grant_attributes = self.assign_vim | {
            "additionalParams": parameters
        }
        end = self.run_task("instantiate", flavourId="simple")
        self.assertEqual("ROLLED_BACK", end["operationState"])
        self.assertEqual(400, end["error"]["status"])
        self.assertIn("moon.yaml", end["error"]["detail"])
        self.assertEqual(self.empty, set(self.cluster.objects(self.namespace)))
