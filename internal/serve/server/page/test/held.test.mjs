// What a hand does that is slower, or more stubborn, than the page: nothing is answered but
// what was seen, and what is not seen answers nothing.

import assert from "node:assert/strict";
import { scenario } from "./browser.mjs";

scenario("a key that is held on a button does not press what comes under it", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const id = await agent.asks("chmod 700 one.txt", { session: "s" });
  await page.choose("chmod 700 one.txt");
  await page.ready();
  await page.button("For a while…").focus();
  await page.tab.keyboard.down("Enter");
  await page.form("Approve for a while").waitFor();
  await page.ready(); // longer than a keyboard waits
  for (let i = 0; i < 3; i++) await page.tab.keyboard.down("Enter");
  await page.tab.keyboard.up("Enter");
  assert.equal((await agent.approval(id)).status, "pending");
  await page.ready();
  await page.press("Enter");
  assert.equal((await agent.outcome(id)).behavior, "allow");
});

scenario("a code in the address of a page that is paired leaves no view behind that hears keys", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const id = await agent.asks("echo ask me");
  await page.choose("echo ask me");
  await page.tab.evaluate(() => (location.hash = "#abcd-efgh-abcd-efgh"));
  await page.tab.waitForFunction(() => location.hash.startsWith("#/"));
  await page.row("echo ask me").waitFor();
  await page.live();
  await page.choose("echo ask me");
  await page.approve();
  assert.equal((await agent.outcome(id)).behavior, "allow");
});

scenario("who signs out in one tab sees nothing in the others", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  await agent.asks("echo ask secret");
  await page.choose("echo ask secret");
  await page.tab.evaluate(() => { // as a tab hears of another one
    localStorage.removeItem("agent-wrapper.browser");
    dispatchEvent(new StorageEvent("storage", { key: "agent-wrapper.browser" }));
  });
  await page.tab.getByLabel("One-time code").waitFor();
  assert.equal(await page.tab.getByText("echo ask secret").count(), 0);
});

scenario("questions that are answered together say whose they are, and where", async (stage) => {
  const page = await stage.open();
  const { world } = stage;
  await (await world.agent("bot")).asks("echo ask 1", { session: "here" });
  await (await world.agent("fixer")).asks("echo ask 2", { session: "there" });
  for (const text of ["echo ask 1", "echo ask 2"]) {
    await page.choose(text);
    await page.press("x");
  }
  await page.button("Review together").click();
  const all = page.role("article", "Several questions");
  for (const text of [/bot/, /fixer/, /session here/, /session there/, new RegExp(`in ${world.space}`)]) await all.getByRole("listitem").filter({ hasText: text }).first().waitFor();
});

scenario("a rule that is offered under the pointer is not remembered by the click that was meant for the list", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  await page.tab.evaluate(() => { // presses it as it comes, as a hand that was on its way
    new MutationObserver(() => {
      const b = [...document.querySelectorAll("button")].find((one) => one.textContent === "Remember");
      if (b && !globalThis.early) {
        globalThis.early = true;
        b.click();
      }
    }).observe(document.body, { childList: true, subtree: true });
  });
  for (let i = 0; i < 3; i++) {
    const id = await agent.asks("chmod 700 one.txt", { session: `s${i}` });
    await page.go(`/inbox/${id}`);
    await page.approve();
    await agent.outcome(id);
    await page.says(/approved by anna/i, page.question);
  }
  await page.button("Remember").waitFor();
  await page.ready();
  const person = await stage.world.person("anna");
  assert.equal(await page.tab.evaluate(() => globalThis.early), true);
  assert.deepEqual((await person.must("GET", "/api/rules")).rules, []);
  await page.button("Remember").click();
  await page.says(/Remembered for 30 days/);
});

scenario("a page that is open for weeks keeps what waits, and of the rest the newest", async (stage) => {
  const page = await stage.open();
  const kept = await page.tab.evaluate(async () => {
    const { Live } = await import("/static/live.js");
    const live = new Live();
    for (let i = 0; i < 5000; i++) live.put({ id: `q${i}`, seq: i, status: i % 1000 ? "consumed" : "pending" });
    return [live.approvals.size, [0, 1, 1000, 4000, 4999].map((i) => live.approvals.has(`q${i}`))];
  });
  assert.ok(kept[0] <= 405, `${kept[0]} approvals are kept`);
  assert.deepEqual(kept[1], [true, false, true, true, true]);
});
