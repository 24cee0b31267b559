// A session of a real server, and its replay: the decisions on its time line, search,
// links to a time, and whether it is what the audit log vouches for.

import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scenario } from "./browser.mjs";
import { until } from "./world.mjs";

/** recorded has an agent work, people answer, and the session end. It returns the recording. */
async function recorded(stage) {
  const agent = await stage.world.agent();
  const anna = await stage.world.person("anna");
  const session = await agent.session();
  const path = `/api/agent-terminal/sessions/${session}`;
  const run = async (command, answer) => {
    const c = await agent.execute(session, command);
    if (c.status === "approval_required") await anna.must("POST", `${path}/approve`, { approval_id: c.approval_id, ...answer });
    if (c.status === "executed" || answer?.approved) await agent.idle(session);
  };
  await run("echo safe; printf '\\033[1;31mred\\033[0m and plain\\n'", { approved: true });
  await run("echo ask one; seq 1 200", { approved: true, comment: "go on" });
  await run("echo ask <img src=x onerror=alert(1)>\u202e", { approved: false, comment: "not now" });
  await run("echo never");
  await anna.must("POST", `${path}/interrupt`, {});
  await anna.must("POST", `${path}/release`, { signal: true });
  await run("echo safe; sleep 3", { approved: true });
  await run("echo safe 'needle in the end'");
  await anna.must("DELETE", path);
  const { recordings } = await anna.must("GET", `/api/recordings?session=${session}`);
  return { ...recordings[0], file: join(stage.world.state, "serve", "recordings", `${recordings[0].id}.cast`) };
}

/** screen returns the text on the replay's screen. */
const screen = (page) => page.tab.locator(".xterm-rows").innerText();

scenario("a recording is replayed with its decisions, found in, and linked at a time", async (stage) => {
  const of = await recorded(stage);
  const page = await stage.open();
  await page.go("/history/recordings");
  await page.role("main").getByRole("link", { name: /^bot .* unchanged$/ }).click();
  await page.says(/Unchanged: its hash is in line \d+ of the audit log/);
  const decisions = page.role("region", "Decisions and search").getByRole("listitem");
  const rows = (await decisions.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  for (const want of [/Asked .*echo ask one/, /Approved by anna .*go on/, /Denied by anna .*<img src=x onerror=alert\(1\)><U\+202E>.*not now/, /Forbidden .*echo never/, /Taken over by anna/, /Released by anna/, /Allowed .*needle/]) {
    assert.ok(rows.some((text) => want.test(text)), `${want}: ${rows}`);
  }
  const slider = page.role("slider", "Time");
  assert.match(await slider.getAttribute("aria-valuetext"), /^0:00 of \d+:\d\d$/);

  await decisions.filter({ hasText: "Taken over" }).getByRole("link").click();
  await until("the screen has what was before", async () => /200/.test(await screen(page)));
  assert.doesNotMatch(await screen(page), /needle/);
  await page.tab.keyboard.press("End");
  await until("the screen has the end", async () => /needle in the end/.test(await screen(page)));
  await page.tab.keyboard.press("Home");
  await until("the screen is empty", async () => (await screen(page)).trim() === "");

  await page.role("searchbox", "Search in the output").fill("NEEDLE in");
  await page.tab.keyboard.press("Enter");
  await page.says(/^1 of \d+$/);
  await until("it is found", async () => /needle in the end/.test(await screen(page)));
  await page.role("searchbox", "Search in the output").fill("nowhere");
  await page.tab.keyboard.press("Enter");
  await page.says("Not found");

  await page.button("Copy link to this time").click();
  const address = await page.tab.evaluate(() => location.hash);
  assert.match(address, /^#\/history\/recording\/[^?]+\?t=\d/);
  const other = await stage.open("ben");
  await other.go(address.slice(1));
  await until("the link leads there", async () => /echo safe/.test(await screen(other)));

  await page.go(`/history/recording/${of.id}?t=0`);
  await until("it is at the beginning", async () => /^0:00 of/.test(await slider.getAttribute("aria-valuetext")));
  await page.role("combobox", "Speed").selectOption("16");
  await page.role("region", "The recorded screen").focus();
  await page.tab.keyboard.press("Space");
  await until("it plays to its end", async () => {
    const [at, all] = (await slider.getAttribute("aria-valuetext")).split(" of ");
    return at === all;
  });
  await until("the screen has all", async () => /needle in the end/.test(await screen(page)));
});

scenario("a recording that was changed says so, and one that is none too", async (stage) => {
  const of = await recorded(stage);
  chmodSync(of.file, 0o600);
  const text = readFileSync(of.file, "utf8");
  writeFileSync(of.file, text.replace("needle", "noodle"));
  const page = await stage.open();
  await page.go(`/history/recording/${of.id}`);
  await page.says(/Changed since it was recorded/);
  await page.role("link", "Recordings").click();
  await page.says("changed since it was recorded");
  writeFileSync(of.file, text.replace('"o"', '"q"'));
  await page.go("/history");
  await page.go(`/history/recording/${of.id}`);
  await page.says(/The file is damaged: line \d+: the code "q" is unknown/);
  await page.go("/history/recording/session-none.1");
  await page.says("Recording not found");
});
