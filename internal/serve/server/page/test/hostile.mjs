// Texts that an agent could write to have a page act, or a person misread it.

import assert from "node:assert/strict";

const mark = "globalThis.struck = true";

/** hostile are the texts, by what they try. */
export const hostile = {
  script: `<script>${mark}</script>`,
  image: `<img src=x onerror="${mark}">`,
  elsewhere: `<img src="http://elsewhere.example/leak.png"><link rel=stylesheet href=//elsewhere.example/a.css>`,
  svg: `<svg/onload=${mark}>`,
  frame: `<iframe srcdoc="<script>parent.struck=true</script>"></iframe>`,
  link: `<a href="javascript:${mark}">Approve once</a> javascript:${mark}`,
  form: `"><form action=//elsewhere.example><button autofocus onfocus=${mark}>Approve once</button></form>`,
  close: `</pre></code></textarea></title></style></script>--><script>${mark}</script>`,
  template: "{{constructor.constructor('globalThis.struck=true')()}} ${globalThis.struck=true} #{7*7} <%= 7*7 %>",
  markdown: `[safe](javascript:${mark}) ![x](http://elsewhere.example/x.png) **bold** \`code\` # title`,
  entity: "&lt;b&gt; &#60;img src=x onerror=globalThis.struck=true&#62; &amp;",
  prototype: '{"__proto__":{"struck":true}}',
};

/** unseen are characters that a screen would obey or hide, and how they are spelled out. */
export const unseen = {
  "\x1b[2J\x1b[31m": ["<U+001B>"],
  "\x1b]0;approved\x07": ["<U+001B>", "<U+0007>"],
  "\u202egnp.exe": ["<U+202E>"],
  "\u2066left\u2069": ["<U+2066>", "<U+2069>"],
  "ze\u200bro": ["<U+200B>"],
  "\ufeffbom": ["<U+FEFF>"],
  "so\u00adft": ["<U+00AD>"],
  "nb\u00a0sp": ["<U+00A0>"],
  "line\u2028break": ["<U+2028>"],
  "tag\u{e0041}": ["<U+E0041>"],
  "\rover": ["<U+000D>"],
};

/** huge is one line that is longer than any screen. */
export const huge = "x".repeat(20_000) + " end-of-the-line";

/** untouched checks that nothing of the texts has run or become an element. */
export async function untouched(page) {
  assert.equal(await page.tab.evaluate(() => globalThis.struck ?? {}.struck), undefined);
  const made = await page.tab.evaluate(() => document.querySelectorAll("iframe, object, embed, base, #app script, form[action], img[onerror], svg[onload], a[href^='javascript' i], [onfocus]").length);
  assert.equal(made, 0, "an agent's text became an element");
}
