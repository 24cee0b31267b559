// One session: its terminal, which a person takes over and gives back, and beside it the
// conversation and the commands.

import { confirm } from './confirm.js';
import { chatPanel } from './chat.js';
import { commandsPanel } from './commands.js';
import { clock, h, replace, risk } from './dom.js';
import { Feed } from './feed.js';
import { cell, screen } from './screen.js';
import { spell, spellLine } from './spell.js';

const sessionsPath = '/api/agent-terminal/sessions/';
const twice = 600; // within so many milliseconds a second Escape leaves the terminal
const typedAtOnce = 4096; // bytes, of the server
const sizes = { font: 13, least: 9, columns: [20, 400], rows: [6, 200] };
const aloudKey = 'agent-wrapper.aloud';

export default {
  name: 'terminal',
  title: 'Terminal',
  match: /^\/sessions\/([^/]+)$/,
  mount(root, ctx, [id]) {
    const view = new View(root, ctx, id);
    view.begin();
    return () => view.end();
  },
};

class View {
  constructor(root, ctx, id) {
    this.root = root;
    this.ctx = ctx;
    this.id = id;
    this.path = sessionsPath + encodeURIComponent(id);
    this.session = null;
    this.at = null; // who has the terminal: the last connected or state message
    this.people = [];
    this.missing = 0; // bytes that were not shown
    this.link = 'connecting';
    this.gone = false;
    this.ends = [];
  }

  async begin() {
    document.body.dataset.screen = 'detail';
    this.root.append(h('p', { class: 'empty' }, 'Loading…'));
    try {
      this.session = await this.ctx.api.get(this.path);
    } catch (err) {
      if (this.over) return;
      replace(this.root, h('div', { class: 'sheet' }, h('h1', null, err.status === 404 ? 'This session has ended' : 'Cannot show this session'),
        h('p', null, err.status === 404 ? 'Its commands and their output stay in the history.' : err.message),
        h('p', { class: 'row' }, h('a', { class: 'button', href: '#/sessions' }, 'All sessions'), h('a', { class: 'button', href: '#/history' }, 'History'))));
      return;
    }
    if (this.over) return;
    this.at = { state: this.session.state, person: this.session.person, since: this.session.since };
    this.ctx.title(spellLine(this.session.agent_id));
    this.draw();
    this.term = await screen(this.parts.host, { screenReaderMode: localStorage.getItem(aloudKey) === 'yes', disableStdin: true, cursorBlink: false });
    if (this.over) {
      this.term.dispose();
      return;
    }
    this.listen();
    this.feed = new Feed(this.session, {
      write: (text, done) => this.term.write(text, () => {
        done();
        this.follow();
      }),
      lost: (bytes, earlier) => this.lost(bytes, earlier),
      anew: () => this.anew(),
      gone: () => this.closed(),
      state: (state) => { this.link = state; this.show(); },
      message: (m) => this.hear(m),
    });
    this.show();
    this.fit();
  }

  end() {
    this.over = true;
    for (const end of this.ends) end();
    if (this.feed) this.feed.stop();
    if (this.term) this.term.dispose();
  }

  // mine reports whether it is this person who types.
  mine() { return !this.gone && this.at.person === this.ctx.me.name && (this.at.state === 'user_control' || this.at.state === 'user_interrupt'); }

