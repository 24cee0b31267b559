// 500 approvals that wait, and a long record: what a person waits for. The figures are
// printed (docs/performance.md has some); no time is asserted.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { binary } from "./binary.mjs";
import { scenario } from "./browser.mjs";

const lines = process.env.AW_LONG ? 50_000 : 5_000;

/** record has agent-wrapper decide write a long record before the server starts. */
async function record(world) {
  mkdirSync(world.state, { recursive: true, mode: 0o700 });
  const child = spawn(binary(), ["decide", "--stdio", "--isolated", "--audit", join(world.state, "audit.jsonl"), "--audit-sync", "none"], {
    cwd: world.space, env: world.env(), stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  for (let i = 0; i < lines; i++) {
    const command = i === 17 ? "ls needle-in-the-record" : i % 10 ? `ls -la dir-${i}` : `rm -rf /srv/${i}`;
    const line = JSON.stringify({ jsonrpc: "2.0", id: i, method: "canUseTool", params: { tool: "Bash", input: { command }, session: `s-${i % 20}` } });
    if (!child.stdin.write(line + "\n")) await once(child.stdin, "drain");
  }
  child.stdin.end();
  const [code] = await ended;
  assert.equal(code, 0);
}

/** frames scrolls what is under the pointer from top to bottom, and returns how long frames took. */
async function frames(tab, x, y) {
  await tab.mouse.move(x, y);
  await tab.evaluate(() => {
    globalThis.frames_ = [];
    let last = performance.now();
    const next = (now) => {
      globalThis.frames_.push(now - last);
      last = now;
      globalThis.counting = requestAnimationFrame(next);
    };
    globalThis.counting = requestAnimationFrame(next);
  });
  for (let i = 0; i < 60; i++) await tab.mouse.wheel(0, 800);
  const took = await tab.evaluate(() => {
    cancelAnimationFrame(globalThis.counting);
    return globalThis.frames_.slice(1).sort((a, b) => a - b);
  });
  const at = (part) => Math.round(took[Math.min(took.length - 1, Math.floor(took.length * part))]);
  return `${took.length} frames, half of them within ${at(0.5)} ms, 95 % within ${at(0.95)} ms, the longest ${at(1)} ms`;
}

/** painted returns when a page was first painted after it was asked for, in milliseconds. */
function painted(tab) {
  return tab.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0].startTime));
}

const since = (start) => `${Math.round(performance.now() - start)} ms`;

scenario("500 approvals that wait", async (stage) => {
  const agent = await stage.world.agent();
  for (let i = 0; i < 500; i += 25) {
    await Promise.all(Array.from({ length: 25 }, (_, j) => agent.asks(`${(i + j) % 50 ? "echo ask" : "sudo apt install"} number-${i + j}`, { session: `s-${(i + j) % 7}` })));
  }
  const page = await stage.open();
  await page.waiting(500);
  const start = performance.now();
  await page.tab.reload();
  await page.waiting(500);
  console.log(`500 approvals: all there ${since(start)} after a reload, first paint after ${await painted(page.tab)} ms`);
  const box = await page.list.boundingBox();
  console.log(`500 approvals, scrolling: ${await frames(page.tab, box.x + 50, box.y + 50)}`);
  const pressed = performance.now();
  await page.choose("echo ask number-499");
  console.log(`500 approvals: the last one is shown ${since(pressed)} after it was scrolled to and clicked`);
  const id = decodeURIComponent(page.tab.url().split("/").pop());
  await page.approve();
  assert.equal((await agent.outcome(id)).behavior, "allow");
});

scenario(`a record of ${lines} lines`, async (stage) => {
  const page = await stage.open();
  let start = performance.now();
  await page.go("/history");
  await page.says(`${(lines + 1).toLocaleString("en")} lines`);
  await page.role("option", /(allowed|denied) Bash/).first().waitFor(); // sessions are decided at the same time
  console.log(`a record of ${lines} lines: the newest are there after ${since(start)}`);
  console.log(`a record of ${lines} lines, scrolling: ${await frames(page.tab, 640, 500)}`);
  start = performance.now();
  await page.tab.getByLabel("Search the audit log").fill("needle-in-the-record");
  await page.press("Enter");
  await page.role("option", /ls needle-in-the-record/).waitFor();
  console.log(`a record of ${lines} lines: a word in its oldest lines is found after ${since(start)}`);
}, { prepare: record });
