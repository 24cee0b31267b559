// What waits for an answer: a list by session, the greatest risk first, and beside it the
// question that is chosen.

import { clock, h, replace, risk, span } from './dom.js';
import * as ask from './ask.js';
import { Batch } from './batch.js';
import { closeDiffs } from './lines.js';
import { Question } from './question.js';

const staysFor = 20000; // so long the list shows what was answered, in milliseconds
const narrow = matchMedia('(max-width: 700px)');

class Inbox {
  constructor(root, ctx, id) {
    this.ctx = ctx;
    this.grace = new ask.Grace();
    this.rows = new Map(); // id → row
    this.known = new Map(); // id → when it was seen to have ended, 0 while it waits
    this.chosen = new Set(); // for an answer together
    this.id = id || ''; // of the question that is shown
    this.shown = null; // the Question or Batch
    this.filter = '';
    this.list = h('div', { class: 'i-list' });
    this.search = h('input', { type: 'search', class: 'field', placeholder: 'Filter', 'aria-label': 'Filter the inbox', autocomplete: 'off', on: { input: () => { this.filter = this.search.value.trim().toLowerCase(); this.draw(); } } });
    this.count = h('p', { class: 'i-count dim small' });
    this.together = h('div', { class: 'i-together', hidden: true });
    this.offered = h('div', { class: 'i-offer', hidden: true });
    this.detail = h('div', { class: 'i-detail' });
    replace(root, h('h1', { class: 'hear' }, 'Inbox'), h('section', { class: 'i-side', 'aria-label': 'Waiting questions' }, h('div', { class: 'i-head' }, this.search, this.count), this.together, this.offered, this.list), this.detail);
    this.off = [ctx.live.on('change', (e) => { if (e.detail.has('approvals')) this.changed(); }), ctx.live.on('state', () => this.draw())];
    this.timer = setInterval(() => this.tick(), 1000);
    this.onKey = (e) => {
      if (['Tab', 'Shift', 'j', 'k', 'ArrowDown', 'ArrowUp'].includes(e.key)) return;
      if (e.repeat && e.key !== ' ') this.grace.changed(); // it may press what has come under it; a space presses when it is let go
      else this.grace.key();
    };
    this.onFocus = () => this.grace.changed();
    addEventListener('keydown', this.onKey, true);
    addEventListener('focus', this.onFocus);
    document.addEventListener('visibilitychange', this.onFocus);
    narrow.addEventListener('change', this.onNarrow = () => this.draw());
    this.makeKeys();
    this.changed();
  }

  end() {
    for (const f of this.off) f();
    this.over = true;
    clearInterval(this.timer);
    removeEventListener('keydown', this.onKey, true);
    removeEventListener('focus', this.onFocus);
    document.removeEventListener('visibilitychange', this.onFocus);
    narrow.removeEventListener('change', this.onNarrow);
    closeDiffs();
  }

  // makeKeys says what keys do. Those of answers are about what is shown.
  makeKeys() {
    const press = (key) => () => (this.shown ? this.shown.press(key) : false);
    this.ctx.keys({
      j: [() => this.move(1), 'next question', true], k: [() => this.move(-1), 'previous question', true],
      ArrowDown: [(e) => this.list.contains(e.target) && this.move(1), 'next, in the list', true], ArrowUp: [(e) => this.list.contains(e.target) && this.move(-1), 'previous, in the list', true],
      Enter: [() => this.read(), 'read the question'], Escape: [() => this.escape(), 'back'],
      o: [press('o'), 'approve once'], s: [press('s'), 'approve for this session'],
    });
    for (let n = 2; n <= 9; n++) this.ctx.keys({ [n]: [press(String(n)), n === 2 ? 'and up: for this session, with that rule' : ''] });
    this.ctx.keys({
      t: [press('t'), 'approve for a while'], a: [press('a'), 'always approve, or send the answer'], A: [press('A'), 'accept edits for this session'],
      d: [press('d'), 'deny'], w: [press('w'), 'deny, and say why'], n: [press('n'), 'deny for this session'],
      e: [press('e'), 'edit'], c: [press('c'), 'approve once, with a comment'], v: [() => (this.shown && this.shown.showAll ? this.shown.showAll() : false), 'show every part'],
      x: [() => this.mark(this.id), 'select, to answer several at once'], '/': [() => this.search.focus(), 'filter'],
    });
  }

