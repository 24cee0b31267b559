// A recording is what the terminal showed.

import assert from "node:assert/strict";
import { scenario } from "./browser.mjs";
import { until } from "./world.mjs";

scenario("a recording equals what the terminal showed, byte for byte, and has the decisions on its time line", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const zoe = await world.person("zoe");
  let shown = "";
  page.tab.on("websocket", (socket) => {
    if (!socket.url().includes("/api/terminal/ws/")) return;
    socket.on("framereceived", ({ payload }) => {
      const message = JSON.parse(payload);
      if (message.type === "output") shown += message.content;
    });
  });
  const session = await agent.session();
  await page.go(`/sessions/${session}`);
  await page.button("Take Control").waitFor();
  const run = async (command) => agent.command((await agent.execute(session, command)).command_id, "completed", "failed", "denied");
  await run(String.raw`echo safe-colours; printf '\033[31mred \303\244\360\237\230\200\033[0m\n\tand a tab\rback\n'`).catch(() => {});
  await run("seq 1 200");
  const asked = await agent.execute(session, "echo ask recorded");
  await page.go("/inbox");
  await page.choose("echo ask recorded");
  await page.approve();
  await agent.command(asked.command_id, "completed");
  shown = ""; // the terminal is opened anew, and shows all of it
  await page.go(`/sessions/${session}`);
  await page.terminalShows("ask recorded");
  const list = await until("the recording", async () => (await zoe.must("GET", `/api/recordings?session=${session}`)).recordings[0]);
  const cast = (await zoe.call("GET", `/api/recordings/${list.id}`)).body;
  const [header, ...events] = text(cast).trimEnd().split("\n").filter((line) => !line.startsWith("#")).map((line) => JSON.parse(line));
  assert.equal(header.version, 3);
  assert.equal(events.filter(([, kind]) => kind === "i").length, 0, "what was typed is in the recording");
  assert.equal(events.filter(([, kind]) => kind === "o").map(([, , data]) => data).join(""), shown);
  const live = await screen(page.terminal);
  await page.go(`/history/recording/${encodeURIComponent(list.id)}`);
  await page.role("link", /Asked .*echo ask recorded/).waitFor();
  await page.role("link", /Approved .*echo ask recorded/).waitFor();
  await page.role("slider", "Time").focus();
  await page.press("End");
  const replayed = page.role("region", "The recorded screen");
  await until("the end of the recording", async () => (await screen(replayed)).includes("ask recorded"));
  assert.equal(await screen(replayed), live);
  await page.tab.getByLabel("Search in the output").fill("safe-colours");
  await page.press("Enter");
  await until("the place of a word", async () => !(await screen(replayed)).includes("ask recorded"));
});

/** text is the body of an answer, which may have been read as JSON. */
function text(body) {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** screen is what a terminal shows, without what the lines end with. */
async function screen(terminal) {
  const rows = await terminal.locator(".xterm-rows > div").allTextContents();
  return rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n").trim();
}
