// One question: what would be done, why it is asked, and the answers. What is shown stays
// as it is while the question waits, so that an answer is always for what was seen; only
// what others do about it changes.

import { clock, h, replace, risk, span } from './dom.js';
import * as ask from './ask.js';
import { Diff, lines } from './lines.js';

// Question shows an approval in an element, root. Use has ctx, grace, answered(approval)
// for an answer that counts, back() for the way to the list, alike() for how many others
// of its kind wait, and chooseAlike() to show them together.
export class Question {
  constructor(a, use) {
    this.a = a;
    this.use = use;
    this.me = use.ctx.me;
    this.sending = false;
    this.state = h('div', { class: 'q-state' });
    this.form = h('div', { class: 'q-form' });
    this.asked = h('div', null);
    this.others = h('div', null);
    this.bar = h('div', { class: 'q-bar', role: 'group', 'aria-label': 'Answers' });
    this.left = h('span', { class: 'q-left' });
    this.heading = h('h1', { tabIndex: -1, class: 'q-title' }, ...this.title());
    this.root = h('article', { class: 'q', 'aria-label': 'The question' },
      h('div', { class: 'q-head' },
        h('button', { class: 'quiet q-back', type: 'button', on: { click: use.back } }, '‹ Inbox'),
        h('div', { class: 'q-top' }, this.heading, this.risk()),
        h('p', { class: 'q-meta' }, this.where(), this.left)),
      h('div', { class: 'q-body' }, this.blocks(), this.asked, this.why(), this.parts(), this.others),
      h('div', { class: 'q-end' }, this.state, this.form, this.bar));
    this.show();
    this.tick();
  }

  // title says what tool is to be used, and who wants it.
  title() {
    const q = this.a.question;
    const mcp = ask.mcp(q.tool);
    const who = [ask.spell(this.a.asker.name), q.agent && ` (subagent ${q.agent})`];
    if (ask.choice(this.a, 'answers')) return [h('b', null, who), ' asks you'];
    const tool = mcp ? [h('b', null, mcp[2]), h('span', { class: 'q-who' }, ` of ${mcp[1]}`)] : h('b', null, q.tool);
    return [tool, h('span', { class: 'hear' }, ', asked for by'), h('span', { class: 'q-who' }, ' ', who)];
  }

  // risk is the risk, and what makes it.
  risk() {
    const q = this.a.question;
    if (ask.choice(this.a, 'answers')) return null;
    const about = ask.why(q);
    return h('p', { class: 'q-risk' }, h('span', { class: 'hear' }, 'Risk: '), risk(q.risk), about && `: ${about}`);
  }

  // where says which session and directory it is.
  where() {
    const a = this.a;
    const terminal = this.use.ctx.live.sessions.get(a.session);
    const session = ask.spell(a.question.session || a.session);
    return [
      session && h('span', null, 'session ', terminal ? h('a', { href: '#/sessions/' + encodeURIComponent(a.session) }, session) : h('span', { class: 'mono' }, session)),
      a.question.dir && h('span', null, 'in ', h('span', { class: 'mono' }, a.question.dir)),
      h('span', null, 'asked ', h('time', { datetime: a.asked }, clock(a.asked))),
      a.question.held && !ask.choice(a, 'answers') && h('span', { class: 'tag' }, 'can only be approved once'),
    ];
  }

  // why names what asks: the rule with its place, or the reason. The first three causes
  // have a line each; parts has them all.
  why() {
    if (ask.choice(this.a, 'answers')) return null;
    return h('div', { class: 'q-why' }, h('span', { class: 'hear' }, 'Why you are asked: '), ask.causes(this.a).slice(0, 3).map((c) => h('p', null, cause(c))));
  }

  // blocks shows the input.
  blocks() {
    const q = this.a.question;
    if (ask.choice(this.a, 'answers') && ask.questions(q.input)) return null; // see showAnswers
    const first = ask.main(q);
    const rest = (q.blocks || []).filter((b) => b !== first);
    const out = [];
    if (first) out.push(this.block(first, true));
    for (const b of rest) out.push(this.block(b, false));
    if (!q.whole) out.push(h('p', { class: 'note note-warn' }, 'This is too large to show in full. ', (q.withheld || []).length > 0 && 'So it can only be approved once.'));
    return out;
  }

