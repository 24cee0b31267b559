import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after } from "node:test";
import { AgentWrapper, type Options } from "agent-wrapper";

/** The directory of this package. */
export const root = process.cwd();

/** A throw-away directory, in which the tests run: a workspace, a home and the program on PATH. */
export const box = realpathSync(mkdtempSync(join(tmpdir(), "agent-wrapper-sdk")));
export const work = join(box, "work");
export const home = join(box, "home");
for (const dir of ["work", "home", "bin"]) mkdirSync(join(box, dir));
after(() => rmSync(box, { recursive: true, force: true }));

symlinkSync(realpathSync(process.env["AW_BINARY"] ?? "../../bin/agent-wrapper"), join(box, "bin/agent-wrapper"));
process.env["PATH"] = join(box, "bin") + delimiter + process.env["PATH"];
process.env["HOME"] = home;
delete process.env["XDG_STATE_HOME"];
delete process.env["XDG_CONFIG_HOME"];
process.chdir(work);
writeFileSync(join(work, "a.txt"), "alpha\n");
copyFileSync(join(root, "examples/policy.toml"), join(work, "policy.toml"));
writeFileSync(
  join(box, "policy.toml"),
  `
allow = ["Bash(echo:*)", "Bash(ls:*)", "Read(**)", "Agent", "run_shell", "mcp__own__run"]
ask = ["Bash(touch:*)"]
deny = ["Bash(rm:*)"]

[tools.run_shell]
command = "cmd"

[tools.mcp__own__run]
command = "cmd"
`,
);

/** How the tests start a wrapper. */
export const options: Options = { flags: ["--isolated", "--policy", join(box, "policy.toml"), "--audit", join(box, "audit.jsonl")] };

/** A wrapper with the policy of the tests; it has to be closed. */
export function start(more: Options = {}): AgentWrapper {
  return new AgentWrapper({ ...options, ...more });
}
