// One question: what would be done, why it is asked, and the answers. What is shown stays
// as it is while the question waits, so that an answer is always for what was seen; only
// what others do about it changes.

import { clock, h, replace, risk, span } from './dom.js';
import * as ask from './ask.js';

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
    const q = a.question;
    this.root = h('article', { class: 'q', 'aria-label': 'The question' },
      h('div', { class: 'q-head' },
        h('button', { class: 'quiet q-back', type: 'button', on: { click: use.back } }, '‹ Inbox'),
        this.heading,
        h('p', { class: 'q-meta' }, risk(q.risk), q.held && !ask.choice(a, 'answers') && h('span', { class: 'tag', title: 'Only an answer to this one tool use can allow it' }, 'only one by one'), this.left,
          h('span', { class: 'q-where' }, this.where()))),
      this.why(),
      h('div', { class: 'q-body' }, this.blocks(), this.asked, this.parts(), this.others),
      h('div', { class: 'q-end' }, this.state, this.form, this.bar));
    this.show();
    this.tick();
  }

  // title says in words who wants what.
  title() {
    const q = this.a.question;
    const tool = q.tool;
    const mcp = ask.mcp(tool);
    const what = {
      Bash: ['run a command'], Edit: ['change a file'], MultiEdit: ['change a file'], Write: ['write a file'], NotebookEdit: ['change a notebook'],
      Read: ['read a file'], WebFetch: ['fetch a page'], WebSearch: ['search the web'], AskUserQuestion: ['ask you something'],
    }[tool] || (mcp ? ['use ', h('span', { class: 'mono' }, mcp[2]), ' of ', h('span', { class: 'mono' }, mcp[1])] : ['use ', h('span', { class: 'mono' }, tool)]);
    return [h('b', null, ask.spell(this.a.asker.name)), q.agent ? [' (', q.agent, ')'] : '', ' wants to ', what];
  }

  // where says which session and directory it is.
  where() {
    const a = this.a;
    const terminal = this.use.ctx.live.sessions.get(a.session);
    const session = ask.spell(a.question.session || a.session);
    return [
      session && [h('span', null, 'session ', terminal ? h('a', { href: '#/sessions/' + encodeURIComponent(a.session) }, session) : h('span', { class: 'mono' }, session))],
      a.question.dir && h('span', null, 'in ', h('span', { class: 'mono' }, a.question.dir)),
      h('span', null, 'asked ', h('time', { datetime: a.asked }, clock(a.asked))),
    ];
  }

  // why is the line with what asks: the reason, and the rule with its place.
  why() {
    const q = this.a.question;
    const [reason, rule, source] = reasonOf(q.reason || 'The policy leaves it to a person', q.rule, q.rule_source);
    const factors = (q.factors || []).map((f) => h('span', { class: 'tag' }, ask.spell(f).replaceAll('_', ' ')));
    return h('div', { class: 'q-why' },
      h('p', null, h('span', { class: 'q-why-glyph', 'aria-hidden': 'true' }, '?'), h('span', null, h('span', { class: 'hear' }, 'Why it is asked: '), reason,
        rule && [' · rule ', h('code', null, rule)], source && [' · ', h('span', { class: 'q-source' }, source)])),
      factors.length > 0 && h('p', { class: 'q-factors' }, h('span', { class: 'hear' }, 'What makes the risk: '), factors));
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
    if (!q.whole) out.push(h('p', { class: 'note note-warn' }, 'Not everything is shown: it is too large. ', (q.withheld || []).length > 0 && 'Answers that allow more than this are not offered.'));
    return out;
  }

  block(b, isMain) {
    const diff = ask.isDiff(b);
    const by = b.title === 'description' || b.title === 'prompt';
    const label = b.title === 'description' ? 'the agent’s description' : b.title;
    const body = diff ? new Diff(b).root : h('pre', { class: ['q-text', isMain && 'q-main', by && 'q-by', 'mono'] }, lines(b.lines));
    return h('section', { class: ['q-block', diff && 'q-diff'], 'aria-label': label },
      h('h2', { class: 'q-label' }, h('span', null, label), (b.notes || []).map((n) => h('span', { class: 'tag' }, n)), diff && body.toggle),
      body);
  }

  // parts lists all that would be done, with what decides about each.
  parts() {
    const q = this.a.question;
    const all = q.actions || [];
    if (all.length === 0 || ask.choice(this.a, 'answers')) return null;
    const asks = all.filter((p) => p.verdict === 'ask').length;
    const words = all.length === 1 && !q.more_actions ? 'What it does' : `What it does: ${all.length + (q.more_actions || 0)} parts, ${asks} ${asks === 1 ? 'asks' : 'ask'}`;
    return h('details', { class: 'q-parts', open: all.length > 1 && all.length <= 6 }, h('summary', null, words),
      h('ul', null, all.map((p) => this.part(p)), q.more_actions > 0 && h('li', { class: 'q-part dim' }, `and ${q.more_actions} more, which are not listed`)));
  }

  part(p) {
    const glyph = { allow: '✓', ask: '?', deny: '✕' }[p.verdict] || '·';
    const [reason, rule, source] = reasonOf(p.reason, p.rule, p.source);
    const words = { allow: 'allowed', ask: 'asks', deny: 'denied' }[p.verdict] || 'needs no answer';
    return h('li', { class: ['q-part', 'q-part-' + (p.verdict || 'none')] },
      h('span', { class: 'q-part-glyph', 'aria-hidden': 'true' }, glyph), h('span', { class: 'hear' }, words + ': '),
      h('div', null, h('div', { class: 'mono' }, p.text, p.times > 1 && ` ×${p.times}`),
        h('div', { class: 'small dim' }, dotted([reason, rule && ['rule ', h('code', null, rule)], source, p.risk && p.why && !String(reason).includes(p.why) && `${p.risk}: ${p.why}`]))));
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
      votes.length > 0 && h('p', { class: 'small' }, 'With the rules: ', [...new Set(votes)].map((r) => [h('code', null, ask.spell(r)), ' '])),
      (a.message || a.reason) && h('p', { class: 'small q-words' }, ask.spell(a.message || a.reason, true)));
  }

  // waiting says how many have approved, and whether somebody still waits for the answer.
  waiting() {
    const a = this.a;
    const out = [];
    if (a.quorum > 1) {
      const names = (a.votes || []).map((v) => v.by.name);
      out.push(h('p', { class: 'note' }, h('b', null, `${names.length} of ${a.quorum} have approved`), names.length > 0 && `: ${names.join(', ')}`, '. One denial ends it.'));
    }
    return out;
  }

  // showOthers says how many of this kind wait besides.
  showOthers() {
    const n = ask.became(this.a) ? 0 : this.use.alike();
    if (this.n === n) return;
    this.n = n;
    replace(this.others, n > 0 && h('p', { class: 'q-others' }, `${n} other${n === 1 ? '' : 's'} of this kind wait${n === 1 ? 's' : ''}. `,
      h('button', { type: 'button', class: 'link', on: { click: this.use.chooseAlike } }, `Show all ${n + 1} together`)));
  }

  // buttons are the answers that the question offers.
  buttons() {
    const voted = ask.voted(this.a, this.me); // who has approved may still deny
    const has = (name) => (voted && name !== 'deny' && name !== 'words' ? undefined : ask.choice(this.a, name));
    const out = voted ? [h('p', { class: 'dim' }, 'You have approved this. Others have to approve it, too.')] : [];
    const button = (kind, key, label, f, order) => out.push(h('button', { class: ['button', kind, order], type: 'button', 'data-key': key, on: { click: () => { if (this.use.grace.over()) f(); } } },
      h('span', null, label), h('kbd', { 'aria-hidden': 'true' }, key)));
    if (has('answers') && ask.questions(this.a.question.input)) button('primary', 'a', 'Send the answer', () => this.sendAnswers(), 'b-yes');
    if (has('once')) button('primary', 'a', 'Approve once', () => this.send('once'), 'b-yes');
    if (has('deny')) button('danger', 'd', 'Deny', () => this.send('deny'), 'b-no');
    if (!voted && this.lasting().length > 0) button('', 's', 'For longer…', () => this.openLadder(), 'b-more');
    if (has('edit')) button('', 'e', 'Edit…', () => this.openEdit(), 'b-edit');
    if (has('words')) button('', 'w', 'Deny with words…', () => this.openWords(), 'b-words');
    if (has('once')) button('', 'c', 'Comment…', () => this.openComment(), 'b-comment');
    if (voted) return out;
    const more = h('button', { class: 'button b-all', type: 'button', 'aria-label': 'More answers', 'aria-expanded': 'false', on: { click: () => more.setAttribute('aria-expanded', String(this.bar.classList.toggle('q-bar-all'))) } }, '⋯');
    out.push(more);
    return out;
  }

  // lasting are the choices that allow more than this tool use.
  lasting() { return ['session', 'while', 'always'].map((name) => ask.choice(this.a, name)).filter(Boolean); }

  // keys are what the keys do.
  keys() {
    const press = (key) => () => {
      const b = [...this.bar.querySelectorAll('button')].find((one) => one.dataset.key === key);
      if (!b || this.bar.hidden) return false;
      b.click();
      return true;
    };
    return {
      a: [press('a'), 'approve once, or answer'], d: [press('d'), 'deny'], s: [press('s'), 'approve for longer'],
      e: [press('e'), 'edit: it is decided anew'], w: [press('w'), 'deny with words'], c: [press('c'), 'approve with a comment'],
    };
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
      if (silent > Math.max(5, a.lease / 2)) out.push(h('span', { class: 'tag tag-soon' }, `its asker is silent for ${span(silent)}`));
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

  // openLadder asks for how long and what.
  openLadder() {
    const spans = [];
    for (const c of this.lasting()) {
      if (c.name === 'session') spans.push({ name: 'session', label: 'For this session' });
      if (c.name === 'while') for (const limit of ask.limits) spans.push({ name: 'while', label: limit.label, limit });
      if (c.name === 'always') spans.push({ name: 'always', label: 'Always', about: 'it is written to the policy' });
    }
    const rungs = this.lasting()[0].rungs || [];
    let [at, rung] = [0, 0];
    const radio = (group, i, checked, label, about, set) => h('label', { class: 'choice' },
      h('input', { type: 'radio', name: group, value: String(i), checked, on: { change: set } }), h('span', null, h('span', null, label), about));
    this.open('ladder', 'Approve this, and what is like it', [
      h('fieldset', { class: 'choices' }, h('legend', null, 'For how long'), spans.map((s, i) => radio('span', i, i === 0, s.label, s.about && h('span', { class: 'dim small' }, s.about), () => { at = i; }))),
      h('fieldset', { class: 'choices choices-tall' }, h('legend', null, 'What, from narrow to wide'), rungs.map((r, i) => radio('rung', i, i === 0, words(r.label || 'exactly this again'),
        r.rules.length > 0 && h('span', { class: 'rung-rules' }, r.rules.map((one) => h('code', null, one))), () => { rung = i; }))),
    ], 'Approve and keep', 'primary', () => this.send(spans[at].name, { rung, limit: spans[at].limit }), 'input:checked');
  }

  openWords() {
    const never = ask.choice(this.a, 'never');
    const text = h('textarea', { id: 'words', rows: 3, maxLength: 4000, 'aria-describedby': 'words-about', on: { input: () => { this.problem.textContent = ''; } } });
    let keep = -1;
    const rungs = (never && never.rungs) || [];
    const radio = (i, label, rules) => h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'never', checked: i === -1, on: { change: () => { keep = i; text.disabled = i >= 0; } } }),
      h('span', null, h('span', null, label), rules && h('span', { class: 'rung-rules' }, rules.map((r) => h('code', null, r)))));
    this.open('words', 'Deny, and say why', [
      h('label', { for: 'words' }, 'What the agent is told'), text,
      h('p', { id: 'words-about', class: 'dim small' }, 'It reads this as your answer, and goes on from there.'),
      rungs.length > 0 && h('fieldset', { class: 'choices choices-tall' }, h('legend', null, 'For how long'), radio(-1, 'Only this one'),
        rungs.map((r, i) => radio(i, ['For this session: ', words(r.label || 'exactly this')], r.rules))),
    ], 'Deny', 'danger', () => {
      if (keep >= 0) return this.send('never', { rung: keep });
      if (text.value.trim() === '') {
        this.problem.textContent = 'Say something, or deny without words.';
        text.focus();
        return null;
      }
      return this.send('words', { message: text.value });
    });
  }

  openComment() {
    const text = h('textarea', { id: 'comment', rows: 2, maxLength: 4000 });
    this.open('comment', 'Approve once, with a comment', [h('label', { for: 'comment' }, 'Comment, for the record'), text], 'Approve once', 'primary', () => this.send('once', { message: text.value.trim() }));
  }

  // openEdit edits the input. What comes of it is decided anew, like any other tool use.
  openEdit() {
    const q = this.a.question;
    if (!ask.exact(q.input)) {
      this.use.ctx.toast('This has numbers that a browser cannot carry exactly: edit it in a terminal, with agent-wrapper approvals.', 'bad');
      return;
    }
    const name = ask.editable(q);
    const now = name ? q.input[name] : JSON.stringify(q.input, null, 2);
    const text = h('textarea', { id: 'edit', class: 'mono q-edit', rows: Math.min(16, Math.max(3, now.split('\n').length + 1)), spellcheck: 'false', value: now });
    const count = ask.hides(now);
    const remove = count > 0 && h('p', { class: 'note note-warn' }, `It has ${count} character${count === 1 ? '' : 's'} that cannot be seen here. `,
      h('button', { type: 'button', class: 'link', on: { click: () => { text.value = ask.reveal(text.value); remove.hidden = true; } } }, 'Take them out'));
    this.open('edit', 'Edit what would be done', [h('label', { for: 'edit' }, name || 'The input, as JSON'), text, remove,
      h('p', { class: 'dim small' }, 'This approves nothing yet: what you have written is decided anew, by the same policy.')], 'Have it decided', 'primary', () => {
      let input;
      try {
        input = name ? { ...q.input, [name]: text.value } : JSON.parse(text.value);
      } catch (err) {
        this.problem.textContent = `This is no JSON: ${err.message}`;
        return null;
      }
      if (JSON.stringify(input) === JSON.stringify(q.input)) {
        this.problem.textContent = 'Nothing was edited.';
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
      toast(end ? `Too late: it is ${end}` : err.message, 'bad');
      return;
    }
    if (this.opened && this.problem) this.problem.textContent = err.message;
    else toast(err.status === 0 ? 'Your answer did not arrive: the server does not answer.' : err.message, 'bad');
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

// reasonOf leaves out what a reason says itself.
function reasonOf(reason, rule, source) {
  const said = (text) => !text || String(reason).includes(text);
  return [reason, said(rule) ? '' : rule, said(source) ? '' : source];
}

// dotted returns parts with dots between them.
function dotted(parts) { return parts.filter(Boolean).flatMap((p, i) => (i > 0 ? [' · ', p] : [p])); }

// lines returns lines of a text, with what caused the question marked.
export function lines(all) {
  return (all || []).map((line) => h('span', { class: 'q-line' }, line.sign === '…'
    ? h('span', { class: 'left-out' }, leftOut(line))
    : (line.segments || []).map((s) => (s.mark ? h('mark', null, s.text) : s.text)), '\n'));
}

function leftOut(line) { return `… ${line.bytes} bytes${line.count > 0 ? ` with ${line.count} line breaks` : ''} are not shown`; }

// words shows a label in which a command stands between backquotes.
function words(label) { return label.split('`').map((part, i) => (i % 2 ? h('code', null, part) : part)); }

// Diff shows a change, unified or side by side, as the person likes it.
const liking = 'agent-wrapper.diff';
export class Diff {
  constructor(block) {
    this.block = block;
    this.body = h('div', { class: 'diff', role: 'group', tabIndex: 0 });
    this.root = this.body;
    this.toggle = h('span', { class: 'diff-toggle', role: 'group', 'aria-label': 'How the change is shown' }, ['unified', 'split'].map((name) => h('button', {
      type: 'button', 'data-name': name, on: { click: () => { localStorage.setItem(liking, name); for (const d of open) d.draw(); } },
    }, name)));
    this.root.toggle = this.toggle;
    this.body.setAttribute('aria-label', block.title);
    open.add(this);
    this.draw();
  }

  draw() {
    const split = localStorage.getItem(liking) === 'split';
    for (const b of this.toggle.children) b.setAttribute('aria-pressed', String((b.dataset.name === 'split') === split));
    this.body.classList.toggle('diff-split', split);
    replace(this.body, split ? ask.sides(this.block.lines).map(pair) : ask.numbered(this.block.lines).map(single));
  }
}
const open = new Set();

// closeDiffs forgets the changes that were shown.
export function closeDiffs() { open.clear(); }

const signs = { '+': ['add', 'added'], '-': ['del', 'removed'], '@': ['at', ''], '…': ['left-out', ''], '\\': ['end', ''] };

function content(line) {
  const [, said] = signs[line.sign] || ['', ''];
  return [said && h('span', { class: 'hear' }, said + ': '), line.sign === '…' ? leftOut(line) : (line.segments || []).map((s) => (s.mark ? h('mark', null, s.text) : s.text))];
}

function single(one) {
  const [kind] = signs[one.line.sign] || [''];
  const n = (v) => h('span', { class: 'q-no', 'aria-hidden': 'true' }, v === undefined ? '' : String(v));
  if (kind === 'at' || kind === 'left-out' || kind === 'end') return h('div', { class: ['dl', 'dl-' + kind] }, content(one.line));
  return h('div', { class: ['dl', kind && 'dl-' + kind] }, n(one.x), n(one.y), h('span', { class: 'q-sign', 'aria-hidden': 'true' }, one.line.sign), h('span', { class: 'dt' }, content(one.line)));
}

function pair(row) {
  if (row.both) return single(row.both);
  const side = (one, isLeft) => {
    if (!one) return [h('span', { class: 'q-no none' }), h('span', { class: 'dt none' })];
    const [kind] = signs[one.line.sign] || [''];
    return [h('span', { class: ['q-no', kind && 'in-' + kind], 'aria-hidden': 'true' }, String(isLeft ? one.x : one.y)), h('span', { class: ['dt', kind && 'in-' + kind] }, content(one.line))];
  };
  return h('div', { class: 'dl dl-pair' }, side(row.left, true), side(row.right, false));
}

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
        h('p', { class: 'dim' }, 'Each is shown as it is. What is not checked is left as it waits.')),
      h('div', { class: 'q-body' }, this.list), h('div', { class: 'q-end' }, this.bar));
    this.rows = new Map();
    for (const a of this.all.values()) this.add(a);
    this.show();
  }

  add(a) {
    const state = h('span', { class: 'small' });
    const box = h('input', { type: 'checkbox', checked: true, 'aria-label': `Answer ${plain(a)}`, on: { change: () => { if (box.checked) this.chosen.add(a.id); else this.chosen.delete(a.id); this.use.grace.changed(); this.show(); } } });
    const first = ask.main(a.question);
    const row = h('li', { class: 'card batch-one' }, h('div', { class: 'batch-head' }, h('label', { class: 'row' }, box, h('b', null, a.question.tool)), risk(a.question.risk), state),
      (a.question.blocks || []).map((b) => (ask.isDiff(b) ? new Diff(b).root : h('pre', { class: ['q-text', b === first && 'q-main', 'mono'] }, b !== first && h('span', { class: 'dim' }, b.title + ': '), lines(b.lines)))),
      !a.question.whole && h('p', { class: 'note note-warn' }, 'Not everything is shown: it is too large.'),
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
    replace(this.heading, `${this.all.size} questions of one kind`);
    for (const [id, { box, state, row }] of this.rows) {
      const a = this.all.get(id);
      const end = ask.became(a) || (ask.voted(a, this.use.ctx.me) ? 'you have approved' : '');
      state.textContent = end;
      box.disabled = end !== '';
      if (end) box.checked = false;
      row.classList.toggle('batch-ended', end !== '');
    }
    const risky = this.waits().filter((a) => !ask.together(a)).length;
    const button = (kind, key, label, f, disabled) => h('button', { class: ['button', kind], type: 'button', disabled, 'data-key': key, on: { click: () => { if (this.use.grace.over()) f(); } } }, h('span', null, label), h('kbd', { 'aria-hidden': 'true' }, key));
    replace(this.bar, risky > 0 && h('p', { class: 'note' }, `${risky} of them cannot be approved together with others: answer each by itself.`),
      button('primary', 'a', `Approve these ${n} once`, () => this.send('once'), n === 0 || risky > 0),
      button('danger', 'd', `Deny these ${n}`, () => this.send('deny'), n === 0));
    this.bar.classList.remove('settling');
    void this.bar.offsetWidth;
    this.bar.classList.add('settling');
  }

  keys() {
    const press = (key) => () => {
      const b = [...this.bar.querySelectorAll('button')].find((one) => one.dataset.key === key);
      if (b && !b.disabled) b.click();
    };
    return { a: [press('a'), 'approve these once'], d: [press('d'), 'deny these'] };
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

// plain says in one line what a question is about.
export function plain(a) {
  const b = ask.main(a.question) || (a.question.blocks || [])[0];
  const line = b && (b.lines || []).map((l) => ask.lineText(l)).find((t) => t.trim() !== '');
  return `${a.question.tool}: ${(line || '').slice(0, 120)}`;
}
