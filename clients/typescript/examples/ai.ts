// The AI SDK: a person is asked in place; a denial is told to the model.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AgentWrapper } from "agent-wrapper";
import { guarded } from "agent-wrapper/ai";
import { generateText, isStepCount, type LanguageModel, tool } from "ai";
import { z } from "zod";

export async function example(model: LanguageModel, approve: (question: string) => boolean): Promise<void> {
  await using wrapper = new AgentWrapper({
    flags: ["--policy", "policy.toml"],
    onApprove: ({ input }) => ({ choice: approve(JSON.stringify(input)) ? "once" : "deny" }),
  });
  const run_shell = tool({
    description: "Runs a command.", inputSchema: z.object({ cmd: z.string() }),
    execute: async ({ cmd }) => (await promisify(execFile)("bash", ["-c", cmd])).stdout,
  });
  const guard = guarded(wrapper, { run_shell }, { cwd: process.cwd() });
  const { text } = await generateText({ model, prompt: "Make a file.", stopWhen: isStepCount(5), ...guard });
  console.log(text);
}
