"""The adapters, with stand-ins for the SDKs: dataclasses of the same names and fields."""

import asyncio
import dataclasses
import os
import json
import sys
import types
import unittest
from typing import Any
from unittest import mock

from agent_wrapper import AgentWrapper, Result
from agent_wrapper import claude, openai_agents

from .setup import BOX, HOME, WORK, start


@dataclasses.dataclass
class HookMatcher:
    matcher: Any = None
    hooks: Any = dataclasses.field(default_factory=list)
    timeout: Any = None


@dataclasses.dataclass
class PermissionResultAllow:
    behavior: str = "allow"
    updated_input: Any = None


@dataclasses.dataclass
class PermissionResultDeny:
    behavior: str = "deny"
    message: str = ""
    interrupt: bool = False


@dataclasses.dataclass
class ClaudeAgentOptions:
    allowed_tools: Any = dataclasses.field(default_factory=list)
    permission_mode: Any = None
    permission_prompt_tool_name: Any = None
    strict_mcp_config: bool = False
    setting_sources: Any = None
    settings: Any = None
    skills: Any = None
    plugins: Any = dataclasses.field(default_factory=list)
    sandbox: Any = None
    agents: Any = None
    hooks: Any = None
    can_use_tool: Any = None
    extra_args: Any = dataclasses.field(default_factory=dict)
    env: Any = dataclasses.field(default_factory=dict)
    add_dirs: Any = dataclasses.field(default_factory=list)
    model: Any = None
    resume: Any = None
    session_id: Any = None
    continue_conversation: bool = False
    an_option_of_next_year: Any = None


@dataclasses.dataclass
class Agent:
    permissionMode: Any = None
    prompt: str = ""
    of_next_year: Any = None


SDK = types.SimpleNamespace(
    HookMatcher=HookMatcher, PermissionResultAllow=PermissionResultAllow, PermissionResultDeny=PermissionResultDeny
)


def context(id: str) -> Any:
    return types.SimpleNamespace(tool_use_id=id, agent_id=None)


class Noting(AgentWrapper):
    seen: list[str]

    async def can_use_tool(self, tool: str, input: Any, **more: Any) -> Any:
        self.seen.append(input["command"])
        return await super().can_use_tool(tool, input, **more)


