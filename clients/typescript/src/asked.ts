import { isDeepStrictEqual } from "node:util";
import { type AgentWrapper, type Approver, type JSONObject, type ToolUse } from "./index.js";
import { words } from "./protocol.js";

const most = 10_000;

/**
 * The tool uses that an SDK puts to a person by its own means. Its approval
 * counts for that very tool use, once, and only in the process that asked.
 */
export class Asked {
  readonly #inputs = new Map<string, string>();

  /** Notes a tool use that the SDK is told to ask about. */
  note(use: ToolUse): void {
    if (use.toolUseID === undefined) return;
    for (const oldest of this.#inputs.keys()) {
      if (this.#inputs.size < most) break;
      this.#inputs.delete(oldest);
    }
    this.#inputs.set(use.toolUseID, JSON.stringify(use.input));
  }

  /** What answers the question about a tool use that the SDK has had approved. */
  approver(use: ToolUse): Approver | undefined {
    const input = this.#inputs.get(use.toolUseID ?? "");
    this.#inputs.delete(use.toolUseID ?? "");
    if (input === undefined || !isDeepStrictEqual(JSON.parse(input), use.input)) return undefined;
    // Another tool use may have the same id: the model's provider makes them.
    return (question) =>
      question.tool === use.tool && isDeepStrictEqual(question.input, JSON.parse(input))
        ? { choice: "once" }
        : { choice: "deny", message: "Not approved: another tool use with this id was" };
  }
}

/** What the wrapper would decide: a denial if it does not answer. */
export async function wouldDecide(wrapper: AgentWrapper, use: ToolUse): Promise<{ behavior: string; reason: string }> {
  return wrapper.explain(use).then(
    (found) => found.decision,
    (error) => ({ behavior: "deny", reason: words(error) }),
  );
}

/** A JSON object, or undefined if the text is none. */
export function parse(text: string): JSONObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JSONObject) : undefined;
  } catch {
    return undefined;
  }
}