  // visible are the approvals of the list: what waits, and for a while what has ended.
  visible() {
    const now = Date.now();
    const all = [];
    for (const a of this.ctx.live.approvals.values()) {
      if (a.status !== 'pending') {
        const ended = this.known.get(a.id);
        if (ended === undefined || a.id !== this.id && ended > 0 && now - ended > staysFor) continue;
      }
      if (this.filter && !this.textOf(a).includes(this.filter)) continue;
      all.push(a);
    }
    return all;
  }

  textOf(a) {
    const q = a.question;
    return [q.tool, q.risk, q.reason, a.asker.name, a.session, a.id, ...(q.blocks || []).flatMap((b) => (b.lines || []).map(ask.lineText))].join(' ').toLowerCase();
  }

  // changed takes what the server has told.
  changed() {
    const fresh = [];
    const ended = [];
    const now = Date.now();
    for (const a of this.ctx.live.approvals.values()) {
      const before = this.known.get(a.id);
      if (a.status === 'pending') {
        if (before === undefined) fresh.push(a);
        this.known.set(a.id, 0);
      } else if (before === 0) {
        this.known.set(a.id, now);
        this.chosen.delete(a.id);
        if (!this.mine || !this.mine.has(a.id)) ended.push(a);
      }
    }
    for (const [id, at] of this.known) if (at > 0 && !this.ctx.live.approvals.has(id)) this.known.delete(id);
    if (this.told) this.tell(fresh, ended);
    this.told = this.ctx.live.ready;
    this.draw();
  }

  // tell says what is new, for those who do not see it.
  tell(fresh, ended) {
    if (fresh.length > 2) this.ctx.say(`${fresh.length} new questions`);
    else for (const a of fresh) this.ctx.say(`New question from ${a.asker.name}, risk ${a.question.risk}: ${ask.plain(a)}`);
    for (const a of ended.slice(0, 3)) this.ctx.say(`${ask.plain(a)}: ${ask.became(a)}`);
  }

  // draw shows the list, and what is chosen of it.
  draw() {
    const all = this.visible();
    this.groups = ask.groups(all);
    this.order = this.groups.flatMap((g) => g.list.map((a) => a.id));
    const waits = all.filter((a) => a.status === 'pending').length;
    for (const id of this.chosen) if (!this.order.includes(id)) this.chosen.delete(id);
    if (!this.ctx.live.ready) this.count.textContent = 'Loading…';
    else this.count.textContent = this.filter ? `${waits} of ${this.waiting()} match` : waits === 0 ? '' : this.ctx.live.state === 'live' ? `${waits} waiting for an answer` : `${waits} waiting when the connection was lost`;
    this.choose();
    this.drawList();
    this.drawDetail();
  }

  waiting() {
    let n = 0;
    for (const a of this.ctx.live.approvals.values()) if (a.status === 'pending') n++;
    return n;
  }

  // choose keeps what is chosen as long as it is there: nothing else comes in its place
  // because it is more urgent. On a phone nothing is chosen by itself.
  choose() {
    if (this.id && (this.ctx.live.approvals.has(this.id) || !this.ctx.live.ready)) return;
    if (this.id && this.ctx.live.ready && !this.asked) {
      this.asked = this.id; // it may have ended before this page came
      const id = this.id;
      this.ctx.api.get('/api/approvals/' + encodeURIComponent(id)).then((a) => {
        this.known.set(a.id, a.status === 'pending' ? 0 : Date.now());
        this.ctx.live.put(a);
      }, () => { this.missing = id; this.draw(); });
      return;
    }
    if (this.id && this.missing !== this.id) return;
    if (this.missing) return;
    if (!narrow.matches) this.id = this.order.find((id) => this.ctx.live.approvals.get(id).status === 'pending') || '';
  }

