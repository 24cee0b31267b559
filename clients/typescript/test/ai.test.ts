import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { type AgentWrapper, type Options } from "agent-wrapper";
import { guarded } from "agent-wrapper/ai";
import { generateText, isStepCount, type ModelMessage, streamText, tool, ToolLoopAgent } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { example } from "../examples/ai.js";
import { start, work } from "./setup.js";

type LanguageModelStreamPart = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };

const call = (command: string) => ({ type: "tool-call" as const, toolCallId: "c1", toolName: "run_shell", input: JSON.stringify({ cmd: command }) });

/** A model that wants one command run, and is content with what comes back. */
function model(command: string): MockLanguageModelV4 {
  const answered = ({ prompt }: { prompt: { role: string }[] }) => prompt.at(-1)?.role === "tool";
  return new MockLanguageModelV4({
    doGenerate: async (options) =>
      answered(options)
        ? { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] }
        : { content: [call(command)], finishReason: { unified: "tool-calls", raw: "tool" }, usage, warnings: [] },
    doStream: async (options) => ({
      stream: convertArrayToReadableStream<LanguageModelStreamPart>(
        answered(options)
          ? [{ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage }]
          : [call(command), { type: "finish", finishReason: { unified: "tool-calls", raw: "tool" }, usage }],
      ),
    }),
  });
}

/** A shell that only tells what it would run. */
function shell(ran: string[]) {
  return {
    run_shell: tool({
      description: "runs a command",
      inputSchema: z.object({ cmd: z.string() }),
      execute: async ({ cmd }) => (ran.push(cmd), `ran ${cmd}`),
    }),
  };
}

interface Run {
  ran: string[];
  /** The last message that the model was sent. */
  heard: string;
  messages: ModelMessage[];
  content: { type: string; approvalId?: string; reason?: string }[];
}

async function generate(wrapper: AgentWrapper, command: string, ran: string[] = [], messages?: ModelMessage[], guard = guarded(wrapper, shell(ran), { cwd: work })): Promise<Run> {
  const scripted = model(command);
  const first: ModelMessage[] = messages ?? [{ role: "user", content: "go" }];
  const result = await generateText({ model: scripted, messages: first, stopWhen: isStepCount(3), ...guard });
  return {
    ran,
    heard: JSON.stringify(scripted.doGenerateCalls.at(-1)?.prompt.at(-1)),
    messages: [...first, ...result.response.messages],
    content: result.steps.flatMap((step) => step.content) as Run["content"],
  };
}

async function withWrapper<T>(options: Options, use: (wrapper: AgentWrapper) => Promise<T>): Promise<T> {
  await using wrapper = start(options);
  return await use(wrapper);
}

test("AI SDK: an allowed tool runs, without an approval", async () => {
  const { ran, heard, content } = await withWrapper({}, (wrapper) => generate(wrapper, "echo hi"));
  assert.deepEqual(ran, ["echo hi"]);
  assert.match(heard, /ran echo hi/);
  assert.ok(!content.some(({ type }) => type === "tool-approval-request"));
});

test("AI SDK: of a denial the model reads why", async () => {
  const { ran, heard } = await withWrapper({}, (wrapper) => generate(wrapper, "rm a.txt"));
  assert.deepEqual(ran, []);
  assert.match(heard, /execution-denied.*denied by rule Bash\(rm:\*\)/);
});

test("AI SDK: a person allows, denies with words, edits", async () => {
  const allowed = await withWrapper({ onApprove: () => ({ choice: "once" }) }, (wrapper) => generate(wrapper, "touch t"));
  assert.deepEqual(allowed.ran, ["touch t"]);
  const denied = await withWrapper({ onApprove: () => ({ choice: "words", message: "use git" }) }, (wrapper) => generate(wrapper, "touch t"));
  assert.deepEqual(denied.ran, []);
  assert.match(denied.heard, /use git/);
  const edited = await withWrapper({ onApprove: () => ({ choice: "edit", input: { cmd: "echo t" } }) }, (wrapper) => generate(wrapper, "touch t"));
  assert.deepEqual(edited.ran, ["echo t"]);
});

