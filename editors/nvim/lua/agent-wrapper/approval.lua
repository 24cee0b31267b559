--- The questions that wait, and the float that shows one of them.
---
--- The float never takes the focus by itself. A key in it counts only while ">" stands
--- at its end: that is when no key came for 350 ms, nothing is typed ahead, and Neovim
--- has drawn what is asked. A key with another one right behind it was pasted. An answer
--- carries the id and the digest of the question that was drawn.

local page = require("agent-wrapper.question")
local state = require("agent-wrapper.state")
local text = require("agent-wrapper.text")

local uv = vim.uv or vim.loop
local api = vim.api
local strwidth = api.nvim_strwidth

local M = {}

-- The times during which a key must be alone, in milliseconds, as at a terminal.
local grace, settle = 350, 60

-- The limits that the choice "while" offers.
local whiles = {
  { words = "for 30 minutes", reply = { ["for"] = 1800 } },
  { words = "5 times, counting this one", reply = { times = 5 } },
}

---@class agent_wrapper.Question
---@field chat agent_wrapper.Chat
---@field id string approval_id
---@field digest string?
---@field use string? tool_use_id
---@field ask table? the JSON of display.Ask
---@field input any
---@field raw string the event's line
---@field questions table[]? of the agent, for the person
---@field at integer the one of them that is asked
---@field answers table<string, string>
---@field picked table<integer, boolean>

---@class agent_wrapper.Float
---@field question agent_wrapper.Question
local Float = {}
Float.__index = Float

-- The keys that answer nothing.
local own = { "?  why", "v  all", "=  diff", "q  later" }

-- So many rows the rules for the session may take beside their keys.
local beside_keys = 8

--- Returns a callback that, should it fail, denies what waits and says so.
---@param fn function
---@return function
local function safe(fn)
  return text.guarded(fn, M.failed)
end

--- Denies everything that waits, because of an error of ours.
---@param message string
---@param unseen agent_wrapper.Question? one that may wait as well
function M.failed(message, unseen)
  local denied = 0
  for _, q in ipairs(state.queue) do
    if unseen and q.chat == unseen.chat and q.id == unseen.id then
      unseen = nil
    end
  end
  table.insert(state.queue, unseen)
  for _, q in ipairs(state.queue) do
    if pcall(q.chat.deny, q.chat, q) then
      denied = denied + 1
    end
  end
  state.queue = {}
  pcall(M.close)
  text.tell(("an error in the client; waiting questions denied: %d. :echo g:agent_wrapper_error shows it"):format(denied), vim.log.levels.ERROR)
  vim.g.agent_wrapper_error = message
end

--- Reports whether keys wait that were typed before.
local function typed_ahead()
  return vim.fn.getchar(1) ~= 0
end

---@param name string
---@param data table
local function announce(name, data)
  pcall(api.nvim_exec_autocmds, "User", vim.fn.has("nvim-0.8") == 1 and { pattern = name, modeline = false, data = data } or { pattern = name, modeline = false })
  pcall(vim.cmd, "redrawstatus!")
end
M.announce = announce

