// What the page knows of questions and answers, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as ask from "../static/ask.js";

let n = 0;
function question(of = {}, q = {}) {
  const id = of.id || `q${n++}`;
  const choices = [
    { name: "once" },
    {
      name: "session",
      rungs: [
        { label: "exactly", rules: ["Bash(npm i a)"] },
        { label: "any", rules: ["Bash(npm i:*)"] },
      ],
    },
    { name: "while", rungs: [{ rules: [] }] },
    { name: "edit" },
    { name: "deny" },
    { name: "words" },
  ];
  return {
    id,
    digest: "1:" + id,
    status: "pending",
    seq: 1,
    project: "/w",
    session: "s",
    asker: { role: "agent", name: "bot" },
    asked: "2026-01-01T00:00:00Z",
    ...of,
    question: { id, tool: "Bash", risk: "moderate", input: { command: "npm i a" }, choices, ...q },
  };
}

test("the greatest risk comes first, then the oldest, by session", () => {
  const all = [
    question({ id: "late", asked: "2026-01-02T00:00:00Z" }),
    question({ id: "old" }),
    question({ id: "other", session: "t" }, { risk: "high" }),
  ];
  const groups = ask.groups(all);
  assert.deepEqual(
    groups.map((g) => [g.session, ...g.list.map((a) => a.id)]),
    [
      ["t", "other"],
      ["s", "old", "late"],
    ],
  );
});

test("an answer is for what was shown, and keeps what was chosen", () => {
  const a = question({ id: "k" });
  assert.deepEqual(ask.reply(a, "once", { message: "fine" }), {
    digest: "1:k",
    kind: "approve",
    scope: "once",
    message: "fine",
    reply: { id: "k", digest: "1:k", choice: "once" },
  });
  assert.deepEqual(ask.reply(a, "session", { rung: 1 }), {
    digest: "1:k",
    kind: "approve",
    scope: "session",
    rules: ["Bash(npm i:*)"],
    reply: { id: "k", digest: "1:k", choice: "session", rung: 1 },
  });
  const times = ask.reply(a, "while", { limit: ask.limits[1] });
  assert.deepEqual([times.scope, times.times, times.reply.times, times.for], ["use", 5, 5, undefined]);
  assert.equal(ask.reply(a, "while").for, "30m0s");
  assert.equal(ask.reply(a, "words", { message: "no" }).reply.message, "no");
  assert.equal(ask.reply(a, "edit", { input: { command: "ls" } }).kind, "edit");
  const edits = question({ id: "e" }, { choices: [{ name: "accept-edits" }] });
  assert.deepEqual(ask.reply(edits, "accept-edits"), { digest: "1:e", kind: "approve", reply: { id: "e", digest: "1:e", choice: "accept-edits" } });
  assert.throws(() => ask.reply(a, "always"));
});

test("a key while something new is shown answers nothing, and begins the time anew", () => {
  let now = 0;
  const g = new ask.Grace(() => now);
  now = 349;
  assert.equal(g.key(), false);
  now = 600;
  assert.equal(g.key(), false);
  now = 950;
  assert.equal(g.key(), true);
  g.changed();
  assert.equal(g.over(), false);
});

test("what is held, and the greatest risks, are approved one by one", () => {
  assert.equal(ask.together(question()), true);
  assert.equal(ask.together(question({}, { held: true })), false);
  assert.equal(ask.together(question({}, { risk: "forbidden" })), false);
  assert.equal(ask.kind(question()), ask.kind(question()));
  assert.notEqual(ask.kind(question()), ask.kind(question({}, { tool: "Edit" })));
});

test("who may not answer is told", () => {
  const me = { name: "anna" };
  assert.equal(ask.mayAnswer(question(), me), "");
  assert.match(ask.mayAnswer(question({ voters: [{ role: "person", name: "ben" }] }), me), /ben/);
  assert.match(ask.mayAnswer(question({ asker: { role: "person", name: "anna" } }), me), /another person/);
});

test("a change side by side pairs what was removed with what was added", () => {
  const line = (sign, text) => ({ sign, segments: [{ text }] });
  const rows = ask.sides([line("@", "@@ -4,3 +4,4 @@"), line(" ", "a"), line("-", "b"), line("+", "c"), line("+", "d"), line(" ", "e")]);
  assert.deepEqual(
    rows.map((r) => (r.both ? "@" : [r.left?.x, r.right?.y])),
    ["@", [4, 4], [5, 5], [undefined, 6], [6, 7]],
  );
});

test("hidden characters are counted and taken out of what is edited", () => {
  const text = "a\u202eb\u200bc\n";
  assert.equal(ask.hides(text), 2);
  assert.equal(ask.reveal(text), "abc\n");
  assert.equal(ask.spell(text), "a<U+202E>b<U+200B>c<U+000A>");
  assert.equal(ask.exact({ a: [1, 1.5, "9007199254740993"] }), true);
  assert.equal(ask.exact({ a: 2 ** 53 }), false);
});

test("one line names what asks: the rule, or the reason, and what else would be done is counted", () => {
  const q = {
    risk: "moderate",
    asked: [{ text: "run git push", times: 1, reason: "asked by rule Bash(git push:*)", rule: "Bash(git push:*)", source: "/w/agent-wrapper.toml:4:8", risk: "moderate", why: "sends data to a host" }],
    allowed: 2,
  };
  assert.deepEqual(ask.causes({ project: "/w", question: q }), [{ text: "", reason: "asked by", rule: "Bash(git push:*)", source: "agent-wrapper.toml:4:8" }]);
  assert.equal(ask.others(q), "2 more parts: allowed");
  assert.equal(ask.why(q), "sends data to a host");
  q.asked.push({ text: "run make", times: 3, reason: "not in the allow list" });
  assert.deepEqual(ask.causes({ project: "/w", question: q })[1], { text: "run make, and 2 more", reason: "not in the allow list", rule: "", source: "" });
  assert.deepEqual(ask.causes({ project: "/w", question: { reason: "a question of an older version", rule: "" } }), [{ text: "", reason: "a question of an older version", rule: "", source: "" }]);
});

test("rules stand beside their keys if they are few and not long", () => {
  const rung = { label: "exactly this", rules: ["Bash(git push)"] };
  assert.equal(ask.short({ rungs: [rung, rung] }), true);
  assert.equal(ask.short({ rungs: Array(6).fill(rung) }), false);
  assert.equal(ask.short({ rungs: [{ label: "", rules: ["x".repeat(300)] }] }), false);
});