  drawList() {
    // As long as the same rows stand in the same order only what is chosen has changed.
    const drawn = this.groups.map((g) => g.key + g.list.map((a) => `${a.id}.${a.seq}`).join()).join('\n');
    if (drawn === this.drawn && this.order.length > 0) {
      for (const id of new Set([this.marked, this.id, this.order[0]])) if (this.rows.has(id)) this.row(this.ctx.live.approvals.get(id));
      if (this.chosen.size > 0 || this.anyChosen) for (const id of this.order) this.row(this.ctx.live.approvals.get(id));
      this.marked = this.id;
      this.anyChosen = this.chosen.size > 0;
      this.showTogether();
      return;
    }
    this.drawn = drawn;
    this.marked = this.id;
    const parts = [];
    for (const g of this.groups) {
      parts.push(h('section', { class: 'i-group', 'aria-label': `${ask.spell(g.agent)}, session ${ask.spell(g.session)}` },
        h('h2', { class: 'i-group-head' }, h('span', null, ask.spell(g.agent)), h('span', { class: 'dim mono' }, ask.spell(g.session)), h('span', { class: 'i-n dim' }, String(g.list.length))),
        h('ul', null, g.list.map((a) => this.row(a)))));
    }
    for (const id of this.rows.keys()) if (!this.order.includes(id)) this.rows.delete(id);
    const focus = this.list.contains(document.activeElement) ? document.activeElement : null;
    if (parts.length > 0) replace(this.list, parts);
    else replace(this.list, h('div', { class: 'empty' }, this.emptyWords()));
    if (focus && focus.isConnected && document.activeElement !== focus) focus.focus({ preventScroll: true });
    this.showTogether();
  }

  emptyWords() {
    if (!this.ctx.live.ready) return h('p', null, this.ctx.live.state === 'lost' ? 'Cannot reach the server.' : 'Loading…');
    if (this.filter) return h('p', null, 'No matches.');
    if (this.ctx.live.state !== 'live') return [h('p', null, 'Nothing was waiting when the connection was lost.'), h('p', { class: 'small' }, 'Questions asked since then appear once the connection is back.')];
    return [h('p', { class: 'empty-glyph', 'aria-hidden': 'true' }, '✓'), h('p', null, 'Nothing is waiting for an answer.'), h('p', { class: 'small' }, 'Questions from agents appear here as they arrive.')];
  }

  // row returns the row of an approval; it is made once for each state.
  row(a) {
    let r = this.rows.get(a.id);
    if (!r || r.seq !== a.seq) {
      r = this.makeRow(a);
      this.rows.set(a.id, r);
    }
    const current = a.id === this.id;
    r.li.classList.toggle('i-current', current);
    r.link.tabIndex = current || !this.id && a.id === this.order[0] ? 0 : -1;
    if (current) r.link.setAttribute('aria-current', 'true');
    else r.link.removeAttribute('aria-current');
    if (r.box) r.box.checked = this.chosen.has(a.id);
    r.li.classList.toggle('i-chosen', this.chosen.has(a.id));
    return r.li;
  }

  makeRow(a) {
    const q = a.question;
    const end = ask.became(a);
    const time = h('span', { class: 'i-time' });
    const box = !end && h('input', { type: 'checkbox', tabIndex: -1, 'aria-label': `Select ${ask.plain(a)}`, on: { change: () => this.mark(a.id) } });
    const link = h('a', { href: '#/inbox/' + encodeURIComponent(a.id), class: 'i-link', 'data-id': a.id, on: { click: (e) => { e.preventDefault(); this.select(a.id, true); } } },
      h('span', { class: 'i-main mono' }, rowText(a)),
      h('span', { class: 'i-sub' }, risk(q.risk), !end && h('span', { class: 'i-tool' }, ask.mcp(q.tool) ? 'MCP' : q.tool === 'AskUserQuestion' ? 'Question' : q.tool), !end && a.quorum > 1 && h('span', null, `${(a.votes || []).length}/${a.quorum} approved`), !end && q.held && !ask.choice(a, 'answers') && h('span', null, 'once only'),
        end ? h('span', { class: 'i-end' }, end) : h('span', { class: 'i-reason' }, ask.because(a))));
    const li = h('li', { class: ['i-row', end && 'i-ended'] }, box && h('label', { class: 'i-box' }, box), link, time);
    const r = { li, link, box, time, seq: a.seq };
    this.timeOf(a, r);
    return r;
  }