test("AI SDK: an ask becomes an approval request, whose approval counts once", async () => {
  await withWrapper({}, async (wrapper) => {
    const ran: string[] = [];
    const guard = guarded(wrapper, shell(ran), { cwd: work });
    const first = await generate(wrapper, "touch t", ran, undefined, guard);
    const request = first.content.find(({ type }) => type === "tool-approval-request");
    assert.ok(request?.approvalId && request.reason, JSON.stringify(first.content));
    assert.deepEqual(ran, []);
    const approved: ModelMessage[] = [
      ...first.messages,
      { role: "tool", content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved: true }] },
    ];
    await generate(wrapper, "touch t", ran, approved, guard);
    assert.deepEqual(ran, ["touch t"]);
    const again = await generate(wrapper, "touch t", ran, approved, guard);
    assert.deepEqual(ran, ["touch t"], "an approval out of the history ran a second time");
    assert.match(again.heard, /nobody to ask/);
    const elsewhere = await generate(wrapper, "touch t", [], approved);
    assert.deepEqual(elsewhere.ran, [], "an approval that this process never asked for");
  });
});

test("AI SDK: streamText and ToolLoopAgent", async () => {
  await withWrapper({}, async (wrapper) => {
    for (const [command, want] of [["echo hi", ["echo hi"]], ["rm a.txt", []]] as const) {
      const ran: string[] = [];
      const guard = guarded(wrapper, shell(ran), { cwd: work });
      const stream = streamText({ model: model(command), prompt: "go", stopWhen: isStepCount(3), ...guard });
      await stream.consumeStream();
      assert.deepEqual(ran, want);
      await new ToolLoopAgent({ model: model(command), ...guard }).generate({ prompt: "go" });
      assert.deepEqual(ran, [...want, ...want]);
    }
  });
});

test("AI SDK: a tool that yields", async () => {
  await withWrapper({}, async (wrapper) => {
    const ran: string[] = [];
    const tools = {
      run_shell: tool({
        inputSchema: z.object({ cmd: z.string() }),
        async *execute({ cmd }) {
          yield "begun";
          ran.push(cmd);
          yield `ran ${cmd}`;
        },
      }),
    };
    const options = { prompt: "go", stopWhen: isStepCount(3), ...guarded(wrapper, tools, { cwd: work }) };
    assert.match(JSON.stringify((await generateText({ model: model("echo hi"), ...options })).steps[0]?.toolResults), /"output":"ran echo hi"/);
    await generateText({ model: model("rm a.txt"), ...options });
    assert.deepEqual(ran, ["echo hi"]);
  });
});

test("AI SDK: an abort", async () => {
  const caller = new AbortController();
  await withWrapper({ onApprove: () => (caller.abort(), new Promise(() => {})) }, async (wrapper) => {
    const ran: string[] = [];
    const options = { model: model("touch t"), prompt: "go", stopWhen: isStepCount(3), abortSignal: caller.signal };
    await assert.rejects(generateText({ ...options, ...guarded(wrapper, shell(ran), { cwd: work }) }));
    assert.deepEqual(ran, []);
  });
});

test("AI SDK: a wrapper that has ended denies", async () => {
  const wrapper = start();
  await wrapper.close();
  const { ran, heard } = await generate(wrapper, "echo hi");
  assert.deepEqual(ran, []);
  assert.match(heard, /agent-wrapper has ended/);
});

test("AI SDK: what does not run here cannot be guarded", async () => {
  await withWrapper({}, async (wrapper) => {
    assert.throws(() => guarded(wrapper, { ask: tool({ inputSchema: z.object({}) }) }), /tool ask has no execute/);
  });
});

test("AI SDK: without the guard nobody decides", async () => {
  const ran: string[] = [];
  await generateText({ model: model("rm a.txt"), prompt: "go", tools: shell(ran), stopWhen: isStepCount(3) });
  assert.deepEqual(ran, ["rm a.txt"]);
});

test("AI SDK: the example", async () => {
  await example(model("touch made-by-ai"), () => false);
  assert.ok(!existsSync("made-by-ai"));
  await example(model("touch made-by-ai"), (question) => question === `{"cmd":"touch made-by-ai"}`);
  assert.ok(existsSync("made-by-ai"));
});
