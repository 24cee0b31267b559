// What the server has, as it changes: one WebSocket on /api/events. After a break it
// continues from the last cursor, so that nothing that changed meanwhile is missed.

import * as api from './api.js';

const first = 500;
const longest = 15000;
const most = 4000; // commands that are kept
const settled = 400; // approvals that are kept, of those that do not wait; half of them go at once
const open = 10000; // so long it may take until the connection stands
const pulse = 15000; // so often it is looked whether the server still answers

// Live is the connection, with what it has told. Events: 'change' (detail: the set of
// what changed, 'approvals', 'sessions', 'commands'; several at once), 'state', and
// 'message' (detail: one message as it came).
export class Live extends EventTarget {
  constructor() {
    super();
    this.approvals = new Map();
    this.sessions = new Map();
    this.commands = new Map();
    this.state = 'connecting'; // live, lost
    this.since = null; // when it was lost
    this.ready = false; // everything has been told at least once
    this.cursor = -1;
    this.delay = first;
    this.changed = new Set();
    this.ended = true;
    addEventListener('online', () => this.again());
    addEventListener('offline', () => this.socket && this.socket.close());
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.again(); });
    setInterval(() => this.look(), pulse);
  }

  // on listens to an event, and returns the function that ends that.
  on(type, f) {
    this.addEventListener(type, f);
    return () => this.removeEventListener(type, f);
  }

  start() {
    if (!this.ended) return;
    this.ended = false;
    this.connect();
  }

  // stop ends the connection and forgets everything: the browser is another's now.
  stop() {
    this.ended = true;
    clearTimeout(this.timer);
    if (this.socket) this.socket.close();
    this.socket = null;
    this.approvals.clear();
    this.sessions.clear();
    this.commands.clear();
    this.cursor = -1;
    this.ready = false;
    this.to('connecting');
  }

  // again connects at once, if it waits.
  again() {
    this.look();
    if (this.ended || this.socket) return;
    clearTimeout(this.timer);
    this.delay = first;
    this.connect();
  }

  to(state) {
    if (state === this.state) return;
    this.state = state;
    if (state === 'lost') this.since = new Date();
    if (state === 'live') this.since = null;
    this.dispatchEvent(new CustomEvent('state', { detail: state }));
  }

  connect() {
    const s = api.socket('/api/events' + (this.cursor >= 0 ? `?after=${this.cursor}` : ''));
    this.socket = s;
    const late = setTimeout(() => s.close(), open);
    s.addEventListener('open', () => clearTimeout(late));
    s.addEventListener('message', (e) => { if (s === this.socket) this.hear(JSON.parse(e.data)); });
    s.addEventListener('close', () => {
      clearTimeout(late);
      if (s === this.socket) this.lost();
    });
  }

  // look asks the server whether it is there. A connection whose other end is gone without
  // a word, as after a sleep or in another network, stays open for minutes.
  async look() {
    const s = this.socket;
    if (!s || s.readyState !== WebSocket.OPEN) return;
    const given = new AbortController();
    const late = setTimeout(() => given.abort(), open);
    try {
      await fetch('/healthz', { signal: given.signal, cache: 'no-store', credentials: 'omit' });
    } catch {
      if (s === this.socket) {
        this.socket = null;
        s.close();
        this.lost();
      }
    }
    clearTimeout(late);
  }

  // lost tries again later. A handshake that failed does not say why: the credential may
  // be gone.
  lost() {
    this.socket = null;
    if (this.ended) return;
    this.to('lost');
    api.get('/api/me').catch(() => {});
    this.timer = setTimeout(() => this.connect(), this.delay * (0.8 + 0.4 * Math.random()));
    this.delay = Math.min(longest, this.delay * 2);
  }

  hear(m) {
    switch (m.type) {
      case 'snapshot':
      case 'lost':
        this.begin(m.cursor);
        break;
      case 'approval':
        this.put(m.approval);
        if (!this.filling) this.cursor = Math.max(this.cursor, m.cursor);
        break;
      case 'session':
        this.sessions.set(m.session.session_id, m.session);
        if (this.filling) this.filling.sessions.add(m.session.session_id);
        this.mark('sessions');
        break;
      case 'command':
        this.commands.set(m.command.command_id, m.command);
        if (this.commands.size > most) this.commands.delete(this.commands.keys().next().value);
        this.mark('commands');
        break;
      case 'current':
        this.current(m.cursor);
        break;
    }
    this.dispatchEvent(new CustomEvent('message', { detail: m }));
  }

  // begin is the begin of a snapshot. Cursor 0 says that it has all that waits.
  begin(cursor) {
    this.filling = { whole: cursor === 0, approvals: new Set(), sessions: new Set() };
  }

  // current is the end of a snapshot.
  current(cursor) {
    const f = this.filling;
    this.filling = null;
    this.cursor = cursor;
    this.delay = first;
    this.ready = true;
    if (f) {
      if (f.whole) for (const id of this.approvals.keys()) if (!f.approvals.has(id)) this.approvals.delete(id);
      for (const id of this.sessions.keys()) if (!f.sessions.has(id)) this.sessions.delete(id);
    }
    this.mark('approvals');
    this.mark('sessions');
    this.to('live');
    this.flush();
  }

  // put takes an approval as it is now; the greatest seq counts.
  put(a) {
    if (this.filling) this.filling.approvals.add(a.id);
    const known = this.approvals.get(a.id);
    if (known && known.seq >= a.seq) return;
    this.approvals.set(a.id, a);
    if (a.status !== 'pending') this.prune();
    this.mark('approvals');
  }

  // prune forgets what was settled first: a page may stay open for weeks, and each has all
  // that was shown.
  prune() {
    const ended = [...this.approvals.values()].filter((a) => a.status !== 'pending');
    if (ended.length <= settled) return;
    for (const a of ended.sort((x, y) => x.seq - y.seq).slice(0, settled / 2)) this.approvals.delete(a.id);
  }

  // mark has a change told soon: together with others of the same moment.
  mark(what) {
    this.changed.add(what);
    if (this.filling || this.due) return;
    this.due = setTimeout(() => this.flush(), 16);
  }

  flush() {
    clearTimeout(this.due);
    this.due = null;
    if (this.changed.size === 0) return;
    const detail = this.changed;
    this.changed = new Set();
    this.dispatchEvent(new CustomEvent('change', { detail }));
  }
}
