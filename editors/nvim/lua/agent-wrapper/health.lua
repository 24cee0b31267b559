--- :checkhealth agent-wrapper

local state = require("agent-wrapper.state")

local M = {}

local h = vim.health or require("health")
local start, ok, warn, bad = h.start or h.report_start, h.ok or h.report_ok, h.warn or h.report_warn, h.error or h.report_error

--- Runs a program and returns its output, or nil and why not.
---@param command string[]
---@return string? out
---@return string? problem
local function output(command)
  local done, out = pcall(vim.fn.system, command)
  if not done then
    return nil, "it cannot be started"
  end
  out = vim.trim(out)
  if vim.v.shell_error ~= 0 then
    return nil, out
  end
  return out
end

---@param args string[]
---@return string[]
local function binary(args)
  return vim.list_extend(vim.list_extend({}, state.config.command), args)
end

local function check_policy()
  local out, problem = output(binary({ "policy", "show", "--json" }))
  if not out then
    bad("the policy does not load: " .. problem)
    return
  end
  local decoded, policy = pcall(vim.json.decode, out, { luanil = { object = true, array = true } })
  if not decoded then
    bad("the output of agent-wrapper policy show cannot be read")
    return
  end
  ok("the policy loads")
  for _, source in ipairs(policy.sources or {}) do
    local count = #(source.says or {})
    if count > 0 and source.trusted then
      ok(("%s: %d %s, trusted"):format(source.name, count, count == 1 and "setting" or "settings"))
    elseif count > 0 then
      warn(("%s: not trusted"):format(source.name), { "its settings can only restrict: read them, then run :AgentWrapper trust" })
    end
  end
  for _, warning in ipairs(policy.warnings or {}) do
    warn(warning)
  end
end

function M.check()
  start("agent-wrapper")
  if vim.fn.has("nvim-0.7.2") ~= 1 then
    bad("this Neovim is older than 0.7.2", { "install 0.9 or later" })
  end
  local program = state.config.command[1]
  if vim.fn.executable(program) ~= 1 then
    bad(program .. " is not found", { "install agent-wrapper, or set its path: require('agent-wrapper').setup({ command = { '/path/to/agent-wrapper' } })" })
    return
  end
  local version, problem = output(binary({ "version" }))
  if not version then
    bad(program .. " does not run: " .. problem)
    return
  end
  ok(version)
  local help = output(binary({ "run", "--help" })) or ""
  if not help:find("--approvals", 1, true) then
    bad(program .. " is too old for this plugin: its run has no --approvals", { "update agent-wrapper" })
  end
  local cli = (require("agent-wrapper.cli").flag("--agent-command") or "claude"):match("^%S+")
  if vim.fn.executable(cli) == 1 then
    ok("the agent CLI is " .. vim.fn.exepath(cli))
  else
    bad("the agent CLI " .. cli .. " is not found", { "install it, or set its path with --agent-command in the option args" })
  end
  start("agent-wrapper: policy of " .. vim.fn.getcwd())
  check_policy()
end

return M