  // draw makes the parts, which show fills.
  draw() {
    const p = this.parts = {
      who: h('span', { class: 'holder-words' }),
      holder: h('div', { class: 'holder' }),
      watchers: h('p', { class: 'watchers dim small' }),
      take: h('button', { class: 'button primary', type: 'button', on: { click: () => this.take(false) } }, 'Take Control', h('kbd', { 'aria-hidden': 'true' }, 't')),
      end: h('button', { class: 'button danger', type: 'button', on: { click: () => this.takeAndEnd() } }, 'Take Control, end command…'),
      release: h('button', { class: 'button primary', type: 'button', on: { click: () => this.release() } }, 'Release Control', h('kbd', { 'aria-hidden': 'true' }, 'r')),
      close: h('button', { class: 'button danger session-close', type: 'button', on: { click: () => this.close() } }, 'End session…'),
      waits: h('div', { class: 'waits', role: 'status', hidden: true }),
      host: h('div', { class: 'term-host' }),
      frame: null,
      note: h('span', { class: 'term-note' }),
      missing: h('span', { class: 'term-missing', hidden: true }),
      leave: h('button', { class: 'quiet small term-leave', type: 'button', on: { click: () => this.leave() } }, 'Leave the terminal ', h('kbd', null, 'Esc'), h('kbd', null, 'Esc')),
      aloud: h('input', { type: 'checkbox', id: 'aloud', checked: localStorage.getItem(aloudKey) === 'yes', on: { change: () => this.aloud() } }),
      keys: h('div', { class: 'term-keys', role: 'toolbar', 'aria-label': 'Keys for the terminal' }),
    };
    p.holder.append(h('span', { class: 'holder-dot', 'aria-hidden': 'true' }), p.who);
    p.frame = h('div', { class: 'term-frame', role: 'region', 'aria-label': 'Terminal, read-only', tabIndex: 0 }, p.host);
    for (const [label, name, bytes] of [['^C', 'Control C: interrupt', '\x03'], ['Esc', 'Escape', '\x1b'], ['Tab', 'Tab', '\t'], ['^D', 'Control D: end of input', '\x04'],
      ['↑', 'Up', '\x1b[A'], ['↓', 'Down', '\x1b[B'], ['←', 'Left', '\x1b[D'], ['→', 'Right', '\x1b[C']]) {
      p.keys.append(h('button', { class: 'button mono', type: 'button', 'aria-label': name, on: { pointerdown: (e) => e.preventDefault(), click: () => this.key(bytes) } }, label));
    }
    const s = this.session;
    this.panels = { chat: chatPanel(this.ctx, this.path), commands: commandsPanel(this.ctx, this.path, this.id) };
    this.tabs = {
      terminal: this.tab('terminal', 'Terminal'), chat: this.tab('chat', 'Chat'), commands: this.tab('commands', 'Commands'),
    };
    replace(this.root,
      h('div', { class: 'session', 'data-tab': 'chat' },
        h('header', { class: 'session-head' },
          h('div', { class: 'session-name' },
            h('a', { class: 'back', href: '#/sessions', 'aria-label': 'All sessions' }, h('span', { 'aria-hidden': 'true' }, '‹')),
            h('div', null, h('h1', null, spellLine(s.agent_id)),
              h('p', { class: 'dim small' }, s.conversation_id && h('span', null, spellLine(s.conversation_id), ' · '), h('span', { class: 'mono' }, spellLine(s.dir))))),
          h('div', { class: 'session-state' }, p.holder, p.watchers),
          h('div', { class: 'session-do' }, p.take, p.end, p.release, p.close)),
        p.waits,
        h('div', { class: 'session-body' },
          h('div', { class: 'session-tabs', role: 'group', 'aria-label': 'Parts of this session' }, Object.values(this.tabs)),
          h('section', { class: 'pane pane-terminal', 'aria-label': 'Terminal' }, p.frame, p.keys,
            h('div', { class: 'term-foot' }, p.note, p.leave, p.missing, h('label', { class: 'aloud small', for: 'aloud' }, p.aloud, 'Screen reader mode'))),
          h('section', { class: 'pane pane-chat', 'aria-label': 'Chat' }, this.panels.chat.root),
          h('section', { class: 'pane pane-commands', 'aria-label': 'Commands' }, this.panels.commands.root))));
    this.open(narrow.matches ? 'terminal' : 'chat');
  }

  tab(name, label) {
    return h('button', { class: ['session-tab', 'session-tab-' + name], type: 'button', 'aria-pressed': 'false', on: { click: () => this.open(name) } }, label);
  }

  // open shows a part; where there is room, the terminal is always there.
  open(name) {
    this.root.querySelector('.session').dataset.tab = name;
    for (const [other, tab] of Object.entries(this.tabs)) tab.setAttribute('aria-pressed', String(other === name));
    this.panels.chat.shown(name === 'chat');
    this.panels.commands.shown(name === 'commands');
    if (this.term) this.fit();
  }

