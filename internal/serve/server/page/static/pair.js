// The screen of a browser that the server does not know.

import { h, replace } from './dom.js';
import * as api from './api.js';

// show asks for a one-time code. done is called with who the browser is then.
export function show(root, why, done) {
  const input = h('input', {
    id: 'code', name: 'code', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', placeholder: 'xxxx-xxxx-xxxx-xxxx',
    maxLength: 40, 'aria-describedby': 'pair-why', class: 'mono',
  });
  const told = h('p', { id: 'pair-why', role: 'status', class: 'pair-why' }, why);
  const button = h('button', { class: 'button primary', type: 'submit' }, 'Pair this browser');
  const form = h('form', {
    on: {
      submit: async (e) => {
        e.preventDefault();
        button.disabled = true;
        try {
          done(await api.pair(input.value.trim()));
        } catch (err) {
          told.textContent = words(err);
          input.focus();
          input.select();
        }
        button.disabled = false;
      },
    },
  }, h('label', { for: 'code' }, 'One-time code'), h('div', { class: 'row' }, input, button));
  replace(root, h('main', { class: 'pair', id: 'main', tabIndex: -1 },
    h('h1', null, 'agent-wrapper'),
    h('p', null, 'Answer what your agents ask for. This browser is not paired with the server yet.'),
    told, form,
    h('details', null, h('summary', null, 'Where do I get a code?'),
      h('p', null, 'The server prints a link with a code when you start it in a terminal. For another code, valid for ten minutes, run this in a terminal of your own, not an agent’s:'),
      h('pre', { class: 'mono' }, 'agent-wrapper serve token create --role person --name NAME --browser'))));
  document.title = 'agent-wrapper';
  input.focus();
}

// insecure says that the browser lets no page sign that came this way.
export function insecure(root) {
  replace(root, h('main', { class: 'pair', id: 'main', tabIndex: -1 },
    h('h1', null, 'agent-wrapper'),
    h('p', { role: 'alert' }, 'This page works over https, or on the server’s own machine. This address is neither: ', h('b', null, location.origin)),
    h('p', null, 'On the machine that runs the server, open the link that it printed. From elsewhere, use its https address.')));
}

// words says why a code did not let the browser in.
export function words(err) {
  if (err.status === 401) return 'This code is not valid: it was used, has expired, or belongs to another server, or to an earlier start of this one. Create a new one.';
  if (err.status === 429) return 'Too many attempts. Wait a moment, then try again.';
  return err.message;
}
