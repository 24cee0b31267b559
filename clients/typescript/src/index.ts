/**
 * Asks agent-wrapper before an agent's tool runs. One child process,
 * `agent-wrapper decide --stdio`, decides; this class only speaks to it.
 *
 *     await using wrapper = new AgentWrapper({ flags: ["--policy", "policy.toml"] });
 *     const result = await wrapper.canUseTool({ tool: "Bash", input: { command }, cwd });
 *     if (result.behavior === "allow") await run(result.updatedInput);
 *     else tell(result.message);
 *
 * Whatever goes wrong is a denial. A child that has ended is not started again:
 * everything after it is denied, with a message that says so.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Lines } from "./lines.js";
import {
  type Answer,
  type Approver,
  type Explanation,
  isObject,
  type JSONObject,
  longest,
  type Origin,
  type Question,
  type Result,
  type ToolUse,
  words,
  WrapperError,
} from "./protocol.js";

export {
  type Answer,
  type Approver,
  type Block,
  type Choice,
  type Decision,
  type Explanation,
  handedOn,
  type JSONObject,
  type Origin,
  type Question,
  type Result,
  type ToolUse,
  WrapperError,
} from "./protocol.js";

/** How the wrapper is started. */
export interface Options {
  /** The program and its first arguments; default ["agent-wrapper"]. */
  command?: readonly string[];
  /** Flags of `agent-wrapper decide`: the policy, the workspace, the audit log. */
  flags?: readonly string[];
  /** Directory that the wrapper is started in; default this process's. */
  cwd?: string;
  /** Environment of the wrapper; default this process's. */
  env?: Record<string, string | undefined>;
  /** Answers what the policy asks about. Without it that is denied. */
  onApprove?: Approver;
  /** What people should know of: a policy that nobody trusts, say. */
  onWarning?: (message: string) => void;
}

/** What one call may add. */
export interface CallOptions {
  /** Aborts the call: a decision is then a denial, and its question is withdrawn. */
  signal?: AbortSignal | undefined;
}

/** What one decision may add. */
export interface DecideOptions extends CallOptions {
  /** Answers questions about this tool use in place of the wrapper's own approver. */
  onApprove?: Approver | undefined;
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: WrapperError) => void;
}

