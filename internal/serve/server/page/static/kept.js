// The key of this browser. No script can read it, but one of the same origin can use it:
// that ends with the server, as another program may serve the origin after it.

const marker = 'agent-wrapper.browser'; // its id: other tabs hear when it changes
const first = 1;
const table = 'keys';

function open() {
  return new Promise((done, failed) => {
    const r = indexedDB.open('agent-wrapper', first);
    r.onupgradeneeded = () => r.result.createObjectStore(table);
    r.onsuccess = () => done(r.result);
    r.onerror = () => failed(r.error);
  });
}

async function act(mode, f) {
  const db = await open();
  try {
    return await new Promise((done, failed) => {
      const t = db.transaction(table, mode);
      const r = f(t.objectStore(table));
      t.oncomplete = () => done(r.result);
      t.onabort = () => failed(t.error);
    });
  } finally {
    db.close();
  }
}

// load returns the key, null if there is none.
export async function load() {
  const id = localStorage.getItem(marker);
  const key = id ? await act('readonly', (s) => s.get('own')).catch(() => null) : null;
  return key && key.id === id ? key : null;
}

// keep keeps a key in place of the one that was there.
export async function keep(key) {
  await act('readwrite', (s) => s.put(key, 'own'));
  localStorage.setItem(marker, key.id);
}

export async function forget() {
  localStorage.removeItem(marker);
  await act('readwrite', (s) => s.delete('own')).catch(() => {});
}

// onChange has a function called when another tab has changed whose browser this is.
export function onChange(f) { addEventListener('storage', (e) => { if (e.key === marker || e.key === null) f(); }); }
