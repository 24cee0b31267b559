// agent-wrapper decides every tool use of OpenCode. This file is written by
// "agent-wrapper install opencode"; "agent-wrapper uninstall opencode" removes it.
//
// A tool runs only if "agent-wrapper hook opencode" ends with exit code 0 and prints a
// JSON object whose decision is "allow". Whatever else happens throws, and OpenCode does
// not run the tool.
import { spawn } from "node:child_process"

const BINARY = "@BINARY@"
const LIMIT_MS = "@LIMIT_MS@"
const MAX_BYTES = 16 * 1024 * 1024

function ask(question) {
  return new Promise((resolve, reject) => {
    const child = spawn(BINARY, ["hook", "opencode"], { stdio: ["pipe", "pipe", "pipe"] })
    const out = []
    let size = 0
    let words = ""
    const fail = (text) => {
      clearTimeout(clock)
      child.kill("SIGKILL")
      reject(new Error(text))
    }
    const clock = setTimeout(() => fail("agent-wrapper did not answer in time; nothing was run"), LIMIT_MS)
    child.on("error", (err) => fail("agent-wrapper cannot be started; nothing was run: " + err.message))
    child.stdin.on("error", () => {}) // what it answers, and its exit code, decide
    child.stdout.on("data", (data) => {
      out.push(data)
      size += data.length
      if (size > MAX_BYTES) fail("agent-wrapper answered too much; nothing was run")
    })
    child.stderr.on("data", (data) => {
      words = (words + data).slice(0, 65536)
    })
    child.on("close", (code, signal) => {
      clearTimeout(clock)
      if (code === 0) return resolve(Buffer.concat(out).toString("utf8"))
      reject(new Error(words.trim() || `agent-wrapper hook ended with ${signal ?? "exit code " + code}; nothing was run`))
    })
    child.stdin.end(question)
  })
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

// The arguments are changed in place: OpenCode keeps the object that it gave.
function rewrite(target, args) {
  for (const key of Object.keys(target)) {
    if (!Object.hasOwn(args, key)) delete target[key]
  }
  for (const [key, value] of Object.entries(args)) {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  }
}

export const AgentWrapper = async ({ directory, worktree }) => ({
  "tool.execute.before": async (input, output) => {
    const question = { opencode: { tool: input.tool, sessionID: input.sessionID, callID: input.callID, args: output.args, directory, worktree } }
    const text = await ask(JSON.stringify(question) + "\n")
    let answer
    try {
      answer = JSON.parse(text)
    } catch {
      throw new Error("agent-wrapper gave no usable answer; nothing was run")
    }
    if (!isObject(answer) || answer.decision !== "allow") throw new Error("agent-wrapper did not allow this; nothing was run")
    if (answer.args === undefined) return
    if (!isObject(answer.args) || !isObject(output.args)) throw new Error("agent-wrapper gave no usable arguments; nothing was run")
    rewrite(output.args, answer.args)
  },
})
