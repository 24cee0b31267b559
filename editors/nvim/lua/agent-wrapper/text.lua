--- Small things about text, and calls that cannot fail.

local M = {}

--- The characters that take no space, change the direction of a text or move the
--- cursor. Neovim shows most of them by itself; in a question none may be left to it.
local hidden = vim.regex(table.concat({
  [[[\u0001-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f]],
  [[\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]],
  [[\U000e0000-\U000e0fff]\|%u0000]],
}))

--- Returns text as one line in which every character can be seen.
---@param text string
---@return string
function M.visible(text)
  local out = {}
  while true do
    local from, to = hidden:match_str(text)
    if not from then
      break
    end
    table.insert(out, text:sub(1, from))
    table.insert(out, ("<U+%04X>"):format(vim.fn.char2nr(text:sub(from + 1, to))))
    text = text:sub(to + 1)
  end
  table.insert(out, text)
  return (table.concat(out):gsub("%z", "<U+0000>"))
end

--- Returns text split into lines, each of which a buffer can hold.
---@param text string
---@return string[]
function M.lines(text)
  return vim.split((text:gsub("\r\n", "\n"):gsub("%z", "<U+0000>")), "\n", { plain = true })
end

--- Returns the beginning of a text of one line that fits into a number of cells.
---@param text string
---@param width integer
---@return string
function M.fit(text, width)
  if vim.api.nvim_strwidth(text) <= width then
    return text
  end
  local out, used = {}, 1
  for _, c in ipairs(vim.fn.split(vim.fn.strcharpart(text, 0, width), "\\zs")) do
    used = used + vim.api.nvim_strwidth(c)
    if used > width then
      break
    end
    table.insert(out, c)
  end
  return table.concat(out) .. "…"
end

--- Tells the person something in one line, so that Neovim does not wait for Enter.
---@param message string
---@param level integer?
function M.tell(message, level)
  local line = M.visible((message:gsub("%s*\n%s*", " ⏎ ")))
  vim.notify(M.fit("agent-wrapper: " .. line, math.max(vim.o.columns - 14, 20)), level or vim.log.levels.INFO)
end

--- Returns a function that calls fn. If fn fails, failed is called with the message.
---@param fn function
---@param failed fun(message: string)
---@return function
function M.guarded(fn, failed)
  return function(...)
    local args, n = { ... }, select("#", ...)
    local ok, result = xpcall(function()
      return fn(unpack(args, 1, n))
    end, debug.traceback)
    if ok then
      return result
    end
    failed(tostring(result))
  end
end

return M