class TestClaude(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "BUN_"))}
        for patch in (mock.patch.dict(sys.modules, claude_agent_sdk=SDK), mock.patch.dict(os.environ, clean, clear=True)):
            patch.start()
            self.addCleanup(patch.stop)

    def noting(self, **more: Any) -> Noting:
        wrapper = Noting(flags=["--isolated", "--policy", str(BOX / "policy.toml"), "--audit", str(BOX / "audit.jsonl")], **more)
        wrapper.seen = []
        return wrapper

    async def test_a_tool_use_is_decided_in_the_hook_and_told_in_the_callback(self) -> None:
        answers = [{"choice": "once"}, {"choice": "words", "message": "use git"}, {"choice": "edit", "input": {"command": "echo t"}}]
        async with self.noting(on_approve=lambda _: answers.pop(0)) as wrapper:
            options: Any = claude.guarded(wrapper, ClaudeAgentOptions(model="m"))
            (matcher,) = options.hooks["PreToolUse"]
            (hook,) = matcher.hooks

            async def use(id: str, command: str) -> Any:
                input = {"command": command}
                said = await hook(
                    {"tool_name": "Bash", "tool_input": input, "tool_use_id": id, "cwd": str(WORK), "session_id": ""}, id, {"signal": None}
                )
                output = said["hookSpecificOutput"]
                if output["permissionDecision"] == "deny":
                    return output["permissionDecisionReason"]
                self.assertEqual(output, {"hookEventName": "PreToolUse", "permissionDecision": "ask"})
                return await options.can_use_tool("Bash", input, context(id))

            self.assertEqual(await use("u1", "ls"), PermissionResultAllow(updated_input={"command": "ls"}))
            self.assertRegex(await use("u2", "rm a.txt"), "denied by rule")
            self.assertEqual(await use("u3", "touch t"), PermissionResultAllow(updated_input={"command": "touch t"}))
            self.assertRegex(await use("u4", "touch t"), "use git")
            self.assertEqual(await use("u5", "touch t"), PermissionResultAllow(updated_input={"command": "echo t"}))
            self.assertEqual(len(wrapper.seen), 5, "one decision for each")
            changed = await options.can_use_tool("Bash", {"command": "rm a.txt"}, context("u1"))
            self.assertRegex(changed.message, "denied by rule")

    async def test_of_allows_that_are_never_asked_for_the_oldest_go(self) -> None:
        async with self.noting() as wrapper:
            decided = []

            async def allow(tool: str, input: Any, **use: Any) -> Result:
                decided.append(use["tool_use_id"])
                return Result(behavior="allow", updated_input=input)

            wrapper.can_use_tool = allow
            options: Any = claude.guarded(wrapper, ClaudeAgentOptions(model="m"))
            for i in range(1001):
                use = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": f"u{i}"}
                await options.hooks["PreToolUse"][0].hooks[0](use, f"u{i}", {"signal": None})
            for i in (1, 0):
                await options.can_use_tool("Bash", {}, context(f"u{i}"))
            self.assertEqual(decided[1001:], ["u0"])

    async def test_the_options(self) -> None:
        async with self.noting() as wrapper:
            options: Any = claude.guarded(
                wrapper, ClaudeAgentOptions(model="m", add_dirs=["/x"], hooks={"PostToolUse": []}, env={"A": "b"}, sandbox={"autoAllowBashIfSandboxed": False})
            )
        self.assertEqual(options.model, "m")
        self.assertEqual((options.permission_mode, options.setting_sources, options.strict_mcp_config), ("default", [], True))
        settings = json.loads(options.settings)
        self.assertEqual(settings["permissions"], {"ask": ["*"], "additionalDirectories": ["/x"]})
        self.assertEqual(options.add_dirs, [])
        self.assertEqual(options.env["A"], "b")
        self.assertEqual(options.env["CLAUDE_CODE_DISABLE_CRON"], "1")
        self.assertEqual(options.extra_args, {"disable-slash-commands": None})

    async def test_an_option_that_loosens_is_an_error_that_names_it(self) -> None:
        loose: dict[str, Any] = {
            "allowed_tools": ["Bash"],
            "permission_mode": "acceptEdits",
            "permission_prompt_tool_name": "mcp__x__y",
            "setting_sources": ["user"],
            "settings": "{}",
            "skills": "all",
            "plugins": [{"type": "local", "path": "/p"}],
            "sandbox": {"enabled": True},
            "agents": {"a": Agent(permissionMode="bypassPermissions")},
            "hooks": {"PreToolUse": [HookMatcher()]},
            "can_use_tool": lambda *_: None,
            "extra_args": {"dangerously-skip-permissions": None},
            "an_option_of_next_year": True,
        }
        async with self.noting() as wrapper:
            for name, value in loose.items():
                with self.subTest(name), self.assertRaisesRegex(TypeError, f"option {name} cannot be used"):
                    claude.guarded(wrapper, ClaudeAgentOptions(**{name: value}))
            for agent in (Agent(of_next_year=True), {"hooks": {"PreToolUse": []}}):
                with self.assertRaisesRegex(TypeError, "option agents .* agent a sets"):
                    claude.guarded(wrapper, ClaudeAgentOptions(agents={"a": agent}))
            claude.guarded(wrapper, ClaudeAgentOptions(agents={"a": Agent(permissionMode="default", prompt="p")}))
            for event in ("PermissionRequest", "EventOfNextYear"):
                with self.assertRaisesRegex(TypeError, f"option hooks .* {event} may answer"):
                    claude.guarded(wrapper, ClaudeAgentOptions(hooks={"PostToolUse": [HookMatcher()], event: [HookMatcher()]}))
            with self.assertRaisesRegex(TypeError, "option env CLAUDE_CODE_SIMPLE"):
                claude.guarded(wrapper, ClaudeAgentOptions(env={"CLAUDE_CODE_SIMPLE": "1"}))
            with mock.patch.dict(os.environ, CLAUDE_CODE_SIMPLE="1"), self.assertRaisesRegex(TypeError, "variable CLAUDE_CODE_SIMPLE"):
                claude.guarded(wrapper, ClaudeAgentOptions())
            (HOME / ".claude.json").write_text('{"env":{"CLAUDE_CODE_SIMPLE":"1"}}')
            self.addCleanup((HOME / ".claude.json").unlink)
            with self.assertRaisesRegex(ValueError, "sets environment variables"):
                claude.guarded(wrapper, ClaudeAgentOptions())

    async def test_a_session_for_which_a_hook_left_a_script_does_not_go_on(self) -> None:
        id, other = "5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90", "6f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90"
        folder = BOX / "left/session-env" / id
        env = {"CLAUDE_CONFIG_DIR": str(BOX / "left")}
        async with self.noting() as wrapper:
            claude.guarded(wrapper, ClaudeAgentOptions(env=env, resume=id))
            folder.mkdir(parents=True)
            (folder / "setup-hook-1.sh").write_text("")
            claude.guarded(wrapper, ClaudeAgentOptions(env=env, resume=id))
            (folder / "sessionstart-hook-0.sh").write_text("true")
            ways: list[dict[str, Any]] = [
                {"resume": id}, {"session_id": id}, {"continue_conversation": True}, {"resume": "by its title"}
            ]
            for way in ways:
                with self.subTest(way), self.assertRaisesRegex(ValueError, "would run before each command"):
                    claude.guarded(wrapper, ClaudeAgentOptions(env=env, **way))
            claude.guarded(wrapper, ClaudeAgentOptions(env=env, resume=other))
            claude.guarded(wrapper, ClaudeAgentOptions(env=env))

    async def test_a_prompt_expands_nothing(self) -> None:
        (line,) = [line async for line in claude.prompt("/x @y")]
        self.assertTrue(line["client_composed"])
        self.assertEqual(line["message"]["content"][0]["text"], "/x @y")


