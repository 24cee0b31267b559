"""For OpenAI's Agents SDK (``openai-agents``)."""

from __future__ import annotations

import copy
import inspect
import json
from typing import Any, TypeVar

from . import AgentWrapper, Answer, Approver, JSONObject, Question

Tool = TypeVar("Tool")

_MOST = 10_000


def guarded(
    wrapper: AgentWrapper,
    tool: Tool,
    *,
    cwd: str | None = None,
    session: str | None = None,
    agent: str | None = None,
) -> Tool:
    """Makes of a FunctionTool one that is decided before it runs::

        Agent(name=name, tools=[guarded(wrapper, run_shell), guarded(wrapper, read_file)])

    The tool runs with the input that was allowed. A denial is its result, so the model
    reads why. What the policy asks about goes to the wrapper's approver; if there is
    none, needs_approval tells the SDK, and the run ends with an interruption: once
    approved there, the tool use is decided and runs. Hosted tools, and those of MCP
    servers that the SDK calls by itself, are not seen.
    """
    if not hasattr(tool, "on_invoke_tool"):
        raise TypeError(f"a {type(tool).__name__} cannot be guarded, only a FunctionTool")
    held: Any = copy.copy(tool)
    run, needs, asked = held.on_invoke_tool, held.needs_approval, _Asked(held.name)
    origin: Any = {"cwd": cwd, "session": session, "agent": agent}

    async def needs_approval(context: Any, input: JSONObject, call_id: str) -> bool:
        if not wrapper.can_ask and await _would_ask(wrapper, held.name, input, origin):
            asked.note(call_id, input)
            return True
        own = needs(context, input, call_id) if callable(needs) else needs
        return bool(await own if inspect.isawaitable(own) else own)

    async def on_invoke_tool(context: Any, text: str) -> Any:
        try:
            input = json.loads(text)
        except (ValueError, RecursionError):
            input = None
        if not isinstance(input, dict):
            return "Denied: the input is no JSON object"
        call_id = getattr(context, "tool_call_id", None)
        approver = asked.approver(call_id, input)
        result = await wrapper.can_use_tool(held.name, input, tool_use_id=call_id, on_approve=approver, **origin)
        if not result.allowed:
            return result.message
        return await run(context, json.dumps(result.updated_input))

    held.on_invoke_tool, held.needs_approval = on_invoke_tool, needs_approval
    made: Tool = held
    return made


async def _would_ask(wrapper: AgentWrapper, tool: str, input: JSONObject, origin: Any) -> bool:
    try:
        found = await wrapper.explain(tool, input, **origin)
    except Exception:
        return False  # it is decided, and denied, when it is invoked
    return bool(found["decision"].get("behavior") == "ask")


class _Asked:
    """The tool uses that the SDK puts to a person. Its approval counts for that very tool
    use, once, and only in the process that asked."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._inputs: dict[str, str] = {}

    def note(self, call_id: str, input: JSONObject) -> None:
        while len(self._inputs) >= _MOST:
            del self._inputs[next(iter(self._inputs))]
        self._inputs[call_id] = _text(input)

    def approver(self, call_id: str | None, input: JSONObject) -> Approver | None:
        noted = self._inputs.pop(call_id, None) if call_id else None
        if noted is None or noted != _text(input):
            return None

        def once(question: Question) -> Answer:
            # Another tool use may have the same id: the model's provider makes them.
            if question.get("tool") == self._tool and _text(question.get("input")) == noted:
                return {"choice": "once"}
            return {"choice": "deny", "message": "Not approved: another tool use with this id was"}

        return once


def _text(input: Any) -> str:
    return json.dumps(input, sort_keys=True)
