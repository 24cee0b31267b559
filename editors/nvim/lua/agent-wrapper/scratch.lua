--- A window with text to read; q closes it.

local api = vim.api
local M = {}

---@param name string
---@param lines string[]
---@param closed fun()? is called when it is closed, in whatever way
---@return integer buf
function M.open(name, lines, closed)
  local full = "agent-wrapper://" .. name
  local buf = vim.fn.bufnr("^" .. full .. "$")
  if buf < 0 then
    buf = api.nvim_create_buf(false, true)
    api.nvim_buf_set_name(buf, full)
  end
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = "wipe"
  local win = vim.fn.bufwinid(buf)
  if win >= 0 then
    api.nvim_set_current_win(win)
    return buf
  end
  vim.cmd(("botright %dsplit"):format(math.min(#lines + 1, math.floor(vim.o.lines * 0.7))))
  api.nvim_win_set_buf(0, buf)
  vim.cmd("setlocal nolist nonumber norelativenumber nospell wrap winfixheight")
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, nowait = true, silent = true })
  if closed then
    api.nvim_create_autocmd("BufWipeout", {
      buffer = buf,
      callback = function()
        vim.schedule(closed)
      end,
    })
  end
  return buf
end

return M
