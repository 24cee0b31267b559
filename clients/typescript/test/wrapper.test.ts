import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AgentWrapper, Denied, guarded, handedOn, type Question, WrapperError } from "agent-wrapper";
import { root, start, work } from "./setup.js";

const bash = (command: string) => ({ tool: "Bash", input: { command }, cwd: work });

function denied(result: Awaited<ReturnType<AgentWrapper["canUseTool"]>>, words: RegExp): void {
  assert.equal(result.behavior, "deny", JSON.stringify(result));
  assert.match("message" in result ? result.message : "", words);
}

test("allow", async () => {
  await using wrapper = start();
  const result = await wrapper.canUseTool(bash("echo hi"));
  assert.equal(result.behavior, "allow", JSON.stringify(result));
  assert.deepEqual(result.behavior === "allow" && result.updatedInput, { command: "echo hi" });
  assert.ok(result.decision?.reason);
});

test("deny with the words of the policy", async () => {
  await using wrapper = start();
  denied(await wrapper.canUseTool(bash("rm a.txt")), /denied by rule Bash\(rm:\*\)/);
});

test("a tool of one's own, by the policy's tools table", async () => {
  await using wrapper = start();
  const run = guarded(wrapper, "run_shell", ({ cmd }: { cmd: string }) => `ran ${cmd}`, { cwd: work });
  assert.equal(await run({ cmd: "echo hi" }), "ran echo hi");
  await assert.rejects(run({ cmd: "rm a.txt" }), (error) => error instanceof Denied && /rm/.test(error.message));
});

test("an ask, with nobody there", async () => {
  await using wrapper = start();
  assert.equal(wrapper.canAsk, false);
  denied(await wrapper.canUseTool(bash("touch t")), /nobody to ask/);
});

test("an ask that a person answers", async () => {
  const questions: Question[] = [];
  await using wrapper = start({ onApprove: (question) => (questions.push(question), { choice: "once" }) });
  const result = await wrapper.canUseTool({ ...bash("touch t"), toolUseID: "u1" });
  assert.equal(result.behavior, "allow", JSON.stringify(result));
  const [question] = questions;
  assert.equal(question?.tool, "Bash");
  assert.equal(question?.tool_use_id, "u1");
  assert.deepEqual(question?.input, { command: "touch t" });
  assert.ok(question?.reason && question.digest && question.id);
});

test("an ask denied with words", async () => {
  await using wrapper = start({ onApprove: () => ({ choice: "words", message: "use git instead" }) });
  denied(await wrapper.canUseTool(bash("touch t")), /use git instead/);
});

test("an edited input is decided anew", async () => {
  await using wrapper = start({ onApprove: ({ input }) => ({ choice: "edit", input: { command: String(input["command"]).replace("touch", "echo") } }) });
  const result = await wrapper.canUseTool(bash("touch t"));
  assert.deepEqual(result.behavior === "allow" && result.updatedInput, { command: "echo t" }, JSON.stringify(result));
  await using other = start({ onApprove: () => ({ choice: "edit", input: { command: "rm a.txt" } }) });
  denied(await other.canUseTool(bash("touch t")), /rm/);
});

test("an approver that fails denies", async () => {
  await using wrapper = start({
    onApprove: () => {
      throw new Error("the bell is broken");
    },
  });
  denied(await wrapper.canUseTool(bash("touch t")), /./);
});

test("a choice that is none denies", async () => {
  await using wrapper = start({ onApprove: () => ({ choice: "yes" }) });
  denied(await wrapper.canUseTool(bash("touch t")), /./);
});

test("an approver for one tool use", async () => {
  await using wrapper = start({ onApprove: () => ({ choice: "deny" }) });
  const options = { onApprove: () => ({ choice: "once" }) };
  assert.equal((await wrapper.canUseTool(bash("touch t"), options)).behavior, "allow");
  denied(await wrapper.canUseTool(bash("touch t")), /./);
});

test("an approver is not forgotten with another tool use of the same id", async () => {
  await using wrapper = start();
  const first = wrapper.canUseTool({ ...bash("touch t"), toolUseID: "c1" }, { onApprove: () => ({ choice: "once" }) });
  denied(await wrapper.canUseTool({ ...bash("touch t"), toolUseID: "c1" }, { signal: AbortSignal.abort() }), /cancelled/);
  assert.equal((await first).behavior, "allow");
});

test("a question that is handed on", async () => {
  let ask!: (question: Question) => void;
  const asked = new Promise<Question>((resolve) => (ask = resolve));
  await using wrapper = start({ onApprove: (question) => (ask(question), handedOn) });
  const result = wrapper.canUseTool(bash("touch t"));
  const { id, digest } = await asked;
  await assert.rejects(wrapper.answer(id, "another", { choice: "once" }), WrapperError);
  await wrapper.answer(id, digest, { choice: "once" });
  assert.equal((await result).behavior, "allow");
  await assert.rejects(wrapper.answer(id, digest, { choice: "once" }), WrapperError);
});

test("an abort denies, and withdraws the question", async () => {
  let withdrawn!: () => void;
  const gone = new Promise<void>((resolve) => (withdrawn = resolve));
  const caller = new AbortController();
  await using wrapper = start({
    onApprove: (_, { signal }) => {
      signal.addEventListener("abort", withdrawn);
      caller.abort();
      return handedOn;
    },
  });
  denied(await wrapper.canUseTool(bash("touch t"), { signal: caller.signal }), /cancelled/);
  await gone;
  denied(await wrapper.canUseTool(bash("echo hi"), { signal: caller.signal }), /cancelled/);
  denied(await wrapper.canUseTool(bash("touch t"), { signal: AbortSignal.timeout(50), onApprove: () => handedOn }), /too long/);
});

