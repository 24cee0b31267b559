--- A file beside what it would be after an edit, with Neovim's own diff. It is to look
--- at only: closing it decides nothing, and what counts is what the question shows.

local text = require("agent-wrapper.text")

local api = vim.api
local M = {}

--- Replaces old, which must be there once unless all are meant.
---@param whole string
---@param edit table
---@return string?, string?
local function replaced(whole, edit)
  local old, new = edit.old_string, edit.new_string
  if type(old) ~= "string" or type(new) ~= "string" or old == "" then
    return nil, "this edit cannot be shown as a diff"
  end
  local out, from, count = {}, 1, 0
  while true do
    local at, to = whole:find(old, from, true)
    if not at or (count == 1 and not edit.replace_all) then
      if at then
        return nil, "the text to replace occurs more than once"
      end
      break
    end
    table.insert(out, whole:sub(from, at - 1) .. new)
    from, count = to + 1, count + 1
  end
  if count == 0 then
    return nil, "the text to replace is not in the file"
  end
  return table.concat(out) .. whole:sub(from)
end

--- Returns what a file would be.
---@param tool string
---@param input table
---@param whole string
---@return string?, string?
local function after(tool, input, whole)
  if tool == "Write" and type(input.content) == "string" then
    return input.content
  elseif tool == "Edit" then
    return replaced(whole, input)
  elseif tool == "MultiEdit" and type(input.edits) == "table" then
    local problem
    for _, edit in ipairs(input.edits) do
      whole, problem = replaced(whole, edit)
      if not whole then
        return nil, problem
      end
    end
    return whole
  end
  return nil, tool .. " does not edit a text file"
end

--- Returns the lines of a file.
---@param whole string
---@return string[]
local function lines(whole)
  return text.lines((whole:gsub("\n$", "")))
end

---@param name string
---@param content string[]
---@param path string
---@return integer buf
local function side(name, content, path)
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, content)
  api.nvim_win_set_buf(0, buf)
  pcall(api.nvim_buf_set_name, buf, ("agent-wrapper://%s/%d/%s"):format(name, buf, vim.fn.fnamemodify(path, ":t")))
  for option, value in pairs({ bufhidden = "wipe", modifiable = false, modeline = false }) do
    vim.bo[buf][option] = value
  end
  vim.cmd("diffthis")
  vim.keymap.set("n", "q", "<Cmd>tabclose<CR>", { buffer = buf, nowait = true, silent = true })
  return buf
end

--- Opens a tab page with both.
---@param tool string
---@param input table
---@param opening fun() is called before it opens
---@param closed fun() is called when it is closed, in whatever way
function M.open(tool, input, opening, closed)
  local path = type(input) == "table" and input.file_path
  if type(path) ~= "string" then
    text.tell("there is no file to compare")
    return
  end
  local file = io.open(path, "rb")
  local whole = file and file:read(8 * 1024 * 1024) or ""
  if file then
    file:close()
  end
  local new, problem = after(tool, input, whole)
  if not new then
    text.tell(problem)
    return
  end
  opening()
  vim.cmd("tabnew")
  local buf = side("now", lines(whole), path)
  vim.cmd("rightbelow vsplit")
  side("then", lines(new), path)
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    callback = function()
      vim.schedule(closed)
    end,
  })
  text.tell("q closes the diff; that answers nothing")
end

return M
