// A server that stops leaves its port to anybody. Another user of the machine takes it, and
// whatever that gets from the terminal, from a page that was open and by a link that was not
// used yet lets nobody in at the server that is started again.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { scenario } from "./browser.mjs";
import { patience, until } from "./world.mjs";

const nobody = 65534;
const source = join(dirname(fileURLToPath(import.meta.url)), "squatter.mjs");

/** Squatter is another user's program at the port of a server. */
class Squatter {
  static async at(url, instance) {
    const s = new Squatter();
    s.told = [];
    const args = ["--input-type=module", "-e", await readFile(source, "utf8"), "--", new URL(url).port, instance];
    s.process = spawn(process.execPath, args, { uid: nobody, gid: nobody, cwd: "/", env: { PATH: process.env.PATH }, stdio: ["ignore", "pipe", "inherit"] });
    createInterface({ input: s.process.stdout }).on("line", (line) => s.told.push(JSON.parse(line)));
    await until("the squatter listens", () => s.told.length > 0);
    assert.equal(s.told.shift().listening, nobody);
    return s;
  }

  /** heard waits until something came that fits. */
  heard(what, fits) {
    return until(`the squatter hears ${what}`, () => this.told.find(fits));
  }

  async end() {
    this.process.kill("SIGKILL");
    await once(this.process, "exit");
  }
}

/** replay sends a request byte for byte as it was taken down, and returns the status. */
async function replay(url, { method, url: path, headers, body }) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const lines = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!/^(connection|content-length|transfer-encoding)$/i.test(headers[i])) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  }
  const upgrade = lines.some((line) => /^upgrade:/i.test(line));
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\nConnection: ${upgrade ? "Upgrade" : "close"}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  const [answer] = await once(socket, "data", { signal: AbortSignal.timeout(patience) });
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString())[1]);
}

/** open is what anybody may get. */
const open = /^\/($|static\/|healthz|readyz|openapi\.json|favicon|api\/hello$)/;

