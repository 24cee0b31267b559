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
        local ascii = not plain:find("[\128-\255]")
        for _, c in ipairs(ascii and vim.split(plain, "") or vim.fn.split(plain, "\\zs")) do
          table.insert(out, { text = c, width = ascii and 1 or strwidth(c), mark = s.mark })
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
function Page:words(head, words, group)
  local cells = characters({ { text = words } })
  local indent = (" "):rep(math.max(math.min(strwidth(head), 9) - 2, 0)) .. ": "
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
    local left = ("%d more bytes in %d lines: press v to see all"):format(line.bytes or 0, math.max(line.count or 0, 1))
    self:words("  … ", left, "WarningMsg")
  elseif sign == "\\" then
    self:words("   \\ ", "no line feed at the end", "Comment")
  elseif sign == "-" then
    self:row("  -| ", line, "DiffDelete")
  elseif sign == "+" then
    self:row("  +| ", line, "DiffAdd")
  else
    self:row("   | ", line)
  end
end

--- Adds one action with its reasons.
---@param action table
function Page:action(action)
  local asks = action.verdict == "ask"
  local verdict = action.verdict or ""
  if verdict == "" then
    verdict = "-"
  elseif asks and action.held then
    verdict = "held"
  end
  local what = action.text
  if (action.times or 1) > 1 then
    what = ("%s  (%d times)"):format(what, action.times)
  end
  self:words((" %-6s "):format(verdict), what, asks and "AgentWrapperCause" or "Comment")
  if not asks then
    return
  end
  local reason = action.reason or ""
  local at, to = reason:find(": " .. action.text, 1, true)
  if at then
    reason = reason:sub(1, at - 1) .. reason:sub(to + 1)
  end
  local place = vim.trim((reason:find(action.rule or "", 1, true) and "" or action.rule) .. " " .. (action.source or ""))
  if place ~= "" then
    reason = reason .. "  [" .. place .. "]"
  end
  if reason ~= "" then
    self:words("        ", reason)
  end
  if action.why and action.why ~= "" and not (action.reason or ""):find(action.why, 1, true) then
    self:words("        ", ("risk %s: %s"):format(action.risk or "", action.why))
  end
end

--- Returns the lines of a question.
---@param ask table the JSON of display.Ask
---@param width integer
---@param notes string[] said at its head
---@return agent_wrapper.Page
function M.body(ask, width, notes)
  local page = M.page(width)
  local title = ask.tool
  if ask.agent and ask.agent ~= "" then
    title = title .. " (subagent " .. ask.agent .. ")"
  end
  page:words(" ? ", title, "AgentWrapperTitle")
  if ask.dir and ask.dir ~= "" then
    page:words(" in ", ask.dir, "Comment")
  end
  for _, note in ipairs(notes) do
    page:words(" ! ", note, "WarningMsg")
  end
  for _, block in ipairs(ask.blocks or {}) do
    page:block(block)
  end
  for _, action in ipairs(ask.actions or {}) do
    page:action(action)
  end
  if (ask.more_actions or 0) > 0 then
    page:words(" …      ", ask.more_actions .. " more actions: press v to see all", "WarningMsg")
  end
  if #(ask.actions or {}) == 0 and ask.reason then
    page:words(" ask    ", ask.reason .. (ask.rule_source and "  [" .. ask.rule_source .. "]" or ""))
  end
  local foot = ("risk %s, tier %s"):format(ask.risk, ask.tier)
  if ask.held then
    foot = foot .. "; it is held: your answer counts once"
  end
  page:words(" ", foot, "Comment")
  return page
end

--- Adds items side by side, as many as fit.
---@param items string[]
function Page:list(items)
  local row = ""
  for _, item in ipairs(items) do
    if row ~= "" and strwidth(row) + 2 + strwidth(item) > self.width - 2 then
      self:add({ { " " .. row } })
      row = ""
    end
    row = row == "" and item or row .. "  " .. item
  end
  if row ~= "" then
    self:add({ { " " .. row } })
  end
end

--- Adds the sets of rules that a choice may keep.
---@param rungs table[]
function Page:rungs(rungs)
  for i, rung in ipairs(rungs) do
    local what = table.concat(rung.rules or {}, ", ")
    if what == "" then
      what = rung.label or ""
    elseif rung.label and rung.label ~= "" then
      what = what .. "  - " .. rung.label
    end
    self:words(("  %d  "):format(i), what)
  end
end

return M