  // timeOf shows how long a question has waited, or has left.
  timeOf(a, r) {
    let [text, soon] = ['', false];
    if (a.status !== 'pending') text = clock(a.changed);
    else if (a.expires) {
      const s = (Date.parse(a.expires) - Date.now()) / 1000;
      soon = s < 60;
      text = s > 0 ? `${span(s)} left` : 'expires';
    } else {
      const s = (Date.now() - Date.parse(a.asked)) / 1000;
      text = s < 5 ? 'now' : span(s);
    }
    if (r.time.textContent !== text) r.time.textContent = text;
    r.time.classList.toggle('i-soon', soon);
  }

  tick() {
    for (const [id, r] of this.rows) {
      const a = this.ctx.live.approvals.get(id);
      if (a) this.timeOf(a, r);
    }
    if (this.shown) this.shown.tick();
    if (this.order.some((id) => this.known.get(id) > 0 && id !== this.id && Date.now() - this.known.get(id) > staysFor)) this.draw();
  }

  // showTogether offers to answer what was chosen with x.
  showTogether() {
    const n = this.chosen.size;
    this.together.hidden = n === 0;
    if (n > 0) {
      replace(this.together, h('span', null, `${n} selected`), h('button', { type: 'button', class: 'button', disabled: n < 2, on: { click: () => this.showBatch([...this.chosen]) } }, 'Review together'),
        h('button', { type: 'button', class: 'quiet', on: { click: () => { this.chosen.clear(); this.draw(); } } }, 'Clear'));
    }
  }

  mark(id) {
    const a = this.ctx.live.approvals.get(id);
    if (!a || a.status !== 'pending') return;
    if (this.chosen.has(id)) this.chosen.delete(id);
    else if (ask.choice(a, 'once')) this.chosen.add(id);
    else this.ctx.toast('This question has to be answered on its own.');
    this.draw();
  }

  // select shows a question.
  select(id, open = false) {
    this.batch = null;
    this.id = id;
    if (open || !narrow.matches) this.ctx.go('/inbox/' + encodeURIComponent(id), { replace: !narrow.matches });
    this.draw();
    const r = this.rows.get(id);
    if (r) r.li.scrollIntoView({ block: 'nearest' });
  }

  move(step) {
    if (this.order.length === 0) return;
    const at = this.order.indexOf(this.id);
    const next = at < 0 ? (step > 0 ? 0 : this.order.length - 1) : Math.min(this.order.length - 1, Math.max(0, at + step));
    const inList = this.list.contains(document.activeElement);
    this.select(this.order[next]);
    if (inList) this.rows.get(this.order[next]).link.focus({ preventScroll: true });
  }

  // read leads to the question: on a phone it is a screen of its own.
  read() {
    if (!this.id) return false;
    if (narrow.matches) this.ctx.go('/inbox/' + encodeURIComponent(this.id));
    if (this.shown) this.shown.heading.focus();
    return true;
  }

  escape() {
    if (document.activeElement === this.search) {
      this.search.value = '';
      this.filter = '';
      this.search.blur();
      this.draw();
      return;
    }
    if (this.shown && this.shown.escape()) return;
    if (this.batch) {
      this.batch = null;
      this.chosen.clear();
      this.draw();
      return;
    }
    if (this.chosen.size > 0) {
      this.chosen.clear();
      this.draw();
      return;
    }
    this.back();
  }

