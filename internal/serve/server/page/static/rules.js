// The rules: one is tried on the audit log before it counts, and what is remembered ends when
// it is revoked. The page writes no policy: it shows the line to write.

import { clock, h, replace, risk, span } from './dom.js';
import { verdict } from './history.js';
import { plain, spelled } from './spelled.js';

const patience = 400; // after the last key until a rule is tried

const as = { allow: 'Allow', ask: 'Ask', deny: 'Deny' };
const changes = [
  ['spared', 'would be allowed instead of asked', 'ok'], ['asked', 'would be asked instead of allowed', 'warn'],
  ['denied', 'would be denied', 'bad'], ['loosened', 'would no longer be denied', 'bad'],
];
const levels = { danger: ['▲', 'bad'], warning: ['●', 'warn'], note: ['○', ''] };

export default {
  name: 'rules',
  title: 'Rules',
  match: /^\/rules$/,
  mount(root, ctx) {
    const view = new View(root, ctx);
    const end = () => view.end();
    end.update = () => view.update();
    return end;
  },
};

// copier returns a button that copies a text.
export function copier(ctx, text, label = 'Copy') {
  return h('button', {
    class: 'button', type: 'button', on: {
      click: async () => {
        try {
          await navigator.clipboard.writeText(text);
          ctx.toast('Copied', 'ok');
        } catch {
          ctx.toast('Your browser blocked copying. Select the text instead.', 'bad');
        }
      },
    },
  }, label);
}