  block(b, isMain) {
    const diff = ask.isDiff(b);
    const by = b.title === 'description' || b.title === 'prompt';
    const label = b.title === 'description' ? 'the agent says' : b.title;
    const body = diff ? new Diff(b).root : h('pre', { class: ['q-text', isMain && 'q-main', by && 'q-by', 'mono'] }, lines(b.lines));
    return h('section', { class: ['q-block', diff && 'q-diff', by && 'q-says'], 'aria-label': label },
      !(isMain && label === 'command' && !(b.notes || []).length) && h('h2', { class: 'q-label' }, h('span', null, label), (b.notes || []).map((n) => h('span', { class: 'tag' }, n)), diff && body.toggle),
      body);
  }

  // parts folds away all that would be done, with what decides about each part.
  parts() {
    const q = this.a.question;
    const all = q.actions || [];
    if (ask.choice(this.a, 'answers')) return null;
    const factors = (q.factors || []).map((f) => ask.spell(f).replaceAll('_', ' '));
    const more = ask.causes(this.a).length - 3;
    if (all.length === 0 && factors.length === 0) return null;
    this.all = h('details', { class: 'q-parts' },
      h('summary', null, [more > 0 && `${more} more ${more === 1 ? 'reason' : 'reasons'}`, ask.others(q)].filter(Boolean).join(', ') || 'Details'),
      h('ul', null, all.map((p) => this.part(p)), q.more_actions > 0 && h('li', { class: 'q-part dim' }, `and ${q.more_actions} more that are not listed`)),
      factors.length > 0 && h('p', { class: 'small dim' }, 'Risk factors: ', factors.join(', ')));
    return this.all;
  }

  part(p) {
    const glyph = { allow: '✓', ask: '?', deny: '✕' }[p.verdict] || '·';
    const words = { allow: 'allowed', ask: 'asks', deny: 'denied' }[p.verdict] || 'needs no answer';
    return h('li', { class: ['q-part', 'q-part-' + (p.verdict || 'none')] },
      h('span', { class: 'q-part-glyph', 'aria-hidden': 'true' }, glyph), h('span', { class: 'hear' }, words + ': '),
      h('div', null, h('div', { class: 'mono' }, p.text, p.times > 1 && ` ×${p.times}`),
        h('div', { class: 'small dim' }, cause(ask.cause({ ...p, times: 1 }, '', this.a.project)), p.risk && p.why && !String(p.reason).includes(p.why) && ` · ${p.risk}: ${p.why}`)));
  }

  // update takes the approval as it is now. What was shown of the question stays.
  update(a) {
    const before = this.a;
    this.a = { ...a, question: before.question, digest: before.digest };
    if (a.digest !== before.digest || a.status !== before.status || (a.votes || []).length !== (before.votes || []).length) {
      this.use.grace.changed();
      this.show();
    }
    this.showOthers();
  }

  // show shows how it stands, and the answers that there are.
  show() {
    const a = this.a;
    const end = ask.became(a);
    this.showOthers();
    replace(this.state, end ? this.ended(end) : this.waiting());
    const why = ask.mayAnswer(a, this.me);
    if (end || why) {
      this.closeForm();
      this.hold();
      replace(this.bar, !end && h('p', { class: 'dim' }, why));
      this.bar.hidden = Boolean(end);
      this.root.classList.toggle('q-ended', Boolean(end));
      return;
    }
    this.bar.hidden = false;
    if (this.bar.contains(document.activeElement)) this.hold();
    replace(this.bar, ...this.buttons());
    this.settle();
    this.showAnswers();
  }

  // ended says what became of it, in place of the answers.
  ended(words) {
    const a = this.a;
    const kind = { approved: 'ok', consumed: 'ok', denied: 'bad' }[a.status] || '';
    const votes = (a.votes || []).flatMap((v) => v.rules || []);
    return h('div', { class: ['ended', kind && 'ended-' + kind] },
      h('p', null, h('b', null, words[0].toUpperCase() + words.slice(1)), ', ', clock(a.changed)),
      votes.length > 0 && h('p', { class: 'small' }, 'Rules kept: ', [...new Set(votes)].map((r) => [h('code', null, ask.spell(r)), ' '])),
      (a.message || a.reason) && h('p', { class: 'small q-words' }, ask.spell(a.message || a.reason, true)));
  }

