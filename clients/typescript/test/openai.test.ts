import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { Agent, type AgentInputItem, type Model, type ModelRequest, type ModelResponse, Runner, RunState, setTracingDisabled, tool, Usage, webSearchTool } from "@openai/agents";
import { type AgentWrapper, type Options } from "agent-wrapper";
import { guarded } from "agent-wrapper/openai";
import { z } from "zod";
import { example } from "../examples/openai.js";
import { start, work } from "./setup.js";

/** A model that wants one command run, and is content with what comes back. */
class Scripted implements Model {
  heard: AgentInputItem[] = [];

  constructor(readonly command: string) {}

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.heard = typeof input === "string" ? [] : input;
    const answered = this.heard.at(-1)?.type === "function_call_result";
    return {
      usage: new Usage(),
      output: answered
        ? [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] }]
        : [{ type: "function_call", callId: "c1", name: "run_shell", status: "completed", arguments: JSON.stringify({ cmd: this.command }) }],
    };
  }

  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error("not used");
  }
}

/** A shell that only tells what it would run. */
function shell(ran: string[]) {
  return tool({
    name: "run_shell",
    description: "runs a command",
    parameters: z.object({ cmd: z.string() }),
    execute: async ({ cmd }) => (ran.push(cmd), `ran ${cmd}`),
  });
}

setTracingDisabled(true);
const runner = new Runner();

async function run(wrapper: AgentWrapper, command: string, signal?: AbortSignal) {
  const ran: string[] = [];
  const model = new Scripted(command);
  const agent = new Agent({ name: "a", model, tools: [guarded(wrapper, shell(ran), { cwd: work })] });
  const result = await runner.run(agent, "go", signal ? { signal } : {});
  return { ran, agent, model, result, heard: () => JSON.stringify(model.heard.at(-1)) };
}

async function withWrapper<T>(options: Options, use: (wrapper: AgentWrapper) => Promise<T>): Promise<T> {
  await using wrapper = start(options);
  return await use(wrapper);
}

test("Agents SDK: an allowed tool runs", async () => {
  const { ran, heard } = await withWrapper({}, (wrapper) => run(wrapper, "echo hi"));
  assert.deepEqual(ran, ["echo hi"]);
  assert.match(heard(), /ran echo hi/);
});

test("Agents SDK: of a denial the model reads why", async () => {
  const { ran, heard } = await withWrapper({}, (wrapper) => run(wrapper, "rm a.txt"));
  assert.deepEqual(ran, []);
  assert.match(heard(), /denied by rule Bash\(rm:\*\)/);
});

test("Agents SDK: a person allows, denies with words, edits", async () => {
  const allowed = await withWrapper({ onApprove: () => ({ choice: "once" }) }, (wrapper) => run(wrapper, "touch t"));
  assert.deepEqual(allowed.ran, ["touch t"]);
  const denied = await withWrapper({ onApprove: () => ({ choice: "words", message: "use git" }) }, (wrapper) => run(wrapper, "touch t"));
  assert.deepEqual(denied.ran, []);
  assert.match(denied.heard(), /use git/);
  const edited = await withWrapper({ onApprove: () => ({ choice: "edit", input: { cmd: "echo t" } }) }, (wrapper) => run(wrapper, "touch t"));
  assert.deepEqual(edited.ran, ["echo t"]);
});

test("Agents SDK: an ask interrupts the run, and its approval counts", async () => {
  await withWrapper({}, async (wrapper) => {
    for (const approve of [true, false]) {
      const { ran, agent, result, heard } = await run(wrapper, "touch t");
      assert.equal(result.interruptions.length, 1);
      assert.deepEqual(ran, []);
      const [item] = result.interruptions;
      if (approve) result.state.approve(item!);
      else result.state.reject(item!, { message: "not now" });
      await runner.run(agent, result.state);
      assert.deepEqual(ran, approve ? ["touch t"] : []);
      assert.match(heard(), approve ? /ran touch t/ : /not now/);
    }
  });
});

test("Agents SDK: an ask that is approved after the state was saved", async () => {
  await withWrapper({}, async (wrapper) => {
    const { ran, agent, result } = await run(wrapper, "touch t");
    const state = await RunState.fromString(agent, result.state.toString());
    state.approve(state.getInterruptions()[0]!);
    await runner.run(agent, state);
    assert.deepEqual(ran, ["touch t"]);
  });
});

test("Agents SDK: an approval answers no question about another tool use with its id", async () => {
  await withWrapper({}, async (wrapper) => {
    const ran: string[] = [];
    const held = guarded(wrapper, shell(ran), { cwd: work });
    assert.ok(await held.needsApproval({} as never, { cmd: "touch t" }, "c1"));
    const [, other] = await Promise.all([
      held.invoke({} as never, `{"cmd":"touch t"}`, { toolCall: { callId: "c1" } } as never),
      wrapper.canUseTool({ tool: "Bash", input: { command: "touch other" }, toolUseID: "c1", cwd: work }),
    ]);
    assert.equal(other.behavior, "deny", JSON.stringify(other));
    assert.deepEqual(ran, ["touch t"]);
  });
});

test("Agents SDK: an abort", async () => {
  const caller = new AbortController();
  await withWrapper({ onApprove: () => (caller.abort(), new Promise(() => {})) }, async (wrapper) => {
    const outcome = await run(wrapper, "touch t", caller.signal).catch(() => undefined);
    assert.deepEqual(outcome?.ran ?? [], []);
  });
});

test("Agents SDK: a tool that asks of itself still does", async () => {
  await withWrapper({}, async (wrapper) => {
    const ran: string[] = [];
    const careful = { ...shell(ran), needsApproval: async () => true };
    const agent = new Agent({ name: "a", model: new Scripted("echo hi"), tools: [guarded(wrapper, careful, { cwd: work })] });
    const result = await runner.run(agent, "go");
    assert.equal(result.interruptions.length, 1);
    assert.deepEqual(ran, []);
  });
});

test("Agents SDK: a wrapper that has ended denies", async () => {
  const wrapper = start();
  await wrapper.close();
  const { ran, heard } = await run(wrapper, "echo hi");
  assert.deepEqual(ran, []);
  assert.match(heard(), /agent-wrapper has ended/);
});

test("Agents SDK: an input that is no object does not run", async () => {
  await withWrapper({}, async (wrapper) => {
    const ran: unknown[] = [];
    const loose = guarded(wrapper, tool({
      name: "run_shell", description: "", strict: false,
      parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
      execute: async (input) => void ran.push(input),
    }));
    for (const text of ["[1]", "1", "null", "{", `"x"`]) assert.match(await loose.invoke({} as never, text), /Denied/);
    assert.deepEqual(ran, []);
  });
});

test("Agents SDK: only function tools can be guarded", async () => {
  await withWrapper({}, async (wrapper) => {
    assert.throws(() => guarded(wrapper, webSearchTool() as never), /only a function tool/);
  });
});

test("Agents SDK: without the guard nobody decides", async () => {
  const ran: string[] = [];
  await runner.run(new Agent({ name: "a", model: new Scripted("rm a.txt"), tools: [shell(ran)] }), "go");
  assert.deepEqual(ran, ["rm a.txt"]);
});

test("Agents SDK: the example", async () => {
  await example(new Scripted("touch made-by-agent"), () => false);
  assert.ok(!existsSync("made-by-agent"));
  await example(new Scripted("touch made-by-agent"), (question) => question === `{"cmd":"touch made-by-agent"}`);
  assert.ok(existsSync("made-by-agent"));
});
