--- Reloads files that the agent changed. A buffer with unsaved changes stays as it is,
--- and the person is told.

local state = require("agent-wrapper.state")
local text = require("agent-wrapper.text")

local uv = vim.uv or vim.loop
local api = vim.api
local M = {}

-- Changes within so many milliseconds are looked for together.
local wait = 150

--- Looks at the files of all buffers once.
local function check()
  local group = api.nvim_create_augroup("agent-wrapper-files", { clear = true })
  api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    callback = function(event)
      local modified = vim.bo[event.buf].modified
      vim.v.fcs_choice = not modified and vim.v.fcs_reason ~= "deleted" and "reload" or ""
      if modified then
        local name = vim.fn.fnamemodify(api.nvim_buf_get_name(event.buf), ":.")
        vim.schedule(function()
          text.tell(name .. " was changed on disk; your unsaved version is kept (:e! loads the other)", vim.log.levels.WARN)
        end)
      end
    end,
  })
  pcall(vim.cmd, "checktime")
  api.nvim_del_augroup_by_id(group)
end

--- Is called when the agent may have changed files.
function M.changed()
  state.files = state.files or uv.new_timer()
  state.files:start(wait, 0, vim.schedule_wrap(function()
    if vim.fn.mode():match("^[nivV]") and vim.fn.getcmdwintype() == "" then
      check()
    else
      M.changed() -- in a command line checktime does nothing
    end
  end))
end

return M
