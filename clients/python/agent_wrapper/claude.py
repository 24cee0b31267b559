"""For the Claude Agent SDK (``claude-agent-sdk``)."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from . import AgentWrapper, JSONObject, Result
from ._isolation import isolation

Options = TypeVar("Options")
CanUseTool = Callable[[str, JSONObject, Any], Awaitable[Any]]


def can_use_tool(wrapper: AgentWrapper, *, session: str | None = None) -> CanUseTool:
    """The permission callback alone.

    In the SDK's default mode it does not see every tool use: read-only commands, reads
    in the workspace, subagents, and what settings allow run without it. guarded has all
    of them arrive.
    """

    async def decide(tool: str, input: JSONObject, context: Any) -> Any:
        return _permission(
            await wrapper.can_use_tool(
                # The directory of the agent's shell is not told.
                tool, input, cwd="", tool_use_id=context.tool_use_id, session=session, agent=context.agent_id
            )
        )

    return decide


def guarded(wrapper: AgentWrapper, options: Options, *, session: str | None = None) -> Options:
    """Makes of ClaudeAgentOptions ones with which every tool use is decided::

        options = guarded(wrapper, ClaudeAgentOptions(model=model, cwd=cwd))
        async for message in query(prompt=prompt(text), options=options): ...

    An option that would let a tool run undecided is an error that names it, and so is
    one that is not known here.
    """
    from claude_agent_sdk import HookMatcher

    given: Any = options
    _check(given)
    env = _environment(given.env)
    _check_home(env)
    _check_scripts(env, given)
    hook = _Hook(wrapper, session)
    settings = json.loads(json.dumps(isolation["settings"]))
    if given.add_dirs:
        settings["permissions"]["additionalDirectories"] = [str(Path(dir).absolute()) for dir in given.add_dirs]
    made: Options = dataclasses.replace(
        given,
        can_use_tool=hook.can_use_tool,
        hooks={
            **(given.hooks or {}),
            "PreToolUse": [HookMatcher(hooks=[hook.pre_tool_use], timeout=isolation["hookTimeout"])],
        },
        permission_mode="default",
        setting_sources=[],
        settings=json.dumps(settings),
        add_dirs=[],
        strict_mcp_config=True,
        extra_args={"disable-slash-commands": None},
        env=env,
    )
    return made


async def prompt(text: str) -> AsyncIterator[JSONObject]:
    """A prompt in which no ``@file`` and no ``/command`` is expanded."""
    # Agent CLIs that do not know client_composed look into the last block only.
    content = [{"type": "text", "text": text}, {"type": "text", "text": "That is all."}]
    yield {
        "type": "user",
        "client_composed": True,
        "session_id": "",
        "parent_tool_use_id": None,
        "message": {"role": "user", "content": content},
    }


# How many allows are held. One is never asked for if the agent CLI refuses the tool use by
# itself; the oldest goes, and its tool use would be decided anew.
_MAX_HELD = 1000


class _Hook:
    """Decides when the hook is called, which knows the directory and whose denial stands
    against everybody's allow. An allow is held for can_use_tool, which sees the input as
    it will run: for another input it decides anew."""

    def __init__(self, wrapper: AgentWrapper, session: str | None) -> None:
        self._wrapper, self._session = wrapper, session
        self._held: dict[str | None, tuple[tuple[Any, ...], Result]] = {}

    async def pre_tool_use(self, input: Any, tool_use_id: str | None, context: Any) -> JSONObject:
        id, agent = input.get("tool_use_id"), input.get("agent_id")
        result = await self._wrapper.can_use_tool(
            input["tool_name"], input["tool_input"],
            tool_use_id=id, cwd=input.get("cwd") or "", session=self._session, agent=agent,
        )
        if not result.allowed and not result.interrupt:
            return _answer("deny", result.message)
        self._held.pop(id, None)
        self._held[id] = (input["tool_name"], input["tool_input"], agent), result
        while len(self._held) > _MAX_HELD:
            del self._held[next(iter(self._held))]
        return _answer("ask")  # a hook's allow would not see what another hook makes of the input

    async def can_use_tool(self, tool: str, input: JSONObject, context: Any) -> Any:
        use, result = self._held.pop(context.tool_use_id, ((), None))
        if result is None or use != (tool, input, context.agent_id):
            # Without the hook the directory is not known.
            result = await self._wrapper.can_use_tool(
                tool, input, cwd="", tool_use_id=context.tool_use_id, session=self._session, agent=context.agent_id
            )
        return _permission(result)


def _answer(decision: str, reason: str | None = None) -> JSONObject:
    output = {"hookEventName": "PreToolUse", "permissionDecision": decision}
    if reason is not None:
        output["permissionDecisionReason"] = reason
    return {"hookSpecificOutput": output}


def _permission(result: Result) -> Any:
    from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

    if result.allowed:
        return PermissionResultAllow(updated_input=result.updated_input)
    return PermissionResultDeny(message=result.message, interrupt=result.interrupt)


# Options that change nothing of who decides.
_HARMLESS = set(
    """tools system_prompt mcp_servers continue_conversation resume session_id max_turns max_budget_usd
    disallowed_tools model fallback_model betas cwd cli_path add_dirs env max_buffer_size debug_stderr stderr user
    include_partial_messages include_hook_events fork_session resume_session_at resume_drops_turn max_thinking_tokens
    thinking effort output_format enable_file_checkpointing session_store session_store_flush load_timeout_ms
    task_budget""".split()
)

# Events whose hooks decide about no tool use.
_HARMLESS_EVENTS = set(
    """Notification PostToolUse PostToolUseFailure PreCompact SessionEnd SessionStart Stop SubagentStart SubagentStop
    UserPromptSubmit""".split()
)

_REFUSED = {
    "allowed_tools": "tools that it names run undecided; give the wrapper an allow rule, or use tools or disallowed_tools",
    "can_use_tool": "the wrapper is the permission callback",
    "permission_prompt_tool_name": "the wrapper is asked, nobody else",
    "settings": "they may allow tools; give the wrapper rules",
    "setting_sources": "settings of files may allow tools and run hooks; say in system_prompt what CLAUDE.md says",
    "plugins": "they bring hooks and commands of their own",
    "skills": "their commands run without a tool use",
    "extra_args": "they may change what is asked",
}


def _check(options: Any) -> None:
    """Raises if an option would let a tool run undecided."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name in _HARMLESS or value is None or value is False or value in ([], {}, ""):
            continue
        why = _loosens(field.name, value)
        if why is not None:
            raise TypeError(f"option {field.name} cannot be used with agent-wrapper: {why}")