  // waiting says how many have approved, and whether somebody still waits for the answer.
  waiting() {
    const a = this.a;
    const out = [];
    if (a.quorum > 1) {
      const names = (a.votes || []).map((v) => v.by.name);
      out.push(h('p', { class: 'note' }, h('b', null, `${names.length} of ${a.quorum} have approved`), names.length > 0 && `: ${names.join(', ')}`, '. One denial is enough to deny it.'));
    }
    return out;
  }

  // showOthers says how many of this kind wait besides.
  showOthers() {
    const n = ask.became(this.a) ? 0 : this.use.alike();
    if (this.n === n) return;
    this.n = n;
    replace(this.others, n > 0 && h('p', { class: 'q-others' }, `${n} more like this ${n === 1 ? 'is' : 'are'} waiting. `,
      h('button', { type: 'button', class: 'link', on: { click: this.use.chooseAlike } }, `Review all ${n + 1} together`)));
  }

  // buttons are the answers that the question offers: first the rules that an approval
  // for the session would keep, each in full, then the rest.
  buttons() {
    const voted = ask.voted(this.a, this.me); // who has approved may still deny
    const has = (name) => (voted && name !== 'deny' && name !== 'words' ? undefined : ask.choice(this.a, name));
    const out = [];
    const button = (kind, key, label, f, order) => out.push(this.button(['button', kind, order], key, h('span', null, label), f));
    if (has('answers') && ask.questions(this.a.question.input)) button('primary', 'a', 'Send the answer', () => this.sendAnswers(), 'b-yes');
    if (has('once')) button('primary', 'o', 'Approve once', () => this.send('once'), 'b-yes');
    if (has('deny')) button('danger', 'd', 'Deny', () => this.send('deny'), 'b-no');
    const session = has('session');
    if (session && !ask.short(session)) button('', 's', 'For this session…', () => this.openKeep('session'), 'b-rest');
    if (has('while')) button('', 't', 'For a while…', () => this.openKeep('while'), 'b-rest');
    if (has('always')) button('', 'a', 'Always…', () => this.openKeep('always'), 'b-rest');
    if (has('accept-edits')) button('', 'A', 'Accept edits, this session', () => this.send('accept-edits'), 'b-rest');
    if (has('edit')) button('', 'e', 'Edit…', () => this.openEdit(), 'b-rest');
    if (has('words')) button('', 'w', 'Deny, say why…', () => this.openWords(), 'b-rest');
    if (has('never')) button('', 'n', 'Never this session…', () => this.openNever(), 'b-rest');
    if (has('once')) button('', 'c', 'Comment…', () => this.openComment(), 'b-rest');
    this.more = out.length > 2 || session ? h('button', { class: 'button b-all', type: 'button', 'aria-label': 'More answers', 'aria-expanded': String(this.bar.classList.contains('q-bar-all')), on: { click: () => this.unfold(this.more.getAttribute('aria-expanded') !== 'true') } }, '⋯') : null;
    return [
      voted && h('p', { class: 'dim' }, 'You have approved this. Somebody else has to approve it, too.'),
      session && ask.short(session) && this.picks(session),
      h('div', { class: 'q-buttons' }, out, this.more),
    ];
  }

  // button is one that answers, or opens a form for that.
  button(kind, key, label, f) {
    const mark = h('kbd', { 'aria-hidden': 'true' }, key);
    return h('button', { class: kind, type: 'button', 'data-key': key, on: { click: () => { if (this.use.grace.over()) f(); } } }, label, mark);
  }

  // picks are the rules that an approval for the session can keep, from narrow to wide.
  picks(choice) {
    return h('div', { class: 'picks', role: 'group', 'aria-label': 'Approve for this session' },
      h('h2', { class: 'q-label' }, 'Approve for this session'),
      choice.rungs.map((r, i) => this.button('q-pick', i === 0 ? 's' : String(i + 1),
        h('span', { class: 'pick-what' }, h('span', { class: 'hear' }, 'For this session: '), r.rules.length > 0 && h('span', { class: 'rung-rules' }, r.rules.map((one) => h('code', null, one))), h('span', { class: 'pick-label' }, words(r.label || 'exactly this again'))),
        () => this.send('session', { rung: i }))));
  }

