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

  /** go shows the view of a route. */
  async go(route) {
    await this.tab.evaluate((route) => (location.hash = route), `#${route}`);
  }

  /** list is the list of what waits. */
  get list() {
    return this.role("listbox", /waiting/i);
  }

  /** row is the entry of the list that is about a text. */
  row(text) {
    return this.list.getByRole("option").filter({ hasText: text });
  }

  /** chosen is the entry of the list that is shown beside it. */
  get chosen() {
    return this.list.getByRole("option", { selected: true });
  }

  /** question is what is shown of the chosen one. */
  get question() {
    return this.role("region", /question/i);
  }

  /** choose shows a question, by its text in the list. */
  async choose(text) {
    await this.row(text).click();
    await this.question.getByText(text).first().waitFor();
  }

  /** focused is the role and name of what has the focus. */
  focused() {
    return this.tab.evaluate(() => {
      const e = document.activeElement;
      return !e || e === document.body ? "" : `${e.getAttribute("role") ?? e.tagName.toLowerCase()} ${e.getAttribute("aria-label") ?? e.textContent.slice(0, 60)}`.trim();
    });
  }

  /** press types keys. */
  async press(...keys) {
    for (const key of keys) await this.tab.keyboard.press(key);
  }
}

export { patience, until };
