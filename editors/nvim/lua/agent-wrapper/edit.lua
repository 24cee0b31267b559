--- Edits a tool use before it runs. What is written is decided anew.
---
--- Enter in normal mode, ZZ, or a :w that was typed sends it. A write by another
--- plugin, as by those that save by themselves, sends nothing.

local state = require("agent-wrapper.state")
local text = require("agent-wrapper.text")

local api = vim.api
local M = {}

--- Returns the text to edit, its file type, and what makes JSON of it again.
---@param q agent_wrapper.Question
---@return string, string, fun(edited: string): string?, string?
local function editable(q)
  if q.ask.tool == "Bash" and type(q.input) == "table" and type(q.input.command) == "string" then
    return q.input.command, "sh", function(edited)
      local input = vim.deepcopy(q.input)
      input.command = edited
      return vim.json.encode(input)
    end
  end
  local raw = M.pretty(q.input, "")
  return raw, "json", function(edited)
    if not pcall(vim.json.decode, edited) then
      return nil, "this is not valid JSON: nothing was sent"
    end
    return (edited:gsub("[\r\n]", " ")) -- a line break in JSON is only between its parts
  end
end

--- Returns a value as JSON on several lines.
---@param value any
---@param indent string
---@return string
function M.pretty(value, indent)
  if type(value) ~= "table" or next(value) == nil then
    return text.json(value)
  end
  local out, deeper = {}, indent .. "  "
  if (vim.islist or vim.tbl_islist)(value) then
    for _, v in ipairs(value) do
      table.insert(out, deeper .. M.pretty(v, deeper))
    end
    return "[\n" .. table.concat(out, ",\n") .. "\n" .. indent .. "]"
  end
  local names = vim.tbl_keys(value)
  table.sort(names)
  for _, name in ipairs(names) do
    table.insert(out, deeper .. text.json(name) .. ": " .. M.pretty(value[name], deeper))
  end
  return "{\n" .. table.concat(out, ",\n") .. "\n" .. indent .. "}"
end

--- Opens a window to edit what a question is about.
---@param q agent_wrapper.Question
function M.open(q)
  local before, filetype, encode = editable(q)
  local approval = require("agent-wrapper.approval")
  local float = state.float
  local window = api.nvim_get_current_win()
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(buf, "agent-wrapper://edit/" .. buf)
  api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(before, "\n", { plain = true }))
  vim.cmd("botright 8split")
  api.nvim_win_set_buf(0, buf)
  for option, value in pairs({ buftype = "acwrite", bufhidden = "wipe", filetype = filetype, modified = false }) do
    vim.bo[buf][option] = value
  end
  local typed = false

  local function back()
    if api.nvim_win_is_valid(window) then
      api.nvim_set_current_win(window)
    end
  end
  local function send()
    local waits = false
    for _, other in ipairs(state.queue) do
      waits = waits or other == q
    end
    if not waits then
      text.tell("the question is gone: nothing was sent", vim.log.levels.WARN)
      return
    end
    local edited = table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
    if edited == before then
      text.tell("you changed nothing: nothing was sent")
      return
    end
    local input, problem = encode(edited)
    if not input then
      text.tell(problem, vim.log.levels.ERROR)
      return
    end
    vim.bo[buf].modified = false
    vim.schedule(text.guarded(function()
      pcall(api.nvim_buf_delete, buf, { force = true })
      back()
      q.chat:answer(q, { choice = "edit", input = input })
      if float and state.float == float then
        float:finished(q, "edited: the policy decides again")
      else
        approval.remove(function(other)
          return other == q
        end)
      end
    end, approval.failed))
  end

  local function map(lhs, fn)
    vim.keymap.set("n", lhs, text.guarded(fn, approval.failed), { buffer = buf, nowait = true, silent = true })
  end
  map("<CR>", send)
  map("ZZ", send)
  map("ZQ", function()
    api.nvim_buf_delete(buf, { force = true })
    back()
  end)
  api.nvim_create_autocmd("CmdlineLeave", {
    callback = function()
      if not api.nvim_buf_is_valid(buf) then
        return true
      end
      local line = vim.fn.getcmdline()
      typed = vim.fn.getcmdtype() == ":" and api.nvim_get_current_buf() == buf and line:match("^%s*[wx][rq]?i?t?e?%s*!?%s*$") ~= nil
      vim.defer_fn(function()
        typed = false
      end, 100)
    end,
  })
  api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    callback = text.guarded(function()
      if typed then
        typed = false
        send()
      else
        vim.schedule(function()
          text.tell("not saved by you, so nothing was sent; Enter sends it", vim.log.levels.WARN)
        end)
      end
    end, approval.failed),
  })
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    callback = function()
      vim.schedule(back)
    end,
  })
  text.tell("Enter sends your edit, :q! goes back")
end

return M
