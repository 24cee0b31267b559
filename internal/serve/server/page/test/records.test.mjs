// History, rules and devices, each against what the record and the evaluator then say.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { axeFaults, scenario } from "./browser.mjs";
import { until } from "./world.mjs";

const lines = (page) => page.role("listbox", /^Entries of the audit log/);

scenario("the history shows what was decided, finds it, and says that it is as it was written", async (stage) => {
  const { world } = stage;
  const agent = await world.agent();
  for (let i = 0; i < 250; i++) await agent.use("Bash", { command: `echo safe ${i}` });
  await agent.use("Bash", { command: "echo never '<b>\u202egnp\u200b</b>'" });
  const page = await stage.open();
  await page.go("/history");
  await page.says(/^Intact up to line 252/);
  const row = lines(page).getByRole("option").first();
  await row.getByText("echo never '<b><U+202E>gnp<U+200B></b>'").waitFor();
  await row.getByText("denied").waitFor();
  assert.ok((await lines(page).getByRole("option").count()) < 100, "all lines are elements");
  await page.press("j");
  await page.press("G");
  await lines(page).getByText("the audit log begins").waitFor();

  await page.role("searchbox", "Search the audit log").fill("echo safe 77");
  await page.says("1 line found");
  await lines(page).getByText("echo safe 77").click();
  await page.role("heading", "Line 79").waitFor();
  assert.deepEqual(await axeFaults(page.tab), []);
  await page.tab.keyboard.press("Escape");
  await page.role("heading", "Line 79").waitFor({ state: "detached" });

  await writeFile(world.record, (await readFile(world.record, "utf8")).replace("echo safe 5\"", "echo safe 6\""));
  await page.says(/^The audit log is not intact\. Line 7 was changed/);
});

scenario("a rule is tried, remembered and revoked, and counts so long", async (stage) => {
  const { world } = stage;
  const agent = await world.agent();
  const anna = await world.person("anna");
  const command = "chmod 600 file.txt";
  const asks = async () => {
    const id = await agent.asks(command);
    const { digest } = await anna.must("GET", `/api/approvals/${id}`);
    await anna.must("POST", `/api/approvals/${id}/answer`, { digest, kind: "deny", reply: { id, digest, choice: "deny" } });
    await agent.outcome(id);
  };
  await asks();
  const page = await stage.open();
  await page.go("/rules");
  const rule = page.role("textbox", "Rule");
  await rule.fill("Bash(chmod:");
  await page.says(/is not closed/);
  await rule.fill(`Bash(${command})`);
  await page.says(/1 would be allowed instead of asked/);
  assert.deepEqual(await axeFaults(page.tab), []);
  await page.button("Remember").click();
  await page.says(/^Remembered until/);
  assert.equal((await agent.use("Bash", { command })).behavior, "allow");
  assert.equal((await agent.use("Bash", { command: "chmod 600 other.txt" })).behavior, "ask");
  await page.button(`Revoke Bash(${command})`).click();
  await page.says(/^Revoked/);
  await asks();
  await rule.fill("Bash(*)");
  await page.says("danger");
  await page.says(/This rule cannot be remembered here/);
});

scenario("a device lets in another one of the same person, and ends it", async (stage) => {
  const page = await stage.open();
  await page.go("/devices");
  await page.button("Create a code").click();
  await page.says("anyone except who asked");
  assert.deepEqual(await axeFaults(page.tab), []);
  const code = await page.tab.getByLabel(/^Code /).textContent();
  const other = await stage.open("anna", { code });
  await page.says("The other device is paired.");
  await page.button(/^Revoke Browser anna/).click();
  await other.says(/no longer paired/);
  const devices = (await (await stage.world.person("anna")).must("GET", "/api/tokens")).tokens.filter((t) => t.kind === "browser");
  assert.deepEqual(devices.map((t) => Boolean(t.revoked)).sort(), [false, true]);
  await until("the list is short", async () => (await page.button(/^Revoke Browser anna/).count()) === 0);
});
