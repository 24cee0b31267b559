// The only way by which the page makes elements. What an agent wrote gets into a page by
// here, and only as text: there is no way from a string to markup, style or script.

// Properties that are set as attributes, besides aria-* and data-*.
const attributes = new Set(['role', 'for', 'colspan', 'rowspan', 'scope', 'list', 'inputmode', 'autocapitalize', 'spellcheck', 'datetime', 'viewBox', 'd', 'd', 'fill', 'stroke', 'stroke-width', 'stroke-linecap', 'stroke-linejoin', 'width', 'height', 'cx', 'cy', 'r', 'x', 'y', 'rx', 'href']);

// Properties that are set as such. Any other is an error, so that none slips in that
// would interpret a text.
const properties = new Set(['id', 'title', 'type', 'name', 'value', 'checked', 'disabled', 'hidden', 'tabIndex', 'placeholder', 'rows', 'cols', 'min', 'max', 'step', 'maxLength', 'readOnly', 'selected', 'open', 'multiple', 'autocomplete', 'lang', 'dir', 'download', 'required', 'size', 'indeterminate', 'enterKeyHint']);

const tags = new Set(['svg', 'path', 'circle', 'rect', 'line', 'g', 'polyline', 'text']);

// h returns an element. Props: class (text or list; empty entries are left out), text,
// on (object of listeners), style (object of custom properties and values), and the names
// above. Children are elements, texts, lists of them; null and false are left out.
export function h(tag, props, ...children) {
  if (!/^[a-z][a-z0-9]*$/.test(tag) || ['script', 'style', 'iframe', 'object', 'embed', 'base', 'link', 'meta'].includes(tag)) {
    throw new Error(`the page has no elements ${tag}`);
  }
  const e = tags.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) set(e, tag, name, value);
  append(e, children);
  return e;
}

function set(e, tag, name, value) {
  if (value === undefined || value === null) return;
  if (name === 'class') {
    const list = (Array.isArray(value) ? value.filter(Boolean).join(' ') : value).trim();
    if (list) e.setAttribute('class', list);
  } else if (name === 'text') {
    e.textContent = value;
  } else if (name === 'on') {
    for (const [type, listener] of Object.entries(value)) e.addEventListener(type, listener);
  } else if (name === 'style') {
    for (const [property, v] of Object.entries(value)) e.style.setProperty(property, v);
  } else if (name === 'href') {
    setLink(e, value);
  } else if (name.startsWith('aria-') || name.startsWith('data-')) {
    e.setAttribute(name, String(value));
  } else if (attributes.has(name)) {
    if (value !== false) e.setAttribute(name, value === true ? '' : String(value));
  } else if (properties.has(name)) {
    e[name] = value;
  } else {
    throw new Error(`the page sets no ${name} of ${tag}`);
  }
}

// setLink takes links within the page only: an agent's text never becomes an address.
function setLink(e, value) {
  if (!/^(#|\/static\/)/.test(value)) throw new Error('links of the page lead to the page');
  e.setAttribute('href', value);
}

// append appends children.
export function append(e, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(e, child);
    else if (child instanceof Node) e.append(child);
    else if (child !== null && child !== undefined && child !== false && child !== true) e.append(String(child));
  }
  return e;
}

// replace puts children in place of all that an element has.
export function replace(e, ...children) {
  e.replaceChildren();
  return append(e, children);
}

// The risks, the least first, as package risk names them.
const risks = {
  safe: { glyph: '○', rank: 0 }, moderate: { glyph: '◐', rank: 1 }, high: { glyph: '●', rank: 2 },
  critical: { glyph: '▲', rank: 3 }, forbidden: { glyph: '■', rank: 4 },
};

// rankOf returns how great a risk is; an unknown one is moderate.
export function rankOf(name) { return (risks[String(name).toLowerCase()] || risks.moderate).rank; }

// risk returns a risk as a word with its glyph and colour.
export function risk(name) {
  const known = risks[String(name).toLowerCase()] ? String(name).toLowerCase() : 'moderate';
  return h('span', { class: ['risk', 'risk-' + known] }, h('span', { 'aria-hidden': 'true', class: 'glyph' }, risks[known].glyph), ' ', String(name).toLowerCase());
}

// clock returns a time of day, "12:03", with the date if it is another day's.
export function clock(time) {
  const t = new Date(time);
  if (Number.isNaN(t.getTime())) return '';
  const two = (n) => String(n).padStart(2, '0');
  const hm = `${two(t.getHours())}:${two(t.getMinutes())}`;
  const now = new Date();
  if (t.toDateString() === now.toDateString()) return hm;
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${hm}`;
}

// span returns a number of seconds in words: "45 s", "3 min", "2 h", "5 days".
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 2 * 86400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}
