// One question on its screen: what has to be seen of it without scrolling, and the keys
// of its answers, which are those of a terminal.

import assert from "node:assert/strict";
import { join } from "node:path";
import { scenario } from "./browser.mjs";

const push = "cd web && git push origin main";
const rules = { flags: ["--ask", "Bash(git push:*)", "--ask", "Bash(echo ask*)"] };

/** inSight checks that things are on the screen, whole, and that nothing scrolls to them. */
async function inSight(page, things) {
  const { width, height } = page.tab.viewportSize();
  for (const [name, thing] of Object.entries(things)) {
    const box = await thing.boundingBox();
    assert.ok(box, `${name} is not shown at ${width}`);
    assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${name} is out of sight at ${width}: ${JSON.stringify(box)}`);
    assert.equal(await thing.evaluate((e) => {
      const at = e.getBoundingClientRect();
      return e.contains(document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2));
    }), true, `${name} is covered at ${width}`);
  }
}

scenario("a question about git push stands on one screen, with its answers", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  await agent.asks(push, { session: "s" });
  await page.choose("git push origin main");
  const q = page.question;
  const parts = {
    "the tool": q.getByRole("heading", { name: /^Bash/ }),
    "the risk": q.getByText("sends data to a host").first(),
    "the command": q.getByRole("region", { name: "command" }),
    "the rule that asks": q.getByText(/^asked by Bash\(git push:\*\) --ask$/),
  };
  const first = { approve: page.button("Approve once"), deny: page.button("Deny") };
  const rest = Object.fromEntries([/^For this session: .*Bash\(git push origin main\)/, "For a while…", "Edit…", "Deny, say why…", "Never this session…", "Comment…"].map((name) => [name, page.button(name).first()]));
  await inSight(page, { ...parts, ...first, ...rest });
  await page.tab.setViewportSize({ width: 320, height: 640 });
  await inSight(page, { ...parts, ...first });
  await page.button("More answers").click();
  await inSight(page, first);
  assert.equal(await page.overflow(), 0);
}, rules);

scenario("s keeps the narrowest rule for the session, a digit a wider one, n denies by the one that is picked", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const kept = async (command, ...keys) => {
    const id = await agent.asks(command, { session: command });
    await page.choose(command);
    for (const key of keys) {
      await page.ready();
      await page.press(key);
    }
    await agent.outcome(id);
    return (await agent.approval(id)).votes[0];
  };
  assert.deepEqual((await kept("chmod 700 one.txt", "s")).rules, ["Bash(chmod 700 one.txt)"]);
  assert.deepEqual((await kept("chmod 700 two.txt", "2")).rules, ["Bash(chmod:*)"]);
  const { kind, rules: denied } = await kept("chmod 700 three.txt", "n", "Enter");
  assert.equal(kind ?? "deny", "deny");
  assert.equal(denied.length, 1);
});

scenario("answer keys mean nothing while a form is open", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const id = await agent.asks("chmod 700 one.txt", { session: "s" });
  await page.choose("chmod 700 one.txt");
  await page.ready();
  await page.press("n");
  await page.form("Deny for this session").waitFor();
  for (const key of ["o", "s", "2", "d", "a"]) {
    await page.ready();
    await page.press(key);
  }
  assert.equal((await agent.approval(id)).status, "pending");
});

scenario("a key for a rule that is not in sight shows it, and answers nothing", async (stage) => {
  const page = await stage.open("anna", { clock: true, viewport: { width: 320, height: 640 } });
  const agent = await stage.world.agent();
  const id = await agent.asks("chmod 700 one.txt", { session: "s" });
  await page.row("chmod 700 one.txt").click();
  await page.button("Approve once").waitFor();
  await page.stopClock();
  await page.passes(400);
  await page.press("2");
  await page.button(/Bash\(chmod:\*\)/).waitFor();
  assert.equal((await agent.approval(id)).status, "pending");
  await page.press("2");
  assert.equal((await agent.approval(id)).status, "pending", "what has just been shown was answered");
  await page.passes(400);
  await page.press("2");
  await agent.outcome(id);
  assert.deepEqual((await agent.approval(id)).votes[0].rules, ["Bash(chmod:*)"]);
});

scenario("any git push without --force is one key, and asks about --force again", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const session = { session: "s" };
  const id = await agent.asks("git push origin main", session);
  await page.choose("git push origin main");
  await page.forSession("without .*--force");
  await agent.outcome(id);
  assert.equal((await agent.use("Bash", { command: "git push origin dev" }, session)).behavior, "allow");
  assert.equal((await agent.use("Bash", { command: "git push --force origin dev" }, session)).behavior, "ask");
}, rules);

scenario("A accepts edits in the workspace for the session", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const use = (name) => ({ tool: "Write", input: { file_path: join(stage.world.space, name), content: "x\n" } });
  const id = await agent.asks(use("a.txt"), { session: "s" });
  await page.choose("a.txt");
  await page.ready();
  await page.press("A");
  await agent.outcome(id);
  const b = use("b.txt");
  assert.equal((await agent.use(b.tool, b.input, { session: "s" })).behavior, "allow");
  assert.equal((await agent.use(b.tool, b.input, { session: "t" })).behavior, "ask");
});
