// The page: who the browser is, the frame around the views, the routes, the keys.
//
// A view is a module with a default export {name, title, match, mount}: mount(root, ctx,
// params) is called when the route matches, with what its groups matched, and returns the
// function that ends the view. If that function has a property update, it is called with
// the params of another route that the same view matches, in place of a new mount.
//
// ctx has: api, live, h, go(path), toast(text, kind), say(text) for the screen reader,
// keys({j: [f, 'what it does']}), query (URLSearchParams of the route), me (whose browser
// it is), title(text) for the tab.

import * as api from './api.js';
import { clock, h, replace } from './dom.js';
import { Live } from './live.js';
import * as notify from './notify.js';
import * as pairing from './pair.js';
import { usable } from './signed.js';
import views from './views.js';

const tabs = [['inbox', 'Inbox'], ['sessions', 'Sessions'], ['history', 'History'], ['rules', 'Rules'], ['devices', 'Devices']];
const app = document.getElementById('app');
const live = new Live();

let me = null; // whose browser it is
let shown = null; // {view, end, keys} that is mounted
let frame = null; // the elements around it

// start finds out whose browser it is. A code in the address lets a browser in that the
// server does not know; it does not make a known one another person's.
async function start() {
  const code = codeOf(location.hash);
  if (code) history.replaceState(null, '', location.pathname);
  if (!usable()) return pairing.insecure(app);
  if (await api.paired()) {
    try {
      return enter(await api.get('/api/me'));
    } catch (err) {
      if (err.status !== 401 && err.code !== 'unproved') return unreachable(err, code);
    }
  }
  if (!code) return leave(gone);
  try {
    enter(await api.pair(code));
  } catch (err) {
    leave(pairing.words(err));
  }
}

// codeOf returns the one-time code of an address. Routes begin with a slash.
function codeOf(hash) {
  const text = hash.slice(1);
  return /^[a-z0-9-]{8,40}$/i.test(text) ? text : '';
}

// unreachable tries again: the server is not there, or busy.
function unreachable(err, code) {
  if (!app.querySelector('.unreachable')) {
    replace(app, h('main', { class: 'pair unreachable', role: 'status' }, h('h1', null, 'agent-wrapper'), h('p', null, err.message + ' Trying again…')));
  }
  setTimeout(() => {
    if (code) history.replaceState(null, '', '#' + code);
    start();
  }, 2000);
}

// leave shows the screen of a browser that is not paired.
function leave(why) {
  me = null;
  unmount();
  frame = null;
  live.stop();
  closeDialogs();
  pairing.show(app, why, enter);
}

let gone = ''; // why this browser is not paired any more

api.onStranger((err) => {
  gone = { server_restarted: 'This browser is no longer paired: the server was started again. Open the link that it printed, or enter a new code.', unproved: err.message }[err.code]
    || 'This browser is no longer paired: its access was revoked or has expired.';
  api.forget();
  if (me) leave(gone);
});

// anew forgets whose browser it was and all that is shown, and finds out again.
function anew() {
  me = null;
  unmount();
  frame = null;
  live.stop();
  closeDialogs();
  replace(app);
  start();
}

// Another tab of this browser has signed out, or is another person's now: so is this one.
api.onChange(anew);

function enter(who) {
  unmount(); // a view that is not seen must not hear keys
  me = who;
  gone = '';
  frame = makeFrame();
  live.start();
  if (!location.hash.startsWith('#/')) history.replaceState(null, '', '#/inbox');
  route();
}

// makeFrame makes what is around each view.
function makeFrame() {
  const f = {
    main: h('main', { id: 'main', class: 'main', tabIndex: -1 }),
    state: h('span', { class: 'live', role: 'status' }),
    count: h('span', { class: 'count', hidden: true }),
    tabs: new Map(),
    toasts: h('div', { class: 'toasts' }),
    say: h('div', { class: 'hear', role: 'status', 'aria-live': 'polite' }),
    notify: h('button', { class: 'quiet', type: 'button', 'aria-label': 'Notify me', title: 'Notify me of new questions', on: { click: askToNotify } }, icon('bell'), h('span', null, 'Notify me')),
    theme: h('button', { class: 'quiet', type: 'button', on: { click: nextTheme } }),
  };
  for (const [name, label] of tabs) {
    f.tabs.set(name, h('a', { href: '#/' + name, class: ['tab', 'tab-' + name] }, icon(name), h('span', null, label), name === 'inbox' && f.count));
  }
  replace(app,
    h('a', { class: 'skip', href: '#main', on: { click: (e) => { e.preventDefault(); f.main.focus(); } } }, 'Skip to content'),
    h('header', { class: 'top' },
      h('a', { class: 'brand', href: '#/inbox', 'aria-label': 'agent-wrapper' }, icon('mark'), h('span', null, 'agent-wrapper')),
      h('nav', { class: 'tabs', 'aria-label': 'Views' }, [...f.tabs.values()]),
      h('div', { class: 'top-end' }, f.state, f.notify, f.theme,
        h('button', { class: 'quiet', type: 'button', 'aria-label': 'Keyboard shortcuts', title: 'Keyboard shortcuts (?)', on: { click: showKeys } }, '?'))),
    f.main, f.toasts, f.say);
  frame = f;
  showState();
  showCount();
  showTheme();
  f.notify.hidden = !notify.canAsk();
  return f;
}