scenario("another user takes the port of a server that has stopped, and gets nothing that lets him in", async (stage) => {
  const { world } = stage;
  const own = (await import("../static/signed.js").catch(() => null)) ?? {};
  const instanceNow = () => readFile(join(world.state, "serve", "instance"), "utf8").catch(() => "");
  const page = await stage.open("anna"); // looks on
  const away = await stage.open("anna"); // comes back later
  await away.tab.goto("about:blank").catch(() => {});
  const secrets = [];
  const terminal = async (name) => {
    await mkdir(join(world.dir, name));
    secrets.push(await world.token("person", name));
    await world.must(["approvals", "login", "--server", world.url], { home: name, input: secrets.at(-1) });
    return () => world.cli(["approvals", "--server", world.url, "list"], { home: name });
  };
  const ben = await terminal("ben");
  assert.equal((await ben()).code, 0);
  secrets.push(await world.token("agent", "bot"));
  const code = await world.token("person", "anna", "--browser");
  const before = JSON.parse(await world.must(["serve", "token", "list", "--json", "--state", world.state])).tokens.length;
  const instance = await instanceNow();
  await world.down("SIGTERM");

  const squatter = await Squatter.at(world.url, instance);
  const faults = [];
  try {
    await squatter.heard("the page that was open", (r) => r.url?.startsWith("/api/"));
    await page.says(/Another program answers/).catch((err) => faults.push(err.message));
    const fromPage = squatter.told.length;

    const list = await ben();
    if (list.code === 0 || !/nothing was sent/.test(list.stderr)) faults.push(`the terminal believes the squatter: ${list.code} ${list.stdout}${list.stderr}`);
    if (squatter.told.length > fromPage) faults.push(`the terminal has sent ${JSON.stringify(squatter.told.slice(fromPage))}`);
    const agent = await world.cli(["exec", "--isolated", "--ask", "Bash", "--approvals", world.url, "--", "echo", "ran"], { environ: { AGENT_WRAPPER_TOKEN: secrets.at(-1) } });
    if (agent.code === 0 || /ran/.test(agent.stdout)) faults.push(`the squatter approves: ${agent.stdout}`);
    if (fromPage === squatter.told.length) faults.push("the agent's program has not asked anybody");

    const fresh = await stage.stranger();
    await fresh.tab.goto(`${world.url}/#${code}`);
    await squatter.heard("the fresh link", (r) => r.url === "/loot" && r.body.includes(code));
    await away.tab.goto(world.url);
    await squatter.heard("what the other browser keeps", (r) => r.url === "/loot" && !r.body.includes(code));
  } finally {
    await squatter.end();
  }
  stage.faults.length = 0; // the squatter's own page

  for (const secret of [...secrets, code, code.replaceAll("-", "")]) {
    const leaked = squatter.told.filter((r) => r.url !== "/loot" && JSON.stringify(r).includes(secret));
    if (leaked.length) faults.push(`a secret was sent: ${JSON.stringify(leaked[0])}`);
  }
  await world.up();
  for (const r of squatter.told.filter((r) => r.url)) {
    const status = await replay(world.url, r);
    if (status < 300 && !open.test(r.url)) faults.push(`${r.method} ${r.url} counts again: ${status} ${r.headers}`);
  }
  // With what the squatter's page found: the code, and what the browser still signs for it.
  const attempt = async (what, stamp, method, path, body) => {
    const res = await fetch(world.url + path, { method, headers: { authorization: "Agent-Wrapper " + stamp, ...(body ? { "content-type": "application/json" } : {}) }, body });
    if (res.status !== 401) faults.push(`${what}: ${res.status} ${await res.text()}`);
  };
  const { host } = new URL(world.url);
  for (const body of [{ code }, { code, csrf: "x" }]) {
    const res = await fetch(world.url + "/api/pair", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    if (res.ok) faults.push(`the code still counts: ${await res.text()}`);
  }
  assert.deepEqual(faults, []);
  const now = await instanceNow();
  assert.notEqual(now + "x", "x", "there is no instance");
  assert.notEqual(now, instance);
  const pair = JSON.stringify({ key: Buffer.alloc(32).toString("base64") });
  const key = await own.codeKey(code);
  for (const id of [key.id, `${key.id}-${instance}`, `${key.id}-${now}`]) {
    for (const of of [instance, now]) {
      const { stamp } = await own.sign({ ...key, id }, { instance: of, ahead: 0 }, host, "POST", "/api/pair", pair);
      await attempt(`the code ${id} for ${of}`, stamp, "POST", "/api/pair", pair);
    }
  }
  const id = JSON.parse(squatter.told.find((r) => r.url === "/loot" && JSON.parse(r.body).keys.length).body).keys[0];
  assert.equal(id.read, "InvalidAccessError", "the page's script can read the key");
  for (const of of [instance, now]) {
    for (const as of [id.id, id.id.replace(instance, now)]) {
      const fields = [as, of, String(Date.now()), Buffer.alloc(16, of === now ? 1 : 2).toString("base64url"), ""];
      const text = ["agent-wrapper request 1", "GET", host, "/api/me", ...fields].join("\n");
      const signature = await away.tab.evaluate(async (text) => [...new Uint8Array(await crypto.subtle.sign("Ed25519", globalThis.taken[0].private, new TextEncoder().encode(text)))], text);
      await attempt(`what the browser signs as ${as} for ${of}`, [...fields, Buffer.from(signature).toString("base64url")].join("."), "GET", "/api/me");
    }
  }
  const after = JSON.parse(await world.must(["serve", "token", "list", "--json", "--state", world.state])).tokens;
  if (after.length !== before) faults.push(`${after.length - before} credentials were added`);
  assert.deepEqual(faults, []);
  assert.equal((await ben()).code, 0, "a terminal goes on with the server that is started again");
}, { skip: process.getuid() !== 0 && "it takes two users: run it as root" });
