// Debian's Chromium, started so that it also works as root and with a small /dev/shm.

import { chromium } from "playwright-core";

export function launch() {
  const args = ["--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"];
  if (process.getuid?.() === 0) args.push("--no-sandbox"); // its sandbox does not work as root
  return chromium.launch({ executablePath: process.env.AW_CHROMIUM ?? "/usr/bin/chromium", args });
}
