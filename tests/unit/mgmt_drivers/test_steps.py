"""Steps that run once in an operation."""

import testtools

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, Memory, Node
from tacker_cnf.mgmt_drivers.cluster.steps import Steps


def a_node(number: int) -> Node:
    address = f"10.0.0.{number}"
    return Node(
        vnfc=f"server-{number}", role=MASTER, ssh=address, address=address
    )


class StepsTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.memory = Memory()
        self.memory.begin("op-1", [])
        self.log: list[str] = []
        self.calls: list[str] = []

    def steps(self, hook: str = "heal_end") -> Steps:
        return Steps(hook, self.memory, self.log.append)

    def called(self) -> None:
        self.calls.append("called")

    def fail(self, *_: object) -> None:  # type: ignore[override]
        raise errors.RemoteFailed("the disk\nis full")

    def test_a_completed_step_is_skipped(self) -> None:
        for _ in range(2):
            self.steps().run_once("install", [a_node(1)], self.called)
        self.assertEqual(["called"], self.calls)
        self.assertEqual(
            [
                "install: master 10.0.0.1",
                "install: master 10.0.0.1: already done",
            ],
            self.log,
        )

    def test_a_step_runs_again_for_another_server_of_an_address(self) -> None:
        self.steps().run_once("install", [a_node(1)], self.called)
        again = Node(
            vnfc="server-9", role=MASTER, ssh="10.0.0.1", address="10.0.0.1"
        )
        self.steps().run_once("install", [again], self.called)
        self.assertEqual(["called", "called"], self.calls)

    def test_a_step_runs_again_in_another_hook_or_operation(self) -> None:
        self.steps("heal_start").run_once("look", [a_node(1)], self.called)
        self.steps("heal_end").run_once("look", [a_node(1)], self.called)
        self.memory.begin("op-2", [])
        self.steps("heal_end").run_once("look", [a_node(1)], self.called)
        self.assertEqual(3, len(self.calls))

    def test_a_failed_step_is_reported_and_retried(self) -> None:
        steps = self.steps()
        steps.run_once("look", [a_node(1)], self.called)
        error = self.assertRaises(
            errors.InfraError,
            steps.run_once,
            "install",
            [a_node(1)],
            self.fail,
        )
        self.assertEqual(
            "install: master 10.0.0.1: the disk; is full", str(error)
        )
        self.assertEqual(
            {
                "hook": "heal_end",
                "failed": ["install: master 10.0.0.1"],
                "done": ["heal_end: look: master 10.0.0.1 (server-1)"],
            },
            steps.to_dict(),
        )
        self.steps().run_once("install", [a_node(1)], self.called)
        self.assertEqual(["called", "called"], self.calls)

    def test_run_on_each_continues_on_nodes_that_failed(self) -> None:
        nodes = [a_node(1), a_node(2), a_node(3)]
        done: list[str] = []

        def work(node: Node) -> None:
            if node == nodes[1] and not done.count("retry"):
                self.fail()
            done.append(node.address)

        steps = self.steps()
        self.assertRaises(
            errors.InfraError, steps.run_on_each, "join", nodes, work
        )
        self.assertEqual({"10.0.0.1", "10.0.0.3"}, set(done))
        done[:] = ["retry"]
        self.steps().run_on_each("join", nodes, work)
        self.assertEqual(["retry", "10.0.0.2"], done)

    def test_memory_is_converted_to_json_and_back(self) -> None:
        self.steps().run_once("install", [a_node(1)], self.called)
        self.memory.add_nodes([a_node(1), a_node(2)])
        self.memory.remove_node(a_node(2))
        read = Memory.from_dict(self.memory.to_dict())
        self.assertEqual(self.memory, read)
        self.assertEqual([a_node(1)], read.nodes_with_role(MASTER))
