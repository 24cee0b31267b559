// The conversation of a session: what its terminals wrote, and other entries. The newest
// are at the end; earlier ones are loaded on demand.

import { clock, h, replace } from './dom.js';
import { spell, spellLine } from './spell.js';

const page = 50; // entries that are loaded at once
const most = 400; // that are shown
const long = 4000; // characters of one that are shown at first
const every = 1000; // ms between two looks for new ones, at the shortest
const rarely = 5000;

// chatPanel returns the panel of a session: its root, shown(yes), search() and end().
export function chatPanel(ctx, path) {
  const c = new Chat(ctx, path + '/chat');
  return { root: c.root, shown: (yes) => c.shown(yes), search: () => c.input.focus(), end: () => c.end() };
}

class Chat {
  constructor(ctx, path) {
    this.ctx = ctx;
    this.path = path;
    this.entries = []; // {seq, ..., element}, without gaps
    this.last = 0;
    this.list = h('ol', { class: 'chat-list' });
    this.earlier = h('button', { class: 'button small', type: 'button', hidden: true, on: { click: () => this.more() } }, 'Earlier entries');
    this.newer = h('button', { class: 'button small chat-newer', type: 'button', hidden: true, on: { click: () => this.toEnd() } }, 'New entries ↓');
    this.input = h('input', { type: 'search', id: 'chat-search', placeholder: 'Search loaded entries', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Search the conversation', on: { input: () => this.find() } });
    this.found = h('p', { class: 'small dim chat-found', role: 'status' });
    this.empty = h('p', { class: 'empty', hidden: true }, 'No messages yet.');
    this.box = h('div', { class: 'chat-box', tabIndex: 0, role: 'region', 'aria-label': 'Conversation' }, this.earlier, this.empty, this.list);
    this.root = h('div', { class: 'chat' }, h('div', { class: 'chat-top' }, this.input, this.found), this.box, this.newer);
    this.box.addEventListener('scroll', () => { if (this.atEnd()) this.newer.hidden = true; });
  }

  shown(yes) {
    this.visible = yes;
    clearTimeout(this.timer);
    if (yes) this.look();
  }

  end() {
    this.over = true;
    clearTimeout(this.timer);
  }

  // look loads what is new, and again after a while.
  async look() {
    if (this.looking || this.over) return;
    this.looking = true;
    let came = 0;
    try {
      came = document.hidden ? 0 : await this.load();
    } catch (err) {
      if (err.status === 404 || err.status === 410) this.end();
    }
    this.looking = false;
    if (this.over || !this.visible) return;
    this.timer = setTimeout(() => this.look(), came > 0 ? every : Math.min(rarely, every * 2));
  }

  async load() {
    if (!this.begun) {
      const first = await this.ctx.api.get(this.path + '?limit=1');
      this.begun = true;
      this.last = Math.max(0, (first.last || 0) - page);
    }
    let m = await this.ctx.api.get(`${this.path}?after=${this.last}&limit=${page}`);
    if ((m.last || 0) - this.last > most) { // more than anybody reads: the newest, and a gap
      this.forget();
      this.last = m.last - page;
      m = await this.ctx.api.get(`${this.path}?after=${this.last}&limit=${page}`);
    }
    if (this.over) return 0;
    this.add(m.messages);
    return m.messages.length;
  }

  forget() {
    this.entries = [];
    this.list.replaceChildren();
  }

  add(messages) {
    const end = this.atEnd();
    for (const m of messages) {
      const entry = { ...m, element: row(m) };
      this.entries.push(entry);
      this.list.append(entry.element);
      this.last = m.seq;
    }
    while (this.entries.length > most && end) this.entries.shift().element.remove();
    this.show();
    if (messages.length === 0) return;
    if (this.input.value) this.find();
    if (end) this.toEnd();
    else this.newer.hidden = false;
  }

  // more loads what was before.
  async more() {
    const first = this.entries.length > 0 ? this.entries[0].seq : this.last + 1;
    const after = Math.max(0, first - 1 - page);
    this.earlier.disabled = true;
    try {
      const m = await this.ctx.api.get(`${this.path}?after=${after}&limit=${first - 1 - after}`);
      const before = this.box.scrollHeight;
      const entries = m.messages.map((e) => ({ ...e, element: row(e) }));
      this.entries.unshift(...entries);
      this.list.prepend(...entries.map((e) => e.element));
      this.box.scrollTop += this.box.scrollHeight - before;
      this.ctx.say(`${entries.length} earlier entries`);
    } catch (err) {
      this.ctx.toast(err.message, 'bad');
    }
    this.earlier.disabled = false;
    this.show();
    if (this.input.value) this.find();
  }

  show() {
    this.earlier.hidden = this.entries.length === 0 || this.entries[0].seq <= 1;
    this.empty.hidden = this.entries.length > 0;
  }

  // find shows the entries that have a text.
  find() {
    const want = this.input.value.toLowerCase();
    let n = 0;
    for (const e of this.entries) {
      const has = want === '' || e.text.toLowerCase().includes(want) || e.sender.toLowerCase().includes(want);
      e.element.hidden = !has;
      if (has) n++;
    }
    const rest = !this.earlier.hidden;
    this.found.textContent = want === '' ? '' : `${n} of ${this.entries.length} loaded entries.${rest ? ' Earlier ones are not loaded.' : ''}`;
  }

  atEnd() { return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 40; }

  toEnd() {
    this.box.scrollTop = this.box.scrollHeight;
    this.newer.hidden = true;
  }
}

const tag = '[TERMINAL] ';

// row returns the element of an entry.
function row(m) {
  const terminal = m.message_type === 'terminal_output';
  const text = terminal && m.text.startsWith(tag) ? m.text.slice(tag.length) : m.text;
  const body = h('pre', { class: 'chat-text' });
  const fill = (all) => {
    replace(body, spell(all || text.length <= long ? text : text.slice(0, long)));
    if (!all && text.length > long) {
      body.append('\n', h('button', { class: 'button small', type: 'button', on: { click: () => fill(true) } }, `Show all ${text.length.toLocaleString('en')} characters`));
    }
  };
  fill(false);
  return h('li', { class: ['chat-entry', terminal && 'chat-terminal'] },
    h('p', { class: 'chat-who small' }, terminal ? h('span', { class: 'tag mono' }, '[TERMINAL]') : h('strong', null, spellLine(m.sender)),
      !terminal && m.message_type && h('span', { class: 'tag' }, spellLine(m.message_type)), h('span', { class: 'dim' }, clock(m.timestamp))),
    body);
}
