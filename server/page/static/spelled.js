// Texts that an agent wrote and that the server did not prepare for display: the lines of
// the record. As package visible does, what a screen would obey, hide or reorder is
// spelled out.

import { h } from './dom.js';

// Anything but letters, marks, digits, punctuation, signs and the blank; more than three
// marks in a row; and what could be taken for a character that is spelled out.
const odd = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|(?<=\p{M}{3})\p{M}|<(?=U\+|0x)/gu;

const name = (c) => `<U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}>`;

// spelled returns a text as nodes. With lines, line feeds stay.
export function spelled(text, lines = false) {
  const nodes = [];
  let at = 0;
  for (const m of String(text).matchAll(odd)) {
    if (lines && m[0] === '\n') continue;
    nodes.push(text.slice(at, m.index), h('span', { class: 'ctl' }, name(m[0])));
    at = m.index + m[0].length;
  }
  nodes.push(String(text).slice(at));
  return nodes;
}

// plain is spelled as one text, for names and titles.
export function plain(text) { return String(text).replace(odd, name); }
