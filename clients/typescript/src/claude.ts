/** For the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`). */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type AgentWrapper, type JSONObject, type Origin, type Result, type ToolUse } from "./index.js";
import { isolation } from "./isolation.js";
import { isObject } from "./protocol.js";

/** What the SDK is answered. */
export type Permission =
  | { behavior: "allow"; updatedInput: JSONObject }
  | { behavior: "deny"; message: string; interrupt: boolean };

/** The SDK's permission callback. */
export type CanUseTool = (
  toolName: string,
  input: JSONObject,
  options: { signal: AbortSignal; toolUseID: string; agentID?: string },
) => Promise<Permission>;

interface HookAnswer {
  hookSpecificOutput: { hookEventName: "PreToolUse"; permissionDecision: "ask" | "deny"; permissionDecisionReason?: string };
}

/** The options that {@link guarded} sets. */
export interface Guard {
  canUseTool: CanUseTool;
  hooks: {
    PreToolUse: {
      hooks: ((input: any, toolUseID: string | undefined, options: { signal: AbortSignal }) => Promise<HookAnswer>)[];
      timeout: number;
      onFailure: "block";
    }[];
  };
  permissionMode: "default";
  settingSources: [];
  settings: { permissions: { ask: string[]; additionalDirectories?: string[] } };
  strictMcpConfig: true;
  verbatimPrompts: true;
  extraArgs: Record<string, null>;
  env: Record<string, string | undefined>;
}

/**
 * The permission callback alone. In the SDK's default mode it does not see every
 * tool use: read-only commands, reads in the workspace, subagents, and what
 * settings allow run without it. {@link guarded} has all of them arrive.
 */
export function canUseTool(wrapper: AgentWrapper, origin: Origin = {}): CanUseTool {
  return async (tool, input, { signal, toolUseID, agentID }) =>
    // The directory of the agent's shell is not told.
    permission(await wrapper.canUseTool({ ...origin, cwd: origin.cwd ?? "", tool, input, toolUseID, agent: agentID }, { signal }));
}

/**
 * Makes of options for query() ones with which every tool use is decided:
 *
 *     for await (const message of query({ prompt, options: guarded(wrapper, { model }) })) ...
 *
 * An option that would let a tool run undecided is an error that names it, and so
 * is one that is not known here.
 */
export function guarded<O extends object>(
  wrapper: AgentWrapper,
  options: O,
  origin: Pick<Origin, "session"> = {},
): Omit<O, keyof Guard | "additionalDirectories"> & Guard {
  const { additionalDirectories, hooks, env, ...rest } = options as Checked;
  check(options as Checked);
  const guard = new Hook(wrapper, origin.session);
  const environment = cleaned(env);
  checkHome(environment);
  checkScripts(environment, options as Checked);
  return {
    ...(rest as O),
    canUseTool: guard.canUseTool,
    hooks: {
      ...(hooks as object),
      PreToolUse: [{ hooks: [guard.preToolUse], timeout: isolation.hookTimeout, onFailure: "block" as const }],
    },
    permissionMode: "default",
    settingSources: [],
    settings: {
      ...isolation.settings,
      permissions: {
        ...isolation.settings.permissions,
        ...(additionalDirectories ? { additionalDirectories: additionalDirectories.map((dir) => resolve(dir)) } : {}),
      },
    },
    strictMcpConfig: true,
    verbatimPrompts: true,
    extraArgs: { "disable-slash-commands": null },
    env: environment,
  };
}

/**
 * How many allows are held. One is never asked for if the agent CLI refuses the tool use
 * by itself; the oldest goes, and its tool use would be decided anew.
 */
const maxHeld = 1000;

/**
 * Decides when the hook is called, which knows the directory and whose denial
 * stands against everybody's allow. An allow is held for canUseTool, which sees
 * the input as it will run: for another input it decides anew.
 */
class Hook {
  readonly #wrapper: AgentWrapper;
  readonly #held = new Map<string, { use: ToolUse; result: Result }>();
  readonly #session: string | undefined;

  constructor(wrapper: AgentWrapper, session: string | undefined) {
    this.#wrapper = wrapper;
    this.#session = session;
  }

