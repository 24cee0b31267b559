// The replay of a recording: its screen, a time line with the decisions on it, and search.

import { CastError, clock, parse, size, Text, Times } from './cast.js';
import { clock as timeOfDay, h, replace, risk } from './dom.js';
import { cell, screen } from './screen.js';
import { spellLine } from './spell.js';

const speeds = [0.5, 1, 2, 4, 8, 16];
const pauseKey = 'agent-wrapper.replay.pauses';
const pause = 2; // seconds, the longest that is kept of a pause
const step = 5; // seconds, of an arrow key
const piece = 1 << 20; // characters that are written to the screen at once
const sizes = { font: 13, least: 8 };

export default {
  name: 'replay',
  title: 'Replay',
  match: /^\/history\/recording\/([^/]+)$/,
  mount(root, ctx, [id]) {
    let player = new Player(root, ctx, id);
    player.begin();
    const end = () => player.end();
    end.update = ([other]) => {
      if (other === player.id) return player.come();
      player.end();
      replace(root);
      player = new Player(root, ctx, other);
      player.begin();
    };
    return end;
  },
};

class Player {
  constructor(root, ctx, id) {
    Object.assign(this, { root, ctx, id, speed: 1, playing: false, now: 0, done: 0, want: 0, hits: [], hit: -1, ends: [] });
  }

  async begin() {
    document.body.dataset.screen = 'detail';
    const path = '/api/recordings/' + encodeURIComponent(this.id);
    replace(this.root, h('p', { class: 'empty', role: 'status' }, 'Loading…'));
    try {
      const text = await this.ctx.api.text(path);
      this.cast = parse(text);
      this.info = await this.listed(text);
    } catch (err) {
      if (this.over) return;
      const why = err instanceof CastError ? `The file is damaged: ${err.message}.` : err.message;
      replace(this.root, h('div', { class: 'sheet' }, h('h1', null, err.status === 404 ? 'Recording not found' : 'Cannot show this recording'),
        h('p', null, err.status === 404 ? 'Recordings are kept for 30 days.' : why), h('p', null, h('a', { class: 'button', href: '#/history/recordings' }, 'Recordings'))));
      return;
    }
    if (this.over) return;
    this.time(localStorage.getItem(pauseKey) !== 'kept');
    this.draw();
    this.term = await screen(this.parts.host, { cols: this.cast.header.columns, rows: this.cast.header.rows, disableStdin: true, cursorBlink: false });
    if (this.over) return this.term.dispose();
    this.term.textarea.tabIndex = -1;
    this.term.textarea.setAttribute('aria-label', 'The recorded screen');
    const fits = new ResizeObserver(() => this.fit());
    fits.observe(this.parts.frame);
    this.ends.push(() => fits.disconnect());
    this.fit();
    this.come();
  }

  end() {
    this.over = true;
    this.playing = false;
    for (const end of this.ends) end();
    if (this.term) this.term.dispose();
  }

  // listed returns what the server says of the recording, and whether what has come is
  // what the audit log vouches for. The hash is taken here too, of what is
  // played.
  async listed(text) {
    const session = this.id.split('.')[0];
    const { recordings } = await this.ctx.api.get('/api/recordings?session=' + encodeURIComponent(session));
    const info = recordings.find((r) => r.id === this.id) || { verified: 'unknown', agent_id: this.cast.header.title };
    if (info.verified === 'true' && globalThis.crypto?.subtle) {
      const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
      if ([...sum].map((b) => b.toString(16).padStart(2, '0')).join('') !== info.sha256) info.verified = 'false';
    }
    return info;
  }

  // time sets whether long pauses are cut.
  time(short) {
    const at = this.times ? this.times.record(this.now) : 0;
    this.short = short;
    this.times = new Times(this.cast.events, short ? pause : Infinity);
    this.now = this.times.play(at);
  }

  // come goes to the time of the address.
  come() {
    const t = Number(this.ctx.query.get('t') ?? this.ctx.query.get('at') ?? NaN);
    this.seek(Number.isFinite(t) ? this.times.play(t) : 0);
  }

