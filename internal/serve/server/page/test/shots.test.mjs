// The pictures of docs/server.md, taken anew with AW_UPDATE=1; without it only that the page
// can be shown so.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { scenario } from "./browser.mjs";
import { root } from "./binary.mjs";
import { scene } from "./scene.mjs";

const dir = join(root, "docs", "page");

scenario("the pictures of the manual", async (stage) => {
  const { world } = stage;
  const { session } = await scene(world);
  const page = await stage.open();
  const shot = async (name, width, colorScheme, height = width < 700 ? 640 : 760) => {
    await page.tab.setViewportSize({ width, height });
    await page.tab.emulateMedia({ colorScheme });
    await page.settled();
    if (!process.env.AW_UPDATE) return;
    mkdirSync(dir, { recursive: true });
    await page.tab.screenshot({ path: join(dir, `${name}-${width}-${colorScheme}.png`) });
  };
  await page.waiting(5);
  await page.choose("git push");
  await shot("inbox", 1280, "light");
  await shot("inbox", 1280, "dark");
  await page.choose("npm install left-pad");
  await page.button("For a while…").waitFor();
  await page.ready();
  await page.press("t");
  await page.form("Approve for a while").waitFor();
  await shot("question", 768, "light");
  await page.press("Escape");
  await page.tab.setViewportSize({ width: 320, height: 640 });
  await page.go("/inbox");
  await page.row("sudo apt install nginx").waitFor();
  await shot("inbox", 320, "light");
  await page.row("sudo apt install nginx").click();
  await page.question.waitFor();
  await shot("question", 320, "dark");
  await page.tab.setViewportSize({ width: 1280, height: 760 });
  await page.go(`/sessions/${session}`);
  await page.terminalShows("git version");
  await page.take();
  await page.type("git status\n");
  await page.terminalShows("not a git repository");
  await shot("terminal", 1280, "dark");
  await page.release();
  await page.go("/history");
  await page.says("rm -rf /");
  await shot("history", 768, "light");
  const [recording] = (await (await world.person("zoe")).must("GET", "/api/recordings")).recordings;
  await page.go(`/history/recording/${encodeURIComponent(recording.id)}`);
  await page.role("link", /Asked/).first().click();
  await page.says("git version", page.role("region", "The recorded screen"));
  await shot("replay", 1280, "light");
}, { flags: ["--ask", "Bash(git push:*)", "--deny", "Bash(echo never*)", "--allow", "Bash(echo safe*)", "--allow", "Bash(npm test:*)"] });
