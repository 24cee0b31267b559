import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { createSdkMcpServer, type Options as ClaudeOptions, query, type SDKResultMessage, tool } from "@anthropic-ai/claude-agent-sdk";
import { AgentWrapper, type DecideOptions, type Options, type Result, type ToolUse } from "agent-wrapper";
import { canUseTool, guarded } from "agent-wrapper/claude";
import { z } from "zod";
import { box, home, options, root, work } from "./setup.js";
import { type Call, startModel } from "./model.js";

/** The agent CLI, of the version that the SDK is made for. */
const modules = process.env["AW_E2E_MODULES"] ?? join(root, "../../e2e/node_modules");
const cli = join(modules, "claude-code-2.1.330/node_modules/@anthropic-ai", `claude-code-${process.platform}-${process.arch}/claude`);
const skip = existsSync(cli) ? false : `no agent CLI at ${cli}: run npm ci --prefix e2e`;

/** A wrapper that notes what it is asked. */
class Noting extends AgentWrapper {
  readonly seen: string[] = [];

  override canUseTool(use: ToolUse, options?: DecideOptions): Promise<Result> {
    this.seen.push(line(use.tool, use.input));
    return super.canUseTool(use, options);
  }
}

function line(tool: string, input: object): string {
  const { command, cmd, file_path, description } = input as Record<string, string>;
  return `${tool} ${command ?? cmd ?? file_path ?? description}`;
}

function start(more: Options = {}): Noting {
  return new Noting({ ...options, ...more });
}

const env = {
  PATH: process.env["PATH"], HOME: home, TMPDIR: box, SHELL: "/bin/bash", LANG: "C.UTF-8", TERM: "dumb", ANTHROPIC_API_KEY: "dummy-key",
  DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1", DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", GIT_CONFIG_NOSYSTEM: "1",
};
process.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1";

/** The options of a user who knows of no wrapper. */
function plain(url: string): ClaudeOptions {
  const own = tool("run", "runs", { cmd: z.string() }, async ({ cmd }) => ({ content: [{ type: "text", text: `own ran ${cmd}` }] }));
  return {
    cwd: work,
    pathToClaudeCodeExecutable: cli,
    env: { ...env, ANTHROPIC_BASE_URL: url },
    mcpServers: { own: createSdkMcpServer({ name: "own", tools: [own] }) },
    persistSession: false,
  };
}

interface Outcome {
  results: string[];
  last: SDKResultMessage | undefined;
  error: unknown;
}

/** Lets the scripted model have its turns, and gives what came back to it. */
async function run(turns: Call[][], options: (plain: ClaudeOptions) => ClaudeOptions, sub: Call[][] = []): Promise<Outcome> {
  rmSync(join(work, "written"), { force: true }); // a file that is there is not written before it was read
  const model = await startModel({ main: turns, sub });
  const outcome: Outcome = { results: [], last: undefined, error: undefined };
  try {
    for await (const message of query({ prompt: "[[main]] go", options: options(plain(model.url)) })) {
      if (message.type === "result") outcome.last = message;
    }
  } catch (error) {
    outcome.error = error;
  } finally {
    outcome.results = model.results;
    model.close();
  }
  return outcome;
}

const bash = (command: string): Call => ({ tool: "Bash", input: { command, description: command } });

/** What the agent CLI lets run by itself, and what it does not. */
const everything: Call[][] = [
  [bash("ls")],
  [{ tool: "Read", input: { file_path: join(work, "a.txt") } }],
  [{ tool: "Agent", input: { description: "look", prompt: "[[sub]] look", subagent_type: "general-purpose", run_in_background: false } }],
  [{ tool: "mcp__own__run", input: { cmd: "echo own" } }],
  [bash("touch made")],
  [{ tool: "Write", input: { file_path: join(work, "written"), content: "w" } }],
];
const below: Call[][] = [[bash("ls -a")]];
const all = ["Bash ls", `Read ${join(work, "a.txt")}`, "Agent look", "Bash ls -a", "mcp__own__run echo own", "Bash touch made", `Write ${join(work, "written")}`];

