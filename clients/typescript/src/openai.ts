/** For OpenAI's Agents SDK (`@openai/agents`). */
import { Asked, parse, wouldDecide } from "./asked.js";
import { type AgentWrapper, type JSONObject, type Origin, type ToolUse } from "./index.js";

/** What is needed of a function tool of the SDK. */
export interface FunctionTool {
  type: "function";
  name: string;
  needsApproval: (context: any, input: any, callId?: string) => Promise<boolean>;
  invoke: (context: any, input: string, details?: any) => Promise<any>;
}

/**
 * Makes of a function tool one that is decided before it runs:
 *
 *     new Agent({ name, tools: [guarded(wrapper, runShell), guarded(wrapper, readFile)] })
 *
 * The tool runs with the input that was allowed. A denial is its result, so the
 * model reads why. What the policy asks about goes to the wrapper's approver; if
 * there is none, needsApproval tells the SDK, and the run ends with an
 * interruption: once approved there, the tool use is decided and runs. Hosted
 * tools, and those of MCP servers that the SDK calls by itself, are not seen.
 */
export function guarded<T extends FunctionTool>(wrapper: AgentWrapper, tool: T, origin: Origin = {}): T {
  if (tool.type !== "function") throw new TypeError(`a ${String(tool.type)} tool cannot be guarded, only a function tool`);
  const asked = new Asked();
  const use = (input: JSONObject, toolUseID: string | undefined): ToolUse => ({ ...origin, tool: tool.name, input, toolUseID });
  return {
    ...tool,
    async needsApproval(context: unknown, input: JSONObject, callId?: string): Promise<boolean> {
      const wanted = use(input, callId);
      const asks = !wrapper.canAsk && (await wouldDecide(wrapper, wanted)).behavior === "ask";
      if (asks) asked.note(wanted);
      return asks || tool.needsApproval(context, input, callId);
    },
    async invoke(context: unknown, text: string, details?: { toolCall?: { callId?: string }; signal?: AbortSignal }) {
      const input = parse(text);
      if (input === undefined) return "Denied: the input is no JSON object";
      const wanted = use(input, details?.toolCall?.callId);
      const result = await wrapper.canUseTool(wanted, { signal: details?.signal, onApprove: asked.approver(wanted) });
      if (result.behavior === "deny") return result.message;
      return tool.invoke(context, JSON.stringify(result.updatedInput), details);
    },
  };
}
