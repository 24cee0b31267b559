--- The command :AgentWrapper. What is none of its own words, alone, is a prompt:
--- "stop" stops, "stop using tabs" is said to the agent.

local Chat = require("agent-wrapper.chat")
local approval = require("agent-wrapper.approval")
local cli = require("agent-wrapper.cli")
local state = require("agent-wrapper.state")
local text = require("agent-wrapper.text")

local M = {}

local modes = { "default", "acceptEdits", "plan", "dontAsk" }

--- Returns the chat that a command is about.
---@return agent_wrapper.Chat?
local function current()
  return state.chats[vim.api.nvim_get_current_buf()] or state.last
end

--- Returns the chat, and says so if there is none.
---@return agent_wrapper.Chat?
local function needed()
  local chat = current()
  if not chat then
    text.tell("no chat yet: start one with :AgentWrapper {prompt}")
  end
  return chat
end

--- What each word does, alone or, if it takes one, with an argument.
---@type table<string, { run: fun(arg: string), takes: fun(arg: string): boolean?, complete: string[]? }>
local words = {
  answer = { run = approval.focus },
  later = { run = approval.later },
  rules = {
    run = function()
      cli.rules(current())
    end,
  },
  audit = {
    run = function()
      cli.audit(current())
    end,
  },
  trust = {
    run = function()
      cli.trust(current())
    end,
  },
  new = {
    run = function()
      Chat.new(vim.fn.getcwd()):go_to_prompt()
      vim.cmd("startinsert")
    end,
  },
  send = {
    run = function()
      local chat = needed()
      if chat then
        chat:submit()
      end
    end,
  },
  stop = {
    run = function()
      local chat = needed()
      if chat then
        chat:interrupt()
      end
    end,
  },
  quit = {
    run = function()
      local chat = needed()
      if chat then
        chat:stop()
      end
    end,
  },
  explain = {
    takes = function(arg)
      return arg:match("^%$ ") ~= nil
    end,
    run = function(arg)
      local command = arg:match("^%$ (.*)$")
      if command then
        cli.explain(current(), "Bash", { command = command })
        return
      end
      local q = state.queue[state.shown]
      if q and q.ask then
        cli.explain(q.chat, q.ask.tool, q.input)
      else
        text.tell("no question is waiting; for a command line: :AgentWrapper explain $ {command line}")
      end
    end,
    complete = { "$ " },
  },
  mode = {
    takes = function(arg)
      return vim.tbl_contains(modes, arg) or arg == "bypassPermissions"
    end,
    run = function(arg)
      local chat = needed()
      if not chat then
        return
      end
      if arg ~= "" then
        chat:set_mode(arg)
        return
      end
      vim.ui.select(modes, { prompt = "Mode" }, function(mode)
        if mode then
          chat:set_mode(mode)
        end
      end)
    end,
    complete = modes,
  },
  open = {
    takes = function(arg)
      return vim.fn.filereadable(vim.fn.expand(arg)) == 1
    end,
    run = function(arg)
      if arg ~= "" then
        Chat.open(vim.fn.fnamemodify(vim.fn.expand(arg), ":p"))
        return
      end
      local found = vim.fn.glob(state.config.directory .. "/*.md", true, true)
      table.sort(found, function(a, b)
        return a > b
      end)
      if #found == 0 then
        text.tell("no chats yet")
        return
      end
      vim.ui.select(found, { prompt = "Chat", format_item = M.title }, function(file)
        if file then
          Chat.open(file)
        end
      end)
    end,
  },
}

--- Returns what a chat file is about: its name and its first prompt.
---@param file string
---@return string
function M.title(file)
  local first = false
  for _, line in ipairs(vim.fn.readfile(file, "", 60)) do
    if first and line ~= "" then
      return vim.fn.fnamemodify(file, ":t:r") .. "  " .. text.fit(text.visible(line), 50)
    end
    first = first or line == "## You"
  end
  return vim.fn.fnamemodify(file, ":t:r")
end

--- Carries out :AgentWrapper.
---@param said string
---@param bang boolean a prompt, whatever it says, in a new chat
function M.run(said, bang)
  local name, arg = said:match("^%s*(%a+)%s*(.-)%s*$")
  local word = name and words[name]
  if not bang and word and (arg == "" or (word.takes and word.takes(arg))) then
    word.run(arg)
    return
  end
  if vim.trim(said) == "" then
    local chat = current()
    if chat then
      Chat.open(chat.file)
      chat:go_to_prompt()
    else
      words.new.run("")
    end
    return
  end
  local chat = not bang and current() or nil
  if not chat then
    local here = vim.api.nvim_get_current_win()
    chat = Chat.new(vim.fn.getcwd())
    vim.api.nvim_set_current_win(here)
  end
  chat:send(said)
end

--- Completes the words of :AgentWrapper, and their arguments.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match("^%s*%S+%s+(%a+)%s")
  local from = name and words[name] and (words[name].complete or {}) or vim.tbl_keys(words)
  if name and not words[name] then
    return {}
  end
  if name == "open" then
    return vim.fn.getcompletion(lead, "file")
  end
  local out = vim.tbl_filter(function(w)
    return w:sub(1, #lead) == lead
  end, from)
  table.sort(out)
  return out
end

return M