test("Claude SDK: every tool use arrives", { skip }, async () => {
  await using wrapper = start({ onApprove: () => ({ choice: "once" }) });
  const { results, last } = await run(everything, (options) => guarded(wrapper, options), below);
  assert.deepEqual(wrapper.seen, all);
  assert.equal(last?.subtype, "success");
  assert.match(results.join("\n"), /a\.txt[^]*alpha[^]*own ran echo own/);
  assert.ok(existsSync(join(work, "made")));
});

test("Claude SDK: with canUseTool alone they do not", { skip }, async () => {
  await using wrapper = start({ onApprove: () => ({ choice: "once" }) });
  await run(everything, (options) => ({ ...options, canUseTool: canUseTool(wrapper), permissionMode: "default", settingSources: [] }), below);
  assert.deepEqual(wrapper.seen, ["mcp__own__run echo own", "Bash touch made", `Write ${join(work, "written")}`]);
  wrapper.seen.length = 0;
  await run(everything, (options) => ({ ...options, canUseTool: canUseTool(wrapper), allowedTools: ["Bash", "mcp__own"], permissionMode: "acceptEdits" }), below);
  assert.deepEqual(wrapper.seen, []);
});

test("Claude SDK: each of the two guards is enough alone", { skip }, async () => {
  for (const taken of [{ hooks: {} }, { settings: {} }] satisfies ClaudeOptions[]) {
    await using wrapper = start({ onApprove: () => ({ choice: "once" }) });
    await run(everything, (options) => ({ ...guarded(wrapper, options), ...taken }), below);
    assert.deepEqual(wrapper.seen, all, `without ${Object.keys(taken)[0]}`);
  }
});

test("Claude SDK: an input that changed after the hook is decided anew", async () => {
  await using wrapper = start();
  const { hooks, canUseTool } = guarded(wrapper, { env: { HOME: home } });
  const signal = new AbortController().signal;
  const hook = (id: string, command: string) =>
    hooks.PreToolUse[0]!.hooks[0]!({ tool_name: "Bash", tool_input: { command }, tool_use_id: id, cwd: work }, id, { signal });
  const ask = { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "ask" } };
  assert.deepEqual(await hook("u1", "ls"), ask);
  const same = await canUseTool("Bash", { command: "ls" }, { signal, toolUseID: "u1" });
  assert.deepEqual(same, { behavior: "allow", updatedInput: { command: "ls" } });
  for (const [tool, input, agentID] of [["Bash", { command: "rm a.txt" }, undefined], ["Bash", { command: "touch t" }, "sub"], ["Write", { command: "ls" }, undefined]] as const) {
    assert.deepEqual(await hook("u2", "ls"), ask);
    const changed = await canUseTool(tool, input, { signal, toolUseID: "u2", ...(agentID ? { agentID } : {}) });
    assert.equal(changed.behavior, "deny", JSON.stringify(input));
  }
  assert.deepEqual(wrapper.seen.length, 7);
  const denial = await hook("u3", "rm a.txt");
  assert.match(denial.hookSpecificOutput.permissionDecisionReason!, /denied by rule Bash\(rm:\*\)/);
});

test("Claude SDK: of allows that are never asked for, the oldest go", async () => {
  let decided = 0;
  class Allowing extends AgentWrapper {
    override canUseTool({ input }: ToolUse): Promise<Result> {
      decided++;
      return Promise.resolve({ behavior: "allow", updatedInput: input } as Result);
    }
  }
  await using wrapper = new Allowing(options);
  const { hooks, canUseTool } = guarded(wrapper, { env: { HOME: home } });
  const signal = new AbortController().signal;
  for (let i = 0; i <= 1000; i++) {
    await hooks.PreToolUse[0]!.hooks[0]!({ tool_name: "Bash", tool_input: {}, tool_use_id: `u${i}` }, `u${i}`, { signal });
  }
  await canUseTool("Bash", {}, { signal, toolUseID: "u1" });
  assert.equal(decided, 1001, "the second is held");
  await canUseTool("Bash", {}, { signal, toolUseID: "u0" });
  assert.equal(decided, 1002, "the first is decided anew");
});