// icon returns the picture of a tab.
const drawings = {
  mark: 'M5 12.5l4.5 4.5L19 7', inbox: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1.5 3h3L15 13h5', sessions: 'M4 5h16v14H4zM8 10l3 2.5L8 15M13 15h4',
  history: 'M12 7v5l3.5 2M20 12a8 8 0 1 1-16 0 8 8 0 0 1 16 0', bell: 'M6 16h12l-1.5-2.5V10a4.5 4.5 0 0 0-9 0v3.5zM10.5 19h3', rules: 'M5 7h14M5 12h9M5 17h6', devices: 'M4 6h16v10H4zM9 20h6M12 16v4',
};
function icon(name) {
  return h('svg', { class: ['icon', 'icon-' + name, name === 'bell' && 'bell'], viewBox: '0 0 24 24', 'aria-hidden': 'true', fill: 'none', stroke: 'currentColor', 'stroke-width': '2', 'stroke-linecap': 'round', 'stroke-linejoin': 'round' },
    h('path', { d: drawings[name] }));
}

// route shows the view of the address.
function route() {
  if (!me || !location.hash.startsWith('#/')) return;
  const [path, query] = location.hash.slice(1).split('?', 2);
  for (const view of views) {
    const m = view.match.exec(path);
    if (!m) continue;
    let params;
    try {
      params = m.slice(1).map((p) => (p === undefined ? undefined : decodeURIComponent(p)));
    } catch {
      continue;
    }
    show(view, params, new URLSearchParams(query || ''));
    markTab(path.split('/')[1]);
    return;
  }
  unmount();
  replace(frame.main, h('div', { class: 'sheet' }, h('h1', null, 'Page not found'), h('p', null, h('a', { href: '#/inbox' }, 'Go to the inbox'))));
  markTab('');
}

function show(view, params, query) {
  if (shown && shown.view === view && shown.end && shown.end.update) {
    shown.ctx.query = query;
    shown.end.update(params);
    return;
  }
  const moved = shown !== null;
  unmount();
  document.body.dataset.view = view.name;
  const root = h('div', { class: ['view', 'view-' + view.name] });
  replace(frame.main, root);
  const keys = new Map();
  const ctx = {
    api, live, h, go, toast, say, query, me,
    keys: (map) => { for (const [key, entry] of Object.entries(map)) keys.set(key, entry); },
    title: (text) => { shown.title = text; showTitle(); },
  };
  shown = { view, keys, ctx, end: null, title: view.title };
  shown.end = view.mount(root, ctx, params);
  showTitle();
  if (moved) frame.main.focus({ preventScroll: true });
}

function unmount() {
  const s = shown;
  shown = null;
  delete document.body.dataset.screen;
  if (s && s.end) s.end();
}