def _loosens(name: str, value: Any) -> str | None:
    """Why an option cannot be used, None if it can."""
    if name == "permission_mode":
        return None if value == "default" else "modes are the wrapper's; start it with --mode"
    if name == "strict_mcp_config":
        return None
    if name == "hooks":
        event = next((event for event, set in value.items() if set and event not in _HARMLESS_EVENTS), None)
        return f"a hook for {event} may answer before the wrapper" if event else None
    if name == "sandbox":
        return None if value.get("autoAllowBashIfSandboxed") is False else "set its autoAllowBashIfSandboxed to False"
    if name == "agents":
        return _agents(value)
    return _REFUSED.get(name, "it is not known here")


# What an agent may set: it is told what to do, and is given less.
_HARMLESS_OF_AGENTS = set(
    "background description disallowedTools effort maxTurns mcpServers model prompt tools".split()
)


def _agents(agents: dict[str, Any]) -> str | None:
    for name, agent in agents.items():
        for key, value in (agent if isinstance(agent, dict) else vars(agent)).items():
            if key in _HARMLESS_OF_AGENTS or value is None or value in ([], {}):
                continue
            if key != "permissionMode" or value != "default":
                return f"agent {name} sets {key}"
    return None


def _environment(given: dict[str, str]) -> dict[str, str]:
    """What is added to the agent CLI's environment. The SDK hands on ours, so a variable
    by which the CLI asks less is an error there too."""
    for name in {**os.environ, **given}:
        if name in isolation["nested"] or name in isolation["ours"] or name in isolation["passed"]:
            continue
        upper = name.upper()
        if upper in isolation["withheld"] or upper.startswith(tuple(isolation["families"])):
            where = "option env" if name in given else "the environment variable"
            raise TypeError(f"{where} {name} cannot be used with agent-wrapper: it may change what is asked")
    nested = {name: "" for name in isolation["nested"] if name in os.environ and name != "CLAUDE_CODE_ENTRYPOINT"}
    count = {**os.environ, **given}.get("GIT_CONFIG_COUNT", "0")
    number = int(count) if count.isdecimal() else 0
    return {
        **nested,
        **given,
        **isolation["ours"],
        # The repository's configuration may name a program that git starts.
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": "core.fsmonitor",
        f"GIT_CONFIG_VALUE_{number}": "false",
    }


def _check_home(env: dict[str, str]) -> None:
    """Raises if the agent CLI's global configuration sets variables, which would undo ours."""
    config, home = _homes(env)
    for file in (Path(config or home / ".claude", ".config.json"), Path(config or home, ".claude.json")):
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        if isinstance(found, dict) and found.get("env"):
            raise ValueError(
                f"{file} sets environment variables, which the agent CLI would take in place of those given here; "
                'take "env" out of it'
            )


def _homes(env: dict[str, str]) -> tuple[str | None, Path]:
    """The agent CLI's configuration directory, if one is named, and the home."""
    all = {**os.environ, **env}
    return all.get("CLAUDE_CONFIG_DIR"), Path(all.get("HOME") or Path.home())


_SESSION_ID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _check_scripts(env: dict[str, str], options: Any) -> None:
    """Raises if hooks have left scripts for the session that goes on: they run before
    each of its commands."""
    latest = getattr(options, "continue_conversation", False)
    named = [id for id in (getattr(options, name, None) for name in ("resume", "session_id")) if id]
    if not named and not latest:
        return
    config, home = _homes(env)
    folder = Path(config or home / ".claude", "session-env")
    sure = not latest and all(_SESSION_ID.fullmatch(id) for id in named)
    for session in named if sure else _entries(folder):
        for name in _entries(folder / session):
            script = folder / session / name
            if re.search(r"-hook-[0-9]+\.sh$", name) and script.stat().st_size > 0:
                raise ValueError(
                    f"{script} would run before each command of that session, unasked: a hook of an earlier one "
                    "has left it; remove it, or start a new session"
                )


def _entries(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