  draw() {
    const { info, cast } = this;
    const p = this.parts = {
      host: h('div', { class: 'term-host' }),
      play: h('button', { class: 'button primary rp-play', type: 'button', on: { click: () => this.toggle() } }),
      at: h('span', { class: 'rp-at' }),
      range: h('input', { type: 'range', class: 'rp-range', 'aria-label': 'Time', min: '0', step: 'any', on: { input: () => this.seek(Number(p.range.value)), keydown: (e) => this.slide(e) } }),
      dots: h('div', { class: 'rp-dots', 'aria-hidden': 'true' }),
      speed: h('select', { class: 'rp-speed', 'aria-label': 'Speed', on: { change: () => { this.speed = Number(p.speed.value); } } }, speeds.map((s) => h('option', { value: String(s), selected: s === 1 }, `${s}×`))),
      short: h('input', { type: 'checkbox', id: 'rp-short', checked: this.short, on: { change: () => this.pauses() } }),
      now: h('p', { class: 'rp-now' }),
      words: h('input', { type: 'search', class: 'field', id: 'rp-words', placeholder: 'Search in the output', 'aria-label': 'Search in the output', autocomplete: 'off', on: { keydown: (e) => this.searched(e), input: () => { this.sought = null; p.found.textContent = ''; } } }),
      found: h('span', { class: 'rp-found dim small', role: 'status' }),
      list: h('ol', { class: 'rp-list' }),
    };
    p.frame = h('div', { class: 'term-frame rp-frame', role: 'region', 'aria-label': 'The recorded screen', tabIndex: 0 }, p.host);
    this.rows = cast.marks.map((m) => this.row(m));
    replace(p.list, this.rows);
    const begin = new Date(info.begin || cast.header.timestamp * 1000);
    this.begun = begin.getTime();
    const agent = spellLine(info.agent_id || cast.header.title || 'An agent');
    this.ctx.title(`Replay: ${agent}`);
    replace(this.root, h('div', { class: 'rp' },
      h('header', { class: 'session-head' },
        h('div', { class: 'session-name' }, h('a', { class: 'back', href: '#/history/recordings', 'aria-label': 'Recordings' }, h('span', { 'aria-hidden': 'true' }, '‹')),
          h('div', null, h('h1', null, agent), h('p', { class: 'dim small' }, h('time', { datetime: begin.toISOString() }, timeOfDay(begin)), ' · ', h('span', { class: 'mono' }, spellLine(this.id))))),
        h('div', { class: 'rp-proof' }, proof(info, cast)),
        h('div', { class: 'session-do' }, h('button', { class: 'button', type: 'button', on: { click: () => this.copy() } }, 'Copy link to this time'))),
      h('div', { class: 'rp-body' },
        h('section', { class: 'rp-stage', 'aria-label': 'Player' }, p.frame, p.now,
          h('div', { class: 'rp-line' }, p.dots, p.range),
          h('div', { class: 'rp-bar' }, p.play, p.at,
            h('label', { class: 'rp-short', for: 'rp-short' }, p.short, `Shorten pauses to ${pause} s`), p.speed)),
        h('section', { class: 'rp-side', 'aria-label': 'Decisions and search' },
          h('form', { class: 'rp-search', role: 'search', on: { submit: (e) => e.preventDefault() } }, p.words, p.found,
            h('button', { class: 'button', type: 'button', 'aria-label': 'Previous match', on: { click: () => this.search(-1) } }, '↑'),
            h('button', { class: 'button', type: 'button', 'aria-label': 'Next match', on: { click: () => this.search(1) } }, '↓')),
          h('h2', null, 'Decisions'), cast.marks.length ? p.list : h('p', { class: 'dim' }, 'No decisions were recorded.')))));
    this.dots();
    this.ctx.keys({
      ' ': [() => this.toggle(), 'play or pause'], ArrowLeft: [() => this.seek(this.now - step), `${step} s back`, true], ArrowRight: [() => this.seek(this.now + step), `${step} s forward`, true],
      k: [() => this.jump(-1), 'previous decision', true], j: [() => this.jump(1), 'next decision', true],
      '<': [() => this.faster(-1), 'slower'], '>': [() => this.faster(1), 'faster'], Home: [() => this.seek(0), 'to the beginning'], End: [() => this.seek(this.times.length), 'to the end'],
      '/': [() => p.words.focus(), 'search in the output'], c: [() => this.copy(), 'copy the link to this time'],
    });
  }

