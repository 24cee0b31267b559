// Notifications of the desktop, once a person has asked for them.

import { spellLine } from './spell.js';

const key = 'agent-wrapper.notify';

// canAsk reports whether there is something to ask for.
export function canAsk() {
  return 'Notification' in window && (Notification.permission === 'default' || Notification.permission === 'granted' && localStorage.getItem(key) !== 'yes');
}

// ask asks the browser; true if there will be notifications.
export async function ask() {
  const yes = 'Notification' in window && await Notification.requestPermission() === 'granted';
  if (yes) localStorage.setItem(key, 'yes');
  return yes;
}

const told = new Set(); // ids of questions that need no notification any more

// tell notifies of questions that are new, while nobody looks at the page. A
// notification has no buttons: what would run is to be seen first.
export function tell(live, go) {
  const fresh = [];
  for (const a of live.approvals.values()) {
    if (a.status !== 'pending' || told.has(a.id)) continue;
    told.add(a.id);
    fresh.push(a);
  }
  if (fresh.length === 0 || !document.hidden || !('Notification' in window) || Notification.permission !== 'granted' || localStorage.getItem(key) !== 'yes') return;
  const one = fresh[0];
  const q = one.question || {};
  const body = fresh.length > 1 ? `${fresh.length} questions are waiting for an answer` : `${spellLine(one.asker.name)} is waiting for an answer: ${spellLine(q.tool || 'a tool')}, risk ${spellLine(q.risk || 'unknown')}`;
  try {
    const n = new Notification('agent-wrapper', { body, tag: 'agent-wrapper', icon: '/static/icon.svg' });
    n.addEventListener('click', () => {
      window.focus();
      go(fresh.length > 1 ? '/inbox' : '/inbox/' + encodeURIComponent(one.id));
      n.close();
    });
  } catch {
    // Some browsers have them only for service workers.
  }
}
