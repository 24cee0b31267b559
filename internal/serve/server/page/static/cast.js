// Recordings of terminals, in the format asciicast v3: reading them, their times and the
// labels of their markers (docs/server.md). It needs no page, and no browser.

const longest = 1 << 30; // seconds
const sides = { columns: 500, rows: 300 }; // what a page can show

// CastError is the error of a line that is none.
export class CastError extends Error {
  constructor(line, message) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

// parse returns a recording: its header, its events {at, code, data} with the seconds since
// the beginning, its marks, and in cut how much of a last line there is that was not
// written to its end; 0 for a recording that is whole.
export function parse(text) {
  const lines = text.split('\n');
  const cut = lines.pop().length;
  if (lines.length === 0) throw new CastError(1, 'the header is missing');
  const header = headerOf(lines[0]);
  const events = [];
  let at = 0; // in microseconds, so that the intervals add up
  for (let i = 1; i < lines.length; i++) {
    if (lines[i].startsWith('#')) continue;
    const [interval, code, data] = eventOf(lines[i], i + 1);
    at += Math.round(interval * 1e6);
    if (at > longest * 1e6) throw new CastError(i + 1, 'the recording is too long');
    events.push({ at: at / 1e6, code, data });
  }
  return { header, events, marks: marksOf(events), cut };
}

function json(line, number) {
  try {
    return JSON.parse(line);
  } catch {
    throw new CastError(number, 'not valid JSON');
  }
}

function headerOf(line) {
  const h = json(line, 1);
  if (h === null || typeof h !== 'object' || h.version !== 3) throw new CastError(1, 'the header is not of asciicast version 3');
  const { cols, rows } = h.term || {};
  if (!(Number.isInteger(cols) && Number.isInteger(rows) && cols > 0 && rows > 0)) throw new CastError(1, 'the terminal has no size');
  return { columns: Math.min(cols, sides.columns), rows: Math.min(rows, sides.rows), timestamp: Number(h.timestamp) || 0, title: String(h.title || '') };
}

function eventOf(line, number) {
  const e = json(line, number);
  if (!Array.isArray(e) || e.length !== 3 || typeof e[0] !== 'number' || typeof e[1] !== 'string' || typeof e[2] !== 'string') {
    throw new CastError(number, 'expected [interval, code, data]');
  }
  if (!(e[0] >= 0 && e[0] <= longest)) throw new CastError(number, `the interval ${e[0]} is out of range`);
  if (!'oimrx'.includes(e[1]) || e[1].length !== 1) throw new CastError(number, `the code ${JSON.stringify(e[1])} is unknown`);
  if (e[1] === 'r' && !size(e[2])) throw new CastError(number, `${JSON.stringify(e[2])} is not a size`);
  return e;
}

// size returns the columns and rows of an event "r", null if they are none.
export function size(data) {
  const m = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(data);
  return m && { columns: Math.min(Number(m[1]), sides.columns), rows: Math.min(Number(m[2]), sides.rows) };
}

// The labels of markers, as package terminal writes them.
const forms = [
  [/^(allowed) (\S+): (.*)$/s, ['kind', 'risk', 'line']],
  [/^(forbidden): (.*)$/s, ['kind', 'line']],
  [/^(asked) (\S+) (\S+): (.*)$/s, ['kind', 'id', 'risk', 'line']],
  [/^(approved|denied|edited|expired|withdrawn) (\S+)(?: by ([^:]+))?(?:: (.*))?$/s, ['kind', 'id', 'by', 'words']],
  [/^(taken over|released) by (\S+)$/, ['kind', 'by']],
];

// mark returns what a label says: kind, and id, risk, line (a command), by and words as far
// as it has them. Of another label the kind is note.
export function mark(label) {
  for (const [form, names] of forms) {
    const m = form.exec(label);
    if (!m) continue;
    const out = {};
    names.forEach((name, i) => { if (m[i + 1] !== undefined) out[name] = m[i + 1]; });
    if (out.kind === 'forbidden') out.risk = 'forbidden';
    return out;
  }
  return { kind: 'note', words: label };
}

// marksOf returns the marks of a recording: {at, index of the event} and what the label
// says. What became of a question has the risk and the command of the question.
function marksOf(events) {
  const asked = new Map();
  const all = [];
  events.forEach((e, index) => {
    if (e.code !== 'm') return;
    const m = { at: e.at, index, ...mark(e.data) };
    if (m.kind === 'asked') asked.set(m.id, m);
    const question = m.id && asked.get(m.id);
    if (question && question !== m) {
      m.risk = question.risk;
      m.line = m.kind === 'edited' && m.words ? m.words : question.line;
      if (m.kind === 'edited') delete m.words;
    }
    all.push(m);
  });
  return all;
}

// Times are two: of the recording, and of the player, in which no pause is longer than a
// limit; Infinity leaves all as they are.
export class Times {
  constructor(events, limit) {
    this.recorded = events.map((e) => e.at);
    this.played = new Array(events.length);
    let [at, before] = [0, 0];
    for (let i = 0; i < events.length; i++) {
      at += Math.min(this.recorded[i] - before, limit);
      before = this.recorded[i];
      this.played[i] = at;
    }
    this.length = at;
  }

  // shown returns how many events have happened at a time of the player.
  shown(played) { return upper(this.played, played); }

  // play returns the time of the player at one of the recording, and record the other way.
  play(recorded) { return between(this.recorded, this.played, recorded, this.length); }
  record(played) { return between(this.played, this.recorded, played, this.recorded.at(-1) || 0); }
}

// upper returns how many of sorted numbers are at most n.
function upper(all, n) {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle] <= n) low = middle + 1;
    else high = middle;
  }
  return low;
}

// between maps a number from one sequence to the other.
function between(from, to, n, end) {
  const i = upper(from, n);
  if (i === from.length) return end;
  const [a, b] = [i ? from[i - 1] : 0, from[i]];
  const [x, y] = [i ? to[i - 1] : 0, to[i]];
  return b > a ? x + Math.min(1, Math.max(0, (n - a) / (b - a))) * (y - x) : x;
}

// What is no text in a terminal's output (ECMA-48); a sequence that has only begun stays
// for the next piece.
const sequences = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-Z\\^-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const begun = /\x1b(?:\[[0-?]*[ -/]*|[ -/]*)$/;

// Text is the text of a recording, in which one can search.
export class Text {
  constructor(events) {
    const parts = [];
    this.starts = [];
    this.events = [];
    let [length, rest] = [0, ''];
    events.forEach((e, i) => {
      if (e.code !== 'o') return;
      const data = rest + e.data;
      const from = begun.exec(data);
      rest = from && data.length - from.index < 128 ? data.slice(from.index) : '';
      const part = data.slice(0, data.length - rest.length).replace(sequences, '');
      if (part === '') return;
      this.starts.push(length);
      this.events.push(i);
      parts.push(part);
      length += part.length;
    });
    this.text = parts.join('').toLowerCase();
  }

  // find returns the indices of the events with which a text is there, each once, at most
  // so many.
  find(words, most = 1000) {
    const want = words.toLowerCase();
    const found = [];
    if (want === '') return found;
    for (let at = this.text.indexOf(want); at >= 0 && found.length < most; at = this.text.indexOf(want, at + want.length)) {
      const event = this.events[upper(this.starts, at + want.length - 1) - 1];
      if (found.at(-1) !== event) found.push(event);
    }
    return found;
  }
}

// clock returns seconds as m:ss, or h:mm:ss.
export function clock(seconds) {
  const s = Math.max(0, Math.floor(seconds + 1e-9));
  const two = (n) => String(n).padStart(2, '0');
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}
