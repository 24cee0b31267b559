// The audit log, the newest first. Of any number of lines only those in sight
// are elements. Without a filter each line has its place by its number, so that the scroll
// bar is that of the whole audit log; with one, lines are found from the newest on.

import { clock, h, replace, risk } from './dom.js';
import { plain, spelled } from './spelled.js';

const page = 200; // lines of a request
const kept = 30; // pages that are kept
const poll = 5000;

const filters = ['text', 'kind', 'behavior', 'by', 'tool', 'rule', 'session', 'since', 'until'];
const words = {
  kind: { '': 'All lines', decision: 'Decisions', outcome: 'Outcomes', note: 'Notes', torn: 'Torn lines', begin: 'Start of the audit log' },
  behavior: { '': 'Any decision', allow: 'Allowed', deny: 'Denied' },
  by: { '': 'By anyone', person: 'By a person', rule: 'By rules', timeout: 'By timeout', advice: 'By advice' },
};

export default {
  name: 'history',
  title: 'History',
  match: /^\/history$/,
  mount(root, ctx) {
    const view = new View(root, ctx);
    const end = () => view.end();
    end.update = () => view.update();
    return end;
  },
};

// verdict says what a line is, by a glyph and a word.
export function verdict(e) {
  const kinds = {
    allow: ['✓', 'allowed', 'ok'], deny: ['✕', 'denied', 'bad'], ask: ['?', 'asked', 'warn'], ran: ['↳', 'ran', 'ok'], failed: ['↳', 'failed', 'warn'],
    breach: ['▲', 'breach', 'bad'], begin: ['■', 'begin', ''], note: ['•', 'note', ''], torn: ['⌁', 'torn', 'warn'],
  };
  const [glyph, word, tone] = kinds[e.kind === 'decision' ? e.behavior : e.kind === 'outcome' ? e.outcome : e.kind] || ['•', e.kind || 'line', ''];
  return h('span', { class: ['verdict', tone && 'tone-' + tone] }, h('span', { class: 'glyph', 'aria-hidden': 'true' }, glyph), ' ', word);
}

// asked returns what a line is about, as text.
export function asked(e) {
  if (e.kind === 'decision') return member(e.input);
  if (e.kind === 'outcome') {
    const exit = e.exit === undefined ? '' : `exit code ${e.exit}`;
    const took = e.took_ms === undefined ? '' : `${e.took_ms} ms`;
    const met = e.met ? `was stopped by the sandbox: ${e.met.join(', ')}` : '';
    return [exit, took, e.of ? `of line ${e.of}` : '', met, e.reason].filter(Boolean).join(' · ');
  }
  if (e.kind === 'note') return `${e.note}: ${e.reason || ''}`;
  if (e.kind === 'begin') return 'the audit log begins';
  return e.torn ? `${e.torn.bytes} bytes left by a crash` : '';
}

// moment returns a time to the second.
function moment(time) {
  const t = new Date(time);
  return Number.isNaN(t.getTime()) ? '' : `${clock(time)}:${String(t.getSeconds()).padStart(2, '0')}`;
}

// member returns the one member of an input that says what is asked for, or all of it.
function member(input) {
  if (input === null || typeof input !== 'object') return String(input);
  for (const key of ['command', 'file_path', 'notebook_path', 'path', 'url', 'pattern', 'query', 'prompt']) if (typeof input[key] === 'string') return input[key];
  return JSON.stringify(input);
}

// people returns who answered.
function people(e) {
  if (e.answered && e.answered.length) return e.answered.map((p) => plain(p.name)).join(', ');
  return e.by || '';
}

