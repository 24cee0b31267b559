--- The lines of a question, from the JSON of display.Ask. What the agent wrote stands
--- behind " | ", or " : " where a long line goes on, so that it cannot pass for a line
--- of the question.

local text = require("agent-wrapper.text")

---@class agent_wrapper.Mark
---@field row integer from 0
---@field from integer byte, from 0
---@field to integer
---@field group string

---@class agent_wrapper.Page
---@field width integer in cells
---@field lines string[]
---@field marks agent_wrapper.Mark[]
local Page = {}
Page.__index = Page

local M = {}

---@param width integer
---@return agent_wrapper.Page
function M.page(width)
  return setmetatable({ width = math.max(width, 30), lines = {}, marks = {} }, Page)
end

local strwidth = vim.api.nvim_strwidth

--- Adds a line, of which pieces may have a highlight group.
---@param pieces { [1]: string, [2]: string? }[]
function Page:add(pieces)
  local line = ""
  for _, piece in ipairs(pieces) do
    if piece[2] and piece[1] ~= "" then
      table.insert(self.marks, { row = #self.lines, from = #line, to = #line + #piece[1], group = piece[2] })
    end
    line = line .. piece[1]
  end
  table.insert(self.lines, line)
end

--- Returns how many of the cells fit into room, at least one.
---@param cells { text: string, width: integer }[]
---@param from integer
---@param room integer
---@return integer last
local function fits(cells, from, room)
  local at = from
  while at <= #cells and (at == from or cells[at].width <= room) do
    room = room - cells[at].width
    at = at + 1
  end
  return at - 1
end

--- Returns the characters of segments. An escaped character, as <U+202E>, is one.
---@param segments { text: string, mark: boolean? }[]
---@return { text: string, width: integer, mark: boolean? }[]
local function characters(segments)
  local out = {}
  for _, s in ipairs(segments) do
    local rest = text.visible(s.text or "")
    while rest ~= "" do
      local name = rest:match("^<U%+[^>]*>") or rest:match("^<0x[^>]*>")
      if name then
        table.insert(out, { text = name, width = #name, mark = s.mark })
        rest = rest:sub(#name + 1)
      else
        local plain = rest:match("^[^<]+") or "<"
        if plain:find("[\128-\255]") then
          for _, c in ipairs(vim.fn.split(plain, "\\zs")) do
            table.insert(out, { text = c, width = strwidth(c), mark = s.mark })
          end
        else
          for c in plain:gmatch(".") do
            table.insert(out, { text = c, width = 1, mark = s.mark })
          end
        end
        rest = rest:sub(#plain + 1)
      end
    end
  end
  return out
end

--- Adds a text of one line after head, broken at blanks where possible.
---@param head string
---@param words string
---@param group string?
---@param indent string? of the rows that go on
function Page:words(head, words, group, indent)
  local cells = characters({ { text = words } })
  indent = indent or (" "):rep(math.max(math.min(strwidth(head), 9) - 2, 0)) .. ": "
  local from = 1
  repeat
    local last = fits(cells, from, self.width - strwidth(head))
    if last < #cells then
      for at = last, from + math.floor((last - from) / 2), -1 do
        if cells[at].text == " " then
          last = at
          break
        end
      end
    end
    local row = {}
    for i = from, last do
      table.insert(row, cells[i].text)
    end
    self:add({ { head }, { table.concat(row), group } })
    head, from = indent, last + 1
  until from > #cells
end

--- Adds a line of the agent's after head, with ^^^ below what caused the question.
---@param head string
---@param line table
---@param group string?
function Page:row(head, line, group)
  local cells = characters(line.segments or {})
  local from = 1
  repeat
    local last = fits(cells, from, self.width - strwidth(head))
    local pieces, below, marked = { { head } }, (" "):rep(strwidth(head)), false
    for i = from, last do
      local c = cells[i]
      local ink = c.mark and "AgentWrapperCause" or group
      local piece = pieces[#pieces]
      if #pieces > 1 and piece[2] == ink then
        piece[1] = piece[1] .. c.text
      else
        table.insert(pieces, { c.text, ink })
      end
      below = below .. (c.mark and "^" or " "):rep(c.width)
      marked = marked or c.mark
    end
    self:add(pieces)
    if marked then
      self:add({ { (below:gsub(" +$", "")), "AgentWrapperCause" } })
    end
    head, from = "   : ", last + 1
  until from > #cells
end

--- Adds one part of the input.
---@param block table
function Page:block(block)
  local title = " " .. block.title
  if block.notes and #block.notes > 0 then
    title = title .. " (" .. table.concat(block.notes, "; ") .. ")"
  end
  local lines = block.lines or {}
  if title == " command" then -- the gutter says that it is the agent's
    for _, line in ipairs(lines) do
      self:signed(line)
    end
    return
  end
  if #lines == 1 and not lines[1].sign and strwidth(title) < self.width / 2 then
    self:row(title .. ": ", lines[1])
    return
  end
  self:words("", title .. ":")
  for _, line in ipairs(lines) do
    self:signed(line)
  end
end

---@private
---@param line table
function Page:signed(line)
  local sign = line.sign
  if sign == "@" then
    self:words("  ", line.segments[1].text, "Comment")
  elseif sign == "…" then
    local left = ("%d more bytes in %d lines: v shows them"):format(line.bytes or 0, math.max(line.count or 0, 1))
    self:words("  … ", left, "WarningMsg")
  elseif sign == "\\" then
    self:words("   \\ ", "no newline at the end of the file", "Comment")
  elseif sign == "-" then
    self:row("  -| ", line, "DiffDelete")
  elseif sign == "+" then
    self:row("  +| ", line, "DiffAdd")
  else
    self:row("   | ", line)
  end
end

--- Adds a line with words at its right edge, and reports whether there is room for them.
---@param left string
---@param right string
---@param group string? of left
---@param dim string? of right
---@return boolean
function Page:between(left, right, group, dim)
  left, right = text.visible(left), text.visible(right)
  local gap = self.width - strwidth(left) - strwidth(right) - 2
  if gap < 1 then
    self:words(" ", left, group, "   ")
    return right == ""
  end
  self:add({ { " " }, { left, group }, { right ~= "" and (" "):rep(gap) or "" }, { right, dim } })
  return true
end

--- Returns why something is asked, with the rule and its place.
---@param cause table
---@param cwd string
---@return string
local function why(cause, cwd)
  local rule, reason = cause.rule or "", cause.reason or ""
  local tail = ": " .. (cause.text or "")
  if reason:sub(-#tail) == tail then
    reason = reason:sub(1, -#tail - 1)
  end
  for _, named in ipairs(rule ~= "" and { "rule " .. rule, rule } or {}) do
    if reason:sub(-#named) == named then
      reason = vim.trim(reason:sub(1, -#named - 1))
    end
  end
  local place = cause.source and cause.source ~= "" and "  " .. text.near(cause.source, cwd) or ""
  return vim.trim(reason .. " " .. rule) .. place
end

-- How many causes have a line of their own.
local causes = 3

--- Adds a line for each cause of the question: the rule that asks with its place, or the
--- reason; beside the first, how many parts are allowed.
---@param ask table
---@param cwd string
function Page:causes(ask, cwd)
  local all = ask.asked or {}
  local rest, fits_in = "", false
  if (ask.allowed or 0) > 0 then
    rest = ("%d more %s: allowed"):format(ask.allowed, ask.allowed == 1 and "part" or "parts")
  end
  for i = 1, math.min(#all, causes) do
    local c, what = all[i], ""
    if #all > 1 and c.text and c.text ~= "" then
      what = c.text .. ((c.times or 1) > 1 and (" and %d more"):format(c.times - 1) or "") .. ": "
    end
    local fit = self:between(what .. why(c, cwd), i == 1 and rest or "", "AgentWrapperCause", "Comment")
    fits_in = fits_in or i == 1 and fit
  end
  if #all > causes then
    self:words(" ", ("and %d more reasons: press v"):format(#all - causes), "WarningMsg")
  end
  if rest ~= "" and not fits_in then
    self:words(" ", rest, "Comment")
  end
end

--- Adds one part of what would be done, with what decides about it.
---@param action table
---@param cwd string
function Page:part(action, cwd)
  local verdict = action.verdict or ""
  if verdict == "" then
    verdict = "-"
  elseif verdict == "ask" and action.held then
    verdict = "held"
  end
  local what = action.text
  if (action.times or 1) > 1 then
    what = ("%s  (%d times)"):format(what, action.times)
  end
  self:words((" %-6s "):format(verdict), what, verdict == "allow" and "Comment" or "AgentWrapperCause")
  local reason = why(action, cwd)
  if reason ~= "" then
    self:words("        ", reason)
  end
  if action.why and action.why ~= "" and not (action.reason or ""):find(action.why, 1, true) then
    self:words("        ", ("risk %s: %s"):format(action.risk or "", action.why))
  end
end

--- Returns what makes the risk of a question, "" if nothing says it.
---@param ask table
---@return string
local function risk(ask)
  for _, c in ipairs(ask.asked or {}) do
    if c.risk == ask.risk and c.why and c.why ~= "" then
      return ask.risk .. ": " .. c.why
    end
  end
  return ask.risk or ""
end

--- Returns what would run: the tool with the risk, and the input.
---@param ask table the JSON of display.Ask
---@param width integer
---@param notes string[] said at its head
---@param cwd string the directory of the chat
---@return agent_wrapper.Page
function M.body(ask, width, notes, cwd)
  local page = M.page(width)
  local title = "? " .. ask.tool
  if ask.agent and ask.agent ~= "" then
    title = title .. " (subagent " .. ask.agent .. ")"
  end
  local grave = vim.tbl_contains({ "high", "critical", "forbidden" }, ask.risk)
  local ink = grave and "ErrorMsg" or "Comment"
  if not page:between(title, risk(ask), "AgentWrapperTitle", ink) then
    page:words("   ", risk(ask), ink, "   ")
  end
  if ask.dir and ask.dir ~= "" and ask.dir ~= cwd then
    page:words(" in ", ask.dir, "Comment")
  end
  for _, note in ipairs(notes) do
    page:words(" ! ", note, "WarningMsg")
  end
  if ask.held then
    page:words(" ! ", "this can only be approved once", "WarningMsg")
  end
  for _, block in ipairs(ask.blocks or {}) do
    page:block(block)
  end
  return page
end

--- Returns every part of what would be done.
---@param ask table
---@param width integer
---@param cwd string
---@return string[]
function M.parts(ask, width, cwd)
  local page = M.page(width)
  for _, action in ipairs(ask.actions or {}) do
    page:part(action, cwd)
  end
  if (ask.more_actions or 0) > 0 then
    page:words(" …      ", ("and %d more that are not listed"):format(ask.more_actions))
  end
  return page.lines
end

--- Adds items side by side, as many as fit.
---@param items string[]
function Page:list(items)
  local row = ""
  for _, item in ipairs(items) do
    if row ~= "" and strwidth(row) + 3 + strwidth(item) > self.width - 2 then
      self:add({ { " " .. row } })
      row = ""
    end
    row = row == "" and item or row .. "   " .. item
  end
  if row ~= "" then
    self:add({ { " " .. row } })
  end
end

--- Adds sets of rules, each behind its key: the rules in full, and what they cover.
---@param rungs table[]
---@param head fun(i: integer): string
function Page:rungs(rungs, head)
  local rules, wide = {}, 0
  for i, rung in ipairs(rungs) do
    rules[i] = text.visible(table.concat(rung.rules or {}, ", "))
    wide = math.max(wide, strwidth(rules[i]))
  end
  for i, rung in ipairs(rungs) do
    local label = text.visible(rung.label or "")
    local one = rules[i] .. (" "):rep(wide - strwidth(rules[i]) + 2)
    if rules[i] == "" then
      self:words(head(i), label)
    elseif strwidth(head(i) .. one .. label) <= self.width then
      self:add({ { head(i) }, { one }, { label, "Comment" } })
    else
      self:words(head(i), rules[i])
      local indent = (" "):rep(strwidth(head(i)) + 2)
      self:words(indent, label, "Comment", indent)
    end
  end
end

return M