function markTab(name) {
  for (const [tab, a] of frame.tabs) {
    if (tab === name) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
}

// go leads to a path, such as /inbox/ID.
function go(path, { replace: instead = false } = {}) {
  if (location.hash === '#' + path) return;
  if (instead) {
    history.replaceState(null, '', '#' + path);
    route();
  } else {
    location.hash = path;
  }
}

// say has a screen reader say something, when it has time.
let saying = 0;
function say(text) {
  if (!frame) return;
  const line = h('p', { 'data-n': saying++ }, text);
  frame.say.append(line);
  while (frame.say.childElementCount > 5) frame.say.firstChild.remove();
}

// toast shows a text for some seconds. Kind is ok, bad or none.
function toast(text, kind = '') {
  if (!frame) return;
  const t = h('div', { class: ['toast', kind && 'toast-' + kind] }, text);
  frame.toasts.append(t);
  while (frame.toasts.childElementCount > 3) frame.toasts.firstChild.remove();
  say(text);
  setTimeout(() => t.remove(), 6000);
}

// showState says whether what is shown is how things are.
function showState() {
  if (!frame) return;
  const words = { connecting: 'Connecting', live: 'Live', lost: `Not live since ${clock(live.since || new Date())}, reconnecting` };
  frame.state.dataset.state = live.state;
  frame.state.title = words[live.state];
  replace(frame.state, h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', { class: 'live-words' }, words[live.state]));
  document.body.dataset.live = live.state;
}

// pending returns the number of questions that wait.
function pending() {
  let n = 0;
  for (const a of live.approvals.values()) if (a.status === 'pending') n++;
  return n;
}

function showCount() {
  if (!frame) return;
  const n = pending();
  frame.count.hidden = n === 0;
  replace(frame.count, String(n), h('span', { class: 'hear' }, ' waiting'));
  showTitle();
}

function showTitle() {
  if (!me) return;
  const n = pending();
  const view = shown && shown.title && shown.title !== 'Inbox' ? `${shown.title} · ` : '';
  document.title = `${n ? `(${n}) ` : ''}${view}agent-wrapper`;
}

live.on('state', () => {
  showState();
  say(live.state === 'live' ? 'Live' : frame ? frame.state.title : '');
});
live.on('change', (e) => {
  if (!e.detail.has('approvals')) return;
  showCount();
  notify.tell(live, go);
});

async function askToNotify() {
  const yes = await notify.ask();
  frame.notify.hidden = !notify.canAsk();
  toast(yes ? 'You will be notified of new questions while this page is in the background.' : 'Your browser does not allow notifications from this page.', yes ? 'ok' : '');
}

// The theme: that of the system, unless one was chosen.
const themes = ['auto', 'light', 'dark'];
function theme() {
  const kept = localStorage.getItem('agent-wrapper.theme');
  return themes.includes(kept) ? kept : 'auto';
}
function showTheme() {
  const now = theme();
  if (now === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = now;
  if (!frame) return;
  const glyph = { auto: '◐', light: '○', dark: '●' }[now];
  replace(frame.theme, h('span', { 'aria-hidden': 'true' }, glyph));
  frame.theme.setAttribute('aria-label', `Theme: ${now === 'auto' ? 'same as system' : now}`);
  frame.theme.title = frame.theme.getAttribute('aria-label');
}
function nextTheme() {
  localStorage.setItem('agent-wrapper.theme', themes[(themes.indexOf(theme()) + 1) % themes.length]);
  showTheme();
}

// Keys. They are the view's, while nobody types and no dialog is open. A key that is held
// down answers nothing by itself: views that allow it say so by a third entry, true.
function typing(e) {
  const t = e.target;
  return t instanceof HTMLElement && (t.isContentEditable || t.matches('textarea, select, input:not([type=checkbox]):not([type=radio]):not([type=button])'));
}

addEventListener('keydown', (e) => {
  if (!shown || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.defaultPrevented || document.querySelector('dialog[open]')) return;
  if (e.key !== 'Escape' && typing(e)) return;
  if (e.key === '?') {
    e.preventDefault();
    showKeys();
    return;
  }
  const entry = shown.keys.get(e.key);
  if (!entry) return;
  if (e.key === 'Enter' && e.target instanceof HTMLElement && e.target.matches('button, a, summary, input')) return;
  if (e.repeat && !entry[2]) return;
  if (entry[0](e) !== false) e.preventDefault();
});

// showKeys shows the keys and what they do.
function showKeys() {
  if (!shown || document.querySelector('dialog[open]')) return;
  const rows = [...shown.keys].filter(([, [, what]]) => what !== '').map(([key, [, what]]) => h('div', { class: 'key-row' }, h('dt', null, h('kbd', null, { Escape: 'Esc', ' ': 'Space', ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→' }[key] || key)), h('dd', null, what)));
  const d = h('dialog', { class: 'dialog', 'aria-label': 'Keyboard shortcuts', on: { close: () => d.remove(), click: (e) => { if (e.target === d) d.close(); } } },
    h('div', { class: 'dialog-body' }, h('h2', null, `Keyboard shortcuts: ${shown.view.title}`), h('dl', { class: 'key-list' }, rows, h('div', { class: 'key-row' }, h('dt', null, h('kbd', null, '?')), h('dd', null, 'this list'))),
      h('p', { class: 'dim' }, `Paired as ${me.name} (${me.role}).`),
      h('div', { class: 'dialog-end' }, h('button', { class: 'button', type: 'button', on: { click: () => d.close() } }, 'Close'))));
  document.body.append(d);
  d.showModal();
}

function closeDialogs() {
  for (const d of document.querySelectorAll('dialog')) d.remove();
}

addEventListener('hashchange', () => {
  const code = codeOf(location.hash);
  if (code) anew();
  else route();
});
showTheme();
start();
