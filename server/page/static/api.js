// The requests of the page. A browser has a credential of two halves: the cookie, which
// no script sees, and this one.

const key = 'agent-wrapper.half';

// half returns the page's half, '' if the browser is not paired.
export function half() { return localStorage.getItem(key) || ''; }

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

// Listeners are called when the server does not know the browser any more.
const strangers = new Set();
export function onStranger(f) { strangers.add(f); }

export function forget() { localStorage.removeItem(key); }

// onChange has a function called when another tab has changed whose browser this is.
export function onChange(f) { addEventListener('storage', (e) => { if (e.key === key || e.key === null) f(); }); }

async function request(method, path, body) {
  const headers = { 'X-CSRF-Token': half() };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let r;
  try {
    r = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
  } catch {
    throw new ApiError(0, 'unreachable', 'Cannot reach the server.');
  }
  let data = null;
  try {
    data = await r.json();
  } catch {
    data = null;
  }
  if (r.ok && data !== null) return data;
  const said = (data && data.error) || {};
  const error = new ApiError(r.status, said.code || 'unreadable', said.message || `The server returned an error (HTTP ${r.status}).`, data && data.approval);
  if (r.status === 401 && path !== '/api/pair') for (const f of strangers) f(error);
  throw error;
}

// get returns what is at a path.
export function get(path) { return request('GET', path); }

// post sends a body, and returns the answer.
export function post(path, body = {}) { return request('POST', path, body); }

// del ends what is at a path.
export function del(path) { return request('DELETE', path); }

// text returns what is at a path as text, for what is not JSON.
export async function text(path) {
  let r;
  try {
    r = await fetch(path, { headers: { 'X-CSRF-Token': half() }, credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
  } catch {
    throw new ApiError(0, 'unreachable', 'Cannot reach the server.');
  }
  if (r.ok) return r.text();
  let said = {};
  try {
    said = (await r.json()).error || {};
  } catch {
    said = {};
  }
  const error = new ApiError(r.status, said.code || 'unreadable', said.message || `The server returned an error (HTTP ${r.status}).`);
  if (r.status === 401) for (const f of strangers) f(error);
  throw error;
}

// pair makes this browser the one that a one-time code lets in, and returns who it is now.
export async function pair(code) {
  const me = await post('/api/pair', { code });
  localStorage.setItem(key, me.csrf);
  return me;
}

// socket returns a WebSocket of a path, with the page's half.
export function socket(path) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return new WebSocket(url, ['agent-wrapper', 'agent-wrapper.csrf.' + half()]);
}
