// Several questions of one kind, each shown whole, answered together.

import { h, replace, risk } from './dom.js';
import * as ask from './ask.js';
import { Diff, lines } from './lines.js';

// dotted returns parts with dots between them.
function dotted(parts) { return parts.filter(Boolean).flatMap((p, i) => (i > 0 ? [' · ', p] : [p])); }

// Batch shows several questions of one kind, each whole, to be answered together.
export class Batch {
  constructor(all, use) {
    this.all = new Map(all.map((a) => [a.id, a]));
    this.use = use;
    this.sending = false;
    this.chosen = new Set(this.all.keys());
    this.heading = h('h1', { tabIndex: -1, class: 'q-title' });
    this.list = h('ol', { class: 'batch' });
    this.bar = h('div', { class: 'q-bar', role: 'group', 'aria-label': 'Answers' });
    this.root = h('article', { class: 'q q-batch', 'aria-label': 'Several questions' },
      h('div', { class: 'q-head' }, h('button', { class: 'quiet q-back', type: 'button', on: { click: use.back } }, '‹ Inbox'), this.heading,
        h('p', { class: 'dim' }, 'Each is shown in full. Those you uncheck keep waiting.')),
      h('div', { class: 'q-body' }, this.list), h('div', { class: 'q-end' }, this.bar));
    this.rows = new Map();
    for (const a of this.all.values()) this.add(a);
    this.show();
  }

  add(a) {
    const state = h('span', { class: 'small' });
    const box = h('input', { type: 'checkbox', checked: true, 'aria-label': `Answer ${ask.plain(a)}`, on: { change: () => { if (box.checked) this.chosen.add(a.id); else this.chosen.delete(a.id); this.use.grace.changed(); this.show(); } } });
    const first = ask.main(a.question);
    const row = h('li', { class: 'card batch-one' }, h('div', { class: 'batch-head' }, h('label', { class: 'row' }, box, h('b', null, a.question.tool)), risk(a.question.risk), state),
      (a.question.blocks || []).map((b) => (ask.isDiff(b) ? new Diff(b).root : h('pre', { class: ['q-text', b === first && 'q-main', 'mono'] }, b !== first && h('span', { class: 'dim' }, b.title + ': '), lines(b.lines)))),
      !a.question.whole && h('p', { class: 'note note-warn' }, 'This is too large to show in full.'),
      h('p', { class: 'small dim' }, dotted([ask.spell(a.asker.name), ['session ', h('span', { class: 'mono' }, ask.spell(a.question.session || a.session))],
        a.question.dir && ['in ', h('span', { class: 'mono' }, a.question.dir)], a.question.reason])));
    this.rows.set(a.id, { row, box, state });
    this.list.append(row);
  }

  // update takes the approvals as they are now.
  update(live) {
    for (const [id, before] of this.all) {
      const now = live.get(id);
      const a = now ? { ...now, question: before.question, digest: before.digest } : { ...before, status: 'abandoned' };
      if (a.status === before.status && (a.votes || []).length === (before.votes || []).length) continue;
      this.all.set(id, a);
      this.use.grace.changed();
      this.show();
    }
  }

  // waits are the questions that are chosen and still wait for this person.
  waits() { return [...this.chosen].map((id) => this.all.get(id)).filter((a) => a.status === 'pending' && !ask.mayAnswer(a, this.use.ctx.me) && !ask.voted(a, this.use.ctx.me)); }

  show() {
    const n = this.waits().length;
    replace(this.heading, `${this.all.size} similar questions`);
    for (const [id, { box, state, row }] of this.rows) {
      const a = this.all.get(id);
      const end = ask.became(a) || (ask.voted(a, this.use.ctx.me) ? 'approved by you' : '');
      state.textContent = end;
      box.disabled = end !== '';
      if (end) box.checked = false;
      row.classList.toggle('batch-ended', end !== '');
    }
    const risky = this.waits().filter((a) => !ask.together(a)).length;
    const button = (kind, key, label, f, disabled) => h('button', { class: ['button', kind], type: 'button', disabled, 'data-key': key, on: { click: () => { if (this.use.grace.over()) f(); } } }, h('span', null, label), h('kbd', { 'aria-hidden': 'true' }, key));
    replace(this.bar, risky > 0 && h('p', { class: 'note' }, `${risky} of them ${risky === 1 ? 'has' : 'have'} to be approved one by one.`), h('div', { class: 'q-buttons' },
      button('primary', 'o', `Approve ${n} once`, () => this.send('once'), n === 0 || risky > 0),
      button('danger', 'd', `Deny ${n}`, () => this.send('deny'), n === 0)));
    this.bar.classList.remove('settling');
    void this.bar.offsetWidth;
    this.bar.classList.add('settling');
  }

  press(key) {
    const b = [...this.bar.querySelectorAll('button')].find((one) => one.dataset.key === key);
    if (!b || b.disabled) return false;
    b.click();
    return true;
  }

  escape() { return false; }
  tick() {}

  // send answers each by itself, with its id and digest: each may have another outcome.
  async send(name) {
    if (this.sending || !this.use.grace.over()) return;
    this.sending = true;
    this.heading.focus({ preventScroll: true }); // a disabled button loses it
    for (const b of this.bar.querySelectorAll('button')) b.disabled = true;
    let [done, late] = [0, 0];
    let last = null;
    for (const a of this.waits()) {
      if (!this.chosen.has(a.id)) continue; // it was unchecked meanwhile
      try {
        last = await this.use.ctx.api.post(`/api/approvals/${encodeURIComponent(a.id)}/answer`, ask.reply(a, name));
        done++;
        this.use.ctx.live.put(last);
      } catch (err) {
        late++;
        if (err.approval) this.use.ctx.live.put(err.approval);
        if (err.status === 0 || err.status === 401) break;
      }
    }
    this.sending = false;
    this.use.many(name, done, late, last);
  }
}