class View {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.rule = h('input', { class: 'mono', type: 'text', id: 'rule', name: 'rule', placeholder: 'Bash(npm test:*)', autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', 'aria-describedby': 'rule-help' });
    this.result = h('div', { class: 'tried' });
    this.summary = h('p', { class: 'tried-summary', role: 'status' });
    this.form = h('form', {
      class: ['card', 'editor'], 'aria-label': 'Try a rule', on: {
        submit: (e) => { e.preventDefault(); this.apply(); }, change: () => this.apply(),
        input: () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.apply(), patience); },
      },
    },
    h('h2', null, 'Try a rule'),
    h('label', { for: 'rule' }, 'Rule'), this.rule,
    h('fieldset', { class: 'as' }, h('legend', { class: 'hear' }, 'What the rule does'),
      Object.entries(as).map(([value, text]) => h('label', { class: 'pick' }, h('input', { type: 'radio', name: 'as', value, checked: value === 'allow' }), text))),
    h('p', { class: ['dim', 'small'], id: 'rule-help' }, 'Shows what the rule would have changed in your latest decisions. Trying it changes nothing.'),
    this.summary, this.result);
    this.list = h('section', { class: 'remembered', 'aria-label': 'Remembered approvals' });
    this.learnt = h('section', { class: 'learnt', 'aria-label': 'Proposals' });
    root.classList.add('sheet', 'rules');
    root.append(h('h1', null, 'Rules'), this.form, this.learnt, this.list);
    ctx.keys({ '/': [() => this.rule.focus(), 'type a rule'] });
    this.update();
    this.load();
  }

  end() {
    this.ended = true;
    clearTimeout(this.typing);
  }

  apply() {
    clearTimeout(this.typing);
    const q = new URLSearchParams();
    if (this.rule.value.trim()) q.set('rule', this.rule.value.trim());
    q.set('as', this.form.elements.as.value);
    this.ctx.go('/rules?' + q, { replace: true });
  }

  update() {
    const rule = this.ctx.query.get('rule') || '';
    const kind = as[this.ctx.query.get('as')] ? this.ctx.query.get('as') : 'allow';
    if (this.rule.value.trim() !== rule) this.rule.value = rule;
    this.form.elements.as.value = kind;
    if (this.tried === `${kind} ${rule}`) return;
    this.tried = `${kind} ${rule}`;
    this.try(rule, kind);
  }

  // try tries a rule. An answer counts only if it is about the rule that is there.
  async try(rule, kind) {
    const asked = this.tried;
    this.result.classList.add('stale');
    if (!rule) {
      replace(this.summary);
      replace(this.result);
      return;
    }
    replace(this.summary, 'Trying…');
    let t;
    try {
      t = await this.ctx.api.post('/api/rules/try', { rule, as: kind });
    } catch (err) {
      t = { problem: err.message };
    }
    if (this.ended || this.tried !== asked) return;
    this.result.classList.remove('stale');
    if (t.problem) {
      replace(this.summary, h('span', { class: 'tone-bad' }, '✕ ', spelled(t.problem)));
      replace(this.result);
      return;
    }
    this.show(t);
  }

  show(t) {
    const judged = t.looked - t.masked - t.elsewhere;
    const n = (x) => x.toLocaleString('en');
    const parts = changes.filter(([key]) => t[key].count > 0).map(([key, words]) => `${n(t[key].count)} ${words}`);
    replace(this.summary, `Of the latest ${n(judged)} decisions${t.oldest ? `, since ${clock(t.oldest)}` : ''}: ${parts.length ? parts.join('; ') + '; ' : ''}${n(t.same)} unchanged.`);
    const not = [];
    if (t.masked) not.push(`${n(t.masked)} that the audit log has only in part, or with a secret masked`);
    if (t.elsewhere) not.push(`${n(t.elsewhere)} in other directories`);
    if (!t.done) not.push(`those left when time ran out, of the latest ${n(t.most)}`);
    replace(this.result,
      not.length > 0 && h('p', { class: ['dim', 'small'] }, `Not counted: ${not.join('; ')}.`),
      t.lint.length > 0 && h('ul', { class: 'lint', 'aria-label': 'Lint findings' }, t.lint.map(finding)),
      changes.filter(([key]) => t[key].count > 0).map(([key, words, tone]) => group(t[key], words, tone)),
      h('div', { class: 'keep' },
        h('h3', null, 'Keep it permanently'), h('p', { class: ['dim', 'small'] }, 'This page does not write policies. Add this line to your policy file:'),
        h('div', { class: 'row' }, h('code', { class: 'toml' }, spelled(t.line)), copier(this.ctx, t.line)),
        t.remember && this.offer(t)));
  }

  // offer is the part about remembering the rule.
  offer(t) {
    const o = t.remember;
    if (!o.risk) return [h('h3', null, 'Remember it for some days'), h('p', { class: 'small' }, h('span', { class: 'dim' }, 'This rule cannot be remembered here: '), spelled(o.why), '.')];
    const days = h('select', { name: 'days', 'aria-label': 'For how long' }, [[1, '1 day'], [7, '7 days'], [30, '30 days']].map(([value, text]) => h('option', { value: String(value), selected: value === 7 }, text)));
    days.addEventListener('change', (e) => e.stopPropagation());
    const remember = h('button', { class: 'button', type: 'button', disabled: true, on: { click: () => this.remember(t.rule, Number(days.value), remember) } }, 'Remember');
    setTimeout(() => { remember.disabled = false; }, patience); // nothing is pressed that was just put there
    return [
      h('h3', null, 'Remember it for some days'),
      h('p', { class: 'small' }, h('span', { class: 'dim' }, `${o.count === 1 ? 'One of these questions' : `${o.count} of these questions`} offered this rule. While it is remembered, it approves for you in this project, up to risk `), risk(o.risk), '.'),
      h('div', { class: 'row' }, days, remember)];
  }

  async remember(rule, days, button) {
    button.disabled = true;
    try {
      const kept = await this.ctx.api.post('/api/rules', { rule, days });
      this.ctx.toast(`Remembered until ${clock(kept.expires)}`, 'ok');
      this.tried = '';
      this.update();
    } catch (err) {
      this.ctx.toast(err.message, 'bad');
    }
    if (!this.ended) this.load();
  }

  async load() {
    const { api } = this.ctx;
    try {
      const [{ rules }, { proposals }] = await Promise.all([api.get('/api/rules'), api.get('/api/rules/proposals')]);
      if (this.ended) return;
      this.showRules(rules);
      this.showProposals(proposals);
    } catch (err) {
      if (!this.ended) replace(this.list, h('p', { class: 'tone-bad' }, err.message));
    }
  }

  showRules(rules) {
    const now = Date.now();
    const counts = (r) => !r.revoked && (!r.expires || Date.parse(r.expires) > now);
    const ended = rules.filter((r) => !counts(r)).reverse();
    const mine = rules.filter(counts).reverse();
    replace(this.list, h('h2', null, 'Remembered approvals'),
      mine.length === 0 ? h('p', { class: 'dim' }, 'Nothing is remembered. Rules that you remember are listed here until they expire.') : h('ul', { class: ['card', 'grants'] }, mine.map((r) => this.grant(r, true))),
      ended.length > 0 && h('details', null, h('summary', null, `${ended.length} ended`), h('ul', { class: ['card', 'grants'] }, ended.slice(0, 200).map((r) => this.grant(r, false)))));
  }

  grant(r, counts) {
    const left = (Date.parse(r.expires) - Date.now()) / 1000;
    const until = r.revoked ? `revoked ${clock(r.revoked)}` : counts ? `until ${clock(r.expires)}, ${span(left)} left` : `ended ${clock(r.expires)}`;
    const other = r.person !== this.ctx.me.name;
    return h('li', { class: 'grant' },
      h('div', { class: 'grant-what' }, h('code', null, spelled(r.rule)), h('div', { class: ['dim', 'small'] }, 'up to risk ', risk(r.risk), ' · ', other && [spelled(r.person), ' · '], spelled(r.project), ' · ', until)),
      counts && h('button', { class: 'button', type: 'button', 'aria-label': `Revoke ${plain(r.rule)}`, on: { click: (e) => this.revoke(r, e.currentTarget) } }, 'Revoke'));
  }

  async revoke(r, button) {
    button.disabled = true;
    try {
      await this.ctx.api.post(`/api/rules/${encodeURIComponent(r.id)}/revoke`);
      this.ctx.toast('Revoked. You will be asked again.', 'ok');
    } catch (err) {
      this.ctx.toast(err.message, 'bad');
    }
    if (this.ended) return;
    await this.load();
    this.tried = '';
    this.update();
  }

  showProposals(all) {
    replace(this.learnt, all.length > 0 && [
      h('h2', null, 'You often approve these'),
      h('ul', { class: ['card', 'grants'] }, all.map((p) => h('li', { class: 'grant' },
        h('div', { class: 'grant-what' }, p.rules.map((r) => h('div', null, h('code', null, spelled(r)))), h('div', { class: ['dim', 'small'] }, `approved ${p.times} times, `, risk(p.risk))),
        p.rules.map((r) => h('a', { class: 'button', href: '#/rules?' + new URLSearchParams({ rule: r, as: 'allow' }), 'aria-label': `Try ${plain(r)}`, on: { click: () => this.rule.focus() } }, 'Try'))))),
    ]);
  }
}

