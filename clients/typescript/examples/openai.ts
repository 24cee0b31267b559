// OpenAI's Agents SDK: what the policy asks about interrupts the run.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Agent, type Model, run, tool } from "@openai/agents";
import { AgentWrapper } from "agent-wrapper";
import { guarded } from "agent-wrapper/openai";
import { z } from "zod";

export async function example(model: string | Model, approve: (question: string) => boolean): Promise<void> {
  await using wrapper = new AgentWrapper({ flags: ["--policy", "policy.toml"] });
  const shell = tool({
    name: "run_shell", description: "Runs a command.", parameters: z.object({ cmd: z.string() }),
    execute: async ({ cmd }) => (await promisify(execFile)("bash", ["-c", cmd])).stdout,
  });
  const agent = new Agent({ name: "worker", model, tools: [guarded(wrapper, shell, { cwd: process.cwd() })] });
  let result = await run(agent, "Make a file.");
  while (result.interruptions.length > 0) {
    for (const item of result.interruptions) approve(String(item.arguments)) ? result.state.approve(item) : result.state.reject(item);
    result = await run(agent, result.state);
  }
  console.log(result.finalOutput);
}
