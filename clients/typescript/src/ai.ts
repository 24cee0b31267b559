/** For the AI SDK (`ai`, version 7). */
import { Asked, wouldDecide } from "./asked.js";
import { type AgentWrapper, Denied, type JSONObject, type Origin, type ToolUse } from "./index.js";

/** What is needed of a set of tools. */
export type Tools = Record<string, { execute?: ((input: any, options: any) => any) | undefined }>;

interface Execution {
  toolCallId: string;
  abortSignal?: AbortSignal;
}

/** What the SDK tells of a tool call that it is about to make. */
export interface Call {
  toolCall: { toolName: string; toolCallId: string; input: unknown };
  messages: readonly { role: string; content: unknown }[];
}

/** What is to become of it; undefined lets it go on. */
export type Status = { type: "denied" | "user-approval"; reason: string } | undefined;

/**
 * Makes of tools ones that are decided before they run. The result goes into
 * generateText, streamText or ToolLoopAgent:
 *
 *     await generateText({ model, prompt, ...guarded(wrapper, { run_shell, read_file }) })
 *
 * A tool runs with the input that was allowed; of a denial the model reads why.
 * What the policy asks about goes to the wrapper's approver; if there is none,
 * toolApproval makes it an approval request of the SDK, whose approval counts in
 * the process that asked. Tools that the provider runs are not seen.
 */
export function guarded<T extends Tools>(
  wrapper: AgentWrapper,
  tools: T,
  origin: Origin = {},
): { tools: T; toolApproval: (call: Call) => Promise<Status> } {
  const asked = new Asked();
  const held: [string, Tools[string]][] = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool;
    if (!execute) throw new TypeError(`tool ${name} has no execute: what does not run here cannot be guarded`);
    const allowed = async (input: JSONObject, options: Execution): Promise<JSONObject> => {
      const use: ToolUse = { ...origin, tool: name, input, toolUseID: options.toolCallId };
      const result = await wrapper.canUseTool(use, { signal: options.abortSignal, onApprove: asked.approver(use) });
      if (result.behavior === "deny") throw new Denied(result);
      return result.updatedInput;
    };
    return [name, { ...tool, execute: isGenerator(execute) ? streaming(execute, allowed) : plain(execute, allowed) }];
  });
  return {
    tools: Object.fromEntries(held) as T,
    async toolApproval({ toolCall, messages }) {
      const use: ToolUse = { ...origin, tool: toolCall.toolName, input: toolCall.input as JSONObject, toolUseID: toolCall.toolCallId };
      const { behavior, reason } = await wouldDecide(wrapper, use);
      if (behavior === "allow" || (behavior === "ask" && wrapper.canAsk)) return undefined;
      if (behavior === "ask") {
        // A call out of the history has been asked about before, or says that it was.
        if (!messages.some(holds(toolCall.toolCallId))) asked.note(use);
        return { type: "user-approval", reason };
      }
      const onApprove = () => ({ choice: "deny" }); // it was a denial a moment ago
      const result = await wrapper.canUseTool(use, { onApprove });
      return result.behavior === "deny" ? { type: "denied", reason: result.message } : undefined;
    },
  };
}

type Execute = (input: any, options: any) => any;
type Allowed = (input: JSONObject, options: Execution) => Promise<JSONObject>;

function plain(execute: Execute, allowed: Allowed): Execute {
  return async (input, options) => execute(await allowed(input, options), options);
}

function streaming(execute: Execute, allowed: Allowed): Execute {
  return async function* (input, options) {
    yield* execute(await allowed(input, options), options);
  };
}

function isGenerator(execute: Execute): boolean {
  return execute.constructor.name === "AsyncGeneratorFunction";
}

function holds(toolCallId: string) {
  return ({ content }: { content: unknown }): boolean =>
    Array.isArray(content) && content.some((part) => part?.type === "tool-call" && part.toolCallId === toolCallId);
}