test("Claude SDK: a directory that is not told is not known", async () => {
  const told: unknown[] = [];
  class Telling extends AgentWrapper {
    override canUseTool(use: ToolUse): Promise<Result> {
      told.push(use.cwd);
      return Promise.resolve({ behavior: "deny", message: "no", interrupt: false });
    }
  }
  await using wrapper = new Telling(options);
  const guard = guarded(wrapper, { env: { HOME: home } });
  const signal = new AbortController().signal;
  await guard.hooks.PreToolUse[0]!.hooks[0]!({ tool_name: "Bash", tool_input: {}, tool_use_id: "u1" }, "u1", { signal });
  await guard.canUseTool("Bash", {}, { signal, toolUseID: "u2" });
  await canUseTool(wrapper, { cwd: undefined })("Bash", {}, { signal, toolUseID: "u3" });
  assert.deepEqual(told, ["", "", ""]);
});

test("Claude SDK: settings that allow everything change nothing", { skip }, async () => {
  await using wrapper = start();
  for (const dir of [home, work]) {
    mkdirSync(join(dir, ".claude"), { recursive: true });
    writeFileSync(join(dir, ".claude/settings.json"), JSON.stringify({ permissions: { allow: ["Bash"], defaultMode: "bypassPermissions" } }));
  }
  const { results } = await run([[bash("rm a.txt")]], (options) => guarded(wrapper, options));
  assert.deepEqual(wrapper.seen, ["Bash rm a.txt"]);
  assert.match(results.join(), /denied by rule Bash\(rm:\*\)/);
  assert.ok(existsSync(join(work, "a.txt")));
});

test("Claude SDK: a person allows, denies with words, edits", { skip }, async () => {
  const turns = [[bash("touch one")], [bash("touch two")], [bash("touch three")]];
  const answers = [
    { choice: "once" },
    { choice: "words", message: "use git" },
    { choice: "edit", input: { command: "echo four", description: "four" } },
  ];
  await using wrapper = start({ onApprove: () => answers.shift()! });
  const { results } = await run(turns, (options) => guarded(wrapper, options));
  assert.match(results[1]!, /use git/);
  assert.match(results[2]!, /four/);
  assert.deepEqual(["one", "two", "three"].map((name) => existsSync(join(work, name))), [true, false, false]);
  assert.equal(wrapper.seen.length, 3, "one decision for each");
});

test("Claude SDK: an abort", { skip }, async () => {
  const abortController = new AbortController();
  await using wrapper = start({ onApprove: () => (abortController.abort(), new Promise(() => {})) });
  await run([[bash("touch aborted")]], (options) => guarded(wrapper, { ...options, abortController }));
  assert.deepEqual(wrapper.seen, ["Bash touch aborted"]);
  assert.ok(!existsSync(join(work, "aborted")));
});

test("Claude SDK: a wrapper that has ended denies all", { skip }, async () => {
  const wrapper = start();
  await wrapper.close();
  const { results } = await run([[bash("ls")], [bash("touch late")]], (options) => guarded(wrapper, options));
  assert.match(results[0]!, /agent-wrapper has ended/);
  assert.ok(!existsSync(join(work, "late")));
});

test("Claude SDK: the example", { skip }, async () => {
  const model = await startModel({ main: [[bash("ls a.txt")], [bash("touch example")]] });
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, "build/examples/claude.js"), "[[main]] go"], {
    env: { ...env, ANTHROPIC_BASE_URL: model.url, CLAUDE_CLI: cli },
  });
  model.close();
  assert.match(stdout, /asked: Bash .*touch example[^]*ok/);
  assert.match(model.results.join("\n"), /a\.txt[^]*not while I am away/);
});