  link(recorded) { return `/history/recording/${encodeURIComponent(this.id)}?t=${Math.round(recorded * 10) / 10}`; }

  // row returns a mark in the list, a link to its time.
  row(m) {
    return h('li', { class: 'rp-mark' }, h('a', { href: '#' + this.link(m.at), on: { click: (e) => { if (!e.ctrlKey && !e.metaKey && !e.shiftKey) { e.preventDefault(); this.toMark(m); } } } },
      h('span', { class: 'rp-mark-at mono' }, clock(this.times.play(m.at))),
      h('span', { class: 'rp-mark-what' }, h('span', { class: 'rp-mark-head' }, glyph(m), h('b', null, verb(m)), m.by && h('span', null, ' by ', spellLine(m.by)), m.risk && m.risk !== 'forbidden' && risk(m.risk)),
        m.line !== undefined && h('code', null, said(m.line)), m.words && m.kind !== 'note' && h('span', { class: 'rp-said' }, said(m.words)))));
  }

  // dots draws the marks on the time line.
  dots() {
    const { parts: p, times } = this;
    p.range.max = String(Math.max(times.length, 0.001));
    replace(p.dots, this.cast.marks.map((m) => {
      const dot = h('span', { class: ['rp-dot', m.risk && 'risk-' + m.risk], title: `${clock(times.play(m.at))} ${words(m)}`, on: { click: () => this.toMark(m) } }, glyph(m));
      dot.style.setProperty('left', `${times.length ? times.play(m.at) / times.length * 100 : 0}%`);
      return dot;
    }));
    this.rows.forEach((row, i) => { row.querySelector('.rp-mark-at').textContent = clock(times.play(this.cast.marks[i].at)); });
  }

  pauses() {
    this.time(this.parts.short.checked);
    localStorage.setItem(pauseKey, this.short ? 'cut' : 'kept');
    this.dots();
    this.show();
  }

  fit() {
    const { term, parts: p } = this;
    if (!term || this.over || p.frame.clientWidth === 0) return;
    const style = getComputedStyle(p.frame);
    const room = p.frame.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 14;
    const c = cell(term);
    if (!(c.width > 0)) return;
    const full = c.width / term.options.fontSize * sizes.font * term.cols;
    const font = Math.max(sizes.least, Math.min(sizes.font, Math.floor(sizes.font * room / full * 4) / 4));
    if (Math.abs(font - term.options.fontSize) > .2) term.options.fontSize = font;
  }

  // seek goes to a time of the player. What is shown follows, see render.
  seek(played) {
    this.now = Math.max(0, Math.min(this.times.length, played));
    this.last = performance.now();
    this.show();
    return this.render(this.times.shown(this.now));
  }

  // render has the screen show the first n events. There is no way back for a terminal:
  // backwards it begins anew. While it works, only the last wish counts.
  render(n) {
    this.want = n;
    this.rendering ||= this.work().finally(() => {
      this.rendering = null;
      clearTimeout(this.late);
      this.parts.frame.removeAttribute('aria-busy');
    });
    return this.rendering;
  }

  async work() {
    this.late = setTimeout(() => this.parts.frame.setAttribute('aria-busy', 'true'), 200);
    while (this.term && !this.over && this.done !== this.want) {
      if (this.done > this.want) {
        this.term.reset();
        this.sized(this.cast.header);
        this.done = 0;
      }
      await this.some();
    }
  }

  // some writes the next events, up to a size.
  async some() {
    const { events } = this.cast;
    let out = '';
    while (this.done < this.want && out.length < piece) {
      const e = events[this.done];
      if (e.code === 'r') {
        if (out !== '') break; // what came before has another size
        this.sized(size(e.data));
      }
      if (e.code === 'o') out += e.data;
      this.done++;
    }
    if (out !== '') await new Promise((next) => this.term.write(out, next));
  }