  // back leads to the list.
  back() {
    if (this.batch) {
      this.batch = null;
      this.chosen.clear();
    }
    this.missing = '';
    if (narrow.matches) {
      const id = this.id;
      this.id = '';
      this.ctx.go('/inbox');
      this.draw();
      const r = this.rows.get(id);
      if (r) r.link.focus();
    } else {
      const r = this.rows.get(this.id);
      if (r) r.link.focus();
      this.draw();
    }
  }

  // drawDetail shows the question that is chosen, or keeps it as it is shown.
  drawDetail() {
    if (narrow.matches && (this.id || this.batch)) document.body.dataset.screen = 'detail';
    else delete document.body.dataset.screen;
    if (this.batch) {
      this.batch.update(this.ctx.live.approvals);
      return this.place(this.batch);
    }
    const a = this.ctx.live.approvals.get(this.id);
    if (!a) {
      this.shown = null;
      replace(this.detail, h('div', { class: 'empty i-none' }, this.missing && this.missing === this.id
        ? [h('p', null, 'This question no longer exists.'), h('p', null, h('button', { type: 'button', class: 'button', on: { click: () => { this.id = ''; this.back(); } } }, 'Back to the inbox'))]
        : this.order.length > 0 ? h('p', null, 'Select a question.') : null));
      return null;
    }
    if (this.shown instanceof Question && this.shown.a.id === a.id) {
      this.shown.update(a);
      return null;
    }
    closeDiffs();
    return this.place(new Question(a, this.use(a)));
  }

  // place shows something else than before: it cannot be answered at once.
  place(one) {
    if (this.shown === one) return;
    const had = this.detail.contains(document.activeElement);
    this.shown = one;
    this.grace.changed();
    replace(this.detail, one.root);
    this.detail.scrollTop = 0;
    if (narrow.matches) scrollTo(0, 0);
    if (had || narrow.matches) one.heading.focus({ preventScroll: true });
  }

  use(a) {
    return {
      ctx: this.ctx, grace: this.grace, back: () => this.back(),
      alike: () => this.alike(a).length - 1,
      chooseAlike: () => this.showBatch(this.alike(a).map((one) => one.id)),
      answered: (now, name) => this.answered(now, name),
      many: (name, done, late, last) => this.many(name, done, late, last),
    };
  }

  // alike are the questions of one kind that wait, this one first.
  alike(a) {
    const kind = ask.kind(a);
    const all = [...this.ctx.live.approvals.values()].filter((one) => one.status === 'pending' && one.asker.name === a.asker.name && ask.kind(one) === kind);
    return all.sort((x, y) => (y.id === a.id) - (x.id === a.id) || ask.compare(x, y));
  }

  showBatch(ids) {
    const all = ids.map((id) => this.ctx.live.approvals.get(id)).filter((a) => a && a.status === 'pending');
    if (all.length < 2) return;
    this.chosen = new Set(all.map((a) => a.id));
    closeDiffs();
    this.batch = new Batch(all, this.use(all[0]));
    this.draw();
    this.batch.heading.focus({ preventScroll: true });
  }

  // answered is called after an answer that counts: the next question is shown, on a
  // phone the list.
  answered(now, name) {
    this.mine = (this.mine || new Set()).add(now.id);
    const at = this.order.indexOf(now.id);
    this.ctx.live.put(now);
    const words = { edit: 'Edited: the policy decides again', answers: 'Answered' }[name] || (now.status === 'pending' ? `Approved by you: ${(now.votes || []).length} of ${now.quorum}` : `${name === 'deny' || name === 'words' || name === 'never' ? 'Denied' : 'Approved'}: ${ask.plain(now)}`);
    this.ctx.toast(words, 'ok');
    this.offer(now, name);
    if (now.status !== 'pending') this.known.set(now.id, Date.now());
    if (narrow.matches) {
      this.id = '';
      this.ctx.go('/inbox');
    } else {
      const rest = [...this.order.slice(at + 1), ...this.order.slice(0, Math.max(0, at))];
      const next = rest.find((id) => id !== now.id && this.ctx.live.approvals.get(id)?.status === 'pending');
      if (next) {
        this.id = next;
        this.ctx.go('/inbox/' + encodeURIComponent(next), { replace: true });
      }
    }
    this.draw();
  }

