--- A chat: a Markdown file whose head has the permissions, the process that answers in
--- it, and where in its buffer what goes.
---
--- The buffer ends with a heading below which the next prompt is written. What the
--- agent says is inserted above it; extmarks know the places, never the text, which the
--- agent could forge. The person's `u` undoes what was typed, never what the agent said.

local Client = require("agent-wrapper.client")
local approval = require("agent-wrapper.approval")
local files = require("agent-wrapper.files")
local state = require("agent-wrapper.state")
local text = require("agent-wrapper.text")

local api = vim.api
local places = api.nvim_create_namespace("agent-wrapper-places")
local blocks = api.nvim_create_namespace("agent-wrapper-blocks")
local notes = api.nvim_create_namespace("agent-wrapper-notes")

---@class agent_wrapper.Chat
---@field buf integer
---@field file string
---@field cwd string
---@field client agent_wrapper.Client?
---@field session string?
---@field working boolean a turn is running
---@field turns integer prompts that were sent and are not done
---@field private prompt integer extmark of the heading of the next prompt
---@field private out integer? extmark of the last line that the agent wrote
---@field private uses table<string, agent_wrapper.Use>
local Chat = {}
Chat.__index = Chat

---@class agent_wrapper.Use
---@field mark integer extmark of its lines
---@field title string

local heading = { you = "## You", agent = "## Agent" }

-- Keys of the head that are no permissions.
local head_session, head_directory = "session_id", "working_dir"

--- Returns the head of a new chat.
---@param cwd string
---@return string[]
local function new_head(cwd)
  local out = { "---" }
  local keys = vim.tbl_keys(state.config.permissions)
  table.sort(keys)
  for _, key in ipairs(keys) do
    local value = state.config.permissions[key]
    table.insert(out, key .. ": " .. text.json(value))
  end
  table.insert(out, head_directory .. ": " .. text.json(cwd))
  table.insert(out, "---")
  return out
end

--- Starts a new chat in a window of its own.
---@param cwd string
---@return agent_wrapper.Chat
function Chat.new(cwd)
  vim.fn.mkdir(state.config.directory, "p", "0700")
  local stem = state.config.directory .. "/" .. os.date("%Y%m%d-%H%M%S")
  local file, n = stem .. ".md", 1
  while vim.fn.filereadable(file) == 1 or vim.fn.bufexists(file) == 1 do
    n = n + 1
    file = ("%s-%d.md"):format(stem, n)
  end
  vim.fn.writefile(new_head(cwd), file)
  return Chat.open(file)
end

-- From this width on a chat stands beside what was there.
local wide = 140

--- Returns the command that opens the window of a chat.
---@return string
local function opener()
  local command = state.config.open
  if command ~= "auto" then
    return command
  end
  local empty = vim.fn.bufname() == "" and not vim.bo.modified and api.nvim_buf_line_count(0) == 1
  if empty and vim.bo.buftype == "" then
    return "edit"
  end
  return vim.o.columns >= wide and "botright vsplit" or "botright split"
end

--- Opens a chat file, or goes to its window.
---@param file string
---@return agent_wrapper.Chat
function Chat.open(file)
  local win = vim.fn.bufwinid(vim.fn.bufnr("^" .. vim.fn.fnameescape(file) .. "$"))
  if win >= 0 then
    api.nvim_set_current_win(win)
  else
    vim.cmd(opener() .. " " .. vim.fn.fnameescape(file))
  end
  return Chat.attach(api.nvim_get_current_buf())
end

--- Makes a chat of a buffer.
---@param buf integer
---@return agent_wrapper.Chat
function Chat.attach(buf)
  local self = state.chats[buf]
  if self then
    state.last = self
    return self
  end
  self = setmetatable({
    buf = buf, file = api.nvim_buf_get_name(buf), cwd = vim.fn.getcwd(), uses = {}, working = false, turns = 0,
    asked = {}, said = "",
  }, Chat)
  local head = self:head()
  self.session = head[head_session]
  if head[head_directory] and vim.fn.isdirectory(head[head_directory]) == 1 then
    self.cwd = head[head_directory]
  end
  state.chats[buf], state.last = self, self
  vim.bo[buf].filetype = "markdown"
  vim.bo[buf].modeline = false
  vim.bo[buf].swapfile = false
  self:ask_for_prompt()
  self:watch()
  self:show_head()
  return self
