// Who is let in: this browser, the other devices of the person, the tokens of programs;
// and what the policy in force demands of answers, which this page only reads.

import { clock, h, replace, risk, span } from './dom.js';
import { copier } from './rules.js';
import { plain, spelled } from './spelled.js';

export default {
  name: 'devices',
  title: 'Devices',
  match: /^\/devices$/,
  mount(root, ctx) {
    const view = new View(root, ctx);
    return () => view.end();
  },
};

const answers = { allow: '✓ allowed', ask: '? asked', deny: '✕ denied' };
const tones = { allow: 'ok', ask: 'warn', deny: 'bad' };

class View {
  constructor(root, ctx) {
    this.ctx = ctx;
    this.devices = h('section', { 'aria-label': 'Your devices' });
    this.pairing = h('section', { class: ['card', 'pairing'], 'aria-label': 'Pair another device' });
    this.tokens = h('section', { 'aria-label': 'Tokens' });
    this.policy = h('section', { 'aria-label': 'Policy' });
    root.classList.add('sheet', 'devices');
    root.append(h('h1', null, 'Devices'), this.devices, this.pairing, this.tokens, this.policy);
    this.offer();
    this.load();
    this.loadPolicy();
  }

  end() {
    this.ended = true;
    clearInterval(this.ticking);
  }

  async load() {
    try {
      const { tokens } = await this.ctx.api.get('/api/tokens');
      const text = JSON.stringify([tokens, this.secret]);
      if (this.ended || text === this.shown) return; // what somebody types or has the focus on stays
      this.shown = text;
      this.show(tokens.reverse());
    } catch (err) {
      if (!this.ended) replace(this.devices, h('p', { class: 'tone-bad' }, err.message));
    }
  }

  show(all) {
    const now = Date.now();
    const counts = (t) => !t.revoked && (!t.expires || Date.parse(t.expires) > now);
    const { me } = this.ctx;
    const mine = all.filter((t) => t.kind === 'browser' && counts(t)).sort((a, b) => (b.id === me.id) - (a.id === me.id));
    const programs = all.filter((t) => t.kind === 'program' && counts(t));
    const codes = all.filter((t) => t.kind === 'code' && counts(t));
    const ended = all.filter((t) => !counts(t) && !(t.kind === 'code'));
    if (this.code && !codes.some((t) => t.expires === this.code.expires)) this.used();
    replace(this.devices, h('h2', null, me.role === 'admin' ? 'Paired browsers' : 'Your devices'), h('ul', { class: ['card', 'grants'] }, mine.map((t) => this.token(t, true)), codes.map((t) => this.token(t, true))));
    replace(this.tokens, h('h2', null, 'Tokens for programs'),
      h('p', { class: ['dim', 'small'] }, 'Programs ask with an agent’s token; terminals answer with a person’s. A token is shown once, when it is created.'),
      programs.length > 0 && h('ul', { class: ['card', 'grants'] }, programs.map((t) => this.token(t, true))),
      me.role === 'admin' ? this.creator() : h('div', { class: 'row' }, h('code', { class: 'toml' }, 'agent-wrapper serve token create --role agent --name NAME'), copier(this.ctx, 'agent-wrapper serve token create --role agent --name NAME')),
      ended.length > 0 && h('details', null, h('summary', null, `${ended.length} ended`), h('ul', { class: ['card', 'grants'] }, ended.slice(0, 200).map((t) => this.token(t, false)))));
  }

  token(t, counts) {
    const here = t.id === this.ctx.me.id;
    const kinds = { old: 'Program, of an earlier version', browser: 'Browser', code: 'One-time code, not used yet', program: t.role === 'agent' ? 'Agent' : 'Program' };
    const began = t.kind === 'browser' ? `paired ${clock(t.created)}` : `created ${clock(t.created)}`;
    const end = t.revoked ? `revoked ${clock(t.revoked)}` : !t.expires ? 'until it is revoked' : counts ? `until ${clock(t.expires)}, ${span((Date.parse(t.expires) - Date.now()) / 1000)} left` : `expired ${clock(t.expires)}`;
    return h('li', { class: 'grant' },
      h('div', { class: 'grant-what' },
        h('div', null, h('b', null, here ? 'This browser' : kinds[t.kind]), ' ', h('span', null, spelled(t.name)), ' ', h('span', { class: 'tag' }, t.agent_role ? `${t.role}, ${t.agent_role}` : t.role)),
        h('div', { class: ['dim', 'small'] }, `${began} · ${end} · `, h('span', { class: 'mono' }, t.id))),
      counts && h('button', { class: 'button', type: 'button', 'aria-label': here ? null : `Revoke ${kinds[t.kind]} ${plain(t.name)} ${t.id}`, on: { click: (e) => this.revoke(t, here, e.currentTarget) } }, here ? 'Sign out' : 'Revoke'));
  }

  async revoke(t, here, button) {
    if (here && !button.dataset.sure) {
      button.dataset.sure = 'true';
      button.textContent = 'Sign out now';
      this.ctx.say('Press again to sign this browser out.');
      return;
    }
    button.disabled = true;
    try {
      await this.ctx.api.post(`/api/tokens/${encodeURIComponent(t.id)}/revoke`);
      if (here) await this.ctx.api.get('/api/me'); // which shows the screen of strangers
      this.ctx.toast('Revoked. Its open connections were closed.', 'ok');
    } catch (err) {
      if (err.status !== 401) this.ctx.toast(err.message, 'bad');
    }
    if (!this.ended) this.load();
  }