  many(name, done, late, last) {
    this.batch = null;
    this.chosen.clear();
    const words = name === 'deny' ? 'Denied' : 'Approved';
    this.ctx.toast(`${words}: ${done}${late > 0 ? `. ${late} had already been answered or withdrawn` : ''}`, late > 0 ? 'bad' : 'ok');
    if (last) this.offer(last, name);
    this.id = '';
    this.missing = '';
    this.draw();
  }

  // offer shows the rules that would answer for such questions from now on, once a person
  // has approved some. Nothing is chosen, and what was declined is not offered again.
  async offer(a, name) {
    if (name !== 'once' || a.status === 'pending') return;
    let all;
    try {
      all = (await this.ctx.api.get('/api/rules/proposals')).proposals;
    } catch {
      return; // it is a hint, no more
    }
    const one = all.find((p) => ask.offers(a, p.rules) && !declined.has(JSON.stringify(p.rules)));
    if (!one || this.over) return;
    const end = () => {
      declined.add(JSON.stringify(one.rules));
      this.offered.hidden = true;
      replace(this.offered);
    };
    const grace = new ask.Grace(); // it comes where the list has just been
    replace(this.offered, h('section', { 'aria-label': 'A rule for questions like this' }, h('p', null, `You have approved this ${one.times} times here. Let a rule approve it for 30 days?`),
      h('p', { class: 'rung-rules' }, one.rules.map((r) => h('code', null, ask.spell(r)))),
      h('div', { class: 'row' }, h('button', { type: 'button', class: 'button', on: { click: () => { if (grace.over()) this.remember(one, end); } } }, 'Remember'), h('button', { type: 'button', class: 'quiet', on: { click: end } }, 'Not now'))));
    this.offered.hidden = false;
    this.ctx.say('A rule for questions like this is suggested above the list.');
  }

  async remember(one, end) {
    try {
      for (const rule of one.rules) await this.ctx.api.post('/api/rules', { rule });
      this.ctx.toast('Remembered for 30 days. You can revoke it under Rules.', 'ok');
      end();
    } catch (err) {
      this.ctx.toast(err.message, 'bad');
    }
  }
}

const declined = new Set(); // rules that this page does not offer again

// rowText is what would be done, on one line, with what asks marked.
function rowText(a) {
  const q = a.question;
  const questions = ask.choice(a, 'answers') && ask.questions(q.input);
  if (questions) return ask.spell(questions[0].text);
  const mcp = ask.mcp(q.tool);
  if (mcp) return [mcp[1], ' ', h('mark', null, mcp[2])];
  const b = ask.main(q);
  if (!b) return q.tool;
  const line = (b.lines || []).find((l) => ask.lineText(l).trim() !== '') || { segments: [] };
  const project = a.project.endsWith('/') ? a.project : a.project + '/';
  const text = ask.lineText(line);
  if (/path$/.test(b.title) && text.startsWith(project)) return text.slice(project.length);
  return (line.segments || []).map((s) => (s.mark ? h('mark', null, s.text) : s.text));
}

export default {
  name: 'inbox',
  title: 'Inbox',
  match: /^\/inbox(?:\/([^/]+))?$/,
  mount(root, ctx, [id]) {
    const inbox = new Inbox(root, ctx, id);
    const end = () => inbox.end();
    end.update = ([next]) => {
      if ((next || '') === inbox.id && !inbox.batch) return;
      if (!next && !narrow.matches) return;
      inbox.batch = null;
      inbox.asked = '';
      inbox.missing = '';
      inbox.id = next || '';
      inbox.draw();
    };
    return end;
  },
};