// finding is what lint says.
function finding(f) {
  const [glyph, tone] = levels[f.level] || levels.note;
  return h('li', { class: 'finding' }, h('span', { class: ['level', tone && 'tone-' + tone] }, h('span', { 'aria-hidden': 'true' }, glyph), ` ${f.level}`),
    h('span', null, spelled(f.why), '. ', h('span', { class: 'dim' }, spelled(f.fix)), (f.instead || []).map((line) => h('div', null, h('code', null, spelled(line))))));
}

// group is one kind of change, with its newest examples.
function group(g, words, tone) {
  const more = g.count - g.examples.length;
  return h('details', { class: 'group', open: innerWidth > 700 }, h('summary', null, h('span', { class: 'tone-' + tone }, g.count.toLocaleString('en')), ' ', words),
    h('ul', { class: 'examples' }, g.examples.map((e) => h('li', { class: 'example' },
      h('a', { class: 'example-time', href: `#/history?line=${e.seq}`, title: plain(e.why) }, clock(e.time)), h('code', { class: 'example-what' }, e.tool === 'Bash' ? '' : e.tool + ' ', e.text), risk(e.risk),
      h('span', { class: 'dim' }, 'was ', verdict({ kind: 'decision', behavior: e.was }))))),
    more > 0 && h('p', { class: ['dim', 'small'] }, `and ${more.toLocaleString('en')} older`));
}
