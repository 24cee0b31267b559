// The six scenarios of terminal approval, on the page.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { scenario } from "./browser.mjs";

scenario("a safe command runs, and nobody is asked", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const session = await agent.session();
  const told = await agent.execute(session, "ls -la", { description: "List all files" });
  assert.equal(told.status, "executed");
  await agent.command(told.command_id, "completed");
  await page.go("/inbox");
  await page.says(/nothing is waiting/i);
  assert.equal((await stage.world.decided("ls -la"))[0].behavior, "allow");
});

scenario("a command of moderate risk runs when it is approved", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const session = await agent.session();
  const told = await agent.execute(session, "chmod 777 file.txt; touch ran");
  assert.equal(told.status, "approval_required");
  await page.choose("chmod 777 file.txt");
  await page.says("moderate", page.question);
  assert.ok(!existsSync(join(world.space, "ran")));
  await page.approve();
  await agent.command(told.command_id, "completed", "failed");
  assert.ok(existsSync(join(world.space, "ran")), "what was approved did not run");
  const [decision] = await world.decided("chmod 777 file.txt; touch ran");
  assert.deepEqual([decision.behavior, decision.by, decision.answered[0].name], ["allow", "person", "anna"]);
});

scenario("a command of high risk is asked about with a warning, and can be denied", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const session = await agent.session();
  const told = await agent.execute(session, "sudo apt install nginx");
  assert.ok(told.warning);
  await page.choose("sudo apt install nginx");
  await page.says("high", page.question);
  await page.denyWith("nginx is there already");
  const command = await agent.command(told.command_id, "denied");
  assert.equal(command.comment, "nginx is there already");
  const [decision] = await world.decided("sudo apt install nginx");
  assert.deepEqual([decision.behavior, decision.by], ["deny", "person"]);
});

scenario("a forbidden command is blocked, and nobody can approve it", async (stage) => {
  const page = await stage.open();
  const agent = await stage.world.agent();
  const session = await agent.session();
  const told = await agent.execute(session, "rm -rf /");
  assert.equal(told.status, "forbidden");
  await page.go("/inbox");
  await page.says(/nothing is waiting/i);
  assert.equal((await stage.world.decided("rm -rf /"))[0].behavior, "deny");
});

scenario("a person takes the terminal over, types without approval, and gives it back", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const session = await agent.session();
  await page.go(`/sessions/${session}`);
  await page.take();
  const refused = await agent.call("POST", `/api/agent-terminal/sessions/${session}/execute`, { command: "ls" });
  assert.equal(refused.body.error?.code, "user_has_control", JSON.stringify(refused));
  await page.type("touch mine; echo do'ne'\n");
  await page.terminalShows("done");
  assert.ok(existsSync(join(world.space, "mine")));
  await page.release();
  assert.equal((await agent.execute(session, "ls -la")).status, "executed");
});

scenario("what a command writes is in the chat", async (stage) => {
  const { world } = stage;
  const page = await stage.open();
  const agent = await world.agent();
  const session = await agent.session();
  const told = await agent.execute(session, "echo safe-out; ls -la");
  await agent.command(told.command_id, "completed");
  await page.go(`/sessions/${session}`);
  await page.terminalShows("safe-out");
  await page.says(/safe-out/, page.chat);
  await page.says("[TERMINAL]", page.chat);
});
