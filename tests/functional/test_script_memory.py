"""The memory of a VNF instance's scripts from one hook to the next."""

import datetime
from typing import Any

import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.db import instances, op_occs
from tacker_cnf.lcm.states import Event
from tests.functional.test_scripts import SCRIPT, ScriptCase

HOOKS = (
    "instantiate_start",
    "instantiate_end",
    "instantiate_rollback_end",
    "heal_start",
    "heal_end",
    "terminate_start",
    "terminate_end",
)

#: executes the code that the test has written for its hook
HOOK_SCRIPT = """\
    from pathlib import Path
    from tacker_cnf.lcm.script_output import ProvidedVim
    from tacker_cnf.mgmt_drivers.base import MgmtDriver
    from tacker_cnf.sol import base

    class Driver(MgmtDriver):
        def act(self, script_input):
            with open({seen!r}, "a") as file:
                file.write(base.encode(script_input).decode() + "\\n")
            action = Path({actions!r}) / script_input.operation
            if action.exists():
                exec(action.read_text())

        {hooks}

    Driver.main()
"""

#: the same in plain JSON, without the base class
PLAIN_HOOK_SCRIPT = """\
    import json
    import sys
    from pathlib import Path

    script_input = json.load(sys.stdin)
    with open({seen!r}, "a") as file:
        file.write(json.dumps(script_input) + "\\n")
    action = Path({actions!r}) / script_input["operation"]
    if action.exists():
        print(action.read_text())
"""


class ScriptedHooksCase(ScriptCase):
    """A script whose hooks do what the test sets."""

    hooks = HOOKS

    def setUp(self) -> None:
        super().setUp()
        self.actions_dir = self.inputs_path.parent / "actions"
        self.actions_dir.mkdir()

    def set_action(self, hook: str, action: str) -> None:
        """Set what a hook does from now on."""
        (self.actions_dir / hook).write_text(action)

    def create_scripted(self) -> str:
        """Create an instance whose script does what `set_action` sets."""
        hooks = "\n\n        ".join(f"{h} = act" for h in self.hooks)
        paths = {
            "seen": str(self.inputs_path),
            "actions": str(self.actions_dir),
        }
        return self.instance(HOOK_SCRIPT.format(hooks=hooks, **paths))

    def create_with_plain_script(self) -> str:
        paths = {
            "seen": str(self.inputs_path),
            "actions": str(self.actions_dir),
        }
        return self.instance(PLAIN_HOOK_SCRIPT.format(**paths))

    def run_completed(self, instance_id: str, task: str, **body: Any) -> Any:
        end = self.vnfm.run(instance_id, task, body)
        self.assertEqual("COMPLETED", end["operationState"], end)
        return end

    def run_instantiate(self, instance_id: str) -> Any:
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        return end

    def read_memories(self) -> dict[str, Any]:
        """Return the memory that each hook received last: hook -> memory."""
        return {
            script_input["operation"]: script_input.get("memory")
            for script_input in self.read_script_inputs()
        }


