"""The lines of ``agent-wrapper decide --stdio``; docs/reference/protocol.md describes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypedDict, Union

JSONObject = dict[str, Any]


class Question(TypedDict, total=False):
    """A tool use that somebody has to decide, as it should be shown.

    Its texts are safe to show, but for input: that is what the agent sent.
    """

    id: str
    digest: str
    tool: str
    input: JSONObject
    reason: str
    tool_use_id: str
    agent: str
    session: str
    dir: str
    risk: str
    tier: int
    factors: list[str]
    rule: str
    rule_source: str
    blocks: list[JSONObject]
    actions: list[JSONObject]
    asked: list[JSONObject]
    allowed: int
    whole: bool
    choices: list[JSONObject]


Answer = TypedDict(
    "Answer",
    {
        # Name of one of the question's choices: once, session, while, always, edit,
        # answers, deny, words or never. Any other is a denial.
        "choice": str,
        # Index of one of its rungs, or rules in place of one.
        "rung": int,
        "rules": list[str],
        # With while: how long in seconds, and for how many tool uses with this one.
        "for": int,
        "times": int,
        # With edit: the whole input. It is decided anew.
        "input": JSONObject,
        # With answers: an answer to each question of the agent.
        "answers": dict[str, str],
        # With deny and words: for the agent.
        "message": str,
        "by": str,
    },
    total=False,
)


class HandedOn:
    """What an approver returns if the answer comes later, by AgentWrapper.answer."""


HANDED_ON: Final = HandedOn()

Approval = Union[Answer, HandedOn]
# Answers questions; it may take as long as it needs. If it is a coroutine it is
# cancelled when the question is withdrawn.
Approver = Callable[[Question], Union[Approval, Awaitable[Approval]]]


@dataclass(frozen=True)
class Result:
    """Run the tool only if behavior is "allow", and with updated_input."""

    behavior: Literal["allow", "deny"]
    updated_input: JSONObject = field(default_factory=dict)
    # For the agent, of a denial.
    message: str = ""
    # The agent's turn should end.
    interrupt: bool = False
    # What was decided and why, for people; empty if the wrapper did not answer.
    decision: JSONObject = field(default_factory=dict)

    @property
    def allowed(self) -> bool:
        return self.behavior == "allow"


class WrapperError(Exception):
    """A request that was answered with an error, or not at all."""

    def __init__(self, message: str, code: int | None = None, reason: str | None = None) -> None:
        super().__init__(message)
        # JSON-RPC code, None if there was no answer.
        self.code = code
        # Why an answer was refused.
        self.reason = reason


class Denied(Exception):
    """Raised by guarded functions in place of running a tool. Its text is for the agent."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.message)
        self.interrupt = result.interrupt


def read_result(value: Any) -> Result:
    """Reads the answer to canUseTool: everything but a plain allow is a denial."""
    if not isinstance(value, dict):
        raise WrapperError("agent-wrapper decided nothing")
    decision = value.get("decision")
    decision = decision if isinstance(decision, dict) else {}
    if value.get("behavior") == "allow":
        if not isinstance(value.get("updatedInput"), dict):
            raise WrapperError("agent-wrapper allowed no input")
        return Result("allow", updated_input=value["updatedInput"], decision=decision)
    message = value.get("message")
    return Result(
        "deny",
        message=message if isinstance(message, str) and message else "Denied",
        interrupt=value.get("interrupt") is True,
        decision=decision,
    )


def denied(why: BaseException | str) -> Result:
    """The denial for whatever went wrong."""
    return Result("deny", message=f"Denied: {why}")