/** One running agent-wrapper. */
export class AgentWrapper implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #onApprove: Approver | undefined;
  readonly #onWarning: ((message: string) => void) | undefined;
  readonly #pending = new Map<number, Pending>();
  readonly #approvers = new Map<string, Approver>();
  readonly #questions = new Map<string, AbortController>();
  #last = 0;
  #dead: string | undefined;
  #complaint = "";

  constructor(options: Options = {}) {
    const [program = "agent-wrapper", ...first] = options.command ?? [];
    this.#onApprove = options.onApprove;
    this.#onWarning = options.onWarning;
    this.#child = spawn(
      program,
      [...first, "decide", "--stdio", "--approvals", "stdio", ...(options.flags ?? [])],
      { cwd: options.cwd, env: options.env ?? process.env, windowsHide: true },
    );
    this.#ended = new Promise((resolve) => this.#listen(resolve));
  }

  /** Whether somebody answers what the policy asks about. */
  get canAsk(): boolean {
    return this.#onApprove !== undefined;
  }

  /** Decides a tool use, and records the decision. It never rejects: an error is a denial. */
  async canUseTool(use: ToolUse, options: DecideOptions = {}): Promise<Result> {
    const toolUseID = use.toolUseID ?? randomUUID();
    if (options.onApprove) this.#approvers.set(toolUseID, options.onApprove);
    try {
      return result(await this.#request("canUseTool", { ...use, toolUseID }, options.signal));
    } catch (error) {
      return { behavior: "deny", message: `Denied: ${words(error)}`, interrupt: false };
    } finally {
      // Another tool use may have the same id, and still be asked about.
      if (this.#approvers.get(toolUseID) === options.onApprove) this.#approvers.delete(toolUseID);
    }
  }

  /** Tells what would be decided. Nobody is asked and nothing is recorded. */
  async explain(use: ToolUse, options: CallOptions = {}): Promise<Explanation> {
    const found = await this.#request("explain", use, options.signal);
    if (isObject(found) && isObject(found["decision"])) return found as unknown as Explanation;
    throw new WrapperError("agent-wrapper explained nothing");
  }

  /**
   * Answers a question that was handed on, and tells where rules were written. It
   * rejects if the answer is refused: it came too late, say.
   */
  async answer(id: string, digest: string, answer: Answer): Promise<string[]> {
    const found = (await this.#request("answer", { ...answer, id, digest })) as { kept?: string[] };
    this.#questions.delete(id);
    return found.kept ?? [];
  }

  /** Opens, resumes, pauses or closes a session, or revokes a lasting answer (grant); tells what is kept for it. */
  async session(
    action: "open" | "resume" | "rules" | "revoke" | "pause" | "unpause" | "close",
    session: string,
    more: { grant?: number; reason?: string } = {},
  ): Promise<JSONObject> {
    return (await this.#request("session", { ...more, action, session })) as JSONObject;
  }

  /** Tells which policy is in force. */
  async policy(session?: string): Promise<JSONObject> {
    return (await this.#request("policy", session === undefined ? {} : { session })) as JSONObject;
  }

  /** Records what became of an allowed tool use. */
  async outcome(toolUseID: string, outcome: { failed: boolean; exit?: number; session?: string }): Promise<void> {
    await this.#request("outcome", { ...outcome, toolUseID });
  }

  /** Ends the wrapper: what waits is denied, the audit log is closed. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
    await this.#ended;
    clearTimeout(kill);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #listen(ended: () => void): void {
    const lines = new Lines();
    this.#child.stdout.on("data", (bytes: Buffer) => {
      try {
        for (const line of lines.push(bytes)) if (this.#dead === undefined) this.#line(line);
      } catch (error) {
        this.#die(`it wrote what cannot be read (${words(error)})`);
        this.#child.kill("SIGKILL");
      }
    });
    this.#child.stderr.on("data", (bytes: Buffer) => {
      this.#complaint = (this.#complaint + bytes.toString()).slice(-2000);
    });
    this.#child.stdin.on("error", () => {}); // the end of the child tells more
    this.#child.on("error", (error) => {
      this.#die(words(error));
      ended();
    });
    this.#child.on("close", (code, signal) => {
      const complaint = this.#complaint.trim();
      this.#die(`${signal ?? `exit code ${code}`}${complaint && `: ${complaint}`}`);
      ended();
    });
  }

  #die(why: string): void {
    if (this.#dead !== undefined) return;
    this.#dead = `agent-wrapper has ended (${why}); nothing runs without it`;
    for (const pending of this.#pending.values()) pending.reject(new WrapperError(this.#dead));
    for (const question of this.#questions.values()) question.abort(new WrapperError(this.#dead));
    this.#pending.clear();
    this.#questions.clear();
  }

  #request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) return reject(new WrapperError(this.#dead));
      if (signal?.aborted) return reject(aborted(signal));
      const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      if (Buffer.byteLength(line) > longest) return reject(new WrapperError("the input is too large"));
      const abort = () => {
        this.#pending.delete(id);
        this.#send({ method: "cancel", params: { id } });
        reject(aborted(signal));
      };
      const over = () => signal?.removeEventListener("abort", abort);
      signal?.addEventListener("abort", abort);
      this.#pending.set(id, {
        resolve: (value) => (over(), resolve(value)),
        reject: (error) => (over(), reject(error)),
      });
      this.#child.stdin.write(`${line}\n`);
    });
  }

  #send(message: JSONObject): void {
    if (this.#dead === undefined) this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #line(text: string): void {
    const message: unknown = JSON.parse(text);
    if (!isObject(message)) throw new Error("no object");
    const params = isObject(message["params"]) ? message["params"] : {};
    switch (message["method"]) {
      case undefined:
        return this.#response(message);
      case "approve":
        return void this.#approve(message["id"], params as unknown as Question);
      case "withdrawn":
        return this.#withdraw(String(params["id"]), String(params["reason"]));
      case "warning":
        return this.#onWarning?.(String(params["message"]));
    }
    if ("id" in message) this.#send({ id: message["id"], error: { code: -32601, message: "no such method" } });
  }

  #response(message: JSONObject): void {
    const { id, error } = message;
    if (isObject(error)) {
      const reason = isObject(error["data"]) ? error["data"]["reason"] : undefined;
      const failure = new WrapperError(
        String(error["message"]),
        Number(error["code"]),
        typeof reason === "string" ? reason : undefined,
      );
      if (id === null) throw failure; // a line of ours was not understood, and we cannot know which
      this.#pending.get(id as number)?.reject(failure);
    } else {
      this.#pending.get(id as number)?.resolve(message["result"]);
    }
    this.#pending.delete(id as number);
  }

  async #approve(id: unknown, question: Question): Promise<void> {
    const withdrawn = new AbortController();
    this.#questions.set(question.id, withdrawn);
    let later = false;
    try {
      const approver = this.#approvers.get(question.tool_use_id ?? "") ?? this.#onApprove ?? nobody;
      const result = await approver(question, { signal: withdrawn.signal });
      later = "handedOn" in result;
      this.#send({ id, result });
    } catch (error) {
      this.#send({ id, error: { code: -32603, message: words(error) } });
    }
    if (!later) this.#questions.delete(question.id);
  }

  #withdraw(id: string, reason: string): void {
    this.#questions.get(id)?.abort(new WrapperError(reason));
    this.#questions.delete(id);
  }
}

/** Thrown by {@link guarded} in place of running a tool. Its message is for the agent. */
export class Denied extends Error {
  override name = "Denied";
  /** The agent's turn should end. */
  readonly interrupt: boolean;

  constructor(result: Extract<Result, { behavior: "deny" }>) {
    super(result.message);
    this.interrupt = result.interrupt;
  }
}

/**
 * Makes of a tool one that is decided before it runs, for a loop of one's own.
 * It runs with the input that was allowed, which a person may have edited.
 */
export function guarded<Input extends object, Output>(
  wrapper: AgentWrapper,
  tool: string,
  run: (input: Input) => Output | Promise<Output>,
  origin: Origin = {},
): (input: Input, options?: DecideOptions & { toolUseID?: string }) => Promise<Output> {
  return async (input, options = {}) => {
    const use = { ...origin, tool, input: input as JSONObject, toolUseID: options.toolUseID };
    const result = await wrapper.canUseTool(use, options);
    if (result.behavior === "deny") throw new Denied(result);
    return run(result.updatedInput as Input);
  };
}

/** Reads the answer to canUseTool: everything but a plain allow is a denial. */
function result(value: unknown): Result {
  if (!isObject(value)) throw new WrapperError("agent-wrapper decided nothing");
  const { behavior, updatedInput } = value;
  if (behavior === "allow" && isObject(updatedInput)) return value as Result;
  if (behavior === "allow") throw new WrapperError("agent-wrapper allowed no input");
  const { message, interrupt, decision } = value;
  return {
    behavior: "deny",
    message: typeof message === "string" && message !== "" ? message : "Denied",
    interrupt: interrupt === true,
    ...(isObject(decision) ? { decision: decision as never } : {}),
  };
}

function nobody(question: Question): Answer {
  return { choice: "deny", message: `Not approved: ${question.reason ?? question.tool} (there is nobody to ask)` };
}

function aborted(signal: AbortSignal | undefined): WrapperError {
  const reason: unknown = signal?.reason;
  return new WrapperError(reason instanceof Error && reason.name === "TimeoutError" ? "it took too long" : "cancelled");
}
