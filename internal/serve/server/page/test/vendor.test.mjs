// What the page has of others is what they published.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { root } from "./binary.mjs";

const vendored = join(root, "internal", "serve", "server", "page", "static", "vendor");
const xterm = dirname(createRequire(import.meta.url).resolve("@xterm/xterm/package.json"));

const published = { "xterm.js": "lib/xterm.mjs", "xterm.css": "css/xterm.css" };

for (const [file, source] of Object.entries(published)) {
  test(`vendor/${file} is that of the package`, () => {
    assert.equal(sum(join(vendored, file)), sum(join(xterm, source)));
  });
}

function sum(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