  // unfold shows or hides the answers that a narrow screen hides at first.
  unfold(open) {
    if (this.more) this.more.setAttribute('aria-expanded', String(open));
    this.bar.classList.toggle('q-bar-all', open);
    this.use.grace.changed(); // what was under the pointer is elsewhere
    this.settle();
  }

  // press is what a key does. What is not in sight answers nothing: it is shown.
  press(key) {
    if (this.opened || this.bar.hidden) return false;
    const b = [...this.bar.querySelectorAll('button')].find((one) => one.dataset.key === key);
    if (!b) return false;
    if (b.getClientRects().length === 0) this.unfold(true);
    else b.click();
    return true;
  }

  // showAll unfolds all parts, or folds them.
  showAll() {
    if (this.all) this.all.open = !this.all.open;
    return Boolean(this.all);
  }

  // hold keeps the focus in the question when a button that has it is disabled, or goes.
  hold() { if (this.root.querySelector('.q-end').contains(document.activeElement)) this.heading.focus({ preventScroll: true }); }

  // settle shows that answers do not count yet.
  settle() {
    this.bar.classList.remove('settling');
    void this.bar.offsetWidth; // the animation begins anew
    this.bar.classList.add('settling');
  }

  // tick shows how much time is left.
  tick() {
    const a = this.a;
    if (a.status !== 'pending') {
      replace(this.left);
      return;
    }
    const out = [];
    if (a.expires) {
      const s = (Date.parse(a.expires) - Date.now()) / 1000;
      out.push(h('span', { class: ['tag', s < 60 && 'tag-soon'] }, s > 0 ? `expires in ${span(s)}` : 'expires now'));
    }
    if (a.lease && a.heard) {
      const silent = (Date.now() - Date.parse(a.heard)) / 1000;
      if (silent > Math.max(5, a.lease / 2)) out.push(h('span', { class: 'tag tag-soon' }, `no sign of the agent for ${span(silent)}`));
    }
    if (this.left.textContent !== out.map((e) => e.textContent).join('')) replace(this.left, out);
  }

  // Forms. One is open at a time.
  closeForm() {
    const had = this.form.contains(document.activeElement);
    replace(this.form);
    this.opened = '';
    this.root.classList.remove('q-open');
    if (had) this.heading.focus({ preventScroll: true });
  }

  // escape closes the form; false if there was none.
  escape() {
    if (!this.opened) return false;
    this.closeForm();
    this.use.grace.changed();
    this.settle();
    return true;
  }

