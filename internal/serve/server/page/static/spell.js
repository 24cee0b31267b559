// What an agent or a program wrote, with everything spelled out that a screen would hide,
// reorder or obey, as package visible does in a terminal: U+202E is shown as <U+202E>.

// Controls, formats, separators and surrogates; spaces that look like others or like
// nothing; fillers and selectors that are letters or marks but not seen.
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0\ufe00-\ufe0e\ufffc\u{e0100}-\u{e01ef}]|(?<!\p{So})\ufe0f/gu;
const feigned = /<(?=U\+|0x)/g; // what would pass for one of ours
const marks = /(\p{M}{3})(\p{M}+)/gu;

function code(c) { return `<U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}>`; }

// spell returns a text with its line feeds and tabs as they are.
export function spell(text) {
  return String(text).replace(feigned, '<U+003C>')
    .replace(hidden, (c) => (c === '\n' || c === '\t' ? c : code(c)))
    .replace(marks, (_, first, rest) => first + [...rest].map(code).join(''));
}

// spellLine returns a text as one line.
export function spellLine(text) { return spell(text).replace(/[\n\t]/g, code); }
