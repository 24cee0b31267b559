// The output of a session, as it comes: one WebSocket with a cursor. After a break it goes
// on from what was received last, with no byte lost or doubled; what the server has no
// longer, and what a page that is too slow leaves out, is counted and told.

import * as api from './api.js';

const first = 500;
const longest = 15000;
const open = 10000; // so long it may take until the connection stands
const piece = 64 << 10; // characters that are given to the screen at once
const most = 1 << 20; // that wait for the screen: as much as the server keeps
const left = 64 << 10; // of them when there were more
const pace = 16; // ms between two pieces, in which the page does other things
const quiet = 20000; // ms after which it asks whether anybody is there; as long again for the answer

// Feed follows a session. To has: write(text, done), lost(bytes, first) for what is not
// shown, anew() for a stream that begins anew, gone() when the session has ended,
// state('connecting' | 'live' | 'lost'), and message(m) for all other messages.
export class Feed {
  constructor(session, to) {
    this.session = session;
    this.to = to;
    this.stream = ''; // the name of the one that cursor is of
    this.cursor = 0; // behind what was received
    this.shown = 0; // behind what was given to the screen
    this.queue = [];
    this.queued = 0; // characters in it
    this.delay = first;
    this.ended = false;
    this.again = () => { if (!document.hidden && this.timer && !this.socket) this.connect(); };
    this.cut = () => this.socket && this.socket.close();
    addEventListener('online', this.again);
    addEventListener('offline', this.cut);
    this.asking = setInterval(() => this.ask(), quiet);
    document.addEventListener('visibilitychange', this.again);
    this.connect();
  }

  // stop ends it, and what it has is not shown any more.
  stop() {
    this.leave();
    this.queue = [];
    this.queued = 0;
  }

  leave() {
    this.ended = true;
    clearTimeout(this.timer);
    clearTimeout(this.late);
    clearInterval(this.asking);
    removeEventListener('online', this.again);
    removeEventListener('offline', this.cut);
    document.removeEventListener('visibilitychange', this.again);
    if (this.socket) this.socket.close();
    this.socket = null;
  }

  // send sends a message, and reports whether there is somebody to send it to. What is
  // typed is never kept for later.
  send(message) {
    if (!this.socket || this.socket.readyState !== WebSocket.OPEN || !this.ready) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  // ask finds out whether somebody is there: a connection may be gone without a word.
  ask() {
    if (!this.socket || !this.ready) return;
    if (this.heard) this.send({ type: 'ping' });
    else this.socket.close();
    this.heard = false;
  }

  connect() {
    clearTimeout(this.timer);
    this.timer = null;
    this.ready = false;
    const from = this.cursor;
    const s = api.socket(`/api/terminal/ws/${encodeURIComponent(this.session.pty_session_id)}?cursor=${from}`);
    this.socket = s;
    this.late = setTimeout(() => s.close(), open);
    s.addEventListener('message', (e) => { if (s === this.socket) this.hear(JSON.parse(e.data), from); });
    s.addEventListener('close', () => { if (s === this.socket) this.lost(); });
  }

  lost() {
    clearTimeout(this.late);
    this.socket = null;
    this.ready = false;
    if (this.ended) return;
    this.to.state('lost');
    api.get('/api/agent-terminal/sessions/' + encodeURIComponent(this.session.session_id) + '/state').catch((err) => {
      if (err.status === 404 || err.status === 410) this.end();
    });
    this.timer = setTimeout(() => this.connect(), this.delay * (0.8 + 0.4 * Math.random()));
    this.delay = Math.min(longest, this.delay * 2);
  }

  end() {
    if (this.ended) return;
    this.leave();
    this.to.gone();
  }

  hear(m, from) {
    this.heard = true;
    switch (m.type) {
      case 'connected':
        this.connected(m, from);
        break;
      case 'output':
        this.take({ text: m.content, end: m.cursor });
        break;
      case 'lost': // the cursor is that of what follows
        this.take({ text: '', end: m.cursor });
        break;
      case 'pong':
        break;
      case 'terminal_closed':
        this.end();
        break;
      default:
        this.to.message(m);
    }
  }

  // connected begins. Another stream has other positions: it is read from its begin.
  connected(m, from) {
    clearTimeout(this.late);
    if (this.stream && this.stream !== m.stream) {
      this.queue = [];
      this.queued = this.cursor = this.shown = 0;
      this.to.anew();
    }
    this.stream = m.stream;
    if (from > 0 && this.cursor === 0) {
      const s = this.socket;
      this.socket = null;
      s.close();
      this.connect();
      return;
    }
    this.ready = true;
    this.delay = first;
    this.to.message(m);
    this.to.state('live');
  }

  // take keeps a piece of output until the screen takes it. Of too much, the oldest is
  // left out.
  take(item) {
    this.cursor = item.end;
    if (item.text === '') item.gap = true;
    this.queue.push(item);
    this.queued += item.text.length;
    if (this.queued > most) {
      let end = 0;
      while (this.queued > left && this.queue.length > 1) {
        const old = this.queue.shift();
        this.queued -= old.text.length;
        end = old.end;
      }
      this.queue.unshift({ text: '', end, gap: true });
    }
    this.pump();
  }

  // pump gives the screen what it has time for.
  pump() {
    if (this.writing || this.ended && this.queue.length === 0) return;
    let text = '';
    while (this.queue.length > 0 && text.length < piece && !(this.queue[0].gap && text !== '')) {
      const item = this.queue.shift();
      this.queued -= item.text.length;
      if (item.gap && item.end > this.shown) this.to.lost(item.end - this.shown, this.shown === 0);
      text += item.text;
      this.shown = item.end;
    }
    if (text === '') return;
    this.writing = true;
    this.to.write(text, () => {
      const next = () => {
        this.writing = false;
        this.pump();
      };
      if (document.hidden || this.queue.length === 0) next();
      else setTimeout(next, pace);
    });
  }
}
