"""The Claude Agent SDK, with every tool use decided by the wrapper."""

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from agent_wrapper import AgentWrapper, Answer, Question
from agent_wrapper.claude import guarded, prompt


def later(question: Question) -> Answer:
    print(f"asked: {question['tool']} {question['input']}: {question['reason']}")
    return {"choice": "words", "message": "not while I am away"}


async def main(task: str) -> None:
    async with AgentWrapper(flags=["--policy", "policy.toml"], on_approve=later) as wrapper:
        options = guarded(wrapper, ClaudeAgentOptions(max_turns=10))
        async for message in query(prompt=prompt(task), options=options):
            if isinstance(message, ResultMessage):
                print(message.result)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "List the files here."))