test("explain decides nothing", async () => {
  await using wrapper = start();
  assert.equal((await wrapper.explain(bash("touch t"))).decision.behavior, "ask");
});

test("sessions, the policy and outcomes", async () => {
  await using wrapper = start({ onApprove: () => ({ choice: "session" }) });
  const use = { ...bash("touch t"), session: "s", toolUseID: "u1" };
  assert.equal((await wrapper.canUseTool(use)).behavior, "allow");
  await wrapper.outcome("u1", { failed: false, exit: 0, session: "s" });
  await assert.rejects(wrapper.outcome("u1", { failed: false, session: "s" }), /recorded already/);
  const { grants } = (await wrapper.session("rules", "s")) as { grants: { id: number; rule: string }[] };
  assert.equal(grants.length, 1, JSON.stringify(grants));
  assert.match(grants[0]!.rule, /^Bash\(touch/);
  assert.deepEqual((await wrapper.session("revoke", "s", { grant: grants[0]!.id }))["grants"], []);
  await wrapper.session("pause", "s", { reason: "look first" });
  denied(await wrapper.canUseTool({ ...bash("echo hi"), session: "s" }), /look first/);
  await wrapper.session("unpause", "s");
  await wrapper.session("close", "s");
  assert.match(JSON.stringify(await wrapper.policy()), /Bash\(touch:\*\)/);
});

test("a hundred asks, answered in another order", async () => {
  const waiting: (() => void)[] = [];
  await using wrapper = start({
    onApprove: ({ input }) =>
      new Promise((resolve) => {
        const even = Number(String(input["command"]).split(" ")[1]) % 2 === 0;
        waiting.push(() => resolve({ choice: even ? "once" : "deny" }));
        if (waiting.length === 100) for (const answer of waiting.reverse()) answer();
      }),
  });
  const results = await Promise.all(Array.from({ length: 100 }, (_, i) => wrapper.canUseTool(bash(`touch ${i}`))));
  results.forEach((result, i) => {
    assert.equal(result.behavior, i % 2 === 0 ? "allow" : "deny", `${i}: ${JSON.stringify(result)}`);
    if (result.behavior === "allow") assert.deepEqual(result.updatedInput, { command: `touch ${i}` });
  });
});

test("an input that is no JSON is denied", async () => {
  await using wrapper = start();
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  denied(await wrapper.canUseTool({ tool: "Bash", input: loop }), /circular/);
  denied(await wrapper.canUseTool({ tool: "Bash", input: { command: 1n } }), /BigInt/);
  denied(await wrapper.canUseTool(bash("x".repeat(16 << 20))), /too large/);
  denied(await wrapper.canUseTool(bash("echo \ud800")), /./);
  assert.equal((await wrapper.canUseTool(bash("echo hi"))).behavior, "allow");
});

test("a wrapper that is closed denies and says so", async () => {
  const wrapper = start();
  await wrapper.close();
  denied(await wrapper.canUseTool(bash("echo hi")), /agent-wrapper has ended \(exit code 0\)/);
  await assert.rejects(wrapper.explain(bash("echo hi")), /has ended/);
  await wrapper.close();
});

const node = (script: string) => [process.execPath, "-e", script, "--"];

for (const [what, command, words] of [
  ["is not there", ["/nonexistent/agent-wrapper"], /ENOENT/],
  ["ends at once", node("console.error('bad policy'); process.exit(2)"), /exit code 2: bad policy/],
  ["ends when it is asked", node("process.stdin.once('data', () => process.kill(process.pid, 'SIGKILL'))"), /SIGKILL/],
  ["writes no JSON", node("process.stdin.once('data', () => console.log('hello')); setInterval(() => {}, 9999)"), /cannot be read/],
  ["writes no object", node("process.stdin.once('data', () => console.log('[]')); setInterval(() => {}, 9999)"), /cannot be read/],
  ["writes no UTF-8", node("process.stdin.once('data', () => process.stdout.write(Buffer.from([0xff, 0x0a]))); setInterval(() => {}, 9999)"), /cannot be read/],
  ["understood no line", node(`process.stdin.once('data', () => console.log('{"id":null,"error":{"code":-32700,"message":"no JSON"}}')); setInterval(() => {}, 9999)`), /no JSON/],
] as const) {
  test(`a wrapper that ${what} denies this and all that follows`, async () => {
    const wrapper = new AgentWrapper({ command });
    denied(await wrapper.canUseTool(bash("echo hi")), words);
    denied(await wrapper.canUseTool(bash("echo hi")), /nothing runs without it/);
    await wrapper.close();
  });
}

for (const answer of [
  "null", `"allow"`, `{}`, `{"behavior":"allow"}`, `{"behavior":"allow","updatedInput":[]}`, `{"behavior":"Allow","updatedInput":{}}`, `{"behavior":"ask"}`,
]) {
  test(`the answer ${answer} is a denial`, async () => {
    const wrapper = new AgentWrapper({
      command: node(`process.stdin.once('data', () => process.stdout.write('{"id":1,"res')); setTimeout(() => console.log('ult":' + ${JSON.stringify(answer)} + '}'), 20)`),
    });
    denied(await wrapper.canUseTool(bash("echo hi")), /./);
    await wrapper.close();
  });
}

test("the example", async () => {
  const child = spawn(process.execPath, [join(root, "build/examples/loop.js")], { stdio: ["pipe", "pipe", "inherit"] });
  let said = "";
  for await (const text of child.stdout.setEncoding("utf8")) {
    said += text;
    if (said.endsWith("[y/n] ")) child.stdin.write("y\n");
  }
  assert.match(said, /ran echo hello: hello[^]*touch made[^]*Run it\?[^]*ran touch made[^]*denied by rule Bash\(rm:\*\)/);
  assert.ok(existsSync("made"));
});
