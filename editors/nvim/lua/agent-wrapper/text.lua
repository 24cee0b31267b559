--- Small things about text, and calls that cannot fail.

local M = {}

-- The characters that take no space, change the direction of a text or move the cursor.
-- Neovim shows most of them by itself; in a question none may be left to it.
local hidden = {
  { 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 },
  { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xffff }, { 0xe0000, 0xe0fff },
}

--- Returns a character as it is shown.
---@param c string one character of UTF-8, or bytes that are none
---@return string?
local function shown(c)
  local first = c:byte()
  local size = first < 0x80 and 1 or first >= 0xf0 and 4 or first >= 0xe0 and 3 or first >= 0xc2 and 2 or 0
  if size ~= #c then
    return (c:gsub(".", function(byte)
      return byte:byte() < 0x80 and byte or ("<0x%02X>"):format(byte:byte())
    end))
  end
  local code = size == 1 and first or first % 2 ^ (7 - size)
  for i = 2, size do
    code = code * 64 + c:byte(i) % 64
  end
  for _, range in ipairs(hidden) do
    if range[1] <= code and code <= range[2] then
      return ("<U+%04X>"):format(code)
    end
  end
end

--- Returns text as one line in which every character can be seen.
---@param text string
---@return string
function M.visible(text)
  return (text:gsub("[%z\1-\31\127-\255][\128-\191]*", shown))
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

--- Returns what went wrong, without the code that a library or Neovim puts before it.
---@param problem string
---@return string
function M.problem(problem)
  return (problem:gsub("^Vim%b():", ""):gsub("^E%w+: ", ""))
end

--- Returns a place in a file as a person would name it.
---@param place string "/path/to/agent-wrapper.toml:4:8"
---@param cwd string
---@return string
function M.near(place, cwd)
  if place:sub(1, #cwd + 1) == cwd .. "/" then
    return place:sub(#cwd + 2)
  end
  return vim.fn.fnamemodify(place, ":~")
end

--- Returns a value as JSON for people: with slashes as they are.
---@param value any
---@return string
function M.json(value)
  return (vim.json.encode(value):gsub("\\/", "/"))
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
