--- Runs the binary once, to ask it something.

local scratch = require("agent-wrapper.scratch")
local state = require("agent-wrapper.state")
local text = require("agent-wrapper.text")

local uv = vim.uv or vim.loop
local M = {}

-- The longest argument that a program can be given, and some room.
local longest = 120 * 1024

--- Runs the binary and gives what it wrote.
---@param args string[]
---@param cwd string
---@param done fun(code: integer, out: string, problem: string) called once
function M.run(args, cwd, done)
  local command = vim.list_extend(vim.list_slice(state.config.command, 2), args)
  local stdout, stderr = uv.new_pipe(false), uv.new_pipe(false)
  local out, problem, open, code, handle, failed = {}, {}, 2
  local finish = vim.schedule_wrap(function()
    done(code, table.concat(out), vim.trim(table.concat(problem)))
  end)
  local function ended()
    if open == 0 and code then
      for _, h in ipairs({ stdout, stderr, handle }) do
        h:close()
      end
      finish()
    end
  end
  handle, failed = uv.spawn(state.config.command[1], { args = command, cwd = cwd, stdio = { nil, stdout, stderr }, hide = true }, function(c)
    code = c
    ended()
  end)
  if not handle then
    stdout:close()
    stderr:close()
    code, problem = 127, { ("%s could not be started: %s"):format(state.config.command[1], text.problem(failed)) }
    finish()
    return
  end
  for pipe, into in pairs({ [stdout] = out, [stderr] = problem }) do
    pipe:read_start(function(_, data)
      if data then
        table.insert(into, data)
      else
        open = open - 1
        ended()
      end
    end)
  end
end

--- Returns the flags that say which policy counts in a chat.
---@param chat agent_wrapper.Chat?
---@return string[]
local function policy_flags(chat)
  if not chat then
    return {}
  end
  local out = { "--cwd", chat.cwd }
  if select(3, chat:head()) > 0 then
    vim.list_extend(out, { "--frontmatter", chat.file })
  end
  return out
end

---@param chat agent_wrapper.Chat?
---@return string
local function directory(chat)
  return chat and chat.cwd or vim.fn.getcwd()
end

--- Gives the policy of a chat as the binary reads it from disk.
---@param chat agent_wrapper.Chat?
---@param done fun(policy: table?, problem: string?)
function M.policy(chat, done)
  local args = vim.list_extend({ "policy", "show", "--json" }, policy_flags(chat))
  M.run(args, directory(chat), function(code, out, problem)
    local ok, policy = pcall(vim.json.decode, out, { luanil = { object = true, array = true } })
    if code == 0 and ok then
      done(policy)
    else
      done(nil, (problem:gsub("^agent%-wrapper: ", "")))
    end
  end)
end

--- Shows the output of a command in a window.
---@param name string
---@param args string[]
---@param chat agent_wrapper.Chat?
---@param opening fun()? is called before the window opens
---@param closed fun()? is called when it is closed
function M.show(name, args, chat, opening, closed)
  M.run(args, directory(chat), function(_, out, problem)
    local lines = text.lines((out:gsub("%s+$", "")))
    if problem ~= "" then
      lines = vim.list_extend(lines[1] == "" and #lines == 1 and {} or lines, text.lines(problem))
    end
    if #lines == 1 and lines[1] == "" then
      text.tell(name .. ": nothing to show")
      return
    end
    for i, line in ipairs(lines) do
      lines[i] = text.visible(line)
    end
    if opening then
      opening()
    end
    scratch.open(name, lines, closed)
  end)
end

---@param chat agent_wrapper.Chat?
function M.rules(chat)
  M.show("rules", vim.list_extend({ "policy", "show" }, policy_flags(chat)), chat)
end

--- Shows what every layer says to a tool use.
---@param chat agent_wrapper.Chat?
---@param tool string
---@param input any
---@param opening fun()?
---@param closed fun()?
function M.explain(chat, tool, input, opening, closed)
  local json = vim.json.encode(input)
  if #json > longest then
    text.tell("too long to explain here; v in the question shows all of it", vim.log.levels.WARN)
    return
  end
  M.show("explain", vim.list_extend({ "explain", tool, json }, policy_flags(chat)), chat, opening, closed)
end

--- Returns the value of a flag among those that every run gets.
---@param name string
---@return string?
function M.flag(name)
  for i, arg in ipairs(state.config.args) do
    local value = arg:sub(1, #name + 1) == name .. "=" and arg:sub(#name + 2) or arg == name and state.config.args[i + 1]
    if value then
      return value
    end
  end
end

--- Shows the audit log, of the chat's session if there is one.
---@param chat agent_wrapper.Chat?
function M.audit(chat)
  local args = chat and chat.session and { "audit", "search", "--session", chat.session } or { "audit", "tail" }
  table.insert(args, M.flag("--audit"))
  M.show("audit", args, chat)
end

--- Trusts the head of a chat, after showing what it says.
---@param chat agent_wrapper.Chat?
function M.trust(chat)
  local target = chat and select(3, chat:head()) > 0 and chat.file or nil
  if chat then
    chat:save()
  end
  M.policy(chat, function(policy, problem)
    if not policy then
      text.tell(problem or "", vim.log.levels.ERROR)
      return
    end
    local says = {}
    for _, s in ipairs(policy.sources or {}) do
      if not s.trusted and (target == nil or s.name == target) then
        for _, item in ipairs(s.says or {}) do
          table.insert(says, ("%s %s"):format(item.key, item.text))
        end
      end
    end
    if #says == 0 then
      text.tell("there is nothing to trust")
      return
    end
    local prompt = ("Trust these settings of %s?\n%s"):format(target and vim.fn.fnamemodify(target, ":t") or "the workspace's policy", text.visible(table.concat(says, " · ")))
    vim.ui.select({ "no", "trust exactly these" }, { prompt = prompt }, function(choice)
      if choice ~= "trust exactly these" then
        return
      end
      M.run({ "trust", target, "--yes", "--cwd", directory(chat) }, directory(chat), function(code, _, failed)
        if code ~= 0 then
          text.tell(failed, vim.log.levels.ERROR)
          return
        end
        text.tell("trusted, from the next turn on")
        if chat then
          chat.started_with = nil -- a process reads what is trusted when it starts
          chat:show_head()
        end
      end)
    end)
  end)
end

return M
