// What the page knows of questions and answers, apart from how it is shown. Nothing here
// needs a browser.

import { spell as spellText, spellLine } from './spell.js';

const ranks = { safe: 0, moderate: 1, high: 2, critical: 3, forbidden: 4 };

// rank returns how great the risk of a question is; an unknown one is moderate.
export function rank(a) {
  const r = ranks[String(a.question.risk).toLowerCase()];
  return r === undefined ? 1 : r;
}

// compare orders questions: the greatest risk first, then the oldest.
export function compare(a, b) {
  return rank(b) - rank(a) || Date.parse(a.asked) - Date.parse(b.asked) || (a.id < b.id ? -1 : 1);
}

// groups returns questions by who asks in which session: [{key, agent, session, list}],
// each list and the groups themselves in the order of compare.
export function groups(all) {
  const by = new Map();
  for (const a of [...all].sort(compare)) {
    const key = a.asker.name + '\n' + a.session;
    if (!by.has(key)) by.set(key, { key, agent: a.asker.name, session: a.session, list: [] });
    by.get(key).list.push(a);
  }
  return [...by.values()];
}

// choice returns the choice of a question with a name, undefined if it is not offered.
export function choice(a, name) { return (a.question.choices || []).find((c) => c.name === name); }

// offers reports whether a question has offered exactly these rules.
export function offers(a, rules) {
  const c = choice(a, 'session');
  return ((c && c.rungs) || []).some((r) => JSON.stringify(r.rules) === JSON.stringify(rules));
}

// kind tells questions that are of one kind: the same tool, and the same widest rung, or
// the same reasons where there is none. Questions of the agent are of no kind.
export function kind(a) {
  if (!kinds.has(a.question)) kinds.set(a.question, kindOf(a));
  return kinds.get(a.question);
}
const kinds = new WeakMap();

function kindOf(a) {
  const q = a.question;
  if (choice(a, 'answers')) return 'question ' + a.id;
  const kept = choice(a, 'session');
  const rungs = (kept && kept.rungs) || [];
  const widest = rungs.length > 0 ? rungs[rungs.length - 1].rules : [];
  if (widest.length > 0) return JSON.stringify([q.tool, widest]);
  return JSON.stringify([q.tool, q.risk, (q.actions || []).filter((p) => p.verdict === 'ask').map((p) => p.why || p.reason)]);
}

// together reports whether a question may be approved together with others: the greatest
// risks, and what is held, are approved one by one.
export function together(a) { return Boolean(choice(a, 'once')) && rank(a) < 3 && !a.question.held; }

// mayAnswer returns '' if somebody may answer a question, or why not.
export function mayAnswer(a, me) {
  const mine = (p) => p.role === 'person' && p.name === me.name;
  if (a.asker.role === 'person' && a.asker.name === me.name) return 'You asked for this yourself, so another person has to answer.';
  if (a.voters && !a.voters.some(mine)) return `Only ${a.voters.map((p) => p.name).join(', ')} can answer this.`;
  return '';
}

// voted reports whether somebody has approved a question already.
export function voted(a, me) { return (a.votes || []).some((v) => v.by.role === 'person' && v.by.name === me.name); }

// The limits of "for a while".
export const limits = [
  { name: 'minutes', label: 'For 30 minutes', seconds: 1800 },
  { name: 'times', label: '5 times, counting this one', times: 5 },
];

// duration writes seconds as the API reads them.
function duration(seconds) { return `${Math.floor(seconds / 60)}m${seconds % 60}s`; }

// reply returns the body of the answer to a question: of exactly what was shown, by its id
// and digest. Given may have rung (a number), limit (of limits), message, input, answers.
export function reply(a, name, given = {}) {
  const c = choice(a, name);
  if (!c) throw new Error('this answer is not offered');
  const said = { id: a.id, digest: a.digest, choice: name };
  const out = { digest: a.digest, kind: 'deny', scope: 'once' };
  const rungs = c.rungs || [];
  if (['once', 'session', 'while', 'always', 'accept-edits'].includes(name)) out.kind = 'approve';
  if (name === 'accept-edits') delete out.scope; // the choice says it
  if (['edit', 'answers'].includes(name)) out.kind = 'edit';
  if (['session', 'while', 'always', 'never'].includes(name)) {
    const at = given.rung || 0;
    const rules = rungs.length > 0 ? rungs[at].rules : [];
    if (rungs.length > 0) said.rung = at;
    out.scope = rules.length > 0 || name === 'never' ? 'session' : 'use';
    if (rules.length > 0) out.rules = rules;
  }
  if (name === 'while') {
    const limit = given.limit || limits[0];
    if (limit.seconds) {
      said.for = limit.seconds;
      out.for = duration(limit.seconds);
    } else {
      said.times = limit.times;
      out.times = limit.times;
    }
  }
  if (given.message) {
    out.message = given.message;
    if (name === 'deny' || name === 'words') said.message = given.message;
  }
  if (name === 'edit') {
    said.input = given.input;
    out.input = given.input;
  }
  if (name === 'answers') {
    said.answers = given.answers;
    out.input = { ...a.question.input, answers: given.answers };
  }
  out.reply = said;
  return out;
}

