// The page as a person meets it: by roles and names, never by classes.

import { patience, until } from "./world.mjs";

/** Page is a browser tab with the page, of a person. */
export class Page {
  constructor(world, tab, name) {
    Object.assign(this, { world, tab, name });
  }

  role(role, name, more) {
    return this.tab.getByRole(role, { name, ...more });
  }

  button(name, more) {
    return this.role("button", name, { exact: typeof name === "string", ...more });
  }

  /** says waits until a text is shown. */
  async says(text, within = this.tab) {
    await within.getByText(text).first().waitFor();
  }

  /** live waits until the page says that it is live. */
  async live() {
    await this.tab.getByRole("banner").getByText(/^Live/).waitFor();
  }

  /** pair lets the browser in by a code, on the screen of a browser that is not. */
  async pair(code) {
    await this.tab.getByLabel("One-time code").fill(code);
    await this.press("Enter");
    await this.live();
  }

  /** go shows the view of a route. */
  async go(route) {
    await this.tab.evaluate((route) => (location.hash = route), `#${route}`);
  }

  /** list is what waits. */
  get list() {
    return this.role("region", "Waiting questions");
  }

  /** row is the entry of the list that is about a text. */
  row(text) {
    return this.list.getByRole("link").filter({ hasText: text });
  }

  /** question is what is shown of the one that is chosen. */
  get question() {
    return this.role("article", "The question");
  }

  /** form is where more is said with an answer. */
  form(name) {
    return this.role("form", name);
  }

  /** choose shows a question, by its text in the list. */
  async choose(text) {
    await this.row(text).click();
    await this.question.getByText(text).first().waitFor();
  }

  /** ready lets the time pass in which what has just changed cannot be answered. */
  async ready() {
    const start = await this.tab.evaluate(() => performance.now());
    await this.tab.waitForFunction((start) => performance.now() - start > 360, start);
  }

  /** stopClock stops the time of a page that was opened with a clock. */
  async stopClock() {
    await this.tab.clock.pauseAt(Date.now() + 1000);
  }

  /** passes lets the page's time pass. */
  passes(milliseconds) {
    return this.tab.clock.runFor(milliseconds);
  }

  /** unplug cuts what the server tells, and nothing else. */
  async unplug() {
    this.unplugged = true;
    for (const socket of this.sockets) await socket.close();
  }

  /** plug has what the server tells go through this page's hands, for unplug. */
  async plug() {
    this.sockets = [];
    await this.tab.routeWebSocket(/\/api\/events/, (socket) => {
      if (this.unplugged) return socket.close();
      this.sockets.push(socket);
      socket.connectToServer();
    });
  }

  /** answer presses the button of an answer. */
  async answer(name) {
    await this.button(name).waitFor();
    await this.ready();
    await this.button(name).click();
  }

  /** approve approves what is shown. */
  approve() {
    return this.answer("Approve once");
  }

  /** say fills in the form of an answer, and sends it. */
  async say(answer, form, fill, send) {
    await this.answer(answer);
    await fill(this.form(form));
    await this.ready();
    await this.form(form).getByRole("button", { name: send, exact: true }).click();
  }

  /** denyWith denies what is shown with words for the agent. */
  denyWith(words) {
    return this.say("Deny, say why…", "Deny, and say why", (form) => form.getByLabel("What the agent is told").fill(words), "Deny");
  }

  /** forSession approves what is shown and keeps the rules with a label. */
  forSession(label) {
    return this.answer(new RegExp(`^For this session: .*${label}`));
  }

  /** forAWhile approves what is shown for a time, and keeps the rules with a label. */
  forAWhile(span, label) {
    return this.say("For a while…", "Approve for a while", async (form) => {
      await form.getByRole("radio", { name: span }).check();
      await form.getByRole("radio", { name: label }).check();
    }, "Approve");
  }

  /** edit has another command decided in place of the one that is shown. */
  edit(command) {
    return this.say("Edit…", "Edit, then decide again", (form) => form.getByLabel("command").fill(command), "Decide");
  }

  /** waiting returns how many questions wait, by the page. */
  async waiting(n) {
    await this.tab.getByRole("navigation").getByText(new RegExp(`^${n} waiting$`)).waitFor();
  }

  /** settled waits until a view is shown, and the requests that it began have ended. */
  async settled() {
    await this.tab.getByRole("main").getByRole("heading").first().waitFor();
    await this.tab.waitForLoadState("networkidle");
  }

  /** overflow is by how many pixels the page is wider than the screen. */
  overflow() {
    return this.tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }

  /** terminal is the screen of a session. */
  get terminal() {
    return this.tab.getByRole("region", { name: /^Terminal[.,]/ });
  }

  /** chat is the conversation of a session. */
  get chat() {
    return this.role("region", "Conversation");
  }

  /** terminalShows waits until a text is on the screen. */
  terminalShows(text) {
    return until(`the terminal shows ${text}`, async () => (await this.terminal.textContent()).replaceAll("\u00a0", " ").includes(text));
  }

  /** take takes the terminal over. */
  async take() {
    await this.button("Take Control").click();
    await this.says(/^You have the terminal/);
  }

  /** release gives it back. */
  async release() {
    await this.button("Release Control").click();
    await this.says(/^The agent has the terminal/);
  }

  /** type types into the terminal. */
  async type(text) {
    await this.role("textbox", /^Terminal input/).focus();
    await this.tab.keyboard.type(text);
  }

  /** focused is the role and name of what has the focus. */
  focused() {
    return this.tab.evaluate(() => {
      const e = document.activeElement;
      return !e || e === document.body ? "" : `${e.getAttribute("role") ?? e.tagName.toLowerCase()} ${e.getAttribute("aria-label") ?? e.textContent.slice(0, 60)}`.trim();
    });
  }

  /** tabTo presses Tab until something has the focus, by its role and name. */
  async tabTo(what) {
    for (let i = 0; i < 80; i++) {
      await this.press("Tab");
      if (what.test(await this.focused())) return;
    }
    throw new Error(`Tab does not lead to ${what}`);
  }

  /** hears waits until a polite live region says something. */
  async hears(text) {
    await this.tab.locator("[role=status], [aria-live=polite]").getByText(text).first().waitFor({ state: "attached" });
  }

  /** press types keys. */
  async press(...keys) {
    for (const key of keys) await this.tab.keyboard.press(key);
  }
}

export { patience, until };