  listen() {
    const { term, parts: p } = this;
    const on = (target, type, f, options) => {
      target.addEventListener(type, f, options);
      this.ends.push(() => target.removeEventListener(type, f, options));
    };
    term.textarea.setAttribute('autocomplete', 'off');
    term.textarea.setAttribute('enterkeyhint', 'send');
    term.onData((data) => this.type(data));
    term.onBinary((data) => this.type(data));
    term.attachCustomKeyEventHandler((e) => this.pressed(e));
    on(p.host, 'keydown', (e) => { if (this.mine()) e.stopPropagation(); });
    on(p.host, 'paste', (e) => this.pasted(e), true);
    on(p.frame, 'keydown', (e) => this.scroll(e));
    on(p.host, 'focusin', () => p.leave.hidden = !this.mine());
    on(p.host, 'focusout', () => p.leave.hidden = true);
    on(p.frame, 'wheel', () => { this.looked = Date.now(); }, { passive: true });
    on(p.frame, 'touchmove', () => { this.looked = Date.now(); }, { passive: true });
    if (window.visualViewport) {
      on(visualViewport, 'resize', () => this.room());
      this.ends.push(() => {
        delete document.body.dataset.short;
        document.documentElement.style.removeProperty('--seen');
      });
    }
    on(narrow, 'change', () => this.open(narrow.matches ? 'terminal' : 'chat'));
    const seen = new ResizeObserver(() => this.fit());
    seen.observe(p.frame);
    this.ends.push(() => seen.disconnect());
    this.ends.push(this.ctx.live.on('change', (e) => { if (e.detail.has('sessions')) this.told(); }));
    this.ends.push(() => this.panels.chat.end(), () => this.panels.commands.end());
    this.ctx.keys({
      t: [() => this.take(false), 'take control, or type in the terminal'],
      r: [() => this.release(), 'release control'],
      c: [() => this.open('chat'), 'chat'],
      m: [() => this.open('commands'), 'commands'],
      '/': [() => { this.open('chat'); this.panels.chat.search(); }, 'search the chat'],
      Escape: [() => this.ctx.go('/sessions'), 'all sessions'],
    });
  }

  // told takes what the events say of the session: what waits, and what runs.
  told() {
    const s = this.ctx.live.sessions.get(this.id);
    if (!s) return;
    if (s.state === 'closed') return this.closed();
    this.session = s;
    this.show();
  }

  hear(m) {
    switch (m.type) {
      case 'connected':
      case 'state':
        this.handed(m);
        break;
      case 'viewers':
        this.people = m.people;
        this.show();
        break;
      case 'error':
        this.ctx.toast(m.message, 'bad');
        break;
      case 'closed':
        if (m.reason) this.ctx.toast(m.reason, 'bad');
        break;
    }
  }

  // handed takes over who has the terminal.
  handed(m) {
    const was = this.at;
    this.at = m;
    if (was.state !== m.state || was.person !== m.person) this.ctx.say(this.words());
    this.show();
    this.fit();
    this.settle();
    if (window.visualViewport) this.room();
    this.follow();
  }

  words() {
    const at = this.at;
    const who = at.person === this.ctx.me.name ? 'You' : spellLine(at.person || 'A person');
    const has = who === 'You' ? 'have' : 'has';
    const since = at.since ? ` (since ${clock(at.since)})` : '';
    switch (this.gone ? 'gone' : at.state) {
      case 'gone': return 'This session has ended.';
      case 'user_interrupt': return `${who} ${who === 'You' ? 'are' : 'is'} taking over. The agent is paused.`;
      case 'user_control': return `${who} ${has} the terminal${since}. The agent is paused.`;
      case 'agent_resume': return 'The terminal is being given back to the agent.';
    }
    return `The agent has the terminal${since}.`;
  }

