// The commands of a session, the newest first: what became of each, and who approved it.

import { clock, h, replace, risk } from './dom.js';
import { spell, spellLine } from './spell.js';

const most = 200; // that are loaded

// The states, as words with a glyph.
const states = {
  pending_approval: ['◔', 'waiting', 'wait'], approved: ['✓', 'approved', 'ok'], executing: ['▸', 'running', 'run'], completed: ['✓', 'completed', 'ok'],
  failed: ['✕', 'failed', 'bad'], denied: ['⊘', 'denied', 'bad'], forbidden: ['■', 'forbidden', 'bad'], cancelled: ['–', 'cancelled', ''], unknown: ['?', 'outcome unknown', 'bad'],
};

// commandsPanel returns the panel of a session: its root, shown(yes) and end().
export function commandsPanel(ctx, path, session) {
  const c = new Commands(ctx, path, session);
  return { root: c.root, shown: (yes) => c.shown(yes), end: () => c.end() };
}

class Commands {
  constructor(ctx, path, session) {
    this.ctx = ctx;
    this.path = path;
    this.rows = new Map(); // by id: {command, element}
    this.list = h('ol', { class: 'commands-list' });
    this.empty = h('p', { class: 'empty', hidden: true }, 'No commands yet.');
    this.root = h('div', { class: 'commands', tabIndex: 0, role: 'region', 'aria-label': 'Commands of this session' }, this.empty, this.list);
    this.stop = ctx.live.on('message', (e) => {
      const m = e.detail;
      if (m.type === 'command' && m.command.session_id === session && this.begun) this.put(m.command);
      if (m.type === 'current' && this.begun) this.load(); // it was not live, and may have missed some
    });
  }

  shown(yes) { if (yes && !this.begun) this.load(); }

  end() {
    this.over = true;
    this.stop();
  }

  async load() {
    this.begun = true;
    try {
      const all = await this.ctx.api.get(`${this.path}/history?limit=${most}`);
      if (!this.over) for (const c of all.commands) this.put(c);
    } catch (err) {
      if (!this.over && err.status !== 404) this.ctx.toast(err.message, 'bad');
    }
    this.empty.hidden = this.rows.size > 0;
  }

  put(c) {
    const known = this.rows.get(c.command_id);
    if (known && known.changed >= c.changed && known.status === c.status) return;
    const element = this.row(c, known && known.element.querySelector('details')?.open);
    if (known) known.element.replaceWith(element);
    else this.list.prepend(element);
    this.rows.set(c.command_id, { changed: c.changed, status: c.status, element });
    this.empty.hidden = true;
  }

  row(c, open) {
    const [glyph, word, kind] = states[c.status] || ['·', c.status, ''];
    const exit = c.exit_code === undefined ? '' : c.status === 'completed' && c.exit_code === 0 ? 'exit 0' : `exit ${c.exit_code}`;
    const more = h('div', { class: 'command-more' });
    const details = h('details', { on: { toggle: () => { if (details.open) this.fill(more, c); } } }, h('summary', { class: 'small' }, 'Details'), more);
    if (open) details.open = true;
    return h('li', { class: 'command' },
      h('p', { class: 'command-state small' }, h('span', { class: ['state', kind && 'state-' + kind] }, h('span', { 'aria-hidden': 'true' }, glyph), ' ', word),
        exit && h('span', { class: ['mono', c.exit_code !== 0 && 'state-bad'] }, exit), c.risk && risk(c.risk),
        h('span', { class: 'dim' }, clock(c.timestamp)), c.by && c.by !== 'agent' && h('span', { class: 'tag' }, `typed by ${spellLine(c.by)}`)),
      h('pre', { class: 'command-line' }, h('span', { class: 'dim', 'aria-hidden': 'true' }, '$ '), spell(c.command)), details);
  }

  // fill says why the command was decided so, and who answered.
  async fill(more, c) {
    const line = (name, value) => value && [h('dt', null, name), h('dd', null, value)];
    const answered = h('dd', null, c.approval_id ? 'Loading…' : c.by && c.by !== 'agent' ? 'Not needed: typed by a person.' : 'Not needed: decided by the policy.');
    replace(more, h('dl', { class: 'command-facts' },
      line('The agent says', c.description && spell(c.description)),
      line('Reasons', c.reasons && c.reasons.length > 0 && h('ul', null, c.reasons.map((r) => h('li', null, spell(r))))),
      line('Directory', h('span', { class: 'mono' }, spellLine(c.dir))),
      line('Comment', c.comment && spell(c.comment)),
      h('dt', null, 'Answer'), answered));
    if (!c.approval_id) return;
    try {
      const a = await this.ctx.api.get('/api/approvals/' + encodeURIComponent(c.approval_id));
      const who = a.votes && a.votes.length > 0 ? a.votes.map((v) => v.by.name) : a.by ? [a.by.name] : [];
      replace(answered, a.status, who.length > 0 && ` by ${who.map(spellLine).join(', ')}`, a.status !== 'pending' && `, ${clock(a.changed)}`, a.message && `: ${spell(a.message)}`);
      if (a.status === 'pending') answered.append(' ', h('a', { href: '#/inbox/' + encodeURIComponent(c.approval_id) }, 'Answer in the inbox'));
    } catch (err) {
      answered.textContent = err.message;
    }
  }
}
