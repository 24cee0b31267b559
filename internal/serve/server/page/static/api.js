// The requests of the page. They are signed with the key of this browser, see signed.js:
// nothing that is sent lets anybody else in. The server proves itself before anything is
// sent, and in each answer. What answers without that is another program.

import * as kept from './kept.js';
import * as signed from './signed.js';

// ApiError is an error that the server has answered, or that there was no answer
// (status 0). Approval is the approval as it is now, if the error is about one.
export class ApiError extends Error {
  constructor(status, code, message, approval) {
    super(message);
    this.status = status;
    this.code = code;
    this.approval = approval;
  }
}

// Client speaks to the server with a key.
class Client {
  constructor(key) {
    this.key = key;
    this.server = null; // {instance, ahead}, once it has proved itself
  }

  // greet has the server prove itself.
  async greet() {
    const asked = signed.hello(this.key);
    const r = await reach(signed.helloPath, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(asked) });
    if (!r.ok) throw await refused(r, false);
    this.server = await signed.greeted(this.key, location.host, asked, await r.json().catch(() => null));
    if (!this.server) throw unproved();
  }

  // sign returns a request's stamp, and the proof that its answer has to have.
  async sign(method, path, body) {
    if (!this.server) await (this.greeting ??= this.greet().finally(() => { this.greeting = null; }));
    return signed.sign(this.key, this.server, location.host, method, path, body);
  }

  // send sends a request and returns the answer. A server that was started again, or whose
  // clock was set, is asked to prove itself anew: it has not obeyed the request.
  async send(method, path, body, again) {
    const { stamp, proof } = await this.sign(method, path, body);
    const headers = { Authorization: signed.scheme + stamp };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const r = await reach(path, { method, headers, body });
    const proved = r.headers.get(signed.proofHeader) === proof;
    if (r.status === 401 && !proved && !again) {
      this.server = null;
      return this.send(method, path, body, true);
    }
    if (!r.ok) throw await refused(r, proved);
    if (!proved) throw unproved();
    return r;
  }
}

async function reach(path, options) {
  try {
    return await fetch(path, { ...options, credentials: 'omit', cache: 'no-store', redirect: 'error' });
  } catch {
    throw new ApiError(0, 'unreachable', 'Cannot reach the server.');
  }
}

// refused returns the error of an answer. Only what the server proves says how an approval is.
async function refused(r, proved) {
  const data = await r.json().catch(() => null);
  const said = (data && data.error) || {};
  return new ApiError(r.status, said.code || 'unreadable', said.message || `The server returned an error (HTTP ${r.status}).`, proved && data ? data.approval : undefined);
}

function unproved() {
  return new ApiError(0, 'unproved', 'Another program answers at the server’s address. Start the server again, and open the link that it prints.');
}

let own = null; // the Client of this browser, a promise; null until it is looked for

function client() {
  return own ??= kept.load().then((key) => key && new Client(key));
}

// paired reports whether this browser has a key.
export async function paired() { return await client() !== null; }

// Listeners are called when the server does not know the browser any more, or another
// program answers in its place.
const strangers = new Set();
export function onStranger(f) { strangers.add(f); }

export function forget() {
  own = null;
  return kept.forget();
}

// onChange has a function called when another tab has changed whose browser this is.
export function onChange(f) {
  kept.onChange(() => {
    own = null;
    f();
  });
}

async function request(method, path, body) {
  const c = await client();
  try {
    if (!c) throw new ApiError(401, 'unauthorized', 'This browser is not paired.');
    return await c.send(method, path, body === undefined ? undefined : JSON.stringify(body));
  } catch (err) {
    if (err.status === 401 || err.code === 'unproved') for (const f of strangers) f(err);
    throw err;
  }
}

async function json(r) {
  try {
    return await r.json();
  } catch {
    throw new ApiError(r.status, 'unreadable', 'The server’s answer cannot be read.');
  }
}

// get returns what is at a path.
export function get(path) { return request('GET', path).then(json); }

// post sends a body, and returns the answer.
export function post(path, body = {}) { return request('POST', path, body).then(json); }

// del ends what is at a path.
export function del(path) { return request('DELETE', path).then(json); }

// text returns what is at a path as text, for what is not JSON.
export async function text(path) { return (await request('GET', path)).text(); }

// pair makes this browser the one that a one-time code lets in, and returns who it is now.
// The code is not sent, but signs for a key that the browser makes.
export async function pair(code) {
  let by;
  let key;
  try {
    by = new Client(await signed.codeKey(code));
    key = await signed.newKey();
  } catch {
    throw new ApiError(0, 'old_browser', 'This browser cannot sign (Ed25519). Use a newer one.');
  }
  const me = await json(await by.send('POST', '/api/pair', JSON.stringify({ key: btoa(String.fromCharCode(...key.public)) })));
  await kept.keep({ ...key, id: me.id });
  own = null;
  return me;
}

// Socket is a WebSocket that is open when the server has proved itself by its first message.
class Socket extends EventTarget {
  constructor(path) {
    super();
    this.readyState = WebSocket.CONNECTING;
    this.begin(path).catch(() => this.end());
  }

  async begin(path) {
    const c = await client();
    const { stamp, proof } = await c.sign('GET', path);
    if (this.readyState !== WebSocket.CONNECTING) return;
    const url = new URL(path, location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const s = this.socket = new WebSocket(url, ['agent-wrapper', signed.protocol + stamp]);
    s.addEventListener('close', () => this.end());
    s.addEventListener('message', (e) => {
      if (this.readyState === WebSocket.OPEN) {
        this.dispatchEvent(new MessageEvent('message', { data: e.data }));
      } else if (this.readyState === WebSocket.CONNECTING && e.data === JSON.stringify({ type: 'proof', proof })) {
        this.readyState = WebSocket.OPEN;
        this.dispatchEvent(new Event('open'));
      } else {
        this.close();
      }
    });
  }

  end() {
    if (this.readyState === WebSocket.CLOSED) return;
    this.readyState = WebSocket.CLOSED;
    this.dispatchEvent(new Event('close'));
  }

  send(text) { if (this.readyState === WebSocket.OPEN) this.socket.send(text); }

  // close ends it without waiting for the other side, which may be anybody.
  close() {
    if (this.readyState > WebSocket.OPEN) return;
    this.readyState = WebSocket.CLOSING;
    if (this.socket) this.socket.close();
    queueMicrotask(() => this.end());
  }
}

// socket returns a WebSocket of a path.
export function socket(path) { return new Socket(path); }