class View {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.list = new List(root, this);
    this.chain = h('div', { class: 'chain', role: 'status' }, 'Checking the audit log');
    this.form = this.makeForm();
    this.side = h('aside', { class: 'line', 'aria-label': 'Selected line', hidden: true });
    this.newer = h('button', { class: ['button', 'newer'], type: 'button', hidden: true, on: { click: () => { this.restart(); this.list.box.focus(); } } });
    this.told = h('p', { class: ['dim', 'small', 'told'], role: 'status' });
    root.append(
      h('div', { class: 'history-head' }, h('h1', null, 'History'), this.chain),
      this.form,
      h('div', { class: 'history-body' }, h('div', { class: 'history-list' }, this.told, this.newer, this.list.box), this.side));
    ctx.keys({
      j: [() => this.list.step(1), 'next line', true], k: [() => this.list.step(-1), 'previous line', true],
      Enter: [() => this.open(this.list.at), 'open the line'], o: [() => this.open(this.list.at), 'open the line'],
      Escape: [() => this.close(), 'close the line'], '/': [() => this.form.elements.text.focus(), 'search'],
      g: [() => this.list.go(0), 'newest line'], G: [() => this.list.go(this.list.count - 1), 'oldest line'],
    });
    this.resized = () => this.list.draw();
    addEventListener('resize', this.resized);
    this.timer = setInterval(() => { if (!document.hidden) this.look(); }, poll);
    this.update();
    this.look();
  }

  end() {
    this.ended = true;
    clearInterval(this.timer);
    clearTimeout(this.typing);
    removeEventListener('resize', this.resized);
  }

  // makeForm makes the filters. What is typed is searched for soon.
  makeForm() {
    const pick = (name, label) => h('select', { name, 'aria-label': label }, Object.entries(words[name]).map(([value, text]) => h('option', { value }, text)));
    const type = (name, label, more) => h('input', { type: 'text', name, placeholder: label, 'aria-label': label, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', ...more });
    const when = (name, label) => h('label', { class: 'when' }, h('span', null, label), h('input', { type: 'datetime-local', name }));
    this.more = h('div', { class: 'filters-more' },
      pick('kind', 'Kind of line'), pick('behavior', 'Decision'), pick('by', 'Who decided'), type('tool', 'Tool'), type('rule', 'Rule contains'), type('session', 'Session'), when('since', 'From'), when('until', 'Until'),
      h('button', { class: 'quiet', type: 'button', on: { click: () => this.ctx.go('/history') } }, 'Clear filters'));
    this.toggle = h('button', { class: ['button', 'filters-toggle'], type: 'button', 'aria-expanded': 'false', on: { click: () => this.unfold(this.toggle.getAttribute('aria-expanded') !== 'true') } }, 'Filters');
    const answers = h('button', { class: 'button', type: 'button', title: 'Who approved and denied what', on: { click: () => this.ctx.go('/history?kind=decision&by=person') } }, 'Answers');
    const recordings = h('a', { class: 'button', href: '#/history/recordings', title: 'Recorded terminal sessions' }, 'Recordings');
    return h('form', {
      class: 'filters', role: 'search', 'aria-label': 'The audit log', on: {
        submit: (e) => { e.preventDefault(); this.apply(); }, change: () => this.apply(),
        input: (e) => { if (e.target.type === 'text' || e.target.type === 'search') { clearTimeout(this.typing); this.typing = setTimeout(() => this.apply(), 350); } },
      },
    }, h('div', { class: 'row' }, type('text', 'Search the audit log', { type: 'search', enterKeyHint: 'search' }), answers, recordings, this.toggle), this.more);
  }

  unfold(open) {
    this.toggle.setAttribute('aria-expanded', String(open));
    this.form.classList.toggle('unfolded', open);
  }

  // apply puts the filters into the address.
  apply() {
    clearTimeout(this.typing);
    const q = new URLSearchParams();
    for (const name of filters) {
      let value = this.form.elements[name].value.trim();
      if ((name === 'since' || name === 'until') && value) value = new Date(value).toISOString();
      if (value) q.set(name, value);
    }
    if (q.toString() === this.filter) return; // a line that is open stays
    this.ctx.go('/history' + (q.size ? '?' + q : ''), { replace: true });
  }

  // update shows what the address says.
  update() {
    const q = this.ctx.query;
    const next = new URLSearchParams();
    for (const name of filters) {
      const value = q.get(name) || '';
      if (value) next.set(name, value);
      const field = this.form.elements[name];
      const local = value && (name === 'since' || name === 'until') ? localTime(value) : value;
      if (field !== document.activeElement || field.value.trim() !== local) field.value = local;
    }
    const open = [...next.keys()].filter((name) => name !== 'text').length;
    this.toggle.textContent = open ? `Filters (${open})` : 'Filters';
    if (open && this.filter === undefined) this.unfold(true);
    if (this.filter === undefined || this.filter !== next.toString()) {
      this.filter = next.toString();
      this.restart();
    }
    const line = Number(q.get('line'));
    if (line > 0) this.show(line);
    else this.hide();
  }

  // restart begins with the newest line.
  restart() {
    this.newer.hidden = true;
    this.seen = this.records;
    this.list.restart(this.filter);
  }

  // look asks how the chain stands, and whether there are newer lines.
  async look(whole = false) {
    if (this.looking) return;
    this.looking = true;
    try {
      let s;
      do {
        s = await this.ctx.api.get('/api/audit/state' + (whole ? '?whole=true' : ''));
        whole = false;
        if (this.ended) return;
        this.tell(s);
      } while (!s.done && s.bytes < s.size);
      this.heard(s.records);
    } catch (err) {
      if (!this.ended) this.say(['✕', 'bad'], `Cannot check the audit log: ${err.message}`);
    } finally {
      this.looking = false;
    }
  }

  // heard notes how many lines there are. Who looks at the newest ones sees those that
  // come; elsewhere, and among what was searched for, nothing moves by itself.
  heard(records) {
    this.records = records;
    this.seen ??= records;
    const more = records - (this.filter ? this.seen : this.list.newest);
    if (this.list.newest === 0 && !this.filter || more <= 0) return;
    if (!this.filter && this.list.box.scrollTop === 0 && this.list.at <= 0 && this.side.hidden) {
      this.restart();
      return;
    }
    this.newer.hidden = false;
    this.newer.textContent = `${more.toLocaleString('en')} newer`;
  }

  say([glyph, tone], text, ...more) {
    const known = this.chain.dataset.text;
    if (known === text) return false;
    this.chain.dataset.text = text;
    replace(this.chain, h('span', { class: ['glyph', 'tone-' + tone], 'aria-hidden': 'true' }, glyph), h('span', { class: 'chain-text' }, text), ...more);
    return true;
  }

  // tell says how the chain stands.
  tell(s) {
    const again = () => h('button', { class: 'quiet', type: 'button', title: 'Check again from the first line', on: { click: () => { this.chain.dataset.text = ''; this.look(true); } } }, 'Verify all');
    const n = (x) => x.toLocaleString('en');
    if (s.faults.length) {
      const f = s.faults[0];
      const more = s.faults.length > 1 ? ` (and ${s.faults.length - 1} more)` : '';
      const fresh = this.say(['✕', 'bad'], `The audit log is not intact. ${f.line ? `Line ${n(f.line)} ` : ''}${plain(f.text)}${more}`, again());
      if (fresh) this.ctx.say('The audit log is not intact.');
    } else if (!s.done && s.size > s.bytes) {
      this.say(['◌', 'warn'], `Verifying: line ${n(s.records)}, ${Math.floor(100 * s.bytes / s.size)}%`);
    } else if (!s.records) {
      this.say(['○', 'ok'], 'No decisions yet.');
    } else {
      const end = s.known ? '' : ' Without its head file, lines missing at the end cannot be detected.';
      this.say(['✓', 'ok'], `Intact up to line ${n(s.records)}. Last verified in full at ${clock(s.whole)}, newer lines as they came.${end}`, again());
    }
    this.chain.title = s.head ? `${s.head}; ${n(s.lines)} lines` : '';
  }

  // open opens a line of the list.
  open(index) {
    const e = this.list.line(index);
    if (!e) return;
    clearTimeout(this.typing);
    const q = new URLSearchParams(this.filter);
    q.set('line', e.seq);
    this.ctx.go('/history?' + q);
  }

  close() {
    if (this.side.hidden) return false;
    this.ctx.go('/history' + (this.filter ? '?' + this.filter : ''));
    this.list.box.focus();
    return true;
  }

  hide() {
    this.shownSeq = 0;
    this.side.hidden = true;
    this.list.box.classList.remove('narrow');
    delete document.body.dataset.screen;
    replace(this.side);
    this.list.draw();
  }

  // show shows a line, with what belongs to it.
  async show(seq) {
    if (this.shownSeq === seq) return;
    this.shownSeq = seq;
    const { api } = this.ctx;
    let e = this.list.known(seq);
    try {
      if (!e) e = (await api.get(`/api/audit?before=${seq + 1}&limit=1`)).lines[0];
    } catch (err) {
      this.ctx.toast(err.message, 'bad');
    }
    if (this.ended || this.shownSeq !== seq) return;
    this.side.hidden = false;
    this.list.box.classList.add('narrow');
    document.body.dataset.screen = 'detail';
    const heading = h('h2', { tabIndex: -1 }, e && e.seq === seq ? ['Line ', seq.toLocaleString('en')] : 'No such line');
    const back = h('button', { class: 'quiet', type: 'button', 'aria-label': 'Close the line', on: { click: () => this.close() } }, '✕');
    replace(this.side, h('div', { class: 'line-head' }, heading, back));
    if (e && e.seq === seq) this.fill(e);
    this.list.draw();
    heading.focus({ preventScroll: true });
  }

  fill(e) {
    const facts = [];
    const fact = (label, ...value) => facts.push(h('div', null, h('dt', null, label), h('dd', null, value)));
    const by = (name, value) => h('a', { href: '#/history?' + new URLSearchParams({ [name]: value }) }, spelled(value));
    fact('Time', clock(e.time), h('span', { class: 'dim' }, ' ', e.time));
    if (e.kind === 'decision') {
      const who = (e.answered || []).map((p) => `${plain(p.name)}${p.credential ? ` (${plain(p.credential)})` : ''}`).join(', ');
      fact('Decision', verdict(e), ' by ', e.by === 'person' ? who || 'a person' : e.by, e.layer && h('span', { class: 'dim' }, ` in ${e.layer}`));
      if (e.rule) fact('Rule', h('code', null, spelled(e.rule)), e.source && h('span', { class: 'dim' }, ' ', spelled(e.source)));
      fact('Risk', risk(e.risk), e.tier ? h('span', { class: 'dim' }, `, tier ${e.tier}`) : null);
      if (e.comment) fact('Comment', spelled(e.comment));
      if (e.reason) fact('Reason', spelled(e.reason));
      if (e.message) fact('The agent was told', spelled(e.message));
    } else if (e.kind === 'outcome') {
      fact('Outcome', verdict(e), ' ', spelled(asked(e)));
      if (e.of) fact('Decision', h('a', { href: `#/history?line=${e.of}` }, `line ${e.of.toLocaleString('en')}`));
    } else if (e.reason) fact('Reason', spelled(e.reason));
    if (e.tool) fact('Tool', by('tool', e.tool));
    if (e.session) fact('Session', by('session', e.session), e.agent ? [', subagent ', spelled(e.agent)] : null);
    if (e.dir) fact('Directory', h('code', null, spelled(e.dir)));
    if (e.masked) fact('Masked', `${e.masked} ${e.masked === 1 ? 'secret' : 'secrets'} replaced by REDACTED`);
    const parts = [];
    if (e.input !== undefined) parts.push(h('pre', { class: 'what', tabIndex: 0, 'aria-label': 'What was asked for' }, spelled(asked(e), true)));
    if (e.updated !== undefined) parts.push(h('h3', null, 'Changed to'), h('pre', { class: 'what', tabIndex: 0 }, spelled(member(e.updated), true)));
    this.related = h('div', { class: 'related' });
    const json = JSON.stringify(e, null, 2);
    this.side.append(
      h('div', { class: 'line-body' }, parts, h('dl', { class: 'facts' }, facts), this.related,
        e.tool === 'Bash' && typeof (e.input || {}).command === 'string' && h('p', null, h('a', { href: '#/rules?' + new URLSearchParams({ rule: `Bash(${e.input.command})`, as: 'allow' }) }, 'Try a rule for this')),
        h('details', null, h('summary', null, 'Full line as JSON'), h('pre', { class: 'json', tabIndex: 0, 'aria-label': 'The line as JSON' }, spelled(json, true)))));
    this.relate(e);
  }

  // relate looks for what belongs to a line: what became of it, and the recording.
  async relate(e) {
    const into = this.related;
    const { api } = this.ctx;
    if (e.kind === 'decision' && e.behavior === 'allow') {
      try {
        const near = await api.get(`/api/audit?before=${e.seq + 201}&limit=200&kind=outcome`);
        const end = near.lines.find((o) => o.of === e.seq);
        if (end) into.append(h('p', null, verdict(end), ' ', asked(end).replace(/ · of line \d+/, ''), ' ', h('a', { href: `#/history?line=${end.seq}` }, `line ${end.seq.toLocaleString('en')}`)));
      } catch { /* it is only a hint */ }
    }
    if (!e.session) return;
    try {
      const { recordings } = await api.get('/api/recordings?session=' + encodeURIComponent(e.session));
      const at = Date.parse(e.time);
      const r = recordings.find((one) => Date.parse(one.begin) <= at && (!one.end || at <= Date.parse(one.end)));
      if (r) into.append(h('p', null, h('a', { href: `#/history/recording/${encodeURIComponent(r.id)}?at=${Math.max(0, Math.floor((at - Date.parse(r.begin)) / 1000))}` }, 'Watch the recording from here')));
    } catch { /* there is none */ }
  }
}

function localTime(text) {
  const t = new Date(text);
  if (Number.isNaN(t.getTime())) return '';
  return new Date(t.getTime() - t.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

// List shows lines, one row each. Without a filter line i is the one with the seq
// newest - i; with one, lines are appended as they are found.
class List {
  constructor(root, view) {
    this.view = view;
    this.rows = new Map();
    this.pad = h('div', { class: 'rows', role: 'presentation' });
    this.box = h('div', {
      class: 'list', role: 'listbox', tabIndex: 0, 'aria-label': 'Entries of the audit log, the newest first', on: {
        scroll: () => this.soon(), keydown: (e) => this.key(e), click: (e) => this.click(e),
      },
    }, this.pad);
    this.newest = 0;
  }

  // restart forgets all, and asks for the newest lines.
  restart(filter) {
    this.run = (this.run || 0) + 1;
    this.filter = filter;
    this.pages = new Map(); // without a filter: by their number
    this.found = []; // with one
    this.next = 0; // the next before; undefined: nothing is left
    this.count = 0;
    this.newest = 0;
    this.at = -1;
    this.asking = new Set();
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.box.scrollTop = 0;
    this.box.setAttribute('aria-busy', 'true');
    this.view.told && replace(this.view.told, 'Loading…');
    this.load(0);
  }

  // line returns a line that is there.
  line(i) {
    if (this.filter) return this.found[i];
    const p = this.pages.get(Math.floor(i / page));
    return p && p[i % page];
  }

  // known returns the line of a seq, if it is there.
  known(seq) {
    if (this.filter) return this.found.find((e) => e.seq === seq);
    return this.line(this.newest - seq);
  }

  // load asks for the page of a number.
  async load(n) {
    if (this.asking.has(n) || this.asking.size >= 2) return; // it is asked again when an answer is drawn
    if (!this.filter && this.pages.has(n) || this.filter && this.next === undefined) return;
    this.asking.add(n);
    const run = this.run;
    const before = this.filter ? this.next : this.newest ? this.newest - n * page + 1 : 0;
    try {
      const got = await this.view.ctx.api.get(`/api/audit?before=${before}&limit=${page}${this.filter ? '&' + this.filter : ''}`);
      if (run !== this.run || this.view.ended) return;
      this.take(n, got);
    } catch (err) {
      if (run !== this.run || this.view.ended) return;
      replace(this.view.told, `Cannot read the audit log: ${err.message} `, h('button', { class: 'quiet', type: 'button', on: { click: () => this.load(n) } }, 'Try again'));
    } finally {
      if (run === this.run) {
        this.asking.delete(n);
        this.box.setAttribute('aria-busy', 'false');
      }
    }
    if (run === this.run && !this.view.ended) this.draw();
  }

  take(n, got) {
    const { told, ctx } = this.view;
    if (this.filter) {
      this.found.push(...got.lines);
      this.next = got.before;
      this.count = this.found.length;
      if (!this.newest) this.newest = got.after || 0;
      const lines = `${this.count.toLocaleString('en')} ${this.count === 1 ? 'line' : 'lines'}`;
      replace(told, got.before === undefined ? `${lines} found` : `${lines} found so far, down to line ${got.before.toLocaleString('en')}`);
      if (got.before === undefined) ctx.say(`${lines} found`);
    } else {
      if (!this.newest) {
        this.newest = got.after;
        this.count = got.after;
        replace(told, this.count ? `${this.count.toLocaleString('en')} lines` : 'No decisions yet.');
      }
      const lines = new Array(page);
      for (const e of got.lines) {
        const i = this.newest - e.seq - n * page;
        if (i >= 0 && i < page) lines[i] = e;
      }
      this.pages.set(n, lines);
      if (this.pages.size > kept) this.pages.delete([...this.pages.keys()].reduce((a, b) => (Math.abs(a - n) >= Math.abs(b - n) ? a : b)));
    }
  }

  soon() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => { this.due = 0; this.draw(); });
  }

  // height is that of a row, as the style has it.
  height() { return parseFloat(getComputedStyle(this.box).getPropertyValue('--row')) || 36; }

  // draw makes the rows that are in sight, and asks for the lines that are missing. Browsers
  // end a page at some millions of pixels: beyond that, rows stand for their share.
  draw() {
    if (this.view.ended) return;
    const row = this.height();
    const most = 12e6;
    const whole = this.count * row;
    const total = Math.min(whole, most);
    this.pad.style.setProperty('--total', `${total}px`);
    const height = this.box.clientHeight;
    const room = Math.max(1, total - height);
    const top = whole > most ? this.box.scrollTop / room * (whole - height) : this.box.scrollTop;
    this.shift = this.box.scrollTop - top;
    this.top = top;
    const first = Math.max(0, Math.floor(top / row) - 6);
    const last = Math.min(this.count - 1, Math.ceil((top + height) / row) + 6);
    for (const [i, e] of this.rows) {
      if ((i < first || i > last) && i !== this.at) {
        e.remove();
        this.rows.delete(i);
      }
    }
    let missing = -1;
    for (let i = first; i <= last; i++) {
      if (!this.line(i)) missing = i;
      this.row(i);
    }
    if (this.at >= 0 && this.at < this.count) this.row(this.at);
    if (!this.filter) {
      if (this.count) for (const i of [first, last]) if (i >= 0) this.load(Math.floor(i / page));
    } else if (this.count === 0 ? this.next !== undefined : last >= this.count - 20 && this.next !== undefined) {
      this.load(this.next);
    }
    return missing;
  }

  // row makes or renews a row.
  row(i) {
    const e = this.line(i);
    let r = this.rows.get(i);
    const state = `${e ? e.seq : 'none'} ${i === this.at} ${e && e.seq === this.view.shownSeq}`;
    if (!r) {
      r = h('div', { class: 'entry', role: 'option', id: `line-${i}`, 'data-i': i, 'aria-setsize': this.count, 'aria-posinset': i + 1 });
      this.rows.set(i, r);
      this.pad.append(r);
    }
    r.style.setProperty('--at', `${i * this.height() + (this.shift || 0)}px`);
    if (r.dataset.state === state) return;
    r.dataset.state = state;
    r.setAttribute('aria-selected', String(i === this.at));
    r.classList.toggle('open', !!e && e.seq === this.view.shownSeq);
    if (!e) {
      replace(r, h('span', { class: 'dim' }, 'Loading…'));
      return;
    }
    const why = e.rule ? h('code', null, spelled(e.rule)) : e.layer || '';
    r.classList.toggle('entry-less', e.kind !== 'decision');
    replace(r, h('span', { class: 'entry-time' }, moment(e.time)), verdict(e), h('span', { class: 'entry-tool' }, spelled(e.tool || '')),
      h('code', { class: 'entry-what' }, spelled(asked(e).slice(0, 300))), h('span', { class: 'entry-why' }, why), h('span', { class: 'entry-by' }, people(e)));
  }

  click(e) {
    const r = e.target.closest('.entry');
    if (!r) return;
    this.choose(Number(r.dataset.i));
    this.view.open(this.at);
  }

  choose(i) {
    const was = this.at;
    this.at = Math.max(0, Math.min(this.count - 1, i));
    if (was !== this.at && this.rows.has(was)) this.row(was);
    this.draw();
    if (this.count) this.box.setAttribute('aria-activedescendant', `line-${this.at}`);
  }

  step(n) { this.go(this.at + n); }

  // go chooses a row, and has it in sight.
  go(i) {
    if (!this.count) return;
    i = Math.max(0, Math.min(this.count - 1, i));
    const row = this.height();
    const { clientHeight: height } = this.box;
    const whole = this.count * row;
    const scale = whole > 12e6 ? (12e6 - height) / (whole - height) : 1;
    if (i * row < this.top) this.box.scrollTop = i * row * scale;
    if ((i + 1) * row > this.top + height) this.box.scrollTop = ((i + 1) * row - height) * scale;
    this.choose(i);
    if (document.activeElement !== this.box && !this.box.contains(document.activeElement)) this.box.focus({ preventScroll: true });
  }

  key(e) {
    const rows = Math.max(1, Math.floor(this.box.clientHeight / this.height()) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: rows, PageUp: -rows, Home: -Infinity, End: Infinity };
    if (!(e.key in moves) || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    this.go(Math.max(0, Math.min(this.count - 1, this.at + moves[e.key])));
  }
}
