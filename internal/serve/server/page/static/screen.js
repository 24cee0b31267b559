// A terminal's screen: xterm.js, as the page's policy permits it. It shows, and does
// nothing else: what a program writes reaches no title, clipboard, link or window, and
// gets no answer, so that nothing is ever typed but what a person types.

import { Terminal } from './vendor/xterm.js';

let sheet = null; // of xterm.js, once

// screen opens a terminal's screen in an element, and returns the Terminal of xterm.js.
// Its dispose ends it. Options are those of xterm.js.
export async function screen(host, options = {}) {
  await styled();
  shelter();
  const term = new Terminal({
    linkHandler: inert, theme: colours(), fontFamily: mono(), fontSize: 13, lineHeight: 1.2,
    minimumContrastRatio: 4.5, scrollback: 5000, windowOptions: {}, ...options,
  });
  quieten(term.parser);
  term.open(host);
  follow(term);
  return term;
}

// styled waits for the style sheet: xterm.js measures with it.
function styled() {
  sheet ||= new Promise((done) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = '/static/vendor/xterm.css';
    link.addEventListener('load', done);
    link.addEventListener('error', done);
    document.head.append(link);
  });
  return sheet;
}

const inert = { activate() {}, hover() {}, leave() {} };

// shelter has xterm.js make elements that the page's policy allows. It allows neither
// <style> elements nor style attributes, by which xterm.js sets its sizes and colours;
// style sheets and properties, which become of them here, it does. (documentOverride of
// xterm.js 6.0.0 does not reach all that it makes.)
function shelter() {
  if (Object.hasOwn(document, 'createElement')) return;
  const create = document.createElement.bind(document);
  document.createElement = (tag, ...rest) => {
    if (tag === 'style') return standIn(create('template'));
    const e = create(tag, ...rest);
    if (tag === 'span') e.setAttribute = setAttribute;
    return e;
  };
}

// standIn returns what stands for a <style> element: its text is a sheet of the document
// as long as it is not removed.
function standIn(e) {
  const of = new CSSStyleSheet();
  document.adoptedStyleSheets.push(of);
  Object.defineProperty(e, 'textContent', { get: () => '', set: (text) => of.replaceSync(text) });
  e.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== of);
    Element.prototype.remove.call(e);
  };
  return e;
}

// setAttribute sets an attribute; of style the declarations, each as a property.
function setAttribute(name, value) {
  if (name !== 'style') {
    Element.prototype.setAttribute.call(this, name, value);
    return;
  }
  for (const declaration of value.split(';')) {
    const colon = declaration.indexOf(':');
    if (colon > 0) this.style.setProperty(declaration.slice(0, colon).trim(), declaration.slice(colon + 1).trim());
  }
}

// Commands to the terminal that would reach beyond it, have it answer, or name a place to
// go to. The server takes most of them out already.
const strings = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 46, 50, 51, 52, 60, 61, 66, 99, 104, 105,
  110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 133, 176, 555, 633, 666, 777, 1337, 5113, 9001, 30001, 30101];
const reports = [
  { final: 'c' }, { prefix: '>', final: 'c' }, { prefix: '=', final: 'c' }, { final: 'n' }, { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' }, { prefix: '?', intermediates: '$', final: 'p' }, { prefix: '>', final: 'q' }, { final: 't' },
  { final: 'x' }, { prefix: '?', final: 'u' }, { intermediates: '*', final: 'y' }, { intermediates: '$', final: 'w' },
];
const devices = [{ intermediates: '$', final: 'q' }, { intermediates: '+', final: 'q' }, { intermediates: '$', final: 't' }];

function quieten(parser) {
  const swallow = () => true;
  for (const n of strings) parser.registerOscHandler(n, swallow);
  for (const id of reports) parser.registerCsiHandler(id, swallow);
  for (const id of devices) parser.registerDcsHandler(id, swallow);
}

// Colours: those of the page, and sixteen that can be read on both.
const light = {
  black: '#1c1c21', red: '#b3261e', green: '#1b7a3d', yellow: '#8a5300', blue: '#2f4fc4', magenta: '#8b2aa8', cyan: '#0b6f7d', white: '#6b6b76',
  brightBlack: '#5d5d69', brightRed: '#c8372e', brightGreen: '#1f8345', brightYellow: '#94610a', brightBlue: '#3f5fd8', brightMagenta: '#9a3cb5', brightCyan: '#117987', brightWhite: '#3a3a42',
};
const dark = {
  black: '#2b2b32', red: '#ff8f87', green: '#6fcf8b', yellow: '#f0b55c', blue: '#93a8ff', magenta: '#d9a3f2', cyan: '#6fd3e0', white: '#d5d5dc',
  brightBlack: '#8b8b98', brightRed: '#ffaaa4', brightGreen: '#8fe0a6', brightYellow: '#f7cb86', brightBlue: '#b1c0ff', brightMagenta: '#e6c0f7', brightCyan: '#97e3ed', brightWhite: '#ffffff',
};

function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function mono() { return style('--mono') || 'monospace'; }

function darkNow() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function colours() {
  const isDark = darkNow();
  const [background, foreground] = [style('--panel') || '#ffffff', style('--text') || '#1c1c21'];
  return { ...(isDark ? dark : light), background, foreground, cursor: foreground, cursorAccent: background, selectionBackground: isDark ? '#3a4677' : '#c5d1fb', selectionInactiveBackground: isDark ? '#33384f' : '#dde3f8' };
}

// follow has the colours follow the page's.
function follow(term) {
  const again = () => { term.options.theme = colours(); };
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(again);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  scheme.addEventListener('change', again);
  const dispose = term.dispose.bind(term);
  term.dispose = () => {
    chosen.disconnect();
    scheme.removeEventListener('change', again);
    dispose();
  };
}

// cell returns the size of a character in CSS pixels.
export function cell(term) {
  const box = term.element.querySelector('.xterm-screen').getBoundingClientRect();
  return { width: box.width / term.cols, height: box.height / term.rows };
}
