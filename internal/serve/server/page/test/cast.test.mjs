// The recordings that the page plays, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CastError, clock, mark, parse, Text, Times } from "../static/cast.js";

const head = '{"version":3,"term":{"cols":80,"rows":24,"type":"xterm-256color"},"timestamp":1763935722,"title":"bot"}\n';

test("a recording is read", () => {
  const cast = parse(
    head + '[0.1,"o","\\u001b[1ma€\\r\\n"]\n# a comment\n[0.2,"m","asked k3 high: rm x"]\n[3,"m","approved k3 by anna: fine"]\n[0,"r","100x40"]\n[1e-1,"x","0"]\n[0,"o","cu',
  );
  assert.equal(cast.header.columns, 80);
  assert.deepEqual(
    cast.events.map((e) => [e.at, e.code, e.data]),
    [[0.1, "o", "\x1b[1ma€\r\n"], [0.3, "m", "asked k3 high: rm x"], [3.3, "m", "approved k3 by anna: fine"], [3.3, "r", "100x40"], [3.4, "x", "0"]],
  );
  assert.deepEqual(cast.marks, [
    { at: 0.3, index: 1, kind: "asked", id: "k3", risk: "high", line: "rm x" },
    { at: 3.3, index: 2, kind: "approved", id: "k3", by: "anna", words: "fine", risk: "high", line: "rm x" },
  ]);
  assert.equal(cast.cut, 10);
  assert.equal(parse(head).cut, 0);
});

test("what is none names its line", () => {
  for (const [text, line] of [
    ["", 1], ["{}\n", 1], ["null\n", 1], ['{"version":2}\n', 1], ['{"version":3,"term":{"cols":0,"rows":1}}\n', 1], [head.trim(), 1],
    [head + "\n", 2], [head + "[]\n", 2], [head + '[1,"o"]\n', 2], [head + '["1","o","x"]\n', 2], [head + '[-1,"o","x"]\n', 2],
    [head + '#\n[1,"z","x"]\n', 3], [head + '[1,"","x"]\n', 2], [head + '[1,"r","0x1"]\n', 2], [head + '[1e9,"o","x"]\n[1e9,"o","x"]\n', 3], [head + "[1,\"o\",null]\n", 2],
  ]) {
    assert.throws(() => parse(text), (err) => err instanceof CastError && err.line === line, text);
  }
});

test("labels are those of the server", () => {
  for (const [label, want] of [
    ["allowed safe: ls: x", { kind: "allowed", risk: "safe", line: "ls: x" }],
    ["forbidden: rm -rf /", { kind: "forbidden", risk: "forbidden", line: "rm -rf /" }],
    ["denied k3 by anna, ben: not: now", { kind: "denied", id: "k3", by: "anna, ben", words: "not: now" }],
    ["withdrawn k3", { kind: "withdrawn", id: "k3" }],
    ["expired k3", { kind: "expired", id: "k3" }],
    ["taken over by anna", { kind: "taken over", by: "anna" }],
    ["released by anna", { kind: "released", by: "anna" }],
    ["the server was stopped", { kind: "note", words: "the server was stopped" }],
    ["", { kind: "note", words: "" }],
  ]) {
    assert.deepEqual(mark(label), want, label);
  }
  const edited = parse(head + '[0,"m","asked k3 high: rm x"]\n[1,"m","edited k3 by anna: ls"]\n').marks[1];
  assert.deepEqual(edited, { at: 1, index: 1, kind: "edited", id: "k3", by: "anna", risk: "high", line: "ls" });
});

test("pauses are cut, and times go both ways", () => {
  const events = [1, 2, 102, 103].map((at) => ({ at, code: "o", data: "x" }));
  const t = new Times(events, 2);
  assert.equal(t.length, 5);
  assert.deepEqual([0, 1, 1.5, 2, 52, 102, 103, 200].map((n) => t.play(n)), [0, 1, 1.5, 2, 3, 4, 5, 5]);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 9].map((n) => t.record(n)), [0, 1, 2, 52, 102, 103, 103]);
  assert.deepEqual([0, 1, 3.9, 4, 5].map((n) => t.shown(n)), [0, 1, 2, 3, 4]);
  assert.equal(new Times(events, Infinity).length, 103);
  assert.equal(new Times([], 2).play(3), 0);
});

test("the text of what was shown is found", () => {
  const events = ["\x1b[1mHel", "lo\x1b[", "31m Wor\x1b]", "ld\r\n", "hello"].map((data, i) => ({ at: i, code: "o", data }));
  events.splice(1, 0, { at: 0.5, code: "m", data: "hello" });
  const text = new Text(events);
  assert.deepEqual(text.find("HELLO"), [2, 5]);
  assert.deepEqual(text.find("hello wor"), [3]);
  assert.deepEqual(text.find("nothing"), []);
  assert.deepEqual(text.find(""), []);
});

test("times are written", () => assert.deepEqual([0, 9.99, 60, 3599, 3600, 36061].map(clock), ["0:00", "0:09", "1:00", "59:59", "1:00:00", "10:01:01"]));
