// A real agent-wrapper serve with everything in a directory of its own, agents that ask
// by its API, and people who answer from a terminal. browser.mjs has those with a page.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { keyOf, scheme, hello, greeted, helloPath, proofHeader, sign } from "../static/signed.js";
import { binary } from "./binary.mjs";

const run = promisify(execFile);

/** How long something that has to come is waited for. Other work may share the machine. */
export const patience = 40_000;

/** The policy of the tests: what is asked about and denied, beside what the risk says. */
const policy = ["--ask", "Bash(echo ask*)", "--deny", "Bash(echo never*)", "--allow", "Bash(echo safe*)"];

/** until calls look again and again until it returns something true, and returns that. */
export async function until(what, look) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it did not come: ${what}`);
    await new Promise((next) => setTimeout(next, 20));
  }
}

/** alive are the servers that run; none outlives the tests. */
const alive = new Set();
process.on("exit", () => alive.forEach((server) => server.kill("SIGKILL")));

/** World is a server that can be ended and started again at the same address. */
export class World {
  static async start(flags = policy) {
    const w = new World();
    w.dir = await mkdtemp(join(tmpdir(), "agent-wrapper-page-"));
    w.state = join(w.dir, "state");
    w.space = join(w.dir, "space");
    w.flags = flags;
    w.listen = "127.0.0.1:0";
    await mkdir(w.space, { recursive: true });
    await mkdir(join(w.dir, "home"));
    return w;
  }

  /** env is the environment of a program in a home of its own. */
  env(home = "home") {
    const dir = join(this.dir, home);
    return { PATH: process.env.PATH, HOME: dir, USER: "tester", LANG: "C.UTF-8", XDG_RUNTIME_DIR: dir, TMPDIR: this.dir };
  }

  /** cli runs agent-wrapper and returns its exit code and output. */
  async cli(args, { home, input, environ } = {}) {
    const child = run(binary(), args, { cwd: this.space, env: { ...this.env(home), ...environ }, maxBuffer: 64 << 20 });
    child.child.stdin.end(input);
    try {
      const { stdout, stderr } = await child;
      return { code: 0, stdout, stderr };
    } catch (err) {
      if (typeof err.code !== "number") throw err;
      return { code: err.code, stdout: err.stdout, stderr: err.stderr };
    }
  }

  async must(args, options) {
    const out = await this.cli(args, options);
    if (out.code !== 0) throw new Error(`${args.join(" ")}: exit code ${out.code}: ${out.stderr}`);
    return out.stdout;
  }

  /** up starts the server, and returns when it is ready. */
  async up() {
    const args = ["serve", "--listen", this.listen, "--state", this.state, "--json", "--isolated", ...this.flags];
    this.log = "";
    this.server = spawn(binary(), args, { cwd: this.space, env: this.env(), stdio: ["ignore", "pipe", "pipe"] });
    this.ended = once(this.server, "exit");
    alive.add(this.server);
    this.server.stderr.setEncoding("utf8").on("data", (text) => (this.log += text));
    for await (const line of createInterface({ input: this.server.stdout })) {
      const ready = JSON.parse(line);
      this.url = ready.listening;
      this.record = ready.record;
      this.listen = new URL(this.url).host;
      return this;
    }
    throw new Error(`the server does not start: ${this.log}`);
  }

  /** down ends the server, with SIGKILL as a crash does. */
  async down(signal = "SIGTERM") {
    if (!this.server) return;
    this.server.kill(signal);
    this.server.kill("SIGCONT"); // a stopped one would not hear it
    await this.ended;
    alive.delete(this.server);
    this.server = undefined;
  }

  async close() {
    await this.down("SIGTERM");
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  /** token makes a credential and returns its secret, or the code of a browser. */
  async token(role, name, ...more) {
    return (await this.must(["serve", "token", "create", "--role", role, "--name", name, "--state", this.state, ...more])).trim();
  }

  /** revoke ends all credentials of a name. */
  async revoke(name) {
    const all = await this.must(["serve", "token", "list", "--json", "--state", this.state]);
    for (const token of JSON.parse(all).tokens) {
      if (token.name === name && !token.revoked) await this.must(["serve", "token", "revoke", token.id, "--state", this.state]);
    }
  }

  async agent(name = "bot") {
    return new Client(this, name, await this.token("agent", name));
  }

  async person(name) {
    return new Client(this, name, await this.token("person", name));
  }

  /** terminal logs a person in at another terminal, who answers with agent-wrapper approvals. */
  async terminal(name) {
    await mkdir(join(this.dir, name));
    await this.must(["approvals", "login", "--server", this.url], { home: name, input: await this.token("person", name) });
    return (...args) => this.cli(["approvals", "--server", this.url, ...args], { home: name });
  }

  /** lines returns the lines of the audit log. */
  async lines(kind) {
    const text = await readFile(this.record, "utf8").catch(() => "");
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((line) => !kind || line.kind === kind);
  }

  /** decided returns the decisions in the record about a command. */
  async decided(command) {
    return (await this.lines("decision")).filter((line) => line.input?.command === command);
  }
}

/** Client is an agent or a person at the API. */
export class Client {
  constructor(world, name, secret) {
    Object.assign(this, { world, name, secret });
  }

  async call(method, path, body) {
    const text = body && JSON.stringify(body);
    let { res, proved } = await this.send(method, path, text);
    if (res.status === 401 && !proved) {
      this.server = undefined; // it was started again
      ({ res, proved } = await this.send(method, path, text));
    }
    if (res.ok && !proved) throw new Error(`${method} ${path}: something else than the server answers`);
    return this.read(res);
  }

  /** send signs a request and sends it. */
  async send(method, path, body) {
    const { host } = new URL(this.world.url);
    this.key ??= await keyOf(this.secret.split("_")[1], this.secret);
    if (this.at !== host) this.server = undefined;
    if (!this.server) {
      const asked = hello(this.key);
      const res = await fetch(this.world.url + helloPath, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(asked) });
      if (!res.ok) return { res, proved: true };
      this.server = await greeted(this.key, host, asked, await res.json());
      this.at = host;
    }
    const { stamp, proof } = await sign(this.key, this.server, host, method, path, body);
    const res = await fetch(this.world.url + path, { method, headers: { authorization: scheme + stamp, ...(body ? { "content-type": "application/json" } : {}) }, body });
    return { res, proved: res.headers.get(proofHeader) === proof };
  }

  async read(res) {
    const text = await res.text();
    return { status: res.status, body: (res.headers.get("content-type") ?? "").startsWith("application/json") ? JSON.parse(text) : text };
  }

  async must(method, path, body) {
    const res = await this.call(method, path, body);
    if (res.status >= 300) throw new Error(`${method} ${path}: ${res.status}: ${JSON.stringify(res.body)}`);
    return res.body;
  }

  /** use has a tool use decided. It returns at once when a person is asked. */
  use(tool, input, more = {}) {
    return this.must("POST", "/api/decisions", { tool, input, ...more });
  }

  /** asks has a tool use decided about which a person is to be asked. */
  async asks(command, more = {}) {
    const d = typeof command === "string" ? await this.use("Bash", { command, description: "what the agent says of it" }, more) : await this.use(command.tool, command.input, more);
    if (d.behavior !== "ask") throw new Error(`nobody is asked about ${JSON.stringify(command)}: ${JSON.stringify(d)}`);
    return d.approval_id;
  }

  /** outcome waits for the decision about which a person was asked. */
  outcome(id) {
    return until(`the answer to ${id}`, async () => {
      const d = await this.must("GET", `/api/decisions/${id}?wait=30`);
      return d.behavior !== "ask" && d;
    });
  }

  async session(conversation = "talk", more = {}) {
    return (await this.must("POST", "/api/agent-terminal/sessions", { conversation_id: conversation, ...more })).session_id;
  }

  execute(session, command, more = {}) {
    return this.must("POST", `/api/agent-terminal/sessions/${session}/execute`, { command, ...more });
  }

  /** command waits until a command has one of the states. */
  command(id, ...states) {
    return until(`${id} is ${states}`, async () => {
      const c = await this.must("GET", `/api/agent-terminal/commands/${id}`);
      return states.includes(c.status) && c;
    });
  }

  /** idle waits until nothing runs in a session. */
  idle(session) {
    return until(`${session} is idle`, async () => !(await this.must("GET", `/api/agent-terminal/sessions/${session}/state`)).running);
  }

  approval(id) {
    return this.must("GET", `/api/approvals/${id}`);
  }
}