  // show shows how things are.
  show() {
    if (!this.parts || this.over) return;
    const { parts: p, at } = this;
    const mine = this.mine();
    const agents = at.state === 'agent_control';
    const runs = Boolean(this.session.running);
    p.holder.dataset.state = this.gone ? 'closed' : at.state;
    p.who.textContent = this.words();
    const others = this.people.filter((n) => n !== this.ctx.me.name).map(spellLine);
    p.watchers.textContent = this.people.length === 0 ? '' : others.length === 0 ? 'Only you are watching.' : `Watching: you, ${others.join(', ')}`;
    p.take.hidden = this.gone || !agents;
    p.end.hidden = this.gone || !agents || !runs;
    p.release.hidden = this.gone || at.state !== 'user_control';
    p.close.hidden = this.gone;
    for (const b of [p.take, p.end, p.release, p.close]) b.disabled = this.busy === true;
    this.showWaiting();
    p.frame.classList.toggle('typing', mine);
    this.root.querySelector('.session').toggleAttribute('data-mine', mine);
    p.frame.setAttribute('aria-label', mine ? 'Terminal. Press Escape twice to leave it.' : 'Terminal, read-only');
    p.frame.tabIndex = mine ? -1 : 0;
    p.keys.hidden = !mine;
    if (this.term) {
      const ready = mine && this.link === 'live';
      this.term.options.disableStdin = !ready;
      this.term.options.cursorBlink = ready && !calm.matches;
      this.term.textarea.tabIndex = mine ? 0 : -1;
      this.term.textarea.setAttribute('aria-label', mine ? 'Terminal input. Press Escape twice to leave it.' : 'Terminal, read-only');
    }
    p.leave.hidden = !mine || !p.host.contains(document.activeElement);
    p.note.textContent = this.gone ? 'The session has ended.' : this.link === 'lost' ? 'Not connected: reconnecting. Typing is off.' : this.link === 'connecting' ? 'Connecting…' :
      mine ? 'What you type runs at once, without approval.' : 'Read-only.';
    p.note.dataset.link = this.link;
    p.missing.hidden = this.missing === 0;
    p.missing.textContent = `${bytes(this.missing)} of output were not shown.`;
  }

  showWaiting() {
    const p = this.parts;
    const w = this.gone ? null : this.session.pending_approval;
    const key = w ? w.approval_id + w.command_id : '';
    p.waits.hidden = !w;
    if (key === this.waiting) return;
    this.waiting = key;
    replace(p.waits, w && [
      h('span', { class: 'waits-what' }, h('strong', null, 'Waiting for an answer'), risk(w.risk)),
      h('code', { class: 'waits-line' }, spell(w.command)),
      w.approval_id && h('a', { class: 'button primary', href: '#/inbox/' + encodeURIComponent(w.approval_id) }, 'Answer in the inbox'),
    ]);
  }

  // fit sizes the terminal: who types has as much as there is room for; who watches sees
  // the size that it has, in smaller letters if need be.
  fit() {
    const { term, parts: p } = this;
    if (!term || this.over || p.frame.clientWidth === 0) return;
    const style = getComputedStyle(p.frame);
    const width = p.frame.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 14; // its scroll bar
    const height = p.frame.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    if (this.mine()) {
      term.options.fontSize = sizes.font;
      const c = cell(term);
      if (!(c.width > 0 && c.height > 0)) return;
      this.sized(within(Math.floor(width / c.width), sizes.columns), within(Math.floor(height / c.height), sizes.rows));
      return;
    }
    const columns = within(this.at.cols || 80, sizes.columns);
    const rows = within(this.at.rows || 24, sizes.rows);
    if (term.cols !== columns || term.rows !== rows) term.resize(columns, rows);
    const c = cell(term);
    if (!(c.width > 0)) return;
    const full = c.width / term.options.fontSize * sizes.font * columns;
    const size = Math.max(sizes.least, Math.min(sizes.font, Math.floor(sizes.font * width / full * 4) / 4));
    if (Math.abs(size - term.options.fontSize) > .2) term.options.fontSize = size;
  }

  // room fits the view to what a keyboard on the screen leaves of it.
  room() {
    const height = visualViewport.height * visualViewport.scale;
    const covered = innerHeight - height > 80 || height < 380;
    document.documentElement.style.setProperty('--seen', covered ? `${Math.round(height)}px` : '');
    document.body.toggleAttribute('data-short', height < 420 && this.mine());
    if (covered && visualViewport.offsetTop > 0) scrollTo(0, 0);
  }

  // follow keeps the cursor in sight where a terminal that is watched is larger than its
  // frame, unless the person has just moved it.
  follow() {
    const f = this.parts.frame;
    if (this.mine() || this.over || f.scrollHeight <= f.clientHeight + 4 || Date.now() - (this.looked || 0) < 5000) return;
    const bottom = (this.term.buffer.active.cursorY + 1) * cell(this.term).height + 16;
    f.scrollTop = Math.max(0, bottom - f.clientHeight);
  }

