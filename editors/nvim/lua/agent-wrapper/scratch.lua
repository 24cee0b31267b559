--- A window with text to read; q closes it.

local api = vim.api
local M = {}

---@param name string
---@param lines string[]
---@param filetype string
---@return integer buf
function M.open(name, lines, filetype)
  local full = "agent-wrapper://" .. name
  local buf = vim.fn.bufnr("^" .. full .. "$")
  if buf < 0 then
    buf = api.nvim_create_buf(false, true)
    api.nvim_buf_set_name(buf, full)
  end
  api.nvim_buf_set_option(buf, "modifiable", true)
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  api.nvim_buf_set_option(buf, "modifiable", false)
  api.nvim_buf_set_option(buf, "bufhidden", "wipe")
  local win = vim.fn.bufwinid(buf)
  if win >= 0 then
    api.nvim_set_current_win(win)
    return buf
  end
  local before = api.nvim_get_current_win()
  vim.cmd(("botright %dsplit"):format(math.min(#lines + 1, math.floor(vim.o.lines / 2))))
  api.nvim_win_set_buf(0, buf)
  vim.cmd("setlocal nolist nonumber norelativenumber nospell wrap winfixheight")
  if filetype ~= "" then
    api.nvim_buf_set_option(buf, "filetype", filetype)
  end
  vim.keymap.set("n", "q", function()
    vim.cmd("close")
    if api.nvim_win_is_valid(before) then
      api.nvim_set_current_win(before)
    end
  end, { buffer = buf, nowait = true, silent = true })
  return buf
end

return M