  readonly preToolUse = async (input: any, _id: string | undefined, { signal }: { signal: AbortSignal }): Promise<HookAnswer> => {
    const use: ToolUse = {
      tool: input.tool_name,
      input: input.tool_input,
      toolUseID: input.tool_use_id,
      cwd: input.cwd ?? "",
      session: this.#session,
      agent: input.agent_id,
    };
    const result = await this.#wrapper.canUseTool(use, { signal });
    if (result.behavior === "deny" && !result.interrupt) return answer("deny", result.message);
    this.#held.delete(input.tool_use_id);
    this.#held.set(input.tool_use_id, { use, result });
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= maxHeld) break;
      this.#held.delete(oldest);
    }
    return answer("ask"); // a hook's allow would not see what another hook makes of the input
  };

  readonly canUseTool: CanUseTool = async (tool, input, { signal, toolUseID, agentID }) => {
    const held = this.#held.get(toolUseID);
    this.#held.delete(toolUseID);
    if (held && isDeepStrictEqual([tool, input, agentID], [held.use.tool, held.use.input, held.use.agent])) return permission(held.result);
    // Without the hook the directory is not known.
    const use: ToolUse = { tool, input, toolUseID, cwd: "", session: this.#session, agent: agentID };
    return permission(await this.#wrapper.canUseTool(use, { signal }));
  };
}

function answer(permissionDecision: "ask" | "deny", reason?: string): HookAnswer {
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision,
      ...(reason === undefined ? {} : { permissionDecisionReason: reason }),
    },
  };
}

function permission(result: Result): Permission {
  return result.behavior === "allow"
    ? { behavior: "allow", updatedInput: result.updatedInput }
    : { behavior: "deny", message: result.message, interrupt: result.interrupt };
}

interface Checked {
  additionalDirectories?: string[];
  env?: Record<string, string | undefined>;
  hooks?: Record<string, unknown>;
  [name: string]: unknown;
}

/** Options that change nothing of who decides. */
const harmless = new Set(
  `abortController additionalDirectories agent betas continue cwd disallowedTools debug debugFile effort enableFileCheckpointing
  env executable fallbackModel forkSession forwardSubagentText includeHookEvents includePartialMessages loadTimeoutMs maxBudgetUsd
  maxThinkingTokens maxTurns mcpServers mcpServersDelivery model onElicitation onUserDialog outputFormat pathToClaudeCodeExecutable
  perTaskStopAffordance persistSession promptSuggestions agentProgressSummaries resume resumeDropsTurn resumeSessionAt sessionId
  sessionStore sessionStoreFlush spawnClaudeCodeProcess stderr supportedDialogKinds systemPrompt taskBudget thinking title toolAliases
  toolConfig tools`.split(/\s+/),
);

const refused: Record<string, string> = {
  allowedTools: "tools that it names run undecided; give the wrapper an allow rule, or use tools or disallowedTools",
  canUseTool: "the wrapper is the permission callback",
  permissionPromptToolName: "the wrapper is asked, nobody else",
  settings: "they may allow tools; give the wrapper rules",
  managedSettings: "they may drop the rule that has every tool use asked about",
  plugins: "they bring hooks and commands of their own",
  skills: "their commands run without a tool use",
  executableArgs: "they may change what is asked",
  extraArgs: "they may change what is asked",
};

/** Throws if an option would let a tool run undecided. */
function check(options: Checked): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || harmless.has(name) || empty(value)) continue;
    const why = loosens(name, value);
    if (why !== undefined) throw new TypeError(`option ${name} cannot be used with agent-wrapper: ${why}`);
  }
}

/** Why an option cannot be used, undefined if it can. */
function loosens(name: string, value: any): string | undefined {
  switch (name) {
    case "permissionMode":
      return value === "default" ? undefined : "modes are the wrapper's; start it with --mode";
    case "allowDangerouslySkipPermissions":
      return value ? "the wrapper decides; start it with --mode bypassPermissions" : undefined;
    case "permissionPrompts":
      return value === "host" ? undefined : "the wrapper has to be asked";
    case "settingSources":
      return "settings of files may allow tools and run hooks; say in systemPrompt what CLAUDE.md says";
    case "strictMcpConfig":
    case "verbatimPrompts":
      return value ? undefined : "files would speak that nobody decided about";
    case "hooks":
      return hooks(value);
    case "sandbox":
      return value.autoAllowBashIfSandboxed === false ? undefined : "set its autoAllowBashIfSandboxed to false";
    case "agents":
      return agents(value);
  }
  return refused[name] ?? "it is not known here";
}