  // offer is the part about another device before there is a code.
  offer() {
    clearInterval(this.ticking);
    this.code = null;
    const make = h('button', { class: 'button', type: 'button', on: { click: () => this.pair(make) } }, 'Create a code');
    replace(this.pairing, h('h2', null, 'Pair another device'),
      h('p', null, 'A code pairs one more browser as you, ', h('b', null, spelled(this.ctx.me.name)), ` (${this.ctx.me.role}). It is valid for ten minutes. That browser answers in your name until you revoke it, even after you revoke this one.`), make);
  }

  async pair(button) {
    button.disabled = true;
    try {
      this.code = await this.ctx.api.post('/api/pair/code');
    } catch (err) {
      button.disabled = false;
      this.ctx.toast(err.message, 'bad');
      return;
    }
    if (this.ended) return;
    const left = h('p', { class: 'dim' });
    const address = location.origin + '/#' + this.code.code;
    const code = h('p', { class: 'code', tabIndex: -1, 'aria-label': `Code ${[...this.code.code].join(' ')}` }, this.code.code);
    replace(this.pairing, h('h2', null, 'Pair another device'), h('p', null, 'Open this page on the other device and enter:'), code, left,
      h('div', { class: 'row' }, h('code', { class: 'toml' }, address), copier(this.ctx, address, 'Copy link')),
      h('p', { class: ['dim', 'small'] }, 'Anyone who has this code can answer as you. Do not send it to anyone.'));
    code.focus();
    const tick = () => {
      const seconds = Math.floor((Date.parse(this.code.expires) - Date.now()) / 1000);
      if (seconds <= 0) {
        this.offer();
        this.ctx.say('The code has expired.');
        this.load();
        return;
      }
      left.textContent = `Valid for ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}.`;
      if (seconds % 3 === 0) this.load();
    };
    tick();
    this.ticking = setInterval(tick, 1000);
    this.load();
  }

  // used is called when the code was used up.
  used() {
    this.offer();
    this.ctx.toast('The other device is paired.', 'ok');
  }

  // creator is the form for the token of an agent.
  creator() {
    const name = h('input', { type: 'text', name: 'name', placeholder: 'Name of the agent', 'aria-label': 'Name of the agent', autocomplete: 'off', required: true, maxLength: 64 });
    const role = h('select', { name: 'role', 'aria-label': 'Role of the agent' }, ['chat', 'automation', 'system', 'admin'].map((r) => h('option', { value: r }, r)));
    return [h('form', {
      class: ['row', 'creator'], 'aria-label': 'Create an agent\'s token', on: {
        submit: async (e) => {
          e.preventDefault();
          try {
            const t = await this.ctx.api.post('/api/tokens', { name: name.value.trim(), agent_role: role.value });
            this.secret = t;
            this.load();
          } catch (err) {
            this.ctx.toast(err.message, 'bad');
          }
        },
      },
    }, name, role, h('button', { class: 'button', type: 'submit' }, 'Create')), this.secret && h('div', { class: ['card', 'secret'], role: 'status' },
      h('p', null, `Token of ${plain(this.secret.name)}, shown only this once:`), h('div', { class: 'row' }, h('code', { class: 'toml' }, this.secret.secret), copier(this.ctx, this.secret.secret)),
      h('button', { class: 'quiet', type: 'button', on: { click: () => { this.secret = null; this.load(); } } }, 'Done'))];
  }

  async loadPolicy() {
    let p;
    try {
      p = await this.ctx.api.get('/api/policy');
    } catch (err) {
      if (!this.ended) replace(this.policy, h('h2', null, 'Policy'), h('p', { class: 'dim' }, err.message));
      return;
    }
    if (this.ended) return;
    const a = p.approvals;
    const quorum = Object.entries(a.quorum).map(([name, n]) => h('span', { class: 'quorum' }, `${n} for `, risk(name)));
    const fact = (label, ...value) => h('div', null, h('dt', null, label), h('dd', null, value));
    replace(this.policy, h('h2', null, 'The policy in force'),
      h('p', { class: ['dim', 'small'] }, 'From your policy files, read-only here. Where several of them apply, the strictest wins.'),
      h('dl', { class: 'facts' },
        fact('A question waits', a.timeout_seconds ? `${span(a.timeout_seconds)}, then it is denied` : 'until it is answered'),
        fact('Who answers', a.people ? a.people.map((n) => plain(n)).join(', ') : 'anyone except who asked'),
        fact('Approvals needed', quorum.length ? quorum : 'one'),
        fact('Workspace', h('code', null, spelled(p.workspace))), fact('Mode', p.mode),
        fact('Sources', h('ul', { class: 'plain' }, p.sources.map((s) => h('li', null, h('code', null, spelled(s.name)), h('span', { class: 'dim' }, ` ${s.kind}${s.trusted ? '' : ', not trusted: it can only make the policy stricter'}`)))))),
      p.roles.length > 0 && [h('h3', null, 'Where no rule matches, by risk'), h('div', { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Answers by risk' }, h('table', { class: 'table' },
        h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Role'), p.roles[0].answers.map((x) => h('th', { scope: 'col' }, risk(x.risk))))),
        h('tbody', null, p.roles.map((r) => h('tr', null, h('th', { scope: 'row' }, r.name), r.answers.map((x) => h('td', { title: plain(x.by) }, h('span', { class: 'tone-' + tones[x.answer] }, answers[x.answer]))))))))],
      h('details', null, h('summary', null, `${p.settings.length} settings and rules`), h('ul', { class: ['plain', 'settings'] }, p.settings.map((s) => h('li', null, h('code', null, `${s.key} = `, spelled(s.text)), ' ', h('span', { class: ['dim', 'small'] }, spelled(s.source)))))),
      [...p.ignored, ...p.warnings].length > 0 && h('ul', { class: ['plain', 'small', 'tone-warn'] }, [...p.ignored, ...p.warnings].map((w) => h('li', null, '● ', spelled(w)))));
  }
}
