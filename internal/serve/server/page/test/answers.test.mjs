// The bugs that approval windows had (docs/project/question-tests.md), as far as a page can have them. What
// counts is the decision that reached the evaluator, not what the page says of it.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scenario } from "./browser.mjs";

/** pending checks that nobody has answered a question. */
async function pending(agent, ...ids) {
  for (const id of ids) assert.equal((await agent.approval(id)).status, "pending");
}

scenario("a key that is pressed as the question changes answers nothing", async (stage) => {
  const page = await stage.open("anna", { clock: true });
  const agent = await stage.world.agent();
  const first = await agent.asks("echo ask first");
  const second = await agent.asks("echo ask second");
  await page.choose("echo ask first");
  await page.row("echo ask second").waitFor();
  await page.stopClock();
  await page.passes(400);
  await page.press("j");
  await page.says("echo ask second", page.question);
  await page.press("o");
  await page.passes(300);
  await page.press("o", "d");
  await page.passes(340);
  await page.button("Approve once").click();
  await pending(agent, first, second);
  await page.passes(20);
  await page.press("o");
  assert.equal((await agent.outcome(second)).behavior, "allow");
  await pending(agent, first);
});

scenario("a click that brings the window back answers nothing", async (stage) => {
  const page = await stage.open("anna", { clock: true });
  const agent = await stage.world.agent();
  const id = await agent.asks("echo ask back");
  await page.choose("echo ask back");
  await page.stopClock();
  await page.passes(400);
  await page.tab.evaluate(() => dispatchEvent(new FocusEvent("focus")));
  await page.button("Approve once").click();
  await pending(agent, id);
  await page.passes(400);
  await page.button("Approve once").click();
  assert.equal((await agent.outcome(id)).behavior, "allow");
});

scenario("a question that comes does not take the place of the one that is shown", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const first = await agent.asks("echo ask mild");
  await page.choose("echo ask mild");
  const worse = await agent.asks("sudo apt install nginx");
  await page.row("sudo apt install nginx").waitFor();
  assert.match(await page.list.getByRole("link").first().textContent(), /sudo/, "what is worse stands above");
  await page.ready();
  await page.press("o");
  assert.equal((await agent.outcome(first)).behavior, "allow");
  await pending(agent, worse);
});

scenario("a double click and a key that is held answer one question", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const ids = [await agent.asks("echo ask 1"), await agent.asks("echo ask 2"), await agent.asks("echo ask 3")];
  await page.choose("echo ask 1");
  await page.ready();
  await page.button("Approve once").dblclick();
  assert.equal((await agent.outcome(ids[0])).behavior, "allow");
  await page.choose("echo ask 2");
  await page.ready();
  await page.tab.keyboard.down("o");
  await page.tab.keyboard.down("o");
  await page.tab.keyboard.down("o");
  await page.tab.keyboard.up("o");
  assert.equal((await agent.outcome(ids[1])).behavior, "allow");
  await pending(agent, ids[2]);
});

scenario("letters in a text field, and with modifiers, answer nothing", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const id = await agent.asks("echo ask me");
  await page.choose("echo ask me");
  await page.ready();
  await page.press("Control+o", "Alt+o", "Meta+d", "Control+d", "Shift+Tab", "Enter");
  await pending(agent, id);
  await page.press("w");
  await page.tab.keyboard.type("add oodles, soon");
  await pending(agent, id);
  await page.press("Escape");
  await pending(agent, id);
});

scenario("the words of a denial reach the agent as they were typed", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const id = await agent.asks("echo ask words");
  await page.choose("echo ask words");
  await page.denyWith("no: use <b>pnpm</b> & say \"why\"");
  const told = await agent.outcome(id);
  assert.equal(told.behavior, "deny");
  assert.match(told.message, /no: use <b>pnpm<\/b> & say "why"/);
});

scenario("what is kept is what was chosen with the arrows", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const id = await agent.asks("chmod 700 one.txt", { session: "s" });
  await page.choose("chmod 700 one.txt");
  await page.forAWhile("For 30 minutes", /any chmod command/);
  assert.equal((await agent.outcome(id)).behavior, "allow");
  assert.deepEqual((await agent.approval(id)).votes[0].rules, ["Bash(chmod:*)"]);
  assert.equal((await agent.use("Bash", { command: "chmod 600 two.txt" }, { session: "s" })).behavior, "allow");
  assert.equal((await agent.use("Bash", { command: "chmod 600 two.txt" }, { session: "other" })).behavior, "ask");
});

scenario("what was edited is decided anew", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const never = await agent.asks("echo ask a");
  await page.choose("echo ask a");
  await page.edit("echo never");
  const denied = await agent.outcome(never);
  assert.deepEqual([denied.behavior, denied.rule], ["deny", "Bash(echo never*)"]);
  const once = await agent.asks("echo ask b");
  await page.choose("echo ask b");
  await page.edit("echo safe b");
  const allowed = await agent.outcome(once);
  assert.deepEqual([allowed.behavior, allowed.updated_input.command], ["allow", "echo safe b"]);
});