test("Claude SDK: an option that loosens is an error that names it", async () => {
  await using wrapper = start();
  const loose: Record<string, unknown> = {
    allowedTools: ["Bash"],
    canUseTool: async () => ({ behavior: "allow", updatedInput: {} }),
    permissionPromptToolName: "mcp__x__y",
    permissionPrompts: "none",
    permissionMode: "acceptEdits",
    allowDangerouslySkipPermissions: true,
    settings: { permissions: { allow: ["Bash"] } },
    managedSettings: { allowManagedPermissionRulesOnly: true },
    settingSources: ["user"],
    strictMcpConfig: false,
    verbatimPrompts: false,
    plugins: [{ type: "local", path: "/p" }],
    skills: "all",
    hooks: { PreToolUse: [{ hooks: [] }] },
    sandbox: { enabled: true },
    agents: { a: { description: "", prompt: "", permissionMode: "bypassPermissions" } },
    extraArgs: { "dangerously-skip-permissions": null },
    executableArgs: ["--bare"],
    anOptionOfNextYear: true,
  };
  for (const [name, value] of Object.entries(loose)) {
    assert.throws(() => guarded(wrapper, { [name]: value }), new RegExp(`option ${name} cannot be used`), name);
  }
  for (const more of [{ skills: ["s"] }, { hooks: { PreToolUse: [{}] } }, { ofNextYear: true }]) {
    assert.throws(() => guarded(wrapper, { agents: { a: { description: "", prompt: "", ...more } } }), /option agents .* agent a sets/);
  }
  assert.ok(guarded(wrapper, { env: { HOME: home }, agents: { a: { description: "d", prompt: "p", tools: ["Bash"], permissionMode: "default" } } }));
  for (const event of ["PermissionRequest", "EventOfNextYear"]) {
    assert.throws(() => guarded(wrapper, { hooks: { PostToolUse: [{ hooks: [] }], [event]: [{ hooks: [] }] } }), new RegExp(`option hooks .* ${event} may answer`));
  }
  assert.throws(() => guarded(wrapper, { env: { HOME: home, CLAUDE_CODE_SIMPLE: "1" } }), /option env\.CLAUDE_CODE_SIMPLE/);
  const harmless = { model: "m", allowedTools: [], settingSources: [], permissionMode: "default", sandbox: { autoAllowBashIfSandboxed: false }, env: { HOME: home } } satisfies ClaudeOptions;
  const made: ClaudeOptions = guarded(wrapper, { ...harmless, additionalDirectories: ["/x"], hooks: { PostToolUse: [] } });
  assert.equal(made.additionalDirectories, undefined);
  assert.deepEqual(typeof made.settings === "object" && made.settings.permissions, { ask: ["*"], additionalDirectories: ["/x"] });
  assert.equal(made.model, "m");
});

test("Claude SDK: a global configuration that sets variables is refused", async () => {
  await using wrapper = start();
  const dir = join(box, "config");
  assert.ok(guarded(wrapper, { env: { CLAUDE_CONFIG_DIR: box } }));
  writeFileSync(join(box, ".claude.json"), JSON.stringify({ env: { CLAUDE_CODE_SIMPLE: "1" } }));
  assert.throws(() => guarded(wrapper, { env: { CLAUDE_CONFIG_DIR: box } }), /sets environment variables/);
  assert.ok(guarded(wrapper, { env: { CLAUDE_CONFIG_DIR: dir } }));
});

test("Claude SDK: a session for which a hook left a script does not go on", async () => {
  await using wrapper = start();
  const [id, other] = ["5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90", "6f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90"];
  const env = { CLAUDE_CONFIG_DIR: join(box, "left") };
  const folder = join(box, "left/session-env", id);
  assert.ok(guarded(wrapper, { env, resume: id }));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "setup-hook-1.sh"), "");
  assert.ok(guarded(wrapper, { env, resume: id }));
  writeFileSync(join(folder, "sessionstart-hook-0.sh"), "true");
  for (const options of [{ resume: id }, { sessionId: id }, { continue: true }, { resume: "by its title" }]) {
    assert.throws(() => guarded(wrapper, { env, ...options }), /would run before each command/, JSON.stringify(options));
  }
  assert.ok(guarded(wrapper, { env, resume: other }));
  assert.ok(guarded(wrapper, { env }));
});