--- Adds a question, or one in the place of what it asked before.
---@param q agent_wrapper.Question
function M.add(q)
  q.at, q.answers, q.picked = 1, {}, {}
  local known = false
  for i, other in ipairs(state.queue) do
    if other.chat == q.chat and other.id == q.id then
      state.queue[i], known = q, true
      if state.float and state.float.question == other then
        state.float:leave()
      end
    end
  end
  if not known then
    table.insert(state.queue, q)
    if state.float then
      state.float.hidden = nil
    end
  end
  M.refresh()
  announce("AgentWrapperRequest", { id = q.id, tool = q.ask and q.ask.tool or "AskUserQuestion", count = #state.queue })
end

--- Removes a question that was withdrawn, or answered elsewhere.
---@param chat agent_wrapper.Chat
---@param id string
---@param reason string
function M.withdraw(chat, id, reason)
  M.remove(function(q)
    return q.chat == chat and q.id == id
  end, reason)
end

--- Removes the questions of a chat whose process has ended.
---@param chat agent_wrapper.Chat
---@param reason string
function M.clear(chat, reason)
  M.remove(function(q)
    return q.chat == chat
  end, reason)
end

---@param which fun(q: agent_wrapper.Question): boolean
---@param reason string? nil if it was answered here
function M.remove(which, reason)
  local left, f = {}, state.float
  for i, q in ipairs(state.queue) do
    if not which(q) then
      table.insert(left, q)
    else
      if i < state.shown then
        state.shown = state.shown - 1
      end
      if f and f.question == q and reason and not f.gone then
        f:lost(reason)
      end
    end
  end
  state.queue = left
  M.refresh()
end

--- Shows what there is to show.
function M.refresh()
  if state.config.ui == "select" then
    return
  end
  if #state.queue == 0 then
    if state.float and not state.float.gone then
      M.close()
    end
    return
  end
  state.shown = math.min(math.max(state.shown, 1), #state.queue)
  local f = state.float
  if f and f.gone then
    return -- somebody reads why
  end
  if f and f.hidden then
    return
  end
  f = f or Float.new()
  state.float = f
  f:show(state.queue[state.shown])
end

--- Closes the float; what waits goes on to wait.
function M.close()
  local f = state.float
  state.float = nil
  if f then
    f:close()
  end
end

--- Hides the float; what waits goes on to wait.
function M.later()
  local f = state.float
  if f and not f.gone then
    f.hidden = true
    f:back()
    f:hide()
    text.tell(("%d waiting; :AgentWrapper answer shows it"):format(#state.queue))
  end
end

--- Goes to the float, or asks with vim.ui.select.
function M.focus()
  if #state.queue == 0 then
    text.tell("nothing is waiting for an answer")
    return
  end
  if state.config.ui == "select" then
    require("agent-wrapper.select").ask(state.queue[1])
    return
  end
  if state.float then
    state.float.hidden = nil
  end
  M.refresh()
  if state.float then
    state.float:focus()
  end
end

--- Shows another of the questions that wait.
---@param step integer
function M.turn(step)
  if #state.queue > 0 then
    state.shown = (state.shown - 1 + step) % #state.queue + 1
    M.refresh()
  end
end

-- The float -----------------------------------------------------------------------

function Float.new()
  local self = setmetatable({ mode = "choices", limit = 1, armed = false, timer = uv.new_timer(), settle = uv.new_timer() }, Float)
  self.body, self.menu = self.buffer("question"), self.buffer("choices")
  self:map()
  self.group = api.nvim_create_augroup("agent-wrapper-float", { clear = true })
  local function on(events, fn, buffer)
    api.nvim_create_autocmd(events, { group = self.group, buffer = buffer, callback = safe(fn) })
  end
  -- Its rows depend on whether the keys go there, and so does its height.
  local function drawn()
    vim.schedule(safe(function()
      if self.window and api.nvim_win_is_valid(self.window) then
        self:draw()
      end
    end))
  end
  on({ "WinEnter", "BufEnter" }, function()
    self:quiet()
    drawn()
  end, self.body)
  on({ "WinLeave" }, drawn, self.body)
  on({ "FocusGained", "FocusLost" }, function()
    self:quiet()
  end)
  on({ "VimResized", "TabEnter", "CmdwinLeave" }, function()
    self:draw()
    self:quiet()
  end)
  on({ "WinClosed" }, function()
    vim.schedule(safe(function()
      self:closed()
    end))
  end, self.body)
  return self
end

---@param name string
function Float.buffer(name)
  local buf = api.nvim_create_buf(false, true)
  pcall(api.nvim_buf_set_name, buf, "agent-wrapper://" .. name)
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].undolevels = -1
  return buf
end

--- Every key that can be typed is ours, but for those that scroll and those that lead
--- out of the window.
function Float:map()
  local function map(lhs, fn)
    vim.keymap.set("n", lhs, safe(fn), { buffer = self.body, nowait = true, silent = true })
  end
  local names = { ["<"] = "<lt>", ["|"] = "<Bar>", ["\\"] = "<Bslash>", [" "] = "<Space>" }
  for byte = 32, 126 do
    local key = string.char(byte)
    if not key:match("[jkgG:]") then
      map(names[key] or key, function()
        self:press(key)
      end)
    end
  end
  for _, key in ipairs({ "<CR>", "<Esc>", "<Tab>", "<S-Tab>", "<BS>", "<Del>" }) do
    map(key, function()
      self:press(key)
    end)
  end
  local scrolls = { j = "<C-e>", k = "<C-y>", ["<Down>"] = "<C-e>", ["<Up>"] = "<C-y>", ["<Left>"] = "", ["<Right>"] = "" }
  for _, key in ipairs({ "<C-e>", "<C-y>", "<C-d>", "<C-u>", "<C-f>", "<C-b>", "<PageDown>", "<PageUp>", "gg", "G" }) do
    scrolls[key] = key
  end
  for lhs, key in pairs(scrolls) do
    vim.keymap.set("n", lhs, function()
      vim.schedule(safe(function()
        self:quiet()
      end))
      return key == "<C-e>" and (self.below or 0) == 0 and "" or key
    end, { buffer = self.body, nowait = true, silent = true, expr = true })
  end
end

function Float:focused()
  return self.window and api.nvim_get_current_win() == self.window and api.nvim_win_get_buf(self.window) == self.body
end

function Float:focus()
  if self.window and api.nvim_win_is_valid(self.window) and not self:focused() then
    self.before = api.nvim_get_current_win()
    vim.cmd("stopinsert")
    api.nvim_set_current_win(self.window)
    self:draw()
    self:quiet()
  end
end

--- Shows a question; the one that is shown stays as it is.
---@param q agent_wrapper.Question
function Float:show(q)
  if self.question ~= q then
    self.question, self.mode, self.limit, self.low, self.hint, self.looked = q, "choices", 1, nil, nil, nil
    self:quiet()
    if self.window and api.nvim_win_is_valid(self.window) then
      api.nvim_win_set_cursor(self.window, { 1, 0 })
    end
  end
  self:draw()
end

--- Has the question that is shown be drawn and armed anew.
function Float:leave()
  self.question = nil
  self:quiet()
end

--- Says that the question has gone. Who was about to press a key sees it, and the key
--- goes nowhere else.
---@param reason string
function Float:lost(reason)
  if not self:focused() then
    self:leave()
    return
  end
  self.gone = reason
  self:quiet()
  self:draw()
end

--- Goes on after a question that has gone or was answered.
function Float:go_on()
  self.gone, self.passing, self.question = nil, nil, nil
  if #state.queue == 0 then
    M.close()
  else
    M.refresh()
  end
end

--- Begins the time during which no key counts.
function Float:quiet()
  if self.timer:is_closing() then
    return
  end
  local was = self.armed
  self.armed, self.pressed = false, nil
  self.settle:stop()
  self.timer:stop()
  if was then
    self:draw_menu()
  end
  if not self:focused() or self.passing then
    return
  end
  self.timer:start(grace, 0, vim.schedule_wrap(safe(function()
    if state.float ~= self or not self:focused() then
      return
    end
    if typed_ahead() then
      self:quiet()
      return
    end
    self.armed = true
    self:draw_menu()
    vim.cmd("redraw")
  end)))
end

--- Takes a key. It counts if it stays alone.
---@param key string
function Float:press(key)
  if not self.armed or self.pressed then
    self:quiet()
    return
  end
  self.pressed = key
  local q = self.question
  self.settle:start(settle, 0, vim.schedule_wrap(safe(function()
    local alone = self.pressed == key and self.armed and not typed_ahead()
    if state.float ~= self or not alone or self.question ~= q or not self:focused() then
      self:quiet()
      return
    end
    self.pressed, self.armed = nil, false
    self:draw_menu()
    if self.gone then
      self:go_on()
    else
      self:act(key)
      self:quiet()
    end
  end)))
end

-- What keys do ----------------------------------------------------------------------

--- Returns what an answer is called once it is given.
---@param choice table
---@return string
local function outcome(choice)
  if choice.name == "deny" then
    return "denied"
  end
  return (choice.name == "never" and "denied, " or "allowed, ") .. choice.label
end

--- Carries out a key that counts.
---@param key string
function Float:act(key)
  local q = self.question
  self.hint = nil
  local function beside()
    self:beside()
  end
  if self.mode == "rungs" then
    self:pick(key)
  elseif key == "q" then
    M.later()
  elseif key == "<Tab>" or key == "<S-Tab>" then
    M.turn(key == "<Tab>" and 1 or -1)
  elseif q.questions then
    self:option(key)
  elseif key == "?" then
    require("agent-wrapper.cli").explain(q.chat, q.ask.tool, q.input, beside, M.return_to)
  elseif key == "=" then
    require("agent-wrapper.compare").open(q.ask.tool, q.input, beside, M.return_to)
  elseif key == "v" then
    beside()
    require("agent-wrapper.scratch").open("everything", text.lines(M.whole(q)), M.return_to)
  else
    for _, choice in ipairs(q.ask.choices or {}) do
      if choice.key == key and choice.name and choice.name ~= "" then
        self:choose(choice)
        return
      end
    end
    local session, number = self:beside_key(), tonumber(key)
    if session and number and number > 1 and session.rungs[number] then
      self:answer(q, { choice = session.name, rung = number - 1 }, outcome(session))
      return
    end
    self.hint = true
    self:draw()
  end
end

--- Returns the choice whose rules stand beside their keys, if they are short enough.
---@return table?
function Float:beside_key()
  for _, choice in ipairs(self.question.ask and self.question.ask.choices or {}) do
    if choice.name == "session" and #(choice.rungs or {}) > 0 then
      local p = page.page(self.width or vim.o.columns - 2)
      p:rungs(choice.rungs, function()
        return (" "):rep(7 + #choice.label)
      end)
      return #p.lines <= beside_keys and #choice.rungs < 10 and choice or nil
    end
  end
end

--- Makes room for something that the person wants to look at.
function Float:beside()
  if state.float == self then
    self.hidden = true
    self:back()
    self:hide()
  end
end

--- Goes back to the question, if one waits, from what was looked at.
function M.return_to()
  if #state.queue > 0 then
    M.focus()
  end
end

--- Returns the whole input as text in which every character can be seen.
---@param q agent_wrapper.Question
---@return string
function M.whole(q)
  local out = {}
  if type(q.input) ~= "table" then
    return text.visible(tostring(q.input))
  end
  local names = vim.tbl_keys(q.input)
  table.sort(names, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, name in ipairs(names) do
    local value = q.input[name]
    table.insert(out, text.visible(tostring(name)) .. ":")
    for _, line in ipairs(text.lines(type(value) == "string" and value or text.json(value))) do
      table.insert(out, " | " .. text.visible(line))
    end
  end
  local parts = q.ask and page.parts(q.ask, vim.o.columns - 2, q.chat.cwd) or {}
  if #parts > 0 then
    vim.list_extend(vim.list_extend(out, { "", "what it would do:" }), parts)
  end
  return table.concat(out, "\n")
end

---@param choice table
function Float:choose(choice)
  local q = self.question
  local rungs = choice.rungs or {}
  local seen = self:beside_key()
  if seen and (choice == seen or choice.name == "always" and #rungs == 1 and vim.deep_equal(rungs, seen.rungs)) then
    self:answer(q, { choice = choice.name, rung = 0 }, outcome(choice))
  elseif #rungs > 0 then
    self.mode, self.choice, self.limit = "rungs", choice, 1
    self:draw()
  elseif choice.name == "edit" then
    self.low = false -- what is edited is below
    require("agent-wrapper.edit").open(q)
  elseif choice.name == "words" then
    self:words("Tell the agent: ", function(said)
      self:answer(q, { choice = "words", message = said }, "denied, with your reason")
    end)
  else
    self:answer(q, { choice = choice.name }, outcome(choice))
  end
end

--- Takes the number of a set of rules.
---@param key string
function Float:pick(key)
  local number = tonumber(key)
  if key == "<Esc>" or key == "<BS>" or key == "q" then
    self.mode = "choices"
    self:draw()
  elseif self.choice.name == "while" and key == self.choice.key then
    self.limit = self.limit % #whiles + 1
    self:draw()
  elseif number and self.choice.rungs[number] then
    local reply = { choice = self.choice.name, rung = number - 1 }
    if self.choice.name == "while" then
      reply = vim.tbl_extend("error", reply, whiles[self.limit].reply)
    end
    self:answer(self.question, reply, outcome(self.choice))
  end
end

--- Takes a key at a question of the agent's.
---@param key string
function Float:option(key)
  local q = self.question
  local one = q.questions[q.at]
  local number = tonumber(key)
  if number and (one.options or {})[number] then
    if one.multiSelect then
      q.picked[number] = not q.picked[number] or nil
      self:draw()
    else
      self:said(q, one.options[number].label)
    end
  elseif key == "<CR>" and one.multiSelect and next(q.picked) then
    local labels = {}
    for i, option in ipairs(one.options) do
      if q.picked[i] then
        table.insert(labels, option.label)
      end
    end
    self:said(q, table.concat(labels, ", "))
  elseif key == "w" then
    self:words("Your answer: ", function(said)
      self:said(q, said)
    end)
  elseif key == "d" then
    q.chat:decline(q)
    self:finished(q, "not answered")
  end
end

--- Keeps the answer to one question of the agent's, and sends them all after the last.
---@param q agent_wrapper.Question
---@param label string
function Float:said(q, label)
  q.answers[q.questions[q.at].question] = label
  q.picked = {}
  if q.at < #q.questions then
    q.at = q.at + 1
    self:draw()
    return
  end
  q.chat:chose(q)
  self:finished(q, "answered")
end

--- Has the person write a line. Keys in it decide nothing.
---@param prompt string
---@param done fun(said: string)
function Float:words(prompt, done)
  vim.cmd("redraw")
  local ok, problem = pcall(vim.ui.input, { prompt = prompt }, safe(function(said)
    api.nvim_echo({ { "" } }, false, {})
    if said and vim.trim(said) ~= "" then
      done(said)
    end
  end))
  if not ok and not tostring(problem):find("Keyboard interrupt", 1, true) then -- ^C
    error(problem)
  end
end

--- Sends an answer.
---@param q agent_wrapper.Question
---@param reply table
---@param label string
function Float:answer(q, reply, label)
  q.chat:answer(q, reply)
  self:finished(q, label)
end

--- Says what was answered, for as long as a key that comes too late would go elsewhere.
---@param q agent_wrapper.Question
---@param label string
function Float:finished(q, label)
  self.gone = self:focused() and label or nil
  self.passing = self.gone ~= nil
  M.remove(function(other)
    return other == q
  end)
  if not self.gone then
    return
  end
  if #state.queue > 0 then
    self:go_on()
    return
  end
  self:quiet()
  self:draw()
  vim.defer_fn(safe(function()
    if state.float == self and self.gone == label then
      self:go_on()
    end
  end), grace)
end

-- How it looks ----------------------------------------------------------------------

--- Returns what a person should know besides the question.
---@param q agent_wrapper.Question
---@return string[]
local function notes(q)
  local path = type(q.input) == "table" and (q.input.file_path or q.input.notebook_path)
  if type(path) ~= "string" then
    return {}
  end
  local buf = vim.fn.bufnr("^" .. vim.fn.fnameescape(path) .. "$")
  if buf > 0 and vim.bo[buf].modified then
    return { "you have unsaved changes in this file" }
  end
  return {}
end

---@param width integer
---@return agent_wrapper.Page
function Float:body_page(width)
  local q = self.question
  if not q.questions then
    if self.drawn ~= q or self.drawn_width ~= width then
      self.drawn, self.drawn_width, self.drawn_page = q, width, page.body(q.ask, width, notes(q), q.chat.cwd)
    end
    return self.drawn_page
  end
  local one = q.questions[q.at]
  local p = page.page(width)
  p:words(" ? ", ("The agent asks (%d of %d)"):format(q.at, #q.questions), "AgentWrapperTitle")
  p:words("   | ", tostring(one.question))
  for i, option in ipairs(one.options or {}) do
    p:words((" %s %d  "):format(q.picked[i] and "*" or " ", i), tostring(option.label))
    if option.description and option.description ~= "" then
      p:words("      | ", tostring(option.description), "Comment")
    end
  end
  return p
end

---@param width integer
---@return agent_wrapper.Page
function Float:menu_page(width)
  local q, p = self.question, page.page(width)
  if self.gone then
    p:words(" ", self.gone, "AgentWrapperTitle")
    if not self.passing then
      p:add({ { " press any key to go on" .. (self.armed and "  >" or "") } })
    end
    return p
  end
  if not q.questions and self.mode ~= "rungs" then
    p:causes(q.ask, q.chat.cwd)
  end
  if not self:focused() then
    p:words(" ", self:last_line(), "Comment")
    return p
  end
  if self.mode == "rungs" then
    local limit = self.choice.name == "while" and whiles[self.limit].words or nil
    p:words(" ", ("%s: which rule?"):format(limit or self.choice.label), "AgentWrapperTitle")
    p:rungs(self.choice.rungs, function(i)
      return (" %d  "):format(i)
    end)
    local items = { self.choice.keeps and "1…  allow" or "1…  deny", "Esc  back" }
    if limit then
      table.insert(items, ("%s  %s"):format(self.choice.key, whiles[self.limit % #whiles + 1].words))
    end
    if self.choice.into and self.choice.into ~= "" then
      p:words(" ", "the rule is written to " .. self.choice.into, "Comment")
    end
    p:list(items)
  elseif q.questions then
    local one = q.questions[q.at]
    p:list({ "1…  pick", one.multiSelect and "Enter  send these" or nil, "w  your own words", "d  do not answer", "q  later" })
  else
    if not self.tight then
      p:add({ { "" } })
    end
    self:offer(p)
  end
  p:words(" ", self:last_line(), self.armed and "AgentWrapperReady" or "Comment")
  return p
end

-- The choices that have a row of their own, below once and what is kept for the session.
local order = { { "while", "always" }, { "deny", "words", "never" } }

--- Adds the choices: once, the rules for the session beside their keys, and the rest.
---@param p agent_wrapper.Page
function Float:offer(p)
  local ask, session = self.question.ask, self:beside_key()
  local by, placed = {}, { once = true }
  for _, c in ipairs(ask.choices or {}) do
    by[c.name or ""] = c
  end
  local function item(c)
    return ("%s  %s%s"):format(c.key, c.label, c.into and c.into ~= "" and " in " .. c.into or "")
  end
  if by.once then
    p:list({ item(by.once) })
  end
  if session then
    placed.session = true
    local label = session.label
    p:rungs(session.rungs, function(i)
      return (" %s  %s  "):format(i == 1 and session.key or i, i == 1 and label or (" "):rep(strwidth(label)))
    end)
  end
  local lists = {}
  for i, names in ipairs(order) do
    lists[i] = {}
    for _, name in ipairs(names) do
      if by[name] then
        placed[name] = true
        table.insert(lists[i], item(by[name]))
      end
    end
  end
  local rest = {}
  for _, c in ipairs(ask.choices or {}) do
    if c.name and c.name ~= "" and not placed[c.name] then
      table.insert(rest, item(c))
    end
  end
  for _, items in ipairs({ lists[1], lists[2], vim.list_extend(rest, own) }) do
    p:list(items)
  end
  if #(ask.withheld or {}) > 0 then
    p:words(" ", "this is too large to show in full, so it can only be approved once", "WarningMsg")
  end
end

--- Returns what a key that means nothing is answered with.
---@return string
function Float:keys()
  local out = {}
  for _, c in ipairs(self.question.ask and self.question.ask.choices or {}) do
    if vim.tbl_contains({ "once", "session", "deny" }, c.name) then
      table.insert(out, c.key .. " " .. c.label)
    end
  end
  return "keys: " .. table.concat(vim.list_extend(out, { "? why", "v all", "q later" }), ", ")
end

--- Returns the last line: where one is, and whether a key counts.
---@return string
function Float:last_line()
  local out = {}
  if #state.queue > 1 then
    table.insert(out, ("%d of %d, Tab: next"):format(state.shown, #state.queue))
  end
  if (self.above or 0) > 0 then
    table.insert(out, ("%d more above"):format(self.above))
  end
  if (self.below or 0) > 0 then
    table.insert(out, ("%d more below"):format(self.below))
  end
  if not self:focused() then
    table.insert(out, "answer with :AgentWrapper answer" .. (#out < 2 and ", or <Tab> in the chat" or ""))
  else
    if self.hint then
      table.insert(out, self:keys())
    end
    table.insert(out, self.armed and ">" or "…")
  end
  return table.concat(out, "  ")
end

---@param buf integer
---@param p agent_wrapper.Page
local function fill(buf, p)
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, false, p.lines)
  vim.bo[buf].modifiable = false
  local ns = api.nvim_create_namespace("agent-wrapper-float")
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for _, m in ipairs(p.marks) do
    api.nvim_buf_set_extmark(buf, ns, m.row, m.from, { end_col = m.to, hl_group = m.group })
  end
end

--- Draws the question and its choices, one window above the other.
function Float:draw()
  if state.float ~= self or not self.question or self.hidden then
    return
  end
  local rows = vim.o.lines - vim.o.cmdheight - 1
  local width = math.max(math.min(vim.o.columns - 2, 100), 20)
  local body = self:body_page(width)
  self.above, self.below, self.width = nil, nil, width
  self.tight = false
  local menu = self:menu_page(width)
  if #body.lines + #menu.lines + 3 > rows then
    self.tight = true -- the blank row is better used
    menu = self:menu_page(width)
  end
  local room = (self:focused() and rows or math.max(math.floor(rows * 0.6), 8)) - #menu.lines - 3
  local height = math.max(math.min(#body.lines, room), 1)
  self.height = height
  if self.low == nil then
    self.low = vim.fn.screenrow() <= vim.o.lines / 2
  end
  local total = height + #menu.lines + 3
  local row = self.low and math.max(rows - total, 0) or (vim.o.showtabline == 2 and 1 or 0)
  local column = math.max(vim.o.columns - width - 2, 0)
  fill(self.body, body)
  local ok = pcall(function()
    self:place("window", self.body, row, column, width, height, { "┌", "─", "┐", "│", "┤", "─", "├", "│" }, true)
    self:place("choices", self.menu, row + height + 2, column, width, #menu.lines, { "", "", "", "│", "┘", "─", "└", "│" }, false)
  end)
  if ok then
    self:look(body, height)
    self:draw_menu()
  end -- else no window can be opened now: CmdwinLeave comes here again
end

--- Has what caused the question in sight, once for each size of the window.
---@param body agent_wrapper.Page
---@param height integer
function Float:look(body, height)
  local of = { self.question, height }
  if self.looked and self.looked[1] == of[1] and self.looked[2] == of[2] then
    return
  end
  self.looked = of
  local row = 0
  for _, m in ipairs(body.marks) do
    if m.group == "AgentWrapperCause" then
      row = m.row
      break
    end
  end
  if row + 2 <= height then
    return
  end
  local top = math.max(math.min(row - math.floor(height / 2), #body.lines - height), 0) + 1
  api.nvim_win_call(self.window, function()
    vim.fn.winrestview({ topline = top, lnum = top, col = 0 })
  end)
end

--- Draws the choices only.
function Float:draw_menu()
  if not self.width or not self.question or not self.window or not api.nvim_win_is_valid(self.window) then
    return
  end
  local count = api.nvim_buf_line_count(self.body)
  local first, last
  api.nvim_win_call(self.window, function()
    first, last = vim.fn.line("w0"), vim.fn.line("w$")
  end)
  self.above, self.below = first - 1, math.max(count - last, 0)
  fill(self.menu, self:menu_page(self.width))
end

--- Opens or moves a window.
function Float:place(name, buf, row, col, width, height, border, focusable)
  local win = self[name]
  local config = {
    relative = "editor", row = row, col = col, width = width, height = height,
    border = border, focusable = focusable, style = "minimal", zindex = 60,
  }
  if win and api.nvim_win_is_valid(win) and api.nvim_win_get_tabpage(win) ~= api.nvim_get_current_tabpage() then
    self[name] = nil
    api.nvim_win_close(win, true)
    win = nil
  end
  if win and api.nvim_win_is_valid(win) then
    if api.nvim_win_get_buf(win) ~= buf then -- something was opened in it
      api.nvim_win_set_buf(win, buf)
    end
    api.nvim_win_set_config(win, config)
    return
  end
  config.noautocmd = true
  win = api.nvim_open_win(buf, false, config)
  self[name] = win
  for option, value in pairs({ wrap = false, conceallevel = 0, list = false, spell = false, foldenable = false, cursorline = false, winhighlight = "Normal:NormalFloat", scrolloff = 0 }) do
    vim.wo[win][option] = value
  end
end

--- Goes back to where the person was.
function Float:back()
  if self:focused() and self.before and api.nvim_win_is_valid(self.before) then
    api.nvim_set_current_win(self.before)
  end
end

--- Closes the windows.
function Float:hide()
  for _, name in ipairs({ "window", "choices" }) do
    local win = self[name]
    self[name] = nil
    if win and api.nvim_win_is_valid(win) then
      pcall(api.nvim_win_close, win, true)
    end
  end
end

--- Is called when the person closed the window: what waits goes on to wait.
function Float:closed()
  if state.float == self and self.window and not api.nvim_win_is_valid(self.window) then
    if self.gone then
      self:go_on()
      return
    end
    self.hidden = true
    self:hide()
  end
end

function Float:close()
  self:back()
  self:hide()
  pcall(api.nvim_del_augroup_by_id, self.group)
  for _, timer in ipairs({ self.timer, self.settle }) do
    timer:stop()
    if not timer:is_closing() then
      timer:close()
    end
  end
  for _, buf in ipairs({ self.body, self.menu }) do
    pcall(api.nvim_buf_delete, buf, { force = true })
  end
end

return M
