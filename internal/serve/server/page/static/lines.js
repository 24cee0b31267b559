// Lines of what an agent asks for, with what caused the question marked, and changes as
// diffs.

import { h, replace } from './dom.js';
import * as ask from './ask.js';

// lines returns lines of a text, with what caused the question marked.
export function lines(all) {
  return (all || []).map((line) => h('span', { class: 'q-line' }, line.sign === '…'
    ? h('span', { class: 'left-out' }, leftOut(line))
    : (line.segments || []).map((s) => (s.mark ? h('mark', null, s.text) : s.text)), '\n'));
}

function leftOut(line) { return `… ${line.bytes} bytes${line.count > 0 ? ` with ${line.count} line breaks` : ''} are not shown`; }

// Diff shows a change, unified or side by side, as the person likes it.
const liking = 'agent-wrapper.diff';
export class Diff {
  constructor(block) {
    this.block = block;
    this.body = h('div', { class: 'diff', role: 'group', tabIndex: 0 });
    this.root = this.body;
    this.toggle = h('span', { class: 'diff-toggle', role: 'group', 'aria-label': 'Layout of the change' }, ['unified', 'split'].map((name) => h('button', {
      type: 'button', 'data-name': name, on: { click: () => { localStorage.setItem(liking, name); for (const d of open) d.draw(); } },
    }, name)));
    this.root.toggle = this.toggle;
    this.body.setAttribute('aria-label', block.title);
    open.add(this);
    this.draw();
  }

  draw() {
    const split = localStorage.getItem(liking) === 'split';
    for (const b of this.toggle.children) b.setAttribute('aria-pressed', String((b.dataset.name === 'split') === split));
    this.body.classList.toggle('diff-split', split);
    replace(this.body, split ? ask.sides(this.block.lines).map(pair) : ask.numbered(this.block.lines).map(single));
  }
}
const open = new Set();

// closeDiffs forgets the changes that were shown.
export function closeDiffs() { open.clear(); }

const signs = { '+': ['add', 'added'], '-': ['del', 'removed'], '@': ['at', ''], '…': ['left-out', ''], '\\': ['end', ''] };

function content(line) {
  const [, said] = signs[line.sign] || ['', ''];
  return [said && h('span', { class: 'hear' }, said + ': '), line.sign === '…' ? leftOut(line) : (line.segments || []).map((s) => (s.mark ? h('mark', null, s.text) : s.text))];
}

function single(one) {
  const [kind] = signs[one.line.sign] || [''];
  const n = (v) => h('span', { class: 'q-no', 'aria-hidden': 'true' }, v === undefined ? '' : String(v));
  if (kind === 'at' || kind === 'left-out' || kind === 'end') return h('div', { class: ['dl', 'dl-' + kind] }, content(one.line));
  return h('div', { class: ['dl', kind && 'dl-' + kind] }, n(one.x), n(one.y), h('span', { class: 'q-sign', 'aria-hidden': 'true' }, one.line.sign), h('span', { class: 'dt' }, content(one.line)));
}

function pair(row) {
  if (row.both) return single(row.both);
  const side = (one, isLeft) => {
    if (!one) return [h('span', { class: 'q-no none' }), h('span', { class: 'dt none' })];
    const [kind] = signs[one.line.sign] || [''];
    return [h('span', { class: ['q-no', kind && 'in-' + kind], 'aria-hidden': 'true' }, String(isLeft ? one.x : one.y)), h('span', { class: ['dt', kind && 'in-' + kind] }, content(one.line))];
  };
  return h('div', { class: 'dl dl-pair' }, side(row.left, true), side(row.right, false));
}

