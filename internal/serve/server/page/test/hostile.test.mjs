// What an agent writes is shown, and never acted on.

import assert from "node:assert/strict";
import { scenario } from "./browser.mjs";
import { hostile, huge, unseen, untouched } from "./hostile.mjs";

scenario("hostile text in what is asked, in who asks, and in the answer", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const texts = Object.values(hostile);
  const all = texts.join(" ").replaceAll("'", "");
  const id = await agent.asks(`echo ask all '${all}'`, { session: "s" });
  for (const [i, text] of texts.entries()) await agent.asks(`echo ask number-${i}`, { session: text.slice(0, 150), agent: text.slice(0, 150) });
  await page.waiting(texts.length + 1);
  await untouched(page);
  await page.choose("echo ask all");
  assert.ok((await page.question.textContent()).includes(all), "the command is not shown as it is");
  await page.denyWith(all);
  await page.row("echo ask all").getByText("denied by anna").waitFor();
  assert.equal((await agent.approval(id)).message, all);
  await untouched(page);
  for (const route of ["/history", "/sessions", "/rules", "/devices"]) {
    await page.go(route);
    await page.settled();
    await untouched(page);
  }
});

scenario("characters that a screen hides or obeys are spelled out", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  let n = 0;
  for (const [text, spelled] of Object.entries(unseen)) {
    const command = `echo ask number-${++n} '${text}'`;
    const told = await agent.use("Bash", { command, description: text }, { session: text });
    assert.equal(told.behavior, "ask");
    await page.choose(`number-${n}`);
    const shown = await page.question.textContent();
    for (const s of spelled) assert.ok(shown.includes(s), `${JSON.stringify(text)} is shown as ${JSON.stringify(shown)}`);
    assert.doesNotMatch(await page.tab.locator("body").textContent(), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u);
    await agent.must("POST", `/api/approvals/${told.approval_id}/withdraw`, {});
  }
});

scenario("a huge line can be read to its end, and the page keeps its width", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  await agent.asks(`echo ask ${huge}`);
  await page.row("echo ask").click();
  await page.says(/end-of-the-line/, page.question);
  assert.equal(await page.overflow(), 0);
});