  // sized sets the size of the terminal for who types, and tells the server.
  sized(columns, rows) {
    if (this.term.cols !== columns || this.term.rows !== rows) this.term.resize(columns, rows);
    if (this.at.state !== 'user_control' || this.at.cols === columns && this.at.rows === rows) return;
    clearTimeout(this.sizing);
    this.sizing = setTimeout(() => this.feed && this.mine() && this.feed.send({ type: 'resize', cols: columns, rows }), 100);
  }

  lost(n, earlier) {
    if (earlier) {
      this.term.write(`\x1b[2m[${bytes(n)} before this point were not kept]\x1b[0m\r\n`);
      return;
    }
    this.missing += n;
    this.term.write(`\x1b[0m\r\n\x1b[2m[${bytes(n)} not shown here]\x1b[0m\r\n`);
    this.show();
  }

  anew() {
    this.term.reset();
    this.ctx.say('The server restarted. The terminal begins again.');
  }

  closed() {
    if (this.gone || this.over) return;
    this.gone = true;
    this.ctx.say('The session has ended.');
    this.show();
  }

  // pressed is called with each key in the terminal; false keeps it from the program. The
  // first Escape is typed like any key, a second one soon after it leaves the terminal.
  pressed(e) {
    if (e.type !== 'keydown') return true;
    if (!this.mine()) return false;
    if (e.key !== 'Escape' || e.ctrlKey || e.altKey || e.metaKey) {
      if (!['Shift', 'Control', 'Alt', 'Meta'].includes(e.key)) this.escaped = 0;
      return true;
    }
    const now = e.timeStamp;
    if (this.escaped && now - this.escaped < twice && !e.repeat) {
      this.escaped = 0;
      this.leave();
      e.preventDefault();
      return false;
    }
    this.escaped = e.repeat ? 0 : now;
    return true;
  }

  // leave leaves the terminal, for who has no other way out of it.
  leave() {
    this.term.blur();
    this.parts.release.focus();
    this.ctx.say('You have left the terminal but still control it. Press r to release it.');
  }

  // scroll scrolls a terminal that is only watched by the usual keys.
  scroll(e) {
    if (this.mine() || e.target !== this.parts.frame) return;
    const pages = { PageUp: -1, PageDown: 1 }[e.key];
    const lines = { ArrowUp: -1, ArrowDown: 1 }[e.key];
    if (pages) this.term.scrollPages(pages);
    else if (lines) this.term.scrollLines(lines);
    else if (e.key === 'Home') this.term.scrollToTop();
    else if (e.key === 'End') this.term.scrollToBottom();
    else return;
    e.preventDefault();
  }

  aloud() {
    const yes = this.parts.aloud.checked;
    localStorage.setItem(aloudKey, yes ? 'yes' : 'no');
    this.term.options.screenReaderMode = yes;
  }

  // key types what a button stands for.
  key(bytes) {
    if (this.mine()) this.type(bytes);
    if (!this.parts.host.contains(document.activeElement)) this.term.focus();
  }

  // type types, in pieces that the server takes. Nothing is kept: what cannot be typed
  // now is not typed later, when the person sees something else.
  type(text) {
    if (!this.mine()) return;
    let piece = '';
    let size = 0;
    const send = () => piece === '' || this.feed.send({ type: 'input', content: piece });
    for (const c of text) {
      const n = c.codePointAt(0) < 0x80 ? 1 : c.codePointAt(0) < 0x800 ? 2 : c.codePointAt(0) < 0x10000 ? 3 : 4;
      if (size + n > typedAtOnce) {
        if (!send()) break;
        [piece, size] = ['', 0];
      }
      piece += c;
      size += n;
    }
    if (!send()) this.ctx.toast('Not connected: that was not typed.', 'bad');
  }

