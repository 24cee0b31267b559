// How requests prove who sends them, and answers that the server gives them, without a
// secret on the way: package internal/signed, in JavaScript.

const utf8 = new TextEncoder();
const signs = 'Ed25519';

// What begins the private key of Ed25519 in the form PKCS #8.
const pkcs8 = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20);

export const scheme = 'Agent-Wrapper ';
export const protocol = 'agent-wrapper.signed.';
export const proofHeader = 'Agent-Wrapper-Proof';
export const helloPath = '/api/hello';

// usable reports whether this page may sign: browsers let only a page do that which came
// by https, or from this machine.
export function usable() { return Boolean(globalThis.crypto && crypto.subtle); }

async function sha256(text) { return new Uint8Array(await crypto.subtle.digest('SHA-256', typeof text === 'string' ? utf8.encode(text) : text)); }

async function hmac(key, text) {
  const k = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', k, utf8.encode(text)));
}

function hex(bytes) { return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(''); }

// base64 writes bytes in base64url.
function base64(bytes) { return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''); }

function unbase64(text) { return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0)); }

// keyOf returns the key that a secret makes: {id, private, public}.
export async function keyOf(id, secret) {
  const seed = await hmac(utf8.encode(secret), 'agent-wrapper key 1');
  const key = await crypto.subtle.importKey('pkcs8', Uint8Array.of(...pkcs8, ...seed), signs, true, ['sign']);
  return { id, private: key, public: unbase64((await crypto.subtle.exportKey('jwk', key)).x) };
}

// codeKey returns the key of a one-time code, however it was typed.
export async function codeKey(text) {
  const code = text.toLowerCase().replace(/[- ]/g, '');
  return keyOf('c' + hex((await sha256('agent-wrapper code 1 ' + code)).slice(0, 10)), code);
}

// newKey returns a key that no script can read, without an id yet.
export async function newKey() {
  const pair = await crypto.subtle.generateKey(signs, false, ['sign', 'verify']);
  return { id: '', private: pair.privateKey, public: new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey)) };
}

function newNonce() { return base64(crypto.getRandomValues(new Uint8Array(16))); }

function prove(key, ...fields) { return hmac(key.public, fields.join('\n')).then(base64); }

// hello is what asks the server at a host whether it knows a key.
export function hello(key) { return { id: key.id, nonce: newNonce() }; }

// greeted returns the server that has answered, {instance, ahead}; null if it has not
// proved that it is the server.
export async function greeted(key, host, asked, g) {
  const want = await prove(key, 'agent-wrapper hello 1', host.toLowerCase(), g && g.instance, g && g.time, asked.nonce);
  return g && g.proof === want ? { instance: g.instance, ahead: g.time - Date.now() } : null;
}

// sign returns the text of a request's stamp, and the proof that its answer has to have.
// The path is that with the query.
export async function sign(key, server, host, method, path, body) {
  const nonce = newNonce();
  const digest = body ? hex(await sha256(body)) : '';
  const fields = [key.id, server.instance, String(Math.round(Date.now() + server.ahead)), nonce, digest];
  const text = ['agent-wrapper request 1', method, host.toLowerCase(), path, ...fields].join('\n');
  const signature = new Uint8Array(await crypto.subtle.sign(signs, key.private, utf8.encode(text)));
  return { stamp: [...fields, base64(signature)].join('.'), proof: await prove(key, 'agent-wrapper answer 1', host.toLowerCase(), server.instance, nonce) };
}
