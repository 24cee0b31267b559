// The page for everybody: axe-core, the keyboard alone, narrow screens, and its looks.

import assert from "node:assert/strict";
import { axeFaults, scenario } from "./browser.mjs";
import { scene } from "./scene.mjs";
import { until } from "./world.mjs";

const views = ["/inbox", "/sessions", "/history", "/rules", "/devices"];
/** schemes has the widths at which a page is looked at: dark it has other colours, not other places. */
const schemes = { light: [1280, 768, 320], dark: [1280, 320] };

/** looker returns what looks at a page, at each width, and the faults that it finds. */
function looker(page, colorScheme) {
  const faults = [];
  const look = async (what) => {
    for (const width of schemes[colorScheme]) {
      await page.tab.setViewportSize({ width, height: 800 });
      const over = await page.overflow();
      if (over > 0) faults.push(`${what} at ${width}: ${over} pixels wider than the screen`);
      faults.push(...(await axeFaults(page.tab)).map((fault) => `${what} at ${width}: ${fault}`));
    }
    await page.tab.setViewportSize({ width: 1280, height: 800 });
  };
  return { look, faults };
}

for (const colorScheme of Object.keys(schemes)) {
  scenario(`every view is clean by axe-core and fits each width: ${colorScheme}`, async (stage) => {
    const { session } = await scene(stage.world);
    const page = await stage.open("anna", { colorScheme });
    const { look, faults } = looker(page, colorScheme);
    for (const view of [...views, `/sessions/${session}`]) {
      await page.go(view);
      await page.settled();
      await look(view);
    }
    await page.go("/inbox");
    await page.choose("sudo apt install nginx");
    await look("a question");
    await page.press("?");
    await page.role("dialog").waitFor();
    await look("the keys");
    assert.deepEqual(faults, []);
  });

  scenario(`recordings, a rule that is tried and the forms of answers are clean by axe-core: ${colorScheme}`, async (stage) => {
    await scene(stage.world);
    const page = await stage.open("anna", { colorScheme });
    const { look, faults } = looker(page, colorScheme);
    const main = page.role("main");
    await page.go("/history/recordings");
    await main.getByRole("link", { name: /builder/ }).waitFor();
    await look("the recordings");
    const screen = page.role("region", "The recorded screen");
    await until("the recording has what was written", async () => { // a replay has what was there when it was opened
      await page.go("/history/recordings");
      await main.getByRole("link", { name: /builder/ }).click();
      await main.getByRole("link", { name: /Asked/ }).first().click();
      await screen.waitFor();
      return screen.getByText("git version").first().waitFor({ timeout: 3_000 }).then(() => true, () => false);
    });
    await look("a replay");
    await page.go("/rules?rule=Bash(npm install:*)&as=allow");
    await page.says(/unchanged\./);
    await look("a rule that is tried");
    await page.go("/inbox");
    await page.choose("npm install left-pad");
    for (const [key, form] of [["t", "Approve for a while"], ["n", "Deny for this session"], ["w", "Deny, and say why"], ["e", "Edit, then decide again"]]) {
      await page.ready();
      await page.press(key);
      await page.form(form).waitFor();
      await look(form);
      await page.press("Escape");
    }
    assert.deepEqual(faults, []);
  });
}

scenario("approve, deny with words, and take control, without a mouse", async (stage) => {
  const { world } = stage;
  const agent = await world.agent();
  const page = await stage.open();
  const session = await agent.session();
  const first = await agent.asks("echo ask first");
  const second = await agent.asks("echo ask second");
  await page.waiting(2);
  const kept = async (what) => assert.notEqual(await page.focused(), "", `the focus is lost: ${what}`);

  await page.tabTo(/echo ask first/);
  await page.press("Enter");
  await page.says("echo ask first", page.question);
  assert.doesNotMatch(await page.focused(), /Approve/);
  await page.tabTo(/^button Approve once/);
  await page.ready();
  await page.press("Enter");
  assert.equal((await agent.outcome(first)).behavior, "allow");
  await page.says("echo ask second", page.question);
  await kept("after an answer");
  assert.doesNotMatch(await page.focused(), /Approve/, "the next question is one key away");

  await page.tabTo(/^button Deny, say why/);
  await page.ready();
  await page.press("Enter");
  await page.tab.keyboard.type("not now");
  await page.ready();
  await page.press("Control+Enter");
  assert.match((await agent.outcome(second)).message, /not now/);
  await page.row("echo ask second").getByText("denied by anna").waitFor();
  await kept("after a denial");

  await page.tabTo(/^a Sessions/);
  await page.press("Enter");
  await page.role("link", /bot/).first().waitFor();
  await page.tabTo(/^a .*bot/);
  await page.press("Enter");
  await page.button("Take Control").waitFor();
  await page.tabTo(/^button Take Control/);
  await page.press("Enter");
  await page.says(/^You have the terminal/);
  await page.role("textbox", /^Terminal input/).and(page.tab.locator(":focus")).waitFor();
  await page.tab.keyboard.type("echo ty'ped'\n");
  await page.terminalShows("typed");
  await page.press("Escape", "Escape");
  assert.match(await page.focused(), /^button Release Control/, "the terminal was left");
  await page.press("Enter");
  await page.says(/^The agent has the terminal/);
  assert.equal((await agent.execute(session, "ls")).status, "executed");
});

scenario("the keys alone, on a phone", async (stage) => {
  const agent = await stage.world.agent();
  const page = await stage.open("anna", { viewport: { width: 320, height: 640 } });
  const id = await agent.asks("echo ask phone");
  await page.row("echo ask phone").waitFor();
  assert.equal(await page.question.count(), 0, "a question is shown before it was chosen");
  await page.press("j", "Enter");
  await page.says("echo ask phone", page.question);
  await page.press("Escape");
  await page.row("echo ask phone").waitFor();
  await page.press("Enter");
  await page.ready();
  await page.press("d");
  assert.equal((await agent.outcome(id)).behavior, "deny");
});

scenario("a screen reader hears what comes, what was answered, and that it is not live", async (stage) => {
  const { world } = stage;
  const agent = await world.agent();
  const page = await stage.open();
  await page.hears(/^Live$/);
  const id = await agent.asks("echo ask listen");
  await page.hears(/New question from bot, risk safe: Bash: echo ask listen/);
  await agent.must("POST", `/api/approvals/${id}/withdraw`, {});
  await page.hears(/echo ask listen: withdrawn/);
  await world.down("SIGKILL");
  await page.hears(/^Not live since/);
});