  // open shows a form. done answers by it.
  open(name, title, parts, label, kind, done, focus) {
    this.opened = name;
    this.root.classList.add('q-open');
    this.use.grace.changed();
    const submit = h('button', { type: 'submit', class: ['button', kind] }, label);
    const f = h('form', {
      class: 'card q-card', 'aria-label': title,
      on: {
        submit: (e) => {
          e.preventDefault();
          if (this.use.grace.over()) done();
        },
        keydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); f.requestSubmit(); } },
      },
    }, h('h2', null, title), parts, h('div', { class: 'dialog-end' }, h('button', { type: 'button', class: 'button', on: { click: () => this.escape() } }, 'Cancel', h('kbd', { 'aria-hidden': 'true' }, 'Esc')), submit));
    replace(this.form, f);
    this.problem = h('p', { class: 'problem', role: 'alert' });
    f.lastChild.before(this.problem);
    f.scrollIntoView({ block: 'nearest' });
    const first = focus ? f.querySelector(focus) : f.querySelector('input, textarea');
    if (first) first.focus();
    return submit;
  }

  // openKeep asks which rules an approval keeps: for this session, for a while, or always.
  openKeep(name) {
    const choice = ask.choice(this.a, name);
    const rungs = choice.rungs || [];
    const title = { session: 'Approve for this session', while: 'Approve for a while', always: 'Always approve' }[name];
    let [limit, rung] = [ask.limits[0], 0];
    this.open(name, title, [
      name === 'while' && h('fieldset', { class: 'choices' }, h('legend', null, 'For how long'), ask.limits.map((l, i) => radio('limit', i, i === 0, l.label, null, () => { limit = l; }))),
      this.rungs('What to approve, from narrow to wide', rungs, (i) => { rung = i; }),
      name === 'always' && h('p', { class: 'small' }, 'The rule is written to ', choice.into ? h('code', null, choice.into) : 'your policy', '.'),
    ], { session: 'Approve', while: 'Approve', always: 'Write the rule' }[name], 'primary', () => this.send(name, name === 'while' ? { rung, limit } : { rung }), 'input:checked');
  }

  // openNever asks which rule a denial keeps.
  openNever() {
    let rung = 0;
    this.open('never', 'Deny for this session', [this.rungs('What to deny, from narrow to wide', ask.choice(this.a, 'never').rungs || [], (i) => { rung = i; })],
      'Deny for this session', 'danger', () => this.send('never', { rung }), 'input:checked');
  }

  // rungs are sets of rules, of which one is picked.
  rungs(legend, all, set) {
    return h('fieldset', { class: 'choices choices-tall' }, h('legend', null, legend), all.map((r, i) => radio('rung', i, i === 0, words(r.label || 'exactly this again'),
      r.rules.length > 0 && h('span', { class: 'rung-rules' }, r.rules.map((one) => h('code', null, one))), () => set(i))));
  }

  openWords() {
    const text = h('textarea', { id: 'words', rows: 3, maxLength: 4000, 'aria-describedby': 'words-about', on: { input: () => { this.problem.textContent = ''; } } });
    this.open('words', 'Deny, and say why', [
      h('label', { for: 'words' }, 'What the agent is told'), text,
      h('p', { id: 'words-about', class: 'dim small' }, 'The agent reads this and goes on from there.'),
    ], 'Deny', 'danger', () => {
      if (text.value.trim() === '') {
        this.problem.textContent = 'Write something, or use Deny.';
        text.focus();
        return null;
      }
      return this.send('words', { message: text.value });
    });
  }

  openComment() {
    const text = h('textarea', { id: 'comment', rows: 2, maxLength: 4000 });
    this.open('comment', 'Approve once, with a comment', [h('label', { for: 'comment' }, 'Comment for the audit log'), text], 'Approve once', 'primary', () => this.send('once', { message: text.value.trim() }));
  }

  // openEdit edits the input. What comes of it is decided anew, like any other tool use.
  openEdit() {
    const q = this.a.question;
    if (!ask.exact(q.input)) {
      this.use.ctx.toast('This contains numbers that a browser would change. Edit it in a terminal: agent-wrapper approvals', 'bad');
      return;
    }
    const name = ask.editable(q);
    const now = name ? q.input[name] : JSON.stringify(q.input, null, 2);
    const text = h('textarea', { id: 'edit', class: 'mono q-edit', rows: Math.min(16, Math.max(3, now.split('\n').length + 1)), spellcheck: 'false', value: now });
    const count = ask.hides(now);
    const remove = count > 0 && h('p', { class: 'note note-warn' }, `This contains ${count} hidden character${count === 1 ? '' : 's'}. `,
      h('button', { type: 'button', class: 'link', on: { click: () => { text.value = ask.reveal(text.value); remove.hidden = true; } } }, 'Remove them'));
    this.open('edit', 'Edit, then decide again', [h('label', { for: 'edit' }, name || 'The input, as JSON'), text, remove,
      h('p', { class: 'dim small' }, 'This approves nothing yet: the policy decides what you have written, and asks again if it has to.')], 'Decide', 'primary', () => {
      let input;
      try {
        input = name ? { ...q.input, [name]: text.value } : JSON.parse(text.value);
      } catch {
        this.problem.textContent = 'This is not valid JSON.';
        return null;
      }
      if (JSON.stringify(input) === JSON.stringify(q.input)) {
        this.problem.textContent = 'You have not changed anything.';
        return null;
      }
      return this.send('edit', { input });
    });
  }

  // showAnswers shows the agent's questions, with what it offers as answers.
  showAnswers() {
    const all = ask.choice(this.a, 'answers') && ask.questions(this.a.question.input);
    if (!all || this.asked.childElementCount > 0) return;
    this.answers = all.map((one, n) => new Choices(one, n));
    replace(this.asked, h('div', { class: 'q-answers', on: { keydown: (e) => { if (e.key === 'Enter') { e.preventDefault(); this.sendAnswers(); } } } }, this.answers.map((p) => p.root)));
  }

  // sendAnswers sends the answers, or leads to the question that has none.
  sendAnswers() {
    const empty = this.answers.find((p) => p.value() === '');
    if (empty) return empty.focus();
    return this.send('answers', { answers: Object.fromEntries(this.answers.map((p) => [p.one.text, p.value()])) });
  }

  // send answers. Exactly one answer is under way, and it is for what is shown.
  async send(name, given = {}) {
    if (this.sending || this.a.status !== 'pending' || !this.use.grace.over()) return;
    this.sending = true;
    const a = this.a;
    const submit = [...this.root.querySelectorAll('.q-end button')];
    this.hold();
    for (const b of submit) b.disabled = true;
    try {
      const body = ask.reply(a, name, given);
      const now = await this.use.ctx.api.post(`/api/approvals/${encodeURIComponent(a.id)}/answer`, body);
      this.sending = false;
      this.use.answered(now, name);
    } catch (err) {
      this.sending = false;
      for (const b of submit) b.disabled = false;
      this.failed(err);
    }
  }

  // failed says why an answer does not count.
  failed(err) {
    const { toast, live } = this.use.ctx;
    this.use.grace.changed();
    if (err.approval) {
      live.put(err.approval);
      const end = ask.became(err.approval);
      toast(end ? `Too late: ${end}` : err.message, 'bad');
      return;
    }
    if (this.opened && this.problem) this.problem.textContent = err.message;
    else toast(err.status === 0 ? 'Cannot reach the server. Your answer may not have arrived.' : err.message, 'bad');
  }
}

