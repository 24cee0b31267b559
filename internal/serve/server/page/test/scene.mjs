// A server with something to see of everything, for looks, axe-core and the keyboard.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** scene has agents work: it returns what there is. */
export async function scene(world) {
  await writeFile(join(world.space, "server.go"), "package main\n\nimport \"net/http\"\n\nfunc main() {\n\thttp.ListenAndServe(\":80\", nil)\n}\n");
  const agent = await world.agent("builder");
  const session = await agent.session("release 1.4");
  for (const command of ["echo safe: unit tests; seq 1 5", "ls -la", "git --version"]) {
    const told = await agent.execute(session, command, { description: "looks around" });
    await agent.command(told.command_id, "completed", "failed");
    await agent.idle(session); // its output is in the recording
  }
  const waits = await agent.execute(session, "chmod -R 755 dist && cp -r dist /srv/www", { description: "puts the site where it is served" });
  const other = await world.agent("fixer");
  await other.asks("sudo apt install nginx", { session: "deploy" });
  await other.asks("npm install left-pad", { session: "deploy" });
  await other.asks("cd web && git push --force origin main && npm test", { session: "deploy" });
  const edit = await other.use("Edit", {
    file_path: join(world.space, "server.go"),
    old_string: "http.ListenAndServe(\":80\", nil)",
    new_string: "if err := http.ListenAndServe(\":8080\", nil); err != nil {\n\t\tpanic(err)\n\t}",
  }, { session: "deploy" });
  await other.use("Bash", { command: "rm -rf /" });
  await other.use("Bash", { command: "echo never" });
  return { agent, other, session, waits, edit };
}
