// The terminal sessions: who has each, what runs in it, and what waits for an answer.

import { clock, h, replace, risk, span } from './dom.js';
import { spell, spellLine } from './spell.js';

const order = { pending: 0, user: 1, runs: 2, idle: 3 };

export default {
  name: 'sessions',
  title: 'Sessions',
  match: /^\/sessions$/,
  mount(root, ctx) {
    const list = h('ul', { class: 'session-list' });
    const empty = h('div', { class: 'empty', hidden: true }, h('p', null, 'No terminal sessions.'),
      h('p', { class: 'small' }, 'A session appears here when an agent starts one.'));
    const rows = new Map();
    let at = 0;
    root.append(h('div', { class: 'sheet' }, h('h1', null, 'Sessions'), empty, list));
    const draw = () => {
      const all = [...ctx.live.sessions.values()].filter((s) => s.state !== 'closed').sort(before);
      empty.hidden = all.length > 0 || !ctx.live.ready;
      for (const [id, row] of rows) {
        if (!all.some((s) => s.session_id === id)) {
          row.element.remove();
          rows.delete(id);
        }
      }
      let last = null;
      for (const s of all) {
        const text = JSON.stringify(s);
        let row = rows.get(s.session_id);
        if (!row) rows.set(s.session_id, row = { element: h('li') });
        if (row.text !== text) {
          row.text = text;
          replace(row.element, card(s, ctx.me));
        }
        const next = last ? last.nextSibling : list.firstChild;
        if (next !== row.element) list.insertBefore(row.element, next);
        last = row.element;
      }
    };
    const move = (by) => {
      const links = [...list.querySelectorAll('a.session-card')];
      if (links.length === 0) return;
      const now = links.indexOf(document.activeElement);
      at = now < 0 ? (by > 0 ? 0 : links.length - 1) : Math.max(0, Math.min(links.length - 1, now + by));
      links[at].focus();
    };
    ctx.keys({ j: [() => move(1), 'next', true], k: [() => move(-1), 'previous', true], ArrowDown: [() => move(1), 'next', true], ArrowUp: [() => move(-1), 'previous', true] });
    draw();
    const ends = [ctx.live.on('change', (e) => { if (e.detail.has('sessions')) draw(); }), ctx.live.on('state', draw)];
    return () => { for (const end of ends) end(); };
  },
};

function kindOf(s) {
  if (s.pending_approval) return 'pending';
  if (s.state !== 'agent_control') return 'user';
  return s.running ? 'runs' : 'idle';
}

function before(a, b) {
  return order[kindOf(a)] - order[kindOf(b)] || a.created_at.localeCompare(b.created_at);
}

// card returns a session as a link to it.
function card(s, me) {
  const kind = kindOf(s);
  const w = s.pending_approval;
  return h('a', { class: ['session-card', 'session-' + kind], href: '#/sessions/' + encodeURIComponent(s.session_id) },
    h('span', { class: 'session-card-top' },
      h('strong', null, spellLine(s.agent_id)), s.conversation_id && h('span', { class: 'dim' }, spellLine(s.conversation_id)),
      h('span', { class: 'tag' }, spellLine(s.agent_role)), s.host !== 'main' && h('span', { class: 'tag' }, spellLine(s.host)),
      h('span', { class: 'dim small session-card-time' }, `active ${span((Date.now() - Date.parse(s.last_activity)) / 1000)} ago`)),
    h('span', { class: 'session-card-state' }, h('span', { class: 'holder-dot', 'aria-hidden': 'true' }), state(s, kind, me)),
    w && h('span', { class: 'session-card-waits' }, risk(w.risk), h('code', null, spell(w.command))),
    h('span', { class: 'mono dim small' }, spellLine(s.dir)));
}

function state(s, kind, me) {
  const who = s.person === me.name ? 'You have' : `${spellLine(s.person || 'A person')} has`;
  const since = s.since ? ` (since ${clock(s.since)})` : '';
  switch (kind) {
    case 'pending': return 'A command is waiting for an answer';
    case 'runs': return 'The agent is running a command';
    case 'user': return s.state === 'user_control' ? `${who} the terminal${since}; the agent is paused` : 'The terminal is being handed over';
  }
  return 'The agent has the terminal; nothing is running';
}
