// Terminals on the page: what an agent's commands write, and a person who takes over.

import assert from "node:assert/strict";
import { scenario } from "./browser.mjs";
import { untouched } from "./hostile.mjs";

scenario("hostile output and names in a session", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const evil = `<img src=x onerror=globalThis.struck=true>`;
  const session = await agent.session(evil, { agent_id: `bot/${evil}`, host: evil });
  const write = String.raw`printf 'safe \033]0;title\007\033]52;c;aGk=\007\033]8;;http://elsewhere.example/\007link\033]8;;\007 <script>globalThis.struck=true</script> \033[31mred\033[0m end-of-output\n'`;
  const told = await agent.execute(session, write, { description: evil });
  if (told.status === "approval_required") {
    await page.choose("printf");
    await page.approve();
  }
  await agent.command(told.command_id, "completed");
  await page.go("/sessions");
  await page.says(evil);
  await page.go(`/sessions/${session}`);
  await page.terminalShows("end-of-output");
  await untouched(page);
  assert.equal(await page.tab.getByRole("link", { name: "link" }).count(), 0);
  assert.match(await page.tab.title(), /agent-wrapper/);
  await page.says(/<script>/, page.chat);
  await untouched(page);
});