// became returns what has become of a question, in words; '' while it waits.
export function became(a) {
  const by = a.by && a.by.name ? ` by ${a.by.name}` : '';
  switch (a.status) {
    case 'pending': return '';
    case 'approved':
    case 'consumed': return `approved${by}`;
    case 'denied': return `denied${by}`;
    case 'expired': return 'expired: nobody answered in time';
    case 'cancelled': return `withdrawn${a.asker && a.by && a.by.name === a.asker.name ? '' : by}`;
    case 'superseded': return a.by && a.by.name ? `edited${by}: the policy decides again` : 'replaced: the policy decides again';
    case 'abandoned': return 'abandoned: the agent has gone';
  }
  return `${a.status}${by}`;
}

// hidden finds characters that a screen obeys, hides or reorders, for a person who edits
// what the agent sent.
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|(?<=\p{M}{3})\p{M}/gu;

// spell returns a text of an agent as it can be shown, the hidden characters spelled out
// as <U+202E>, as on a terminal. Feeds keeps line feeds and tabs.
export function spell(text, feeds = false) { return feeds ? spellText(text) : spellLine(text); }

// hides counts the hidden characters of a text, besides line feeds and tabs.
export function hides(text) { return (String(text).match(hidden) || []).filter((c) => c !== '\n' && c !== '\t').length; }

// reveal returns a text without its hidden characters.
export function reveal(text) { return String(text).replace(hidden, (c) => (c === '\n' || c === '\t' ? c : '')); }

// exact reports whether a page can give a value back as it came: it has no number that
// JavaScript has changed.
export function exact(value) {
  if (typeof value === 'number') return Number.isSafeInteger(value) || !Number.isInteger(value);
  if (Array.isArray(value)) return value.every(exact);
  if (value && typeof value === 'object') return Object.values(value).every(exact);
  return true;
}

// editable returns the name of the field that a person edits in an input, '' if there is
// none: then the whole input is edited as JSON.
export function editable(q) {
  const fields = { Bash: 'command', Write: 'content', Edit: 'new_string', WebFetch: 'url', WebSearch: 'query', NotebookEdit: 'new_source' };
  const name = fields[q.tool];
  return name && q.input && typeof q.input[name] === 'string' ? name : '';
}

// questions returns the questions of an agent: [{text, header, many, options: [{label,
// about}]}], with the texts as they came; null if the input has another form.
export function questions(input) {
  const all = input && input.questions;
  if (!Array.isArray(all) || all.length === 0) return null;
  const out = [];
  for (const one of all) {
    if (!one || typeof one.question !== 'string') return null;
    const options = Array.isArray(one.options) ? one.options : [];
    out.push({
      text: one.question, header: typeof one.header === 'string' ? one.header : '', many: one.multiSelect === true,
      options: options.filter((o) => o && typeof o.label === 'string').map((o) => ({ label: o.label, about: typeof o.description === 'string' ? o.description : '' })),
    });
  }
  return out;
}

// lineText returns the text of a line.
export function lineText(line) { return (line.segments || []).map((s) => s.text).join(''); }

// mcp returns the server and the tool of the name of an MCP tool; null for another's.
export function mcp(tool) { return /^mcp__(.+?)__(.+)$/.exec(tool); }

// main returns the block that says most of a question: what would run, or be changed.
export function main(q) {
  const wanted = ['command', 'file_path', 'notebook_path', 'url', 'query', 'pattern', 'path'];
  const blocks = q.blocks || [];
  if (mcp(q.tool)) return undefined; // its fields are all alike
  for (const title of wanted) {
    const b = blocks.find((one) => one.title === title);
    if (b) return b;
  }
  return blocks[0];
}