end

---@private
function Chat:watch()
  local group = api.nvim_create_augroup("agent-wrapper-chat-" .. self.buf, { clear = true })
  local function on(events, fn)
    api.nvim_create_autocmd(events, { group = group, buffer = self.buf, callback = text.guarded(fn, approval.failed) })
  end
  on("BufWinEnter", function()
    self:dress()
  end)
  on("BufEnter", function()
    state.last = self
  end)
  on("BufWritePost", function()
    self:show_head()
  end)
  on("BufUnload", function()
    self:stop(true)
    state.chats[self.buf] = nil
    if state.last == self then
      state.last = nil
    end
  end)
  api.nvim_create_autocmd("QuitPre", {
    group = group,
    callback = text.guarded(function()
      self:save() -- what the agent says is no reason to stay
    end, approval.failed),
  })
  self:dress()
  if not state.config.keymaps then
    return
  end
  local function map(mode, lhs, fn, description)
    vim.keymap.set(mode, lhs, text.guarded(fn, approval.failed), { buffer = self.buf, desc = description })
  end
  map("n", "<CR>", function()
    self:submit()
  end, "send the prompt")
  map({ "n", "i" }, "<C-s>", function()
    vim.cmd("stopinsert")
    self:submit()
  end, "send the prompt")
  map("n", "<Tab>", approval.focus, "go to the question")
  map("n", "<C-c>", function()
    self:interrupt()
  end, "end the turn")
end

--- Sets the options of the windows that show the chat.
---@private
function Chat:dress()
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    api.nvim_win_call(win, function()
      vim.cmd("setlocal wrap linebreak foldmethod=expr foldlevel=0 foldminlines=1 fillchars=fold:\\ ")
      vim.cmd([[setlocal foldexpr=v:lua.require'agent-wrapper.chat'.fold(v:lnum)]])
      vim.cmd([[setlocal foldtext=v:lua.require'agent-wrapper.chat'.folded()]])
    end)
  end
end

-- The head ------------------------------------------------------------------------

--- Returns the lines of the head, and how many there are.
---@return table<string, string> keys of one line
---@return string text
---@return integer last line, 0 without a head
function Chat:head()
  local lines = api.nvim_buf_get_lines(self.buf, 0, 200, false)
  local keys = {}
  if lines[1] ~= "---" then
    return keys, "", 0
  end
  for i = 2, #lines do
    if lines[i] == "---" then
      return keys, table.concat(lines, "\n", 1, i), i
    end
    local key, value = lines[i]:match("^([%w_]+):%s*(.-)%s*$")
    if key and value ~= "" then
      local ok, decoded = pcall(vim.json.decode, value)
      keys[key] = ok and type(decoded) == "string" and decoded or value
    end
  end
  return {}, "", 0
end

--- Returns what of the head the process was started with: all but the session.
---@private
---@return string
function Chat:settings()
  local _, head = self:head()
  return (("\n" .. head):gsub("\n" .. head_session .. ":[^\n]*", ""))
end

--- Sets a key of the head.
---@param key string
---@param value string
function Chat:set_head(key, value)
  local _, _, last = self:head()
  local line = key .. ": " .. value
  if last == 0 then
    self:change(0, 0, { "---", line, "---", "" })
    return
  end
  for i, old in ipairs(api.nvim_buf_get_lines(self.buf, 1, last - 1, false)) do
    if old:match("^" .. key .. ":") then
      self:change(i, i + 1, { line })
      return
    end
  end
  self:change(last - 1, last - 1, { line })
end

