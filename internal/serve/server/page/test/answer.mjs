// Answers questions on the page, for tests in other languages:
//
//	node answer.mjs URL CODE '[{"question":"touch made"},{"question":"touch never","words":"not now"}]'
//
// It pairs a Chromium, waits for each question in turn, and approves it, or denies it with
// the words. It says when all are answered.

import { launch } from "./chromium.mjs";
import { Page } from "./page.mjs";

const [url, code, answers] = process.argv.slice(2);
const browser = await launch();
try {
  const tab = await browser.newPage();
  tab.setDefaultTimeout(120_000);
  await tab.goto(`${url}/#${code}`);
  const page = new Page({ url }, tab, "");
  await page.live();
  for (const { question, words } of JSON.parse(answers)) {
    await page.choose(question);
    await (words ? page.denyWith(words) : page.approve());
    await page.row(question).getByText(/(approved|denied) by/).waitFor();
  }
  console.log("answered");
} finally {
  await browser.close();
}