// Choices is one question of an agent.
class Choices {
  constructor(one, n) {
    this.one = one;
    const id = `answer-${n}`;
    this.other = h('input', { type: 'text', id: id + '-other', class: 'field', placeholder: one.options.length > 0 ? 'Something else' : 'Your answer', 'aria-label': one.options.length > 0 ? 'Something else' : 'Your answer', maxLength: 4000, on: { input: () => this.typed() } });
    this.inputs = one.options.map((o, i) => h('input', { type: one.many ? 'checkbox' : 'radio', name: id, id: `${id}-${i}`, on: { change: () => { if (!one.many) this.other.value = ''; } } }));
    this.root = h('fieldset', { class: 'choices choices-tall' },
      h('legend', null, one.header && h('span', { class: 'tag' }, ask.spell(one.header)), h('span', { class: 'q-ask' }, ask.spell(one.text, true))),
      one.options.map((o, i) => h('label', { class: 'choice' }, this.inputs[i], h('span', null, h('span', null, ask.spell(o.label)), o.about && h('span', { class: 'dim small' }, ask.spell(o.about))))),
      h('div', { class: 'choice' }, this.other));
  }

  typed() { if (!this.one.many && this.other.value !== '') for (const i of this.inputs) i.checked = false; }

  // value is the answer; '' if there is none.
  value() {
    const chosen = this.one.options.filter((_, i) => this.inputs[i].checked).map((o) => o.label);
    if (this.other.value.trim() !== '') chosen.push(this.other.value.trim());
    return chosen.join(', ');
  }

  focus() { (this.inputs[0] || this.other).focus(); }
}

// cause is a line about what asks.
function cause(c) {
  return [c.text && [h('span', { class: 'mono' }, c.text), ': '], c.reason, c.rule && [c.reason && ' ', h('code', null, c.rule)], c.source && [' ', h('span', { class: 'q-source' }, c.source)]];
}

// words shows a label in which a command stands between backquotes.
function words(label) { return label.split('`').map((part, i) => (i % 2 ? h('code', null, part) : part)); }

// radio is one of several that exclude each other.
function radio(group, i, checked, label, about, set) {
  return h('label', { class: 'choice' }, h('input', { type: 'radio', name: group, value: String(i), checked, on: { change: set } }), h('span', null, h('span', null, label), about));
}
