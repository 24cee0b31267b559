// The recordings of terminal sessions, the newest first.

import { clock, h, replace, span } from './dom.js';
import { spellLine } from './spell.js';

export default {
  name: 'recordings',
  title: 'Recordings',
  match: /^\/history\/recordings$/,
  mount(root, ctx) {
    const session = ctx.query.get('session') || '';
    const list = h('ul', { class: 'session-list' });
    const note = h('p', { class: 'empty', role: 'status' }, 'Loading…');
    const more = h('button', { class: 'button', type: 'button', hidden: true, on: { click: () => next() } }, 'Older recordings');
    let [last, over] = ['', false];
    const next = async () => {
      const query = new URLSearchParams({ limit: '50', ...(session && { session }), ...(last && { after: last }) });
      try {
        const { recordings } = await ctx.api.get('/api/recordings?' + query);
        if (over) return;
        list.append(...recordings.map(card));
        more.hidden = recordings.length < 50;
        last = recordings.at(-1)?.id ?? last;
        note.hidden = list.childElementCount > 0;
        if (!note.hidden) note.textContent = 'No recordings. They are kept for 30 days.';
      } catch (err) {
        if (!over) ctx.toast(err.message, 'bad');
      }
    };
    replace(root, h('div', { class: 'sheet' }, h('p', null, h('a', { href: '#/history' }, 'History')), h('h1', null, 'Recordings'),
      session && h('p', null, 'Session ', h('span', { class: 'mono' }, spellLine(session)), '. ', h('a', { href: '#/history/recordings' }, 'All recordings')), note, list, more));
    next();
    return () => { over = true; };
  },
};

const proofs = { true: ['ok', '✓', 'unchanged'], false: ['bad', '✗', 'changed since it was recorded'], open: ['open', '●', 'in progress'], unknown: ['warn', '?', 'not verified: the record has no hash of it'] };

function card(r) {
  const [kind, glyph, words] = proofs[r.verified] || proofs.unknown;
  const took = r.end ? span((Date.parse(r.end) - Date.parse(r.begin)) / 1000) : '';
  return h('li', null, h('a', { class: 'session-card', href: '#/history/recording/' + encodeURIComponent(r.id) },
    h('span', { class: 'session-card-top' }, h('strong', null, spellLine(r.agent_id || 'An agent')), h('span', { class: 'dim small mono' }, spellLine(r.session_id)), h('time', { class: 'session-card-time dim small', datetime: r.begin }, clock(r.begin))),
    h('span', { class: 'row small' }, h('span', { class: 'dim' }, [took, size(r.bytes)].filter(Boolean).join(' · ')), h('span', { class: 'rp-proof-' + kind }, h('span', { 'aria-hidden': 'true' }, glyph), ' ', words))));
}

// size returns a number of bytes in words.
function size(bytes) { return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1e6).toFixed(1)} MB`; }
