// A loop of one's own: three commands, of which one is asked about and one denied.
import { execFile } from "node:child_process";
import { createInterface } from "node:readline/promises";
import { promisify } from "node:util";
import { AgentWrapper, Denied, guarded } from "agent-wrapper";

const terminal = createInterface({ input: process.stdin, output: process.stdout });
await using wrapper = new AgentWrapper({
  flags: ["--policy", "policy.toml"],
  async onApprove({ input, reason }) {
    const answer = await terminal.question(`${JSON.stringify(input)}: ${reason}. Run it? [y/n] `);
    return { choice: answer === "y" ? "once" : "deny" };
  },
});
const bash = ({ cmd }: { cmd: string }) => promisify(execFile)("bash", ["-c", cmd]);
const runShell = guarded(wrapper, "run_shell", bash, { cwd: process.cwd() });
for (const cmd of ["echo hello", "touch made", "rm made"]) {
  await runShell({ cmd }).then(
    ({ stdout }) => console.log(`ran ${cmd}: ${stdout}`),
    (error) => (error instanceof Denied ? console.log(error.message) : Promise.reject(error)),
  );
}
terminal.close();