scenario("a question that expires while it is shown cannot be answered", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const id = await agent.asks("echo ask soon");
  await page.choose("echo ask soon");
  const told = await agent.outcome(id);
  assert.deepEqual([told.behavior, told.by], ["deny", "timeout"]);
  await page.says(/expired/i, page.question);
  assert.equal(await page.button("Approve once").count(), 0);
  await page.press("o");
  assert.equal((await agent.approval(id)).status, "expired");
}, { prepare: (world) => short(world) });

/** short has questions expire after two seconds. */
async function short(world) {
  const file = join(world.dir, "short.toml");
  await writeFile(file, "[approvals]\ntimeout_seconds = 2\n");
  world.flags = [...world.flags, "--policy", file];
}

scenario("an answer to a withdrawn question does nothing, and the page says why", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const session = await agent.session();
  const told = await agent.execute(session, "echo ask gone");
  await page.choose("echo ask gone");
  await page.ready();
  await agent.must("POST", `/api/approvals/${told.approval_id}/withdraw`, { reason: "not needed" });
  await page.says(/withdrawn|cancelled/i, page.question);
  await page.press("o");
  assert.equal((await agent.command(told.command_id, "cancelled", "denied")).exit_code, undefined);
  assert.equal((await stage.world.decided("echo ask gone"))[0].behavior, "deny");
});

scenario("two browsers and a terminal answer at once: one wins, and the others are told who", async (stage) => {
  const { world } = stage;
  const agent = await world.agent();
  const anna = await stage.open("anna");
  const ben = await stage.open("ben");
  const carl = await world.terminal("carl");
  for (let round = 0; round < 3; round++) {
    const id = await agent.asks(`echo ask round ${round}`);
    for (const page of [anna, ben]) {
      await page.choose(`echo ask round ${round}`);
      await page.ready();
    }
    const [, , terminal] = await Promise.all([anna.press("o"), ben.press("d"), carl("allow", id)]);
    const told = await agent.outcome(id);
    const { by, status } = await agent.approval(id);
    assert.equal(told.behavior, status === "denied" ? "deny" : "allow");
    assert.equal(told.behavior, by.name === "ben" ? "deny" : "allow");
    assert.equal(terminal.code, by.name === "carl" ? 0 : 3, terminal.stderr);
    if (by.name !== "carl") assert.match(terminal.stderr, new RegExp(by.name));
    for (const page of [anna, ben]) await page.says(by.name === page.name ? /by (you|anna|ben)/i : new RegExp(`by ${by.name}`), page.question);
    assert.equal((await world.lines("decision")).filter((line) => line.approval === id).length, 1);
  }
});

scenario("two people have to approve", async (stage) => {
  const agent = await stage.world.agent();
  const anna = await stage.open("anna");
  const ben = await stage.open("ben");
  const id = await agent.asks("sudo apt install nginx");
  await anna.choose("sudo apt install nginx");
  await anna.approve();
  await anna.says(/1 of 2/, anna.question);
  await ben.choose("sudo apt install nginx");
  await ben.says(/1 of 2/, ben.question);
  await pending(agent, id);
  await ben.approve();
  assert.equal((await agent.outcome(id)).behavior, "allow");
}, { prepare: (world) => quorum(world) });

async function quorum(world) {
  const file = join(world.dir, "quorum.toml");
  await writeFile(file, "[approvals]\nquorum.high = 2\n");
  world.flags = [...world.flags, "--policy", file];
}

scenario("a browser that comes later sees what waits, and what has changed meanwhile", async (stage) => {
  const agent = await stage.world.agent();
  const id = await agent.asks("echo ask early");
  const page = await stage.open();
  await page.choose("echo ask early");
  await page.approve();
  assert.equal((await agent.outcome(id)).behavior, "allow");
});

scenario("the server is killed and started again: the page says that it is not live, and is right once it is paired again", async (stage) => {
  const { world } = stage;
  const agent = await world.agent();
  const page = await stage.open();
  const kept = await agent.asks("echo ask kept");
  const gone = await agent.asks("echo ask gone");
  await page.choose("echo ask kept");
  await world.down("SIGKILL");
  await page.says(/not live/i);
  await world.up();
  await agent.must("POST", `/api/approvals/${gone}/withdraw`, { reason: "not needed" });
  const added = await agent.asks("echo ask added");
  await page.pair(await world.token("person", "anna", "--browser"));
  await page.row("echo ask added").waitFor();
  assert.equal(await page.row("echo ask gone").count(), 0);
  await page.choose("echo ask kept");
  await page.approve();
  assert.equal((await agent.outcome(kept)).behavior, "allow");
  await pending(agent, added);
});

scenario("an answer that comes too late on a page that is not live is refused, and the page says by whom it was answered", async (stage) => {
  const { world } = stage;
  const agent = await world.agent();
  const page = await stage.open("anna", { plugged: true });
  const ben = await world.terminal("ben");
  const id = await agent.asks("echo ask late");
  await page.choose("echo ask late");
  await page.ready();
  await page.unplug();
  await page.says(/not live/i);
  assert.equal((await ben("deny", id, "too risky")).code, 0);
  await page.press("o");
  await page.says(/denied by ben/i);
  assert.equal((await agent.outcome(id)).behavior, "deny");
});
