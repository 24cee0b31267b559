"""OpenAI's Agents SDK: what the policy asks about interrupts the run."""

import asyncio
import os
import subprocess

from agents import Agent, Runner, function_tool

from agent_wrapper import AgentWrapper
from agent_wrapper.openai_agents import guarded


@function_tool
def run_shell(cmd: str) -> str:
    """Runs a command."""
    return subprocess.run(["bash", "-c", cmd], capture_output=True, text=True).stdout


async def main() -> None:
    async with AgentWrapper(flags=["--policy", "policy.toml"]) as wrapper:
        agent = Agent(name="worker", tools=[guarded(wrapper, run_shell, cwd=os.getcwd())])
        result = await Runner.run(agent, "Make a file.")
        while result.interruptions:
            state = result.to_state()
            for item in result.interruptions:
                state.approve(item) if input(f"{item.arguments}? [y/n] ") == "y" else state.reject(item)
            result = await Runner.run(agent, state)
        print(result.final_output)


asyncio.run(main())