  // pasted asks before several lines or controls are typed, since a shell runs each line
  // at once. The text goes in as one piece where the program knows that (bracketed paste).
  async pasted(e) {
    e.preventDefault();
    e.stopPropagation();
    if (!this.mine() || !e.clipboardData) return;
    const text = e.clipboardData.getData('text/plain').replace(/\r\n?/g, '\n');
    if (text === '') return;
    const clean = text.replace(/[^\P{Cc}\n\t]/gu, '');
    if (clean.includes('\n') || clean !== text) {
      const lines = clean.replace(/\n$/, '').split('\n').length;
      const yes = await confirm({
        title: lines > 1 ? `Paste ${lines} lines?` : 'Paste this?',
        body: [h('p', null, 'A shell runs each line as soon as it is pasted.', clean !== text && ' Control characters are left out.'), h('pre', { class: 'paste mono', tabIndex: 0 }, spell(clean))],
        answers: [['paste', 'Paste', 'danger']],
      });
      if (yes !== 'paste' || this.over) return this.term && !this.over && this.term.focus();
    }
    const typed = clean.replaceAll('\n', '\r');
    this.type(this.term.modes.bracketedPasteMode ? `\x1b[200~${typed}\x1b[201~` : typed);
    this.term.focus();
  }

  // act does something at the server, once at a time, and returns whether it was done.
  async act(f) {
    if (this.busy) return false;
    this.busy = true;
    this.show();
    try {
      await f();
      return true;
    } catch (err) {
      this.failed = err;
      return false;
    } finally {
      this.busy = false;
      this.show();
    }
  }

  async take(signal) {
    if (this.mine()) return this.term.focus();
    if (this.gone || this.at.state !== 'agent_control') return;
    if (!await this.act(() => this.ctx.api.post(this.path + '/interrupt', signal ? { signal: true } : {}))) {
      return this.ctx.toast(this.failed.message, 'bad');
    }
    if (narrow.matches) this.open('terminal');
    this.wants = Date.now();
    this.settle();
  }

  // settle moves the focus into the terminal that was just taken, when that is told.
  settle() {
    if (!this.wants || !this.mine()) return;
    const late = Date.now() - this.wants > 3000;
    this.wants = 0;
    if (!late) this.term.focus();
  }

  async takeAndEnd() {
    const yes = await confirm({
      title: 'Take control and end the command?',
      body: h('p', null, 'The agent’s command is sent SIGTERM, then SIGKILL after five seconds. Otherwise it keeps running and reads what you type.'),
      answers: [['take', 'Take control only', ''], ['end', 'End it and take control', 'danger']],
    });
    if (yes) await this.take(yes === 'end');
  }

  async release() {
    if (this.gone || this.at.state !== 'user_control') return;
    if (this.at.person !== this.ctx.me.name) {
      const name = spellLine(this.at.person);
      const yes = await confirm({
        title: `Release the terminal for ${name}?`, body: h('p', null, `${name} has the terminal and may be typing. The agent continues at once.`),
        answers: [['yes', 'Release control', 'danger']],
      });
      if (!yes) return;
    }
    const done = await this.act(() => this.ctx.api.post(this.path + '/release', {}));
    if (done || this.failed.status !== 409 || this.at.state !== 'user_control') {
      if (!done) this.ctx.toast(this.failed.message, 'bad');
      return;
    }
    const yes = await confirm({
      title: 'End the program and release control?',
      body: h('p', null, 'A program is still running in your shell. It ends when the terminal goes back to the agent.'),
      answers: [['yes', 'End it and release', 'danger']],
    });
    if (yes && !await this.act(() => this.ctx.api.post(this.path + '/release', { signal: true }))) this.ctx.toast(this.failed.message, 'bad');
  }

  async close() {
    const yes = await confirm({
      title: 'End this session?',
      body: h('p', null, 'Running commands end, and waiting ones are cancelled. The commands and the chat stay in the history.'),
      answers: [['yes', 'End session', 'danger']],
    });
    if (!yes) return;
    if (await this.act(() => this.ctx.api.del(this.path))) {
      this.ctx.toast('The session has ended.', 'ok');
      this.ctx.go('/sessions');
    } else this.ctx.toast(this.failed.message, 'bad');
  }
}

const narrow = matchMedia('(max-width: 900px)');
const calm = matchMedia('(prefers-reduced-motion: reduce)');

function within(n, [least, most]) { return Math.max(least, Math.min(most, n)); }

// bytes returns a number of bytes in words.
function bytes(n) {
  if (n < 10000) return `${n} bytes`;
  return n < 1e6 ? `${(n / 1000).toFixed(0)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}