/** Events whose hooks decide about no tool use. */
const harmlessEvents = new Set(
  `ConfigChange CwdChanged DirectoryAdded Elicitation ElicitationResult FileChanged InstructionsLoaded MessageDisplay Notification
  PermissionDenied PostCompact PostModelSwitch PostToolBatch PostToolUse PostToolUseFailure PreCompact PreModelSwitch SessionEnd
  SessionStart Setup Stop StopFailure SubagentStart SubagentStop TaskCompleted TaskCreated TeammateIdle UserPromptExpansion
  UserPromptSubmit WorktreeCreate WorktreeRemove`.split(/\s+/),
);

function hooks(value: Record<string, unknown>): string | undefined {
  const event = Object.keys(value).find((event) => !empty(value[event]) && !harmlessEvents.has(event));
  return event && `a hook for ${event} may answer before the wrapper`;
}

/** What an agent may set: it is told what to do, and is given less. */
const harmlessOfAgents = new Set(
  `autoCompactWindow background criticalSystemReminder_EXPERIMENTAL description disallowedTools effort maxTurns mcpServers model
  omitClaudeMd prompt tools`.split(/\s+/),
);

function agents(value: Record<string, JSONObject>): string | undefined {
  for (const [name, agent] of Object.entries(value)) {
    for (const [key, set] of Object.entries(agent)) {
      if (harmlessOfAgents.has(key) || empty(set) || (key === "permissionMode" && set === "default")) continue;
      return `agent ${name} sets ${key}`;
    }
  }
  return undefined;
}

function empty(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0 && isPlain(value));
}

function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** The environment of the agent CLI: variables by which it asks less are not in it. */
function cleaned(given: Record<string, string | undefined> = process.env): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(given)) {
    if (isolation.nested.includes(name) || name in isolation.ours) continue;
    const withheld =
      !isolation.passed.includes(name) &&
      (isolation.withheld.includes(name.toUpperCase()) || isolation.families.some((family) => name.toUpperCase().startsWith(family)));
    if (!withheld) env[name] = value;
    else if (value !== undefined && value !== process.env[name]) throw new TypeError(`option env.${name} cannot be used with agent-wrapper: it may change what is asked`);
  }
  const count = Math.max(Number.parseInt(env["GIT_CONFIG_COUNT"] ?? "0", 10) || 0, 0);
  return {
    ...env,
    ...isolation.ours,
    // The repository's configuration may name a program that git starts.
    GIT_CONFIG_COUNT: String(count + 1),
    [`GIT_CONFIG_KEY_${count}`]: "core.fsmonitor",
    [`GIT_CONFIG_VALUE_${count}`]: "false",
  };
}

/** Throws if the agent CLI's global configuration sets variables, which would undo ours. */
function checkHome(env: Record<string, string | undefined>): void {
  const config = env["CLAUDE_CONFIG_DIR"];
  const home = env["HOME"] || homedir();
  for (const file of [join(config || join(home, ".claude"), ".config.json"), join(config || home, ".claude.json")]) {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") continue;
      throw error;
    }
    const found: unknown = JSON.parse(text);
    const variables = isObject(found) ? found["env"] : undefined;
    if (!empty(variables)) throw new Error(`${file} sets environment variables, which the agent CLI would take in place of those given here; take "env" out of it`);
  }
}

const sessionID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Throws if hooks have left scripts for the session that goes on: they run before each of its commands. */
function checkScripts(env: Record<string, string | undefined>, { resume, sessionId, continue: latest }: Checked): void {
  const named = [resume, sessionId].filter((id) => id);
  if (named.length === 0 && !latest) return;
  const folder = join(env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude"), "session-env");
  const sure = !latest && named.every((id) => sessionID.test(String(id)));
  for (const session of sure ? named : entries(folder)) {
    for (const name of entries(join(folder, String(session)))) {
      const script = join(folder, String(session), name);
      if (!/-hook-[0-9]+\.sh$/.test(name) || statSync(script).size === 0) continue;
      throw new Error(`${script} would run before each command of that session, unasked: a hook of an earlier one has left it; remove it, or start a new session`);
    }
  }
}

/** The names in a directory, none if there is no such directory. */
function entries(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