@dataclasses.dataclass
class FunctionTool:
    name: str
    on_invoke_tool: Any
    needs_approval: Any = False


class TestAgents(unittest.IsolatedAsyncioTestCase):
    def shell(self, ran: list[str], **more: Any) -> FunctionTool:
        async def invoke(context: Any, text: str) -> str:
            ran.append(json.loads(text)["cmd"])
            return f"ran {ran[-1]}"

        return FunctionTool("run_shell", invoke, **more)

    async def call(self, tool: Any, command: str, approve: bool = True, id: str = "c1") -> Any:
        """What the SDK does with a call."""
        input = {"cmd": command}
        if await tool.needs_approval(None, input, id) and not approve:
            return "rejected"
        return await tool.on_invoke_tool(types.SimpleNamespace(tool_call_id=id), json.dumps(input))

    async def test_guarded(self) -> None:
        answers = [{"choice": "once"}, {"choice": "words", "message": "use git"}, {"choice": "edit", "input": {"cmd": "echo t"}}]
        async with start(on_approve=lambda _: answers.pop(0)) as wrapper:
            ran: list[str] = []
            tool = openai_agents.guarded(wrapper, self.shell(ran), cwd=str(WORK))
            self.assertEqual(await self.call(tool, "echo hi"), "ran echo hi")
            self.assertRegex(await self.call(tool, "rm a.txt"), "denied by rule")
            self.assertEqual(await self.call(tool, "touch t", approve=False), "ran touch t")
            self.assertRegex(await self.call(tool, "touch t"), "use git")
            self.assertEqual(await self.call(tool, "touch t"), "ran echo t")
            for text in ("[1]", "null", "{", '"x"'):
                self.assertRegex(await tool.on_invoke_tool(None, text), "Denied")
        self.assertEqual(ran, ["echo hi", "touch t", "echo t"])
        self.assertRegex(await self.call(tool, "echo hi"), "has ended")

    async def test_an_ask_is_put_to_the_sdk(self) -> None:
        async with start() as wrapper:
            ran: list[str] = []
            tool = openai_agents.guarded(wrapper, self.shell(ran), cwd=str(WORK))
            self.assertEqual(await self.call(tool, "touch t", approve=False), "rejected")
            self.assertEqual(await self.call(tool, "touch t", id="c2"), "ran touch t")
            again = await tool.on_invoke_tool(types.SimpleNamespace(tool_call_id="c2"), '{"cmd": "touch t"}')
            self.assertRegex(again, "nobody to ask")
            other = await tool.on_invoke_tool(types.SimpleNamespace(tool_call_id="c1"), '{"cmd": "touch other"}')
            self.assertRegex(other, "nobody to ask")

    async def test_an_approval_answers_no_question_about_another_tool_use_with_its_id(self) -> None:
        async with start() as wrapper:
            ran: list[str] = []
            tool = openai_agents.guarded(wrapper, self.shell(ran), cwd=str(WORK))
            self.assertTrue(await tool.needs_approval(None, {"cmd": "touch t"}, "c1"))
            said, other = await asyncio.gather(
                tool.on_invoke_tool(types.SimpleNamespace(tool_call_id="c1"), '{"cmd": "touch t"}'),
                wrapper.can_use_tool("Bash", {"command": "touch other"}, tool_use_id="c1", cwd=str(WORK)),
            )
            self.assertFalse(other.allowed)
            self.assertEqual((said, ran), ("ran touch t", ["touch t"]))

    async def test_an_input_that_is_nested_too_deep_does_not_run(self) -> None:
        async with start() as wrapper:
            tool = openai_agents.guarded(wrapper, self.shell([]), cwd=str(WORK))
            deep: Any = []
            for _ in range(5000):
                deep = [deep]
            self.assertFalse(await tool.needs_approval(None, {"cmd": deep}, "c1"))
            said = await tool.on_invoke_tool(None, '{"cmd":' + "[" * 100_000 + "]" * 100_000 + "}")
            self.assertRegex(said, "Denied")

    async def test_a_tool_that_asks_of_itself_still_does(self) -> None:
        async with start() as wrapper:
            tool = openai_agents.guarded(wrapper, self.shell([], needs_approval=True), cwd=str(WORK))
            self.assertEqual(await self.call(tool, "echo hi", approve=False), "rejected")
            with self.assertRaisesRegex(TypeError, "only a FunctionTool"):
                openai_agents.guarded(wrapper, object())