class TestMemory(ScriptedHooksCase):
    def test_memory_is_kept_between_hooks_and_operations(self) -> None:
        self.set_action("instantiate_start", "self.memory['keys'] = ['a']")
        self.set_action("instantiate_end", "self.memory['keys'].append('b')")
        self.set_action("heal_start", "self.memory = {'of': 'heal'}")
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        self.run_completed(instance_id, "heal")
        self.assertEqual(
            {
                "instantiate_start": None,
                "instantiate_end": {"keys": ["a"]},
                "heal_start": {"keys": ["a", "b"]},
                "heal_end": {"of": "heal"},
            },
            self.read_memories(),
        )

    def test_memory_is_deleted_at_termination(self) -> None:
        self.set_action("instantiate_end", "self.memory['a'] = 1")
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        self.run_completed(
            instance_id, "terminate", terminationType="GRACEFUL"
        )
        self.assertEqual({"a": 1}, self.read_memories()["terminate_end"])
        self.run_instantiate(instance_id)
        self.assertIsNone(self.read_memories()["instantiate_start"])

    def test_memory_is_kept_after_a_failure(self) -> None:
        self.set_action(
            "heal_start", "self.memory['done'] = 1; raise ValueError"
        )
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        end = self.vnfm.run(instance_id, "heal", {})
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.set_action("heal_start", "")
        end = self.vnfm.decide(end["id"], "retry")
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual({"done": 1}, self.read_memories()["heal_start"])
        self.assertEqual({"done": 1}, self.read_memories()["heal_end"])

    def test_a_rollback_receives_the_memory(self) -> None:
        self.set_action(
            "instantiate_end", "self.memory['a'] = 1; raise ValueError"
        )
        instance_id = self.create_scripted()
        end = self.instantiate(instance_id)
        end = self.vnfm.decide(end["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], end)
        self.assertEqual(
            {"a": 1}, self.read_memories()["instantiate_rollback_end"]
        )
        # then the instance has nothing on the VIM any more
        self.set_action("instantiate_end", "")
        self.run_instantiate(instance_id)
        self.assertIsNone(self.read_memories()["instantiate_start"])

    def test_a_forceful_termination_that_continues(self) -> None:
        self.set_action(
            "terminate_start", "self.memory['a'] = 1; raise ValueError"
        )
        self.set_action(
            "terminate_end", "self.memory['b'] = 2; raise ValueError"
        )
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        self.run_completed(
            instance_id, "terminate", terminationType="FORCEFUL"
        )
        self.assertEqual({"a": 1}, self.read_memories()["terminate_end"])
        self.run_instantiate(instance_id)
        self.assertIsNone(self.read_memories()["instantiate_start"])

    def test_memory_that_is_too_large(self) -> None:
        self.set_action("instantiate_end", "self.memory['a'] = 1")
        self.set_action("heal_start", "self.memory['a'] = 300_000 * 'b'")
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        end = self.vnfm.run(instance_id, "heal", {})
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn(
            f"Script {SCRIPT} (heal_start): its memory has 300008 bytes as "
            "JSON, but may have 262144",
            end["error"]["detail"],
        )
        self.vnfm.decide(end["id"], "retry")
        self.assertEqual({"a": 1}, self.read_memories()["heal_start"])

    def test_a_script_without_the_base_class(self) -> None:
        """Without the key the memory stays; null deletes it."""
        self.set_action("instantiate_start", '{"memory": {"a": 1}}')
        self.set_action("heal_start", '{"memory": null}')
        instance_id = self.create_with_plain_script()
        self.run_instantiate(instance_id)
        self.run_completed(instance_id, "heal")
        found = self.read_memories()
        self.assertEqual({"a": 1}, found["instantiate_end"])
        self.assertEqual({"a": 1}, found["heal_start"])
        self.assertIsNone(found["heal_end"])

    def test_memory_is_not_exposed(self) -> None:
        self.set_action(
            "instantiate_end", "self.memory['password'] = 'hunter2'"
        )
        self.set_action(
            "heal_start", "self.memory['more'] = 1; self.log('hunter2')"
        )
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        path = f"/vnflcm/v2/vnf_instances/{instance_id}"
        before = self.vnfm.call("GET", path)
        self.assertNotIn("hunter2", str(before.content))
        self.assertNotIn("emory", str(before.content))
        with self.vnfm.parts.store.reader() as session:
            query = "SELECT script_memory FROM vnf_instances"
            (lies,) = session.scalars(sa.text(query)).all()
        self.assertTrue(lies)
        self.assertNotIn("hunter2", lies)
        self.set_action("heal_end", "raise ValueError('hunter2')")
        end = self.vnfm.run(instance_id, "heal", {})
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn("ValueError: ***", end["error"]["detail"])
        self.assertIn("heal_start, Scripts/hooks.py:\n***", end["scriptLog"])
        # the memory is not part of the instance's representation
        after = self.vnfm.call("GET", path)
        self.assertEqual(before.headers["ETag"], after.headers["ETag"])

    def test_a_conductor_that_lost_the_operation_stores_nothing(self) -> None:
        self.set_action(
            "instantiate_end", "self.memory['a'] = 1; raise ValueError"
        )
        end = self.instantiate(self.create_scripted())
        now = datetime.datetime.now(datetime.UTC)
        with self.vnfm.parts.store.writer() as session:
            op_occs.decide(session, end["id"], Event.RETRY, now, 60.0)
            claim = op_occs.claim(session, end["id"], "the first", 60.0)
            op_occs.expire_leases(session, "the first")
            work = op_occs.claim(session, end["id"], "the next", 60.0)
            assert claim
            assert work
            op_occs.save_script_memory(session, work, {"b": 2})
            self.assertRaises(
                errors.LeaseLost,
                op_occs.save_script_memory,
                session,
                claim,
                {"c": 3},
            )
            found = instances.get_script_memory(session, end["vnfInstanceId"])
        self.assertEqual({"b": 2}, found)
