// Real Chromium with pages that are watched: whatever leaves the origin, opens a dialog or
// another window, breaks the content security policy or throws is a fault of the test.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { launch } from "./chromium.mjs";
import { patience, World } from "./world.mjs";
import { Page } from "./page.mjs";

let started;

/** browser is the Chromium of this test file. */
export async function browser() {
  started ??= launch();
  return started;
}

after(async () => (await started)?.close());

/** scenario is a test with a server that runs, whose pages have to be without fault. */
export function scenario(name, fn, { skip = false, ...options } = {}) {
  test(name, { skip }, async () => {
    const stage = await Stage.set(options);
    try {
      await fn(stage);
      assert.deepEqual(stage.faults, []);
    } catch (err) {
      await stage.report(err);
      throw err;
    } finally {
      await stage.close();
    }
  });
}

/** Stage is a server with the browsers that look at it. */
export class Stage {
  static async set({ flags, prepare, ...context } = {}) {
    const s = new Stage();
    s.faults = [];
    s.pages = [];
    s.context = context;
    s.world = await World.start(flags);
    if (prepare) await prepare(s.world);
    await s.world.up();
    return s;
  }

  /** stranger opens a browser of its own that is not paired, and is nowhere yet. */
  async stranger(name = "", { plugged, clock, ...options } = {}) {
    const context = await (await browser()).newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      reducedMotion: "reduce",
      locale: "en-GB",
      timezoneId: "UTC",
      ...this.context,
      ...options,
    });
    context.setDefaultTimeout(patience);
    await context.addInitScript(watchPolicy);
    const tab = await context.newPage();
    this.watch(context, tab);
    const page = new Page(this.world, tab, name);
    this.pages.push(page);
    if (plugged) await page.plug();
    if (clock) await tab.clock.install();
    return page;
  }

  /** open opens a browser of its own on the page, with a person who is paired. */
  async open(name = "anna", { code, ...options } = {}) {
    const page = await this.stranger(name, options);
    const secret = code ?? (await this.world.token("person", name, "--browser"));
    await page.tab.goto(`${this.world.url}/#${secret}`);
    await page.live();
    return page;
  }

  /** watch notes what a page must not do. */
  watch(context, tab) {
    const fault = (text) => this.faults.push(text);
    const own = (url) => /^(data|blob|about):/.test(url) || new URL(url).host === new URL(this.world.url).host;
    context.on("page", (other) => other !== tab && fault(`a window was opened: ${other.url()}`));
    context.on("request", (request) => own(request.url()) || fault(`a request to elsewhere: ${request.url()}`));
    tab.on("websocket", (socket) => own(socket.url()) || fault(`a socket to elsewhere: ${socket.url()}`));
    tab.on("framenavigated", (frame) => (frame === tab.mainFrame() && own(frame.url())) || fault(`a navigation: ${frame.url()}`));
    tab.on("download", (download) => fault(`a download: ${download.url()}`));
    tab.on("pageerror", (err) => fault(`an error of the page: ${err.stack ?? err}`));
    tab.on("dialog", (dialog) => {
      fault(`a dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    tab.on("console", (message) => {
      if (/^\[content security policy\]|Content Security Policy|Content-Security-Policy|Trusted/i.test(message.text())) fault(message.text());
      else if (message.type() === "error" && !network.test(message.text())) fault(`the console says ${message.text()}`);
    });
  }

  /** report shows what there is to see of a failure. */
  async report(err) {
    console.error(`# ${err.message}`);
    for (const page of this.pages) {
      const shown = await page.tab.locator("body").ariaSnapshot({ timeout: 5000 }).catch((e) => String(e));
      console.error(`# ${page.name} at ${page.tab.url()}\n${shown.slice(0, 6000)}`);
      if (process.env.AW_PAGE_KEEP) {
        mkdirSync(process.env.AW_PAGE_KEEP, { recursive: true });
        await page.tab.screenshot({ path: join(process.env.AW_PAGE_KEEP, `${page.name}-${Date.now()}.png`) }).catch(() => {});
      }
    }
    if (this.faults.length) console.error(`# faults: ${this.faults.join("\n# ")}`);
    console.error(`# the server:\n${this.world.log?.slice(-3000)}`);
  }

  async close() {
    for (const page of this.pages) await page.tab.context().close();
    await this.world.close();
  }
}

/** network is what Chromium says of a request that failed, which the tests cause. */
const network = /^(Failed to load resource|WebSocket connection to)/;

/** watchPolicy runs in the page: what its content security policy stops gets on the console. */
function watchPolicy() {
  document.addEventListener("securitypolicyviolation", (e) => {
    console.error(`[content security policy] ${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber} ${e.sample}`);
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** axeFaults returns what axe-core finds wrong with what a page shows. */
export async function axeFaults(tab) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 5).map((n) => `${n.html.slice(0, 160)} (${n.failureSummary.replaceAll("\n", " ").slice(0, 200)})`).join("; ")}`);
}