// plain says in one line what a question is about.
export function plain(a) {
  const b = main(a.question) || (a.question.blocks || [])[0];
  const line = b && (b.lines || []).map((l) => lineText(l)).find((t) => t.trim() !== '');
  return `${a.question.tool}: ${(line || '').slice(0, 120)}`;
}

// causes returns what a question really comes from, the most telling first: [{text, reason,
// rule, source}], without a text where it is about all that would be done. The place of a
// rule is told from the project.
export function causes(a) {
  const q = a.question;
  const all = q.asked || [{ reason: q.reason, rule: q.rule, source: q.rule_source }];
  return all.map((c) => cause(c, all.length > 1 ? c.text : '', a.project));
}

// because says in a few words what asks.
export function because(a) {
  const [c] = causes(a);
  return c ? `${c.reason} ${c.rule}`.trim() : '';
}

// cause leaves out what a reason says by itself: "asked by rule X" names rule X.
export function cause(c, text, project) {
  const [source, root] = [c.source || '', (project || '').replace(/\/*$/, '/')];
  let reason = c.reason || '';
  for (const tail of [c.text && ': ' + c.text, c.rule && `rule ${c.rule}`, c.rule].filter(Boolean)) {
    if (reason.endsWith(tail)) reason = reason.slice(0, -tail.length).trim();
  }
  return { text: text && c.times > 1 ? `${text}, and ${c.times - 1} more` : text, reason, rule: c.rule || '', source: root !== '/' && source.startsWith(root) ? source.slice(root.length) : source };
}

// others says in a few words what else a question would do, '' if there is nothing: the
// parts that are allowed, and those that are not listed.
export function others(q) {
  const n = q.allowed ?? (q.actions || []).filter((p) => p.verdict === 'allow').length;
  return n > 0 ? `${n} more ${n === 1 ? 'part' : 'parts'}: allowed` : '';
}

// why returns what makes the risk of a question, '' if it says nothing.
export function why(q) {
  const about = (c) => c.risk === q.risk && c.why;
  const one = (q.asked || []).find(about) || (q.actions || []).filter((p) => p.verdict === 'ask').find(about);
  return one ? one.why : '';
}

// short reports whether the rules of a choice can stand beside its key: few, and not long.
export function short(c) {
  const rungs = c.rungs || [];
  return rungs.length <= 5 && rungs.every((r) => (r.label || '').length + r.rules.join(' ').length <= 240);
}

// isDiff reports whether a block is a change.
export function isDiff(block) { return (block.lines || []).some((l) => l.sign === '@' || l.sign === '+' || l.sign === '-'); }

// numbered returns the lines of a diff with their numbers in the old and the new text.
export function numbered(lines) {
  let x = 0;
  let y = 0;
  return lines.map((line) => {
    switch (line.sign) {
      case '@': {
        const m = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(lineText(line));
        if (m) [x, y] = [Number(m[1]), Number(m[2])];
        return { line };
      }
      case '-': return { line, x: x++ };
      case '+': return { line, y: y++ };
      case ' ': return { line, x: x++, y: y++ };
    }
    return { line };
  });
}

// sides returns the rows of a diff side by side: [{left, right}], each a numbered line or
// undefined, or {both} for what stands across.
export function sides(lines) {
  const rows = [];
  let minus = [];
  let plus = [];
  const flush = () => {
    for (let i = 0; i < Math.max(minus.length, plus.length); i++) rows.push({ left: minus[i], right: plus[i] });
    minus = [];
    plus = [];
  };
  for (const one of numbered(lines)) {
    const sign = one.line.sign;
    if (sign === '-') {
      if (plus.length > 0) flush();
      minus.push(one);
    } else if (sign === '+') plus.push(one);
    else {
      flush();
      rows.push(sign === ' ' ? { left: one, right: one } : { both: one });
    }
  }
  flush();
  return rows;
}

// The time in which what is shown cannot be answered yet, in milliseconds.
export const grace = 350;

// Grace says when an answer counts: a while after what is shown has changed. A key in
// that time begins it anew, so that who types answers nothing.
export class Grace {
  constructor(now = () => performance.now()) {
    this.now = now;
    this.at = now();
  }

  // changed is called when something else is shown.
  changed() { this.at = this.now(); }

  // over reports whether an answer counts.
  over() { return this.now() - this.at >= grace; }

  // key is called for each key; it reports whether an answer counts.
  key() {
    if (this.over()) return true;
    this.changed();
    return false;
  }
}
