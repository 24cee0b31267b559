// The agent-wrapper that is tested: that of AW_BINARY, or one that is built once.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "..", "..");

let built;

export function binary() {
  if (process.env.AW_BINARY) return process.env.AW_BINARY;
  if (!built) {
    built = join(root, ".cache", "page", "agent-wrapper");
    mkdirSync(dirname(built), { recursive: true });
    execFileSync("go", ["build", "-o", built, "./cmd/agent-wrapper"], { cwd: root, stdio: "inherit" });
  }
  return built;
}
