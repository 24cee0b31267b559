// The Claude Agent SDK, with every tool use decided by the wrapper.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { AgentWrapper } from "agent-wrapper";
import { guarded } from "agent-wrapper/claude";

await using wrapper = new AgentWrapper({
  flags: ["--policy", "policy.toml"],
  onApprove({ tool, input, reason }) {
    console.log(`asked: ${tool} ${JSON.stringify(input)}: ${reason}`);
    return { choice: "words", message: "not while I am away" };
  },
});
const cli = process.env["CLAUDE_CLI"];
const options = guarded(wrapper, { maxTurns: 10, ...(cli ? { pathToClaudeCodeExecutable: cli } : {}) });
for await (const message of query({ prompt: process.argv[2] ?? "List the files here.", options })) {
  if (message.type === "result" && message.subtype === "success") console.log(message.result);
}
