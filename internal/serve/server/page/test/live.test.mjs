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

scenario("a browser keeps no secret that a script can read, and sends none", async (stage) => {
  const sent = [];
  const page = await stage.stranger();
  page.tab.on("request", (r) => sent.push(r.url(), JSON.stringify(r.headers()), r.postData() ?? ""));
  const code = await stage.world.token("person", "anna", "--browser");
  await page.tab.goto(`${stage.world.url}/#${code}`);
  await page.live();
  const kept = await page.tab.evaluate(async () => {
    const db = await new Promise((done) => { indexedDB.open("agent-wrapper").onsuccess = (e) => done(e.target.result); });
    const key = await new Promise((done) => { db.transaction("keys").objectStore("keys").get("own").onsuccess = (e) => done(e.target.result); });
    const read = await crypto.subtle.exportKey("jwk", key.private).catch(() => null);
    return { read, id: key.id, cookie: document.cookie, stored: Object.values(localStorage) };
  });
  assert.deepEqual({ ...kept, stored: kept.stored.filter((text) => text !== kept.id) }, { read: null, id: kept.id, cookie: "", stored: [] });
  assert.doesNotMatch(sent.join("\n"), new RegExp(`${code}|${code.replaceAll("-", "")}|[Cc]ookie`));
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

scenario("a connection that breaks: the page says since when it is not live, and comes back", async (stage) => {
  const { world } = stage;
  const page = await stage.open("anna", { plugged: true });
  const agent = await world.agent();
  const gone = await agent.asks("echo ask gone");
  await page.waiting(1);
  await page.unplug();
  await page.says(/^Not live since \d\d:\d\d/);
  await agent.must("POST", `/api/approvals/${gone}/withdraw`, {});
  await agent.asks("echo ask one");
  await agent.asks("echo ask two");
  page.unplugged = false;
  await page.live();
  await page.waiting(2);
  assert.match(await page.tab.title(), /^\(2\)/);
});

scenario("a server that is started again signs browsers out, and a new link lets them in", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  await agent.asks("echo ask waits");
  await page.waiting(1);
  await world.down("SIGKILL");
  await page.says(/^Not live since \d\d:\d\d/);
  await world.up();
  await page.says(/the server was started again/);
  assert.equal(await page.tab.getByRole("navigation").count(), 0);
  await page.pair(await world.token("person", "anna", "--browser"));
  await page.waiting(1);
  assert.equal((await agent.asks("echo ask more")).length > 0, true, "the agent's token goes on");
});

scenario("what a browser does not let sign says so", async (stage) => {
  const page = await stage.stranger();
  await page.tab.addInitScript(() => Object.defineProperty(crypto, "subtle", { value: undefined }));
  await page.tab.goto(stage.world.url);
  await page.says(/works over https, or on the server’s own machine/);
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
