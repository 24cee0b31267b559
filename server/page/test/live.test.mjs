// Who the browser is, and whether what it shows is how things are.

import assert from "node:assert/strict";
import { scenario } from "./browser.mjs";
import { until } from "./world.mjs";

scenario("a code lets one browser in, once", async (stage) => {
  const code = await stage.world.token("person", "anna", "--browser");
  const page = await stage.open("anna", { code });
  assert.ok(!page.tab.url().includes(code), "the code stays in the address");
  const other = await stage.stranger();
  await other.tab.goto(`${stage.world.url}/#${code}`);
  await other.says(/is not valid/);
  await other.tab.getByLabel("One-time code").fill(await stage.world.token("person", "ben", "--browser"));
  await other.press("Enter");
  await other.live();
  await page.tab.reload();
  await page.live();
  assert.equal((await stage.world.log.match(/a browser was paired/g)).length, 2);
});

scenario("what an agent has does not open the page", async (stage) => {
  const page = await stage.stranger();
  const secret = await stage.world.token("agent", "bot");
  await page.tab.goto(`${stage.world.url}/#${secret.replaceAll("_", "-").slice(0, 40)}`);
  await page.tab.getByLabel("One-time code").fill(secret);
  await page.button("Pair this browser").click();
  await page.says(/is not valid/);
  assert.equal(await page.tab.getByRole("navigation").count(), 0);
});

scenario("the cookie alone is worth nothing", async (stage) => {
  const page = await stage.open();
  await page.tab.evaluate(() => localStorage.clear());
  await page.tab.reload();
  await page.tab.getByLabel("One-time code").waitFor();
});

scenario("a browser whose credential is revoked says so, and shows nothing any more", async (stage) => {
  const { world } = stage;
  const page = await stage.open("anna");
  const agent = await world.agent();
  await agent.asks("echo ask after");
  await page.waiting(1);
  await world.revoke("anna");
  await page.says(/no longer paired/);
  assert.equal(await page.tab.getByRole("navigation").count(), 0);
  assert.equal(await page.tab.title(), "agent-wrapper");
});

scenario("a server that is killed: the page says since when it is not live, and comes back", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const gone = await agent.asks("echo ask gone");
  await page.waiting(1);
  await world.down("SIGKILL");
  await page.says(/^Not live since \d\d:\d\d/);
  await world.up();
  await agent.must("POST", `/api/approvals/${gone}/withdraw`, {});
  await agent.asks("echo ask one");
  await agent.asks("echo ask two");
  await page.live();
  await page.waiting(2);
  assert.match(await page.tab.title(), /^\(2\)/);
});

scenario("a server that answers no more, though its connection stands: the page says that it is not live", async (stage) => {
  const { world } = stage;
  const page = await stage.open("anna", { clock: true });
  await page.says(/^Live$/);
  await page.stopClock();
  world.server.kill("SIGSTOP");
  await until("the page is not live", async () => {
    await page.passes(5_000); // a look that was answered before the server stopped is followed by another
    return page.tab.getByText(/^Not live since/).first().isVisible();
  });
  world.server.kill("SIGCONT");
  await until("the page is live", async () => {
    await page.passes(2_000);
    return page.tab.getByText(/^Live$/).first().isVisible();
  });
});
