// The lines of `agent-wrapper decide --stdio`; docs/reference/protocol.md describes them.

/** An input of a tool, or any other JSON object. */
export type JSONObject = Record<string, unknown>;

/** A tool use, before it runs. */
export interface ToolUse {
  /** Name of the tool, as the rules name it. */
  tool: string;
  input: JSONObject;
  /** Directory that the tool would run in, absolute; without one the workspace, "" if it is not known. */
  cwd?: string | undefined;
  /** Session whose rules count, beside those of the policies. */
  session?: string | undefined;
  /** Who wants it, where an agent has others work for it. */
  agent?: string | undefined;
  /** Name of this tool use, for the audit log and for {@link AgentWrapper.outcome}. */
  toolUseID?: string | undefined;
  /** Whether each command line runs in a shell that ends with it; without it, the shell may go on. */
  ownShell?: boolean | undefined;
}

/** Where a tool use comes from: what an adapter adds to each. */
export type Origin = Pick<ToolUse, "cwd" | "session" | "agent" | "ownShell">;

/** What the wrapper decided, and why; for people, not for the agent. */
export interface Decision {
  behavior: "allow" | "deny" | "ask";
  reason: string;
  /** The layer that decided, the rule of it and where the rule stands. */
  layer?: string;
  rule?: string;
  source?: string;
  /** Who decided: the policy, or the person that was asked. */
  by?: string;
  tier?: number;
  risk?: string;
  /** How the agent can say plainly what was not proven. */
  advice?: unknown[];
  [more: string]: unknown;
}

/** Run the tool only if behavior is "allow", and with updatedInput. */
export type Result =
  | { behavior: "allow"; updatedInput: JSONObject; decision: Decision }
  | {
      behavior: "deny";
      /** For the agent. */
      message: string;
      /** The agent's turn should end. */
      interrupt: boolean;
      /** Missing if the wrapper did not answer. */
      decision?: Decision;
    };

/** What would be decided. */
export interface Explanation {
  decision: Decision;
  /** What every layer says of each action, and of the whole. */
  actions: JSONObject[];
  whole?: JSONObject;
  /** The same for a person, as `agent-wrapper explain` prints it. */
  text: string;
}

/** The longest line that the wrapper takes, in bytes. */
export const longest = 16 << 20;

/** A tool use that somebody has to decide, as it should be shown. */
export interface Question {
  id: string;
  digest: string;
  tool: string;
  /** What the agent sent; all other texts are safe to show. */
  input: JSONObject;
  reason?: string;
  tool_use_id?: string;
  agent?: string;
  session?: string;
  dir?: string;
  risk: string;
  tier: number;
  /** Why the risk is what it is. */
  factors?: string[];
  rule?: string;
  rule_source?: string;
  /** The parts of the input, with marks where the ask comes from. */
  blocks: Block[];
  /** What the tool use would do, each with its reason. */
  actions?: JSONObject[];
  /** Why it is asked: one entry for each cause, the most telling first. */
  asked?: JSONObject[];
  /** How many other actions the policy allows. */
  allowed?: number;
  /** Nothing of it is left out. */
  whole: boolean;
  choices?: Choice[];
  [more: string]: unknown;
}

/** One part of an input: a field, or an edit. */
export interface Block {
  title: string;
  notes?: string[];
  /** The sign is that of a diff, "…" for what is left out, or missing. */
  lines: { sign?: string; segments?: { text: string; mark?: boolean }[]; bytes?: number; count?: number }[];
}

/** One answer that a question offers. */
export interface Choice {
  key: string;
  name: string;
  label: string;
  /** The rules that it may keep, the narrowest first. */
  rungs?: { label: string; rules: string[] }[];
  /** The file that the rules are written to. */
  into?: string;
}

/** An answer to a question. One that the question does not offer is a denial. */
export interface Answer {
  /** Name of one of the choices: once, session, while, always, edit, answers, deny, words or never. */
  choice: string;
  /** Index of one of its rungs; the first if there is none, and no rules. */
  rung?: number;
  /** Rules in place of a rung. */
  rules?: string[];
  /** With while: how long in seconds, and for how many tool uses with this one. */
  for?: number;
  times?: number;
  /** With edit: the whole input. It is decided anew. */
  input?: JSONObject;
  /** With answers: an answer to each question of the agent. */
  answers?: Record<string, string>;
  /** With deny and words: for the agent. */
  message?: string;
  by?: string;
}

/** What an approver returns if the answer comes later, by {@link AgentWrapper.answer}. */
export const handedOn = { handedOn: true } as const;

/** Answers questions; it may take as long as it needs. The signal aborts when the question is withdrawn. */
export type Approver = (
  question: Question,
  options: { signal: AbortSignal },
) => Answer | typeof handedOn | Promise<Answer | typeof handedOn>;

/** A request that was answered with an error, or not at all. */
export class WrapperError extends Error {
  override name = "WrapperError";
  /** JSON-RPC code, undefined if there was no answer. */
  readonly code: number | undefined;
  /** Why an answer was refused. */
  readonly reason: string | undefined;

  constructor(message: string, code?: number, reason?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The words of an error, whatever was thrown. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
