"""A loop of one's own: three commands, of which one is asked about and one denied."""

import asyncio
import os
import subprocess
from typing import Any

from agent_wrapper import AgentWrapper, Answer, Denied, Question, guarded


async def ask(question: Question) -> Answer:
    text = f"{question['input']}: {question['reason']}. Run it? [y/n] "
    return {"choice": "once" if await asyncio.to_thread(input, text) == "y" else "deny"}


def bash(fields: dict[str, Any]) -> str:
    return subprocess.run(["bash", "-c", fields["cmd"]], capture_output=True, text=True).stdout


async def main() -> None:
    async with AgentWrapper(flags=["--policy", "policy.toml"], on_approve=ask) as wrapper:
        run_shell = guarded(wrapper, "run_shell", bash, cwd=os.getcwd())
        for cmd in ("echo hello", "touch made", "rm made"):
            try:
                print(f"ran {cmd}: {await run_shell({'cmd': cmd})}")
            except Denied as denied:
                print(denied)


asyncio.run(main())