  sized(to) {
    if (this.term.cols === to.columns && this.term.rows === to.rows) return;
    this.term.resize(to.columns, to.rows);
    this.fit();
  }

  toggle() {
    this.playing = !this.playing;
    if (this.playing && this.now >= this.times.length) this.seek(0);
    this.show();
    if (this.playing) {
      this.last = performance.now();
      this.tick();
    }
    this.ctx.say(this.playing ? 'Playing' : `Paused at ${clock(this.now)}`);
  }

  tick() {
    requestAnimationFrame((at) => {
      if (!this.playing || this.over) return;
      this.now = Math.min(this.times.length, this.now + Math.max(0, at - this.last) / 1000 * this.speed);
      this.last = at;
      this.render(this.times.shown(this.now));
      if (this.now >= this.times.length) {
        this.playing = false;
        this.ctx.say('End of the recording');
      }
      this.show();
      if (this.playing) this.tick();
    });
  }

  faster(by) {
    const i = speeds.indexOf(this.speed) + by;
    if (i < 0 || i >= speeds.length) return;
    this.speed = speeds[i];
    this.parts.speed.value = String(this.speed);
    this.ctx.say(`Speed ${this.speed}`);
  }

  // slide takes the keys of the slider, whose own steps are too small.
  slide(e) {
    const to = { ArrowLeft: this.now - step, ArrowDown: this.now - step, ArrowRight: this.now + step, ArrowUp: this.now + step, Home: 0, End: this.times.length }[e.key];
    if (e.key === ' ') this.toggle();
    else if (to !== undefined) this.seek(to);
    else return;
    e.preventDefault();
  }

  // jump goes to the next or the last decision.
  jump(by) {
    const { marks } = this.cast;
    const i = this.current();
    const m = by > 0 ? marks[i + 1] : marks[this.times.play(marks[i]?.at ?? 0) < this.now - 1 ? i : i - 1];
    if (m) this.toMark(m);
  }

  async toMark(m) {
    await this.seek(this.times.play(m.at));
    this.ctx.say(`At ${clock(this.now)}: ${words(m)}`);
  }

  // current returns the index of the last mark that has happened, -1 if none has.
  current() {
    const { marks } = this.cast;
    const shown = this.times.shown(this.now + 1e-6);
    let i = -1;
    while (i + 1 < marks.length && marks[i + 1].index < shown) i++;
    return i;
  }

  // show shows the time, and the last decision.
  show() {
    const { parts: p, times } = this;
    if (!p) return;
    const at = `${clock(this.now)} of ${clock(times.length)}`;
    p.range.value = String(this.now);
    p.range.setAttribute('aria-valuetext', at);
    p.range.style.setProperty('--done', `${times.length ? this.now / times.length * 100 : 0}%`);
    const day = timeOfDay(new Date(this.begun + times.record(this.now) * 1000));
    const text = `${at} · ${day}`;
    if (p.at.textContent !== text) p.at.textContent = text;
    const label = this.playing ? 'Pause' : 'Play';
    if (p.play.dataset.label !== label) {
      p.play.dataset.label = label;
      replace(p.play, h('span', { 'aria-hidden': 'true' }, this.playing ? '❚❚' : '▶'), label);
    }
    const i = this.current();
    if (i === this.marked) return;
    this.rows[this.marked]?.querySelector('a').removeAttribute('aria-current');
    this.marked = i;
    const m = this.cast.marks[i];
    replace(p.now, m ? [glyph(m), h('b', null, verb(m)), m.by && ` by ${spellLine(m.by)}`, m.line !== undefined && h('code', null, said(m.line)), m.words && m.kind !== 'note' && h('span', null, said(m.words))] : h('span', { class: 'dim' }, 'No decision yet'));
    if (!m) return;
    this.rows[i].querySelector('a').setAttribute('aria-current', 'true');
    const side = p.list.parentElement;
    if (side.scrollHeight > side.clientHeight + 1) this.rows[i].scrollIntoView({ block: 'nearest' });
  }

