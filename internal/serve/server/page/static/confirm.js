// A question of the page itself, such as whether to end a session.

import { h } from './dom.js';

// confirm asks, and returns what was pressed: the value of one of the answers, or null.
// Answers are [value, label, class]; none has the focus, the way out has.
export function confirm({ title, body, answers, no = 'Cancel' }) {
  return new Promise((done) => {
    let value = null;
    const close = (v) => { value = v; d.close(); };
    const way = h('button', { class: 'button', type: 'button', on: { click: () => close(null) } }, no);
    const d = h('dialog', { class: 'dialog', 'aria-label': title, on: { close: () => { d.remove(); done(value); } } },
      h('div', { class: 'dialog-body' }, h('h2', null, title), body,
        h('div', { class: 'dialog-end' }, way,
          answers.map(([v, label, kind]) => h('button', { class: ['button', kind], type: 'button', on: { click: () => close(v) } }, label)))));
    document.body.append(d);
    d.showModal();
    way.focus();
  });
}
