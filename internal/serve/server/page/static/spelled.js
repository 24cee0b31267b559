// Texts of the audit log, which the server did not prepare for display: see spell.js. What is
// spelled out is set off, so that it is not read as what the agent wrote.

import { h } from './dom.js';
import { spell, spellLine } from './spell.js';

const ours = /<U\+[0-9A-F]{4,6}>/g;

// spelled returns a text as nodes. With lines, line feeds and tabs stay.
export function spelled(text, lines = false) {
  const whole = lines ? spell(text) : spellLine(text);
  const nodes = [];
  let at = 0;
  for (const m of whole.matchAll(ours)) {
    nodes.push(whole.slice(at, m.index), h('span', { class: 'ctl' }, m[0]));
    at = m.index + m[0].length;
  }
  nodes.push(whole.slice(at));
  return nodes;
}

// plain is spelled as one text, for names and titles.
export function plain(text) { return spellLine(text); }