--- Shows behind each setting of the head whether it counts, as the binary says.
function Chat:show_head()
  require("agent-wrapper.cli").policy(self, function(policy, problem)
    if not api.nvim_buf_is_valid(self.buf) then
      return
    end
    api.nvim_buf_clear_namespace(self.buf, notes, 0, -1)
    local _, _, last = self:head()
    local function note(row, words, group)
      if row >= 0 and row < math.max(last, 1) then
        api.nvim_buf_set_extmark(self.buf, notes, row, 0, { virt_text = { { "  " .. words, group } }, virt_text_pos = "eol" })
      end
    end
    if problem then
      note(0, problem, "ErrorMsg")
      return
    end
    self:note_settings(policy, note)
  end)
end

---@private
---@param policy table the JSON of `policy show`
---@param note fun(row: integer, words: string, group: string)
function Chat:note_settings(policy, note)
  local source
  for _, s in ipairs(policy.sources or {}) do
    if s.kind == "front matter" then
      source = s
    end
  end
  if not source then
    return
  end
  local prefix, ignored = source.name .. ":", {}
  for _, line in ipairs(policy.ignored or {}) do
    if line:sub(1, #prefix) == prefix then
      local row, why = line:sub(#prefix + 1):match("^(%d+):%d+: (.*)$")
      if row then
        ignored[tonumber(row)] = why
      end
    end
  end
  local noted = {}
  for _, item in ipairs(source.says or {}) do
    local row = tonumber((item.source or ""):sub(#prefix + 1):match("^(%d+)"))
    if row and not noted[row] then
      noted[row] = true
      if ignored[row] then
        note(row - 1, "✗ " .. ignored[row], "WarningMsg")
      elseif source.trusted then
        note(row - 1, "✓ trusted", "Comment")
      else
        note(row - 1, "✓ applies, since it only restricts", "Comment")
      end
    end
  end
  if not source.trusted and next(noted) then
    note(0, "not trusted: :AgentWrapper trust", "WarningMsg")
  end
end

-- Where things stand ----------------------------------------------------------------

--- Changes lines without a trace in the person's undo.
---@private
function Chat:change(from, to, lines)
  local levels = vim.bo[self.buf].undolevels
  local modifiable = vim.bo[self.buf].modifiable
  vim.bo[self.buf].modifiable = true
  vim.bo[self.buf].undolevels = -1
  local ok, problem = pcall(api.nvim_buf_set_lines, self.buf, from, to, false, lines)
  vim.bo[self.buf].undolevels = levels
  vim.bo[self.buf].modifiable = modifiable
  if not ok then
    error(problem)
  end
end

---@private
function Chat:row(mark, ns)
  return api.nvim_buf_get_extmark_by_id(self.buf, ns or places, mark, {})[1]
end

---@private
---@param row integer
---@param id integer?
---@return integer
function Chat:place(row, id)
  return api.nvim_buf_set_extmark(self.buf, places, row, 0, { id = id, right_gravity = true })
end

--- Adds the heading for the next prompt at the end.
---@private
function Chat:ask_for_prompt()
  local count = api.nvim_buf_line_count(self.buf)
  local last = api.nvim_buf_get_lines(self.buf, count - 1, count, false)[1]
  -- A chat that is opened again may end with an empty prompt.
  local tail = api.nvim_buf_get_lines(self.buf, math.max(count - 4, 0), count, false)
  for i = #tail, 1, -1 do
    if tail[i] == heading.you then
      self.prompt = self:place(count - #tail + i - 1)
      return
    elseif tail[i] ~= "" then
      break
    end
  end
  local lines = { "", heading.you, "", "" }
  if last == "" then
    table.remove(lines, 1)
  end
  self:change(count, count, lines)
  self.prompt = self:place(count + #lines - 3)
end

--- Puts the cursor where the prompt is written.
function Chat:go_to_prompt()
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(self.buf), 0 })
  end
end

--- Returns the prompt that stands at the end.
---@private
---@return string
function Chat:written()
  local from = self:row(self.prompt)
  local lines = api.nvim_buf_get_lines(self.buf, from, -1, false)
  if lines[1] == heading.you then
    table.remove(lines, 1)
  end
  return vim.trim(table.concat(lines, "\n"))
end

--- Inserts lines of the agent above the prompt and returns their first row.
---@private
---@param lines string[]
---@return integer
function Chat:insert(lines)
  local row
  if self.out then
    row = self:row(self.out) + 1
  else
    row = math.max(self:row(self.prompt) - 1, 0)
  end
  self:change(row, row, lines)
  self.out = self:place(row + #lines - 1, self.out)
  return row
end

--- The signs of a tool use: asked for, allowed, has run, denied or failed.
local signs = { "○", "●", "✓", "✗" }

--- Returns the sign with which the first line of a tool use begins, nil for others.
---@param line string
---@return string?
local function sign_of(line)
  local rest = line:match("^>%s*(.*)$")
  for _, sign in ipairs(rest and signs or {}) do
    if rest:sub(1, #sign) == sign then
      return sign
    end
  end
end

--- Returns a line of the agent's that nobody takes for a tool use.
---@param line string
---@return string
local function plain(line)
  return sign_of(line) and "\\" .. line or line
end

--- Adds what the agent says to what it said before.
---@private
---@param said string
function Chat:write(said)
  local lines = text.lines(said)
  if self.kind ~= "text" then
    if said:match("^%s*$") then
      return
    end
    self.kind = "text"
    self:insert(vim.list_extend({ "" }, vim.tbl_map(plain, lines)))
    return
  end
  local row = self:row(self.out)
  local last = api.nvim_buf_get_lines(self.buf, row, row + 1, false)[1] or ""
  lines[1] = last .. lines[1]
  self:change(row, row + 1, vim.tbl_map(plain, lines))
  self.out = self:place(row + #lines - 1, self.out)
end

--- Adds a line that is neither the agent's nor a tool's.
---@param line string
function Chat:remark(line)
  self:flush()
  self.kind = "remark"
  self:insert({ "", "> " .. text.visible((line:gsub("%s*\n%s*", " "))) })
end

-- Tool uses ----------------------------------------------------------------------

--- Adds the lines of a tool use.
---@private
---@param id string
---@param title string
function Chat:begin_use(id, title)
  self:flush()
  local lines = { "> ○ " .. title }
  table.insert(lines, 1, "")
  self.kind = "use"
  local row = self:insert(lines) + #lines - 1
  self.uses[id] = {
    title = title,
    mark = api.nvim_buf_set_extmark(self.buf, blocks, row, 0, { end_row = row, end_col = 0 }),
  }
end

--- Adds lines to a tool use, and sets its sign.
---@private
---@param id string
---@param sign string?
---@param lines string[]
function Chat:more(id, sign, lines)
  local use = self.uses[id]
  if not use then
    return
  end
  local at = api.nvim_buf_get_extmark_by_id(self.buf, blocks, use.mark, { details = true })
  if not at[1] then
    return
  end
  local first, last = at[1], math.max(at[3].end_row or at[1], at[1])
  local out = self:row(self.out) -- before it moves with the line that is replaced
  if sign then
    self:change(first, first + 1, { ("> %s %s"):format(sign, use.title) })
  end
  self:change(last + 1, last + 1, lines)
  self.out = self:place(out <= last and last + #lines or out + #lines, self.out)
  api.nvim_buf_set_extmark(self.buf, blocks, first, 0, { id = use.mark, end_row = last + #lines, end_col = 0 })
end

--- Returns the lines of a tool's result.
---@param result string
---@return string[]
local function quoted(result)
  local lines = text.lines((result:gsub("%s+$", "")))
  local most = state.config.max_result
  local out = {}
  for i = 1, math.min(#lines, most) do
    table.insert(out, ">     " .. lines[i])
  end
  if #lines > most then
    table.insert(out, (">     … %d more lines"):format(#lines - most))
  end
  return out
end

--- The level of a line's fold: the lines of a tool use are one. It is told from the text
--- alone, since Neovim asks while lines change; what the agent says cannot look like one
--- (see plain).
---@param lnum integer
---@return string|integer
local function fold(lnum)
  local line = vim.fn.getline(lnum)
  if sign_of(line) then
    return ">1"
  end
  return line:sub(1, 1) == ">" and "=" or 0
end

local function folded()
  local line = vim.fn.getline(vim.v.foldstart)
  return ("%s  (+%d lines)"):format(line, vim.v.foldend - vim.v.foldstart)
end

-- The process ----------------------------------------------------------------------

--- Shows what the chat is doing, behind the heading of the prompt.
---@private
function Chat:show_status()
  if not api.nvim_buf_is_loaded(self.buf) then
    return
  end
  local words
  local waits = 0
  for _, q in ipairs(state.queue) do
    waits = waits + (q.chat == self and 1 or 0)
  end
  if waits > 0 then
    words = ("%d waiting for you: <Tab>"):format(waits)
  elseif self.working then
    words = self.doing or "working"
  end
  if words == self.status_words then
    return
  end
  self.status_words = words
  api.nvim_buf_set_extmark(self.buf, places, self:row(self.prompt), 0, {
    id = self.prompt,
    virt_text = words and { { "  … " .. text.fit(text.visible(words), 60), "Comment" } } or nil,
  })
end

--- Sends what is written at the end.
function Chat:submit()
  local prompt = self:written()
  if prompt == "" then
    text.tell("write the prompt below the last " .. heading.you)
    self:go_to_prompt()
    return
  end
  self:send(prompt)
end

--- Sends a prompt, which goes into the chat.
---@param prompt string
function Chat:send(prompt)
  self:flush()
  state.last = self
  local from = self:row(self.prompt)
  local lines = { heading.you, "" }
  vim.list_extend(lines, text.lines(prompt))
  vim.list_extend(lines, { "", heading.agent, "", heading.you, "", "" })
  self:change(from, -1, lines)
  api.nvim_buf_del_extmark(self.buf, places, self.prompt)
  local last = from + #lines - 1
  self.prompt = self:place(last - 2)
  self.out = self:place(last - 4, self.out)
  self.kind = nil
  self.status_words = nil
  self:go_to_prompt()
  self:save()
  self:begin(prompt)
  self:show_status()
end

--- Starts a turn.
---@private
---@param prompt string
function Chat:begin(prompt)
  local settings = self:settings()
  if self.client and self.client.alive and not self.working and self.started_with ~= settings then
    self.again = prompt -- the head has changed: another process
    self.client:finish()
    return
  end
  if self.client and self.client.alive then
    self.turns, self.working = self.turns + 1, true
    self.client:send({ type = "user_message", text = prompt })
    return
  end
  self.started_with = settings
  self.doing = "starting"
  self:start(prompt)
end

--- Returns the command line of a run.
---@private
---@return string[]
function Chat:command()
  local out = vim.list_extend({}, state.config.command)
  vim.list_extend(out, { "run", "--approvals", "stdio", "--output", "jsonl", "--cwd", self.cwd })
  if select(3, self:head()) > 0 then
    vim.list_extend(out, { "--frontmatter", self.file })
  end
  if self.session then
    vim.list_extend(out, { "--session", self.session })
  end
  return vim.list_extend(out, state.config.args)
end

---@private
---@param prompt string
function Chat:start(prompt)
  local client, problem = Client.start({
    command = self:command(),
    cwd = self.cwd,
    event = function(event)
      text.guarded(Chat.event, function(message)
        -- Nobody will see the question that this may be.
        approval.failed(message, event.approval_id and { chat = self, id = event.approval_id, digest = event.digest })
      end)(self, event)
    end,
    idle = text.guarded(function()
      self:idle()
    end, approval.failed),
    exit = text.guarded(function(code, signal, complaints)
      self:exited(code, signal, complaints)
    end, approval.failed),
  })
  if not client then
    self.working = false
    self:remark(("%s could not be started: %s. See :checkhealth agent-wrapper"):format(state.config.command[1], text.problem(problem)))
    self:show_status()
    return
  end
  self.client, self.working, self.turns, self.mode = client, true, 1, nil
  client:send({ type = "user_message", text = prompt })
end

--- Handles what comes after a slice of events.
---@private
function Chat:idle()
  if not api.nvim_buf_is_loaded(self.buf) then
    return
  end
  self:flush()
  self:show_status()
  self:follow()
end

--- Keeps the end in sight in windows whose cursor is there.
---@private
function Chat:follow()
  local last = api.nvim_buf_line_count(self.buf)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    if win ~= api.nvim_get_current_win() and api.nvim_win_get_cursor(win)[1] == last then
      api.nvim_win_call(win, function()
        vim.cmd("normal! zb")
      end)
    end
  end
end

--- Writes the text that has come so far.
---@private
function Chat:flush()
  if self.said ~= "" then
    local said = self.said
    self.said = ""
    self:write(said)
  end
end

---@private
---@param event table
function Chat:event(event)
  if not api.nvim_buf_is_loaded(self.buf) then
    return
  end
  local handler = Chat.on[event.type]
  if handler then
    handler(self, event)
  end
end

--- What is done with each type of event; others are ignored.
---@type table<string, fun(self: agent_wrapper.Chat, e: table)>
Chat.on = {}

function Chat.on:session(e)
  if e.session_id and e.session_id ~= self.session then
    self.session = e.session_id
    self:set_head(head_session, text.json(e.session_id))
  end
end

function Chat.on:chunk(e)
  self.said = self.said .. (e.text or "")
end

function Chat.on:status(e)
  self.working = true
  self.doing = e.state
  if e.state == "tool_use" then
    local title = text.fit(("%s  %s"):format(text.visible(e.tool or ""), text.visible(e.input_summary or "")), 200)
    self.doing = title
    self:begin_use(e.tool_use_id or "", title)
  end
end

function Chat.on:decision(e)
  local why, rule, place = e.reason or "", e.rule or "", e.source or ""
  if rule ~= "" and not why:find(rule, 1, true) then
    why = vim.trim(why .. " " .. rule)
  end
  if place ~= "" and not why:find(place, 1, true) then
    why = why .. "  " .. text.near(place, self.cwd)
  end
  local allowed = e.behavior == "allow"
  local line = ("> %s: %s"):format(allowed and "allowed" or "denied", text.visible(why))
  self:more(e.tool_use_id or "", allowed and "●" or "✗", { line })
  approval.remove(function(q)
    return q.chat == self and q.use == e.tool_use_id
  end, e.behavior == "allow" and "allowed meanwhile" or "denied meanwhile")
  if self.asked[e.tool_use_id or ""] then
    self.asked[e.tool_use_id] = nil
    approval.announce("AgentWrapperDecided", { id = e.tool_use_id, tool = e.tool, behavior = e.behavior, by = e.by })
  end
end

function Chat.on:tool_result(e)
  self:more(e.tool_use_id or "", e.is_error and "✗" or "✓", quoted(e.text or ""))
  files.changed()
end

function Chat.on:approval_required(e)
  if e.tool_use_id then
    self.asked[e.tool_use_id] = true
  end
  local ask = e.question
  if type(ask) ~= "table" or type(e.approval_id) ~= "string" then
    error("an approval_required without a question")
  end
  approval.add({ chat = self, id = e.approval_id, digest = e.digest or ask.digest, use = e.tool_use_id, ask = ask, input = e.input })
end

function Chat.on:insert_choices(e)
  if e.tool_use_id then
    self.asked[e.tool_use_id] = true
  end
  if type(e.approval_id) ~= "string" or type(e.questions) ~= "table" then
    return -- nobody can answer it: a denial follows
  end
  approval.add({ chat = self, id = e.approval_id, digest = e.digest, use = e.tool_use_id, questions = e.questions, input = {} })
end

function Chat.on:approval_withdrawn(e)
  approval.withdraw(self, e.approval_id, "withdrawn: " .. (e.reason or ""))
end

function Chat.on:answer_refused(e)
  text.tell("your answer was refused: " .. (e.message or ""), vim.log.levels.WARN)
  local q = self.sent and self.sent[e.approval_id]
  if q and q.waits ~= false then
    self.sent[e.approval_id] = nil
    approval.add(q)
  end
end

function Chat.on:mode(e)
  if self.mode and self.mode ~= e.mode then
    text.tell("mode: " .. (e.mode or ""))
  end
  if e.message then
    self:remark(e.message)
  end
  self.mode = e.mode
end

function Chat.on:warning(e)
  self:remark("warning: " .. (e.message or ""))
end

function Chat.on:error(e)
  self:remark("error: " .. (e.message or ""))
  text.tell(e.message or "error", vim.log.levels.ERROR)
end

function Chat.on:session_corrupted(e)
  self.session = nil
  self:remark(("session %s cannot be resumed (%s); your next prompt starts a new one"):format(e.old_session_id or "", e.reason or ""))
end

function Chat.on:done()
  self:flush()
  self.turns = math.max(self.turns - 1, 0)
  self.working, self.doing = self.turns > 0, nil
  self:show_status()
  self:save()
  files.changed()
  approval.announce("AgentWrapperDone", { file = self.file })
end

--- Is called when the process has ended.
---@private
function Chat:exited(code, signal, complaints)
  self.client = nil
  approval.clear(self, "the agent has ended: nothing was allowed")
  if not api.nvim_buf_is_loaded(self.buf) then
    return
  end
  self:flush()
  local was = self.working
  self.working, self.doing, self.turns = false, nil, 0
  complaints = vim.trim(complaints):gsub("^agent%-wrapper: ", "")
  if complaints ~= "" then
    self:remark(complaints)
    text.tell(complaints, vim.log.levels.ERROR)
  elseif was and not self.stopping then
    self:remark(("the run ended: exit code %s%s"):format(code, signal ~= 0 and ", signal " .. signal or ""))
  end
  self.stopping = false
  self:show_status()
  self:save()
  files.changed()
  if self.again then
    local prompt = self.again
    self.again = nil
    self:begin(prompt)
  end
end

-- What the person says ---------------------------------------------------------------

--- Sends the answer to a question.
---@param q agent_wrapper.Question
---@param reply table its input is JSON
function Chat:answer(q, reply)
  self.sent = self.sent or {}
  self.sent[q.id] = q
  local message = vim.tbl_extend("error", { type = "approval_response", approval_id = q.id, digest = q.digest }, reply)
  local input = message.input
  message.input = nil
  local line = vim.json.encode(message)
  if input then
    line = line:sub(1, -2) .. ',"input":' .. input .. "}"
  end
  self:write_line(line)
end

---@private
---@param line string
function Chat:write_line(line)
  if not self.client or not self.client:write(line) then
    text.tell("the agent has ended: your answer was not sent", vim.log.levels.WARN)
  end
end

--- Denies a question.
---@param q agent_wrapper.Question
function Chat:deny(q)
  self:answer(q, { choice = "deny" })
end
Chat.decline = Chat.deny

--- Sends the answers to the agent's questions.
---@param q agent_wrapper.Question
function Chat:chose(q)
  self:write_line(vim.json.encode({ type = "choices_response", approval_id = q.id, digest = q.digest, answers = q.answers }))
end

--- Ends the turn; the process stays.
function Chat:interrupt()
  if self.client and self.working then
    self.client:send({ type = "interrupt" })
    text.tell("stopping")
  else
    text.tell("nothing is running")
  end
end

--- Ends the process: what waits is denied.
---@param now boolean? without a word
function Chat:stop(now)
  self.stopping = true
  if self.client then
    if not now then
      self.client:send({ type = "shutdown" })
    end
    self.client:finish()
  end
  approval.clear(self, "stopped")
end

--- Sets the mode, of the process and of the head.
---@param mode string
function Chat:set_mode(mode)
  local same = self.started_with == self:settings()
  self:set_head("permission_mode", mode)
  self:save()
  if self.client and self.client.alive and same then
    self.client:send({ type = "set_mode", mode = mode })
    self.started_with = self:settings()
  end
end

--- Writes the file, if there is one.
function Chat:save()
  if self.file == "" or not vim.bo[self.buf].modified then
    return
  end
  api.nvim_buf_call(self.buf, function()
    local ok, problem = pcall(vim.cmd, "silent noautocmd write")
    if not ok then
      text.tell("the chat could not be saved: " .. text.problem(tostring(problem)), vim.log.levels.ERROR)
    end
  end)
  self:show_head()
end

--- Returns what the chat does, in a few words.
---@return string
function Chat:status()
  return self.working and (self.doing or "working") or ""
end

return setmetatable({ fold = fold, folded = folded }, { __index = Chat })