  searched(e) {
    if (e.key === 'Enter') {
      e.preventDefault();
      this.search(e.shiftKey ? -1 : 1);
    } else if (e.key === 'Escape') this.parts.frame.focus();
  }

  // search goes to the next place, or the one before, at which the output has the text.
  async search(by) {
    const want = this.parts.words.value.trim();
    if (want === '') return;
    this.text ||= new Text(this.cast.events);
    if (this.sought !== want) {
      this.sought = want;
      this.hits = this.text.find(want);
      const next = this.hits.findIndex((i) => this.times.played[i] >= this.now);
      this.hit = by > 0 ? (next < 0 ? this.hits.length : next) - 1 : next < 0 ? 0 : next;
    }
    const n = this.hits.length;
    if (n === 0) {
      this.parts.found.textContent = 'Not found';
      return;
    }
    this.hit = (this.hit + by + n) % n;
    const index = this.hits[this.hit];
    this.playing = false;
    await this.seek(this.times.played[index]);
    if (this.over) return;
    this.parts.found.textContent = `${this.hit + 1} of ${n}`;
    this.select(want);
  }

  // select marks the last place on the screen that has the text.
  select(want) {
    const b = this.term.buffer.active;
    for (let row = b.length - 1; row >= 0; row--) {
      const line = b.getLine(row)?.translateToString(true) ?? '';
      const at = line.toLowerCase().lastIndexOf(want.toLowerCase());
      if (at < 0) continue;
      this.term.select(at, row, want.length);
      this.term.scrollToLine(Math.max(0, row - Math.floor(this.term.rows / 2)));
      return;
    }
    this.term.clearSelection();
  }

  async copy() {
    const path = this.link(this.times.record(this.now));
    this.ctx.go(path, { replace: true });
    try {
      await navigator.clipboard.writeText(new URL('#' + path, location.href).href);
      this.ctx.toast(`Link to ${clock(this.now)} copied.`, 'ok');
    } catch {
      this.ctx.toast('Your browser blocked copying. The address bar now has the link.');
    }
  }
}

// proof says whether the recording is what the audit log vouches for.
function proof(info, cast) {
  const [kind, glyph, text] = {
    true: ['ok', '✓', `Unchanged: its hash is in line ${info.seq} of the audit log`],
    false: ['bad', '✗', 'Changed since it was recorded: it does not match its hash in the audit log'],
    open: ['', '●', 'The session is still running: this is what there was when you opened it'],
  }[info.verified] || ['warn', '?', 'Not verified: the audit log has no hash of it'];
  return [h('p', { class: ['rp-proof-' + (kind || 'open')] }, h('span', { 'aria-hidden': 'true' }, glyph), ' ', text),
    cast.cut > 0 && info.verified !== 'open' && h('p', { class: 'rp-proof-warn' }, 'Its last line is incomplete: the server ended while writing it.')];
}

const glyphs = { allowed: '✓', approved: '✓', edited: '✎', denied: '✗', forbidden: '■', asked: '?', expired: '⌛', withdrawn: '–', 'taken over': '⇥', released: '⇤', note: '·' };
const verbs = { allowed: 'Allowed', approved: 'Approved', edited: 'Edited', denied: 'Denied', forbidden: 'Forbidden', asked: 'Asked', expired: 'Expired', withdrawn: 'Withdrawn', 'taken over': 'Taken over', released: 'Released' };

function verb(m) { return m.kind === 'note' ? said(m.words) : verbs[m.kind]; }
function glyph(m) { return h('span', { class: ['rp-glyph', 'rp-' + m.kind.replace(' ', '-')], 'aria-hidden': 'true' }, glyphs[m.kind]); }

// said returns a part of a label: the server has spelled it already, and <U+202E> stays as
// it is; a file that was changed may have more.
function said(text) { return spellLine(text).replaceAll('<U+003C>', '<'); }

// words returns a mark as one line.
function words(m) {
  return [verb(m), m.by && `by ${spellLine(m.by)}`, m.risk && m.risk !== 'forbidden' && `(${m.risk})`, m.line !== undefined && said(m.line), m.kind !== 'note' && m.words && said(m.words)].filter(Boolean).join(' ');
}
