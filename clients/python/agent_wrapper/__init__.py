"""Asks agent-wrapper before an agent's tool runs.

One child process, ``agent-wrapper decide --stdio``, decides; this package only
speaks to it::

    async with AgentWrapper(flags=["--policy", "policy.toml"]) as wrapper:
        result = await wrapper.can_use_tool("Bash", {"command": command}, cwd=cwd)
        if result.allowed:
            await run(result.updated_input)
        else:
            tell(result.message)

Whatever goes wrong is a denial. A child that has ended is not started again:
everything after it is denied, with a message that says so.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, Union

from ._protocol import (
    HANDED_ON,
    Answer,
    Approval,
    Approver,
    Denied,
    HandedOn,
    JSONObject,
    Question,
    Result,
    WrapperError,
    denied,
    read_result,
)

__all__ = [
    "HANDED_ON",
    "AgentWrapper",
    "Answer",
    "Approver",
    "Denied",
    "HandedOn",
    "JSONObject",
    "Question",
    "Result",
    "WrapperError",
    "guarded",
]

_LONGEST = 64 << 20  # line from the wrapper
_LONGEST_OURS = 16 << 20
_COMPLAINT = 2000


class AgentWrapper:
    """One running agent-wrapper, used from one event loop.

    command is the program and its first arguments, flags are those of ``agent-wrapper
    decide``: the policy, the workspace, the audit log. on_approve answers what the policy
    asks about; without it that is denied. on_withdrawn hears the id and the reason when
    a question is not to be answered any more, on_warning what people should know of.
    """

    def __init__(
        self,
        *,
        command: Sequence[str] = ("agent-wrapper",),
        flags: Sequence[str] = (),
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        on_approve: Approver | None = None,
        on_withdrawn: Callable[[str, str], None] | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self._command = [*command, "decide", "--stdio", "--approvals", "stdio", *flags]
        self._cwd, self._env = cwd, env
        self._on_approve, self._on_withdrawn, self._on_warning = on_approve, on_withdrawn, on_warning
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._reading: list[asyncio.Task[None]] = []
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._approvers: dict[str, Approver] = {}
        self._questions: dict[str, asyncio.Task[None]] = {}
        self._last = 0
        self._dead: str | None = None
        self._complaint = b""

    @property
    def can_ask(self) -> bool:
        """Whether somebody answers what the policy asks about."""
        return self._on_approve is not None

    async def can_use_tool(
        self,
        tool: str,
        input: JSONObject,
        *,
        cwd: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        tool_use_id: str | None = None,
        own_shell: bool | None = None,
        timeout: float | None = None,
        on_approve: Approver | None = None,
    ) -> Result:
        """Decides a tool use, and records the decision. An error is a denial.

        cwd is the directory that the tool would run in, absolute: without one the
        workspace, "" if it is not known. own_shell says that each command line runs in a
        shell that ends with it; without it, the shell may go on. on_approve answers questions about this tool use in place of the
        wrapper's own. A cancelled call withdraws its question.
        """
        name = tool_use_id or str(uuid.uuid4())
        use = _use(tool, input, cwd, session, agent, name, own_shell)
        if on_approve:
            self._approvers[name] = on_approve
        try:
            return read_result(await asyncio.wait_for(self._request("canUseTool", use), timeout))
        except asyncio.TimeoutError:
            return denied("it took too long")
        except Exception as error:
            return denied(error)
        finally:
            # Another tool use may have the same id, and still be asked about.
            if self._approvers.get(name) is on_approve:
                self._approvers.pop(name, None)

    async def explain(
        self,
        tool: str,
        input: JSONObject,
        *,
        cwd: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        tool_use_id: str | None = None,
        own_shell: bool | None = None,
    ) -> JSONObject:
        """Tells what would be decided: its decision may be "ask". Nobody is asked."""
        found = await self._request("explain", _use(tool, input, cwd, session, agent, tool_use_id, own_shell))
        if isinstance(found, dict) and isinstance(found.get("decision"), dict):
            return found
        raise WrapperError("agent-wrapper explained nothing")

    async def answer(self, id: str, digest: str, answer: Answer) -> list[str]:
        """Answers a question that was handed on, and tells where rules were written.

        It raises if the answer is refused: it came too late, say.
        """
        found = await self._request("answer", {**answer, "id": id, "digest": digest})
        self._questions.pop(id, None)
        kept: list[str] = found.get("kept", [])
        return kept

    async def session(
        self,
        action: Literal["open", "resume", "rules", "revoke", "pause", "unpause", "close"],
        session: str,
        *,
        grant: int | None = None,
        reason: str | None = None,
    ) -> JSONObject:
        """Opens, resumes, pauses or closes a session, or revokes a lasting answer (grant).

        It tells what is kept for the session.
        """
        found: JSONObject = await self._request(
            "session", _given(action=action, session=session, grant=grant, reason=reason)
        )
        return found

    async def policy(self, session: str | None = None) -> JSONObject:
        """Tells which policy is in force."""
        found: JSONObject = await self._request("policy", _given(session=session))
        return found

    async def outcome(
        self, tool_use_id: str, *, failed: bool, exit: int | None = None, session: str | None = None
    ) -> None:
        """Records what became of an allowed tool use."""
        await self._request("outcome", _given(toolUseID=tool_use_id, failed=failed, exit=exit, session=session))

    async def close(self) -> None:
        """Ends the wrapper: what waits is denied, the audit log is closed."""
        if self._starting is None:
            return self._die("it was closed")
        try:
            child = await self._starting
        except OSError:
            return
        if child.stdin:
            child.stdin.close()
        done, _ = await asyncio.wait(self._reading, timeout=5)
        if len(done) < len(self._reading):
            child.kill()
            await asyncio.wait(self._reading)

    async def __aenter__(self) -> AgentWrapper:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _start(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        try:
            child = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._cwd, env=self._env
            )
        except OSError as error:
            self._die(str(error))
            raise
        self._reading = [asyncio.create_task(self._read(child)), asyncio.create_task(self._listen(child))]
        return child

    async def _listen(self, child: asyncio.subprocess.Process) -> None:
        assert child.stderr
        while part := await child.stderr.read(1 << 12):
            self._complaint = (self._complaint + part)[-_COMPLAINT:]

    async def _read(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdout
        held = bytearray()
        try:
            while part := await child.stdout.read(1 << 16):
                *ends, rest = part.split(b"\n")
                for end in ends:
                    held += end
                    self._line(held.decode())
                    held.clear()
                held += rest
                if len(held) > _LONGEST:
                    raise ValueError(f"a line of more than {_LONGEST} bytes")
        except Exception as error:
            self._die(f"it wrote what cannot be read ({error})")
            child.kill()
        code = await child.wait()
        await asyncio.wait(self._reading[1:], timeout=1)  # for what it complained of
        complaint = self._complaint.decode(errors="replace").strip()
        self._die((f"signal {-code}" if code < 0 else f"exit code {code}") + (complaint and f": {complaint}"))

    def _die(self, why: str) -> None:
        if self._dead is not None:
            return
        self._dead = f"agent-wrapper has ended ({why}); nothing runs without it"
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_exception(WrapperError(self._dead))
        self._pending.clear()
        for id in list(self._questions):
            self._withdraw(id, self._dead)

    async def _request(self, method: str, params: Mapping[str, Any]) -> Any:
        if self._dead is not None:
            raise WrapperError(self._dead)
        self._last += 1
        id = self._last
        line = _encode({"id": id, "method": method, "params": params})
        if len(line) > _LONGEST_OURS:
            raise WrapperError("the input is too large")
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        try:
            child = await asyncio.shield(self._starting)
        except OSError:
            raise WrapperError(str(self._dead)) from None
        if self._dead is not None:
            raise WrapperError(self._dead)
        waiting = self._pending[id] = asyncio.get_running_loop().create_future()
        try:
            self._write(child, line)
            return await waiting
        except asyncio.CancelledError:
            self._write(child, _encode({"method": "cancel", "params": {"id": id}}))
            raise
        finally:
            self._pending.pop(id, None)

    def _write(self, child: asyncio.subprocess.Process, line: bytes) -> None:
        if self._dead is None and child.stdin and not child.stdin.is_closing():
            child.stdin.write(line)

    def _send(self, message: JSONObject) -> None:
        if self._starting and self._starting.done() and not self._starting.exception():
            self._write(self._starting.result(), _encode(message))

    def _line(self, line: str) -> None:
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("no object")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        method = message.get("method")
        if method is None:
            self._response(message)
        elif method == "approve":
            question: Question = params  # type: ignore[assignment]
            id = question.get("id", "")
            self._questions[id] = asyncio.create_task(self._approve(message.get("id"), question))
        elif method == "withdrawn":
            self._withdraw(str(params.get("id")), str(params.get("reason")))
        elif method == "warning":
            if self._on_warning:
                self._on_warning(str(params.get("message")))
        elif "id" in message:
            self._send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})

    def _response(self, message: JSONObject) -> None:
        error = message.get("error")
        failure: WrapperError | None = None
        if isinstance(error, dict):
            data = error.get("data")
            reason = data.get("reason") if isinstance(data, dict) else None
            failure = WrapperError(str(error.get("message")), error.get("code"), reason)
            if message.get("id") is None:
                raise failure  # a line of ours was not understood, and we cannot know which
        waiting = self._pending.pop(message.get("id", 0), None)
        if waiting is None or waiting.done():
            return
        if failure:
            waiting.set_exception(failure)
        else:
            waiting.set_result(message.get("result"))

    async def _approve(self, id: Any, question: Question) -> None:
        approver = self._approvers.get(question.get("tool_use_id", ""), self._on_approve or _nobody)
        try:
            answer = approver(question)
            if inspect.isawaitable(answer):
                answer = await answer
            if isinstance(answer, HandedOn):
                # The question stays, and is withdrawn like any other.
                return self._send({"id": id, "result": {"handedOn": True}})
            line: JSONObject = {"id": id, "result": answer}
            _encode(line)
        except Exception as error:
            line = {"id": id, "error": {"code": -32603, "message": str(error)}}
        self._questions.pop(question.get("id", ""), None)
        self._send(line)

    def _withdraw(self, id: str, reason: str) -> None:
        task = self._questions.pop(id, None)
        if task is not None:
            task.cancel()
            if self._on_withdrawn:
                self._on_withdrawn(id, reason)


Output = TypeVar("Output")


def guarded(
    wrapper: AgentWrapper,
    tool: str,
    run: Callable[[JSONObject], Union[Output, Awaitable[Output]]],
    *,
    cwd: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    own_shell: bool | None = None,
) -> Callable[[JSONObject], Awaitable[Output]]:
    """Makes of a tool one that is decided before it runs, for a loop of one's own.

    It runs with the input that was allowed, which a person may have edited; a denial
    raises Denied.
    """

    async def decided(input: JSONObject) -> Output:
        result = await wrapper.can_use_tool(tool, input, cwd=cwd, session=session, agent=agent, own_shell=own_shell)
        if not result.allowed:
            raise Denied(result)
        output: Any = run(result.updated_input)
        if inspect.isawaitable(output):
            output = await output
        made: Output = output
        return made

    return decided


def _nobody(question: Question) -> Approval:
    reason = question.get("reason", question.get("tool"))
    return {"choice": "deny", "message": f"Not approved: {reason} (there is nobody to ask)"}


def _encode(message: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False).encode() + b"\n"


def _given(**members: Any) -> JSONObject:
    return {name: value for name, value in members.items() if value is not None}


def _use(
    tool: str,
    input: JSONObject,
    cwd: str | None,
    session: str | None,
    agent: str | None,
    name: str | None,
    own_shell: bool | None,
) -> JSONObject:
    return _given(
        tool=tool, input=input, cwd=cwd, session=session, agent=agent, toolUseID=name, ownShell=own_shell
    )
